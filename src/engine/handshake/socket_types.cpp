// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/socket_types.hpp"

#include <array>
#include <cstdint>

namespace zlink::engine {
namespace {

template <typename... Numbers>
constexpr std::uint32_t set_of(Numbers... numbers)
{
    return ((std::uint32_t{1} << numbers) | ...);
}

struct socket_type_row {
    int number;
    std::string_view name;
    std::uint32_t accepts; // bit n: a peer of type n is welcome
    bool announces_routing_id;
};

using namespace socket_types;

constexpr std::array<socket_type_row, 19> rows{{
    {pair, "PAIR", set_of(pair), false},
    {pub, "PUB", set_of(sub, xsub), false},
    {sub, "SUB", set_of(pub, xpub), false},
    {req, "REQ", set_of(rep, router), true},
    {rep, "REP", set_of(req, dealer), false},
    {dealer, "DEALER", set_of(rep, dealer, router), true},
    {router, "ROUTER", set_of(req, dealer, router), true},
    {pull, "PULL", set_of(push), false},
    {push, "PUSH", set_of(pull), false},
    {xpub, "XPUB", set_of(sub, xsub), false},
    {xsub, "XSUB", set_of(pub, xpub), false},
    {server, "SERVER", set_of(client), false},
    {client, "CLIENT", set_of(server), false},
    {radio, "RADIO", set_of(dish), false},
    {dish, "DISH", set_of(radio), false},
    {gather, "GATHER", set_of(scatter), false},
    {scatter, "SCATTER", set_of(gather), false},
    {peer, "PEER", set_of(peer), false},
    {channel, "CHANNEL", set_of(channel), false},
}};

const socket_type_row* find_row(int socket_type) noexcept
{
    for (const auto& row : rows) {
        if (row.number == socket_type) {
            return &row;
        }
    }
    return nullptr;
}

} // namespace

std::string_view socket_type_name(int socket_type) noexcept
{
    const auto* row = find_row(socket_type);
    return row != nullptr ? row->name : std::string_view{};
}

int socket_type_number(std::string_view name) noexcept
{
    for (const auto& row : rows) {
        if (row.name == name) {
            return row.number;
        }
    }
    return -1;
}

bool compatible_socket_types(int local, int remote) noexcept
{
    const auto* local_row = find_row(local);
    return local_row != nullptr && find_row(remote) != nullptr &&
           (local_row->accepts & set_of(remote)) != 0;
}

bool announces_routing_id(int socket_type) noexcept
{
    const auto* row = find_row(socket_type);
    return row != nullptr && row->announces_routing_id;
}

} // namespace zlink::engine
