// SPDX-License-Identifier: Apache-2.0
#include "core/socket/endpoint_list.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zlink::core {
namespace {

template <class Endpoint>
std::optional<Endpoint> take(std::vector<Endpoint>& from, std::string_view endpoint)
{
    const auto at =
        std::ranges::find_if(from, [&](const Endpoint& each) { return each.endpoint == endpoint; });
    if (at == from.end())
        return std::nullopt;
    std::optional<Endpoint> taken(std::move(*at));
    from.erase(at);
    return taken;
}

} // namespace

bool endpoint_list::has_connection_to(const shared_text& endpoint) const noexcept
{
    return std::ranges::any_of(connected_, [&](const connected_endpoint& made) {
        return made.endpoint == endpoint && made.connection &&
               made.connection->status().serves_socket();
    });
}

std::optional<bound_endpoint> endpoint_list::take_bound(std::string_view endpoint)
{
    return take(bound_, endpoint);
}

std::optional<connected_endpoint> endpoint_list::take_connected(std::string_view endpoint)
{
    return take(connected_, endpoint);
}

std::vector<datagram_endpoint> endpoint_list::take_datagrams(endpoint_role role,
                                                             std::string_view endpoint)
{
    const auto stays = [&](const datagram_endpoint& one) {
        return one.role != role || (one.endpoint != endpoint && one.as_given != endpoint);
    };
    const auto ended = std::stable_partition(datagrams_.begin(), datagrams_.end(), stays);
    const std::vector<datagram_endpoint> taken(ended, datagrams_.end());
    datagrams_.erase(ended, datagrams_.end());
    return taken;
}

void endpoint_list::clear() noexcept
{
    bound_.clear();
    connected_.clear();
    datagrams_.clear();
}

void endpoint_list::erase_ended(const shared_text& endpoint) noexcept
{
    std::erase_if(connected_, [&](const connected_endpoint& made) {
        return made.endpoint == endpoint && !made.connection;
    });
}

void endpoint_list::look_for_given_up(std::uint32_t count) noexcept
{
    given_up_ = count;
    std::erase_if(connected_, [this](connected_endpoint& made) {
        if (!made.connection || !made.connection->status().gave_up())
            return false;
        const bool lost = made.connection->status().was_lost();
        made.connection.reset();
        knows_ended_ |= !lost;
        return lost;
    });
}

} // namespace zlink::core
