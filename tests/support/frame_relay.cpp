// SPDX-License-Identifier: Apache-2.0
#include "support/frame_relay.hpp"

#include <algorithm>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace zlink::test {
namespace {

constexpr int look_for_the_end_ms = 10;

/// The size of the first frame with its head; more than there is if it is incomplete.
std::size_t frame_bytes(std::string_view bytes)
{
    const bool is_long = !bytes.empty() && (bytes[0] & 2) != 0;
    const std::size_t head = is_long ? 9 : 2;
    if (bytes.size() < head)
        return head;
    std::size_t body = 0;
    for (const char each : bytes.substr(1, head - 1))
        body = body << 8 | static_cast<unsigned char>(each);
    return head + body;
}

} // namespace

frame_relay::frame_relay(transport kind, std::string target)
    : entrance_(kind, std::move(target)),
      thread_([this](const std::stop_token& stop) { run(stop); })
{}

void frame_relay::set(rule how)
{
    const std::lock_guard lock(mutex_);
    rule_ = std::move(how);
}

void frame_relay::run(const std::stop_token& stop)
{
    while (!stop.stop_requested()) {
        std::vector<pollfd> ends{{entrance_.fd(), POLLIN, 0}};
        for (const link& each : links_) {
            ends.push_back({each.client.fd(), POLLIN, 0});
            ends.push_back({each.server.fd(), POLLIN, 0});
        }
        ::poll(ends.data(), ends.size(), look_for_the_end_ms);
        std::size_t end = 1;
        for (auto at = links_.begin(); at != links_.end(); end += 2) {
            const bool goes_on = (ends[end].revents == 0 || pass_on(*at, direction::to_server)) &&
                                 (ends[end + 1].revents == 0 || pass_on(*at, direction::to_client));
            at = goes_on ? std::next(at) : links_.erase(at);
        }
        if (ends[0].revents != 0)
            accept();
    }
}

void frame_relay::accept()
{
    auto both = entrance_.let_in();
    if (!both)
        return;
    links_.push_back({std::move(both->client), std::move(both->server), connections_++, {}, {}});
}

/// Passes on what is complete; false at the end of the connection.
bool frame_relay::pass_on(link& at, direction way)
{
    const bool to_server = way == direction::to_server;
    half& from = to_server ? at.to_server : at.to_client;
    const raw_peer& to = to_server ? at.server : at.client;
    char buffer[65536];
    const ssize_t count =
        ::recv((to_server ? at.client : at.server).fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count <= 0)
        return false;
    from.waiting.append(buffer, static_cast<std::size_t>(count));
    std::string out;
    const std::size_t greeting = std::min(from.greeting_left_bytes, from.waiting.size());
    from.greeting_left_bytes -= greeting;
    out.append(from.waiting, 0, greeting);
    from.waiting.erase(0, greeting);
    bool is_last = false;
    while (!is_last) {
        const std::size_t bytes = frame_bytes(from.waiting);
        if (from.waiting.size() < bytes)
            break;
        const frame next{way, at.number, from.frames++, from.waiting.substr(0, bytes)};
        from.waiting.erase(0, bytes);
        const std::lock_guard lock(mutex_);
        const passed instead = rule_ ? rule_(next) : passed(next.bytes);
        out += instead.bytes;
        is_last = instead.is_last;
    }
    try {
        to.send(out);
    } catch (const std::runtime_error&) {
        return false;
    }
    return !is_last;
}

} // namespace zlink::test
