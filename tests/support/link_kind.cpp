// SPDX-License-Identifier: Apache-2.0
#include "support/link_kind.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "support/admitting_handler.hpp"
#include "support/key_pair.hpp"
#include "support/socket.hpp"
#if ZLINK_HAS_TLS
#include "support/certificates.hpp"
#endif

namespace zlink::test {
namespace {

using configuration = void (*)(test_socket&, link_side);

void needs_nothing(test_socket&, link_side) {}

void give_certificate([[maybe_unused]] test_socket& socket, [[maybe_unused]] link_side side)
{
#if ZLINK_HAS_TLS
    static const certificate authority = certificate::authority();
    static const certificate own = authority.sign();
    if (side == link_side::bound) {
        socket.set(ZMQ_TLS_CERT, own.text());
        socket.set(ZMQ_TLS_KEY, own.key());
    } else {
        socket.set(ZMQ_TLS_CA, authority.text());
    }
#endif
}

void give_keys(test_socket& socket, link_side side)
{
    static const key_pair server;
    static const key_pair client;
    if (side == link_side::bound) {
        socket.set(ZMQ_CURVE_SERVER, 1);
        socket.set(ZMQ_CURVE_SECRETKEY, server.secret_key.data());
    } else {
        socket.set(ZMQ_CURVE_SERVER, 0);
        socket.set(ZMQ_CURVE_SERVERKEY, server.public_key.data());
        socket.set(ZMQ_CURVE_PUBLICKEY, client.public_key.data());
        socket.set(ZMQ_CURVE_SECRETKEY, client.secret_key.data());
    }
}

void give_password(test_socket& socket, link_side side)
{
    if (side == link_side::bound) {
        admit_plain_peers(socket.context());
        socket.set(ZMQ_PLAIN_SERVER, 1);
        socket.set(ZMQ_ZAP_DOMAIN, "test");
    } else {
        socket.set(ZMQ_PLAIN_SERVER, 0);
        socket.set(ZMQ_PLAIN_USERNAME, plain_username);
        socket.set(ZMQ_PLAIN_PASSWORD, plain_password);
    }
}

/// Of a capability: every library has it.
constexpr const char* always = "";

struct row {
    link_kind kind;
    const char* capability; ///< what zmq_has() has to know; null: the libraries of tests/wires too
    configuration configure;
    link_traits traits;
};

constexpr row rows[] = {
    {link_kind::tcp,
     nullptr,
     needs_nothing,
     {.name = "tcp", .scheme = "tcp", .has_plain_zmtp = true}},
    {link_kind::ipc,
     nullptr,
     needs_nothing,
     {.name = "ipc", .scheme = "ipc", .has_ports = false, .has_plain_zmtp = true}},
    {link_kind::inproc,
     nullptr,
     needs_nothing,
     {.name = "inproc", .scheme = "inproc", .has_wire = false, .has_ports = false}},
    {link_kind::ws,
     "ws",
     needs_nothing,
     {.name = "ws", .scheme = "ws", .has_subscribe_command = false}},
    {link_kind::tls,
     "tls",
     give_certificate,
     {.name = "tls", .scheme = "tls", .survives_lack_of_memory = false}},
    {link_kind::wss,
     "wss",
     give_certificate,
     {.name = "wss",
      .scheme = "wss",
      .has_subscribe_command = false,
      .survives_lack_of_memory = false}},
    {link_kind::curve,
     "curve",
     give_keys,
     {.name = "curve", .scheme = "tcp", .has_free_mechanism = false, .tells_socket_types = false}},
    {link_kind::plain,
     always,
     give_password,
     {.name = "plain", .scheme = "tcp", .has_free_mechanism = false, .tells_socket_types = false}},
};

const row& row_of(link_kind kind)
{
    return *std::find_if(std::begin(rows), std::end(rows),
                         [kind](const row& each) { return each.kind == kind; });
}

// See tests/wires/builtins.cpp.
bool has_toy_wires()
{
    static const bool has = std::getenv("ZLINK_TEST_TOY_WIRES") != nullptr;
    return has;
}

bool is_there(const row& each)
{
    if (each.capability == nullptr)
        return true;
    return (each.capability == always || zmq_has(each.capability) != 0) && !has_toy_wires();
}

template <typename predicate>
std::vector<link_kind> links_where(predicate&& holds)
{
    std::vector<link_kind> found;
    for (const row& each : rows) {
        link_traits traits = each.traits;
        traits.has_plain_zmtp = traits.has_plain_zmtp && !has_toy_wires();
        if (is_there(each) && holds(traits))
            found.push_back(each.kind);
    }
    return found;
}

std::optional<link_kind> in_use;

} // namespace

const link_traits& traits_of(link_kind kind)
{
    return row_of(kind).traits;
}

const char* name_of(link_kind kind)
{
    return traits_of(kind).name;
}

std::vector<link_kind> all_links()
{
    return links_where([](const link_traits&) { return true; });
}

std::vector<link_kind> links_with(bool link_traits::*trait)
{
    return links_where([trait](const link_traits& traits) { return traits.*trait; });
}

std::vector<link_kind> links_with(bool link_traits::*trait, bool link_traits::*other)
{
    return links_where(
        [trait, other](const link_traits& traits) { return traits.*trait && traits.*other; });
}

void PrintTo(link_kind kind, std::ostream* out)
{
    *out << name_of(kind);
}

link_in_use::link_in_use(link_kind kind) : before_(std::exchange(in_use, kind)) {}

link_in_use::~link_in_use()
{
    in_use = before_;
}

void link_in_use::configure(test_socket& socket, link_side side, const std::string& address)
{
    if (!in_use)
        return;
    const row& used = row_of(*in_use);
    if (address.starts_with(used.traits.scheme + std::string("://")))
        used.configure(socket, side);
}

} // namespace zlink::test
