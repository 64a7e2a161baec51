// SPDX-License-Identifier: Apache-2.0
#include "support/relay_entrance.hpp"

#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace zlink::test {
namespace {

void send_at_once(const raw_peer& by)
{
    const int yes = 1;
    ::setsockopt(by.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); // no matter for ipc
}

} // namespace

relay_entrance::relay_entrance(transport kind, std::string target)
    : listener_(kind), target_(std::move(target))
{}

std::optional<relay_entrance::connections> relay_entrance::let_in() const
{
    auto client = listener_.try_accept(std::chrono::milliseconds{0});
    auto server = client ? raw_peer::try_to(target_) : std::nullopt;
    if (!server)
        return {};
    send_at_once(*client);
    send_at_once(*server);
    return connections{std::move(*client), std::move(*server)};
}

} // namespace zlink::test
