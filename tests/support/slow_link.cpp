// SPDX-License-Identifier: Apache-2.0
#include "support/slow_link.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <utility>

namespace zlink::test {
namespace {

constexpr int receive_buffer_bytes = 32 * 1024;
constexpr std::size_t most_at_once = 4096;
constexpr std::size_t fewest_at_once = 512;
constexpr int tick_ms = 2;

/// What has come is passed on as a whole; false at the end of the stream.
bool pass_on(const raw_peer& from, const raw_peer& to, std::size_t most, std::size_t& passed)
{
    char bytes[most_at_once];
    const ssize_t count = ::recv(from.fd(), bytes, std::min(most, sizeof bytes), MSG_DONTWAIT);
    if (count <= 0)
        return false;
    try {
        to.send(std::string(bytes, static_cast<std::size_t>(count)));
    } catch (const std::runtime_error&) {
        return false;
    }
    passed += static_cast<std::size_t>(count);
    return true;
}

} // namespace

slow_link::slow_link(transport kind, std::string target, double bytes_per_second)
    : listener_(kind),
      target_(std::move(target)),
      bytes_per_second_(bytes_per_second),
      thread_([this](const std::stop_token& stop) { run(stop); })
{}

void slow_link::run(const std::stop_token& stop)
{
    using clock = std::chrono::steady_clock;
    std::optional<raw_peer> near;
    while (!near && !stop.stop_requested())
        near = listener_.try_accept(std::chrono::milliseconds{50});
    if (!near)
        return;
    ::setsockopt(near->fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof receive_buffer_bytes);
    const raw_peer far(target_);
    double allowed_bytes = 0;
    auto last = clock::now();
    while (!stop.stop_requested()) {
        const auto now = clock::now();
        const std::chrono::duration<double> passed_time = now - last;
        last = now;
        allowed_bytes = std::min(allowed_bytes + passed_time.count() * bytes_per_second_,
                                 static_cast<double>(most_at_once));
        const bool may_pass = allowed_bytes >= fewest_at_once;
        pollfd ends[] = {{may_pass && !frozen_ ? near->fd() : -1, POLLIN, 0},
                         {frozen_ ? -1 : far.fd(), POLLIN, 0}};
        ::poll(ends, 2, tick_ms);
        std::size_t there = 0;
        if (ends[0].revents != 0 &&
            !pass_on(*near, far, static_cast<std::size_t>(allowed_bytes), there))
            return;
        allowed_bytes -= static_cast<double>(there);
        passed_ += there;
        std::size_t back = 0;
        if (ends[1].revents != 0 && !pass_on(far, *near, most_at_once, back))
            return;
    }
}

} // namespace zlink::test
