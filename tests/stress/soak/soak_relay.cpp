// SPDX-License-Identifier: Apache-2.0
#include "soak_relay.hpp"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace zlink::test {
namespace {

constexpr int look_for_the_end_ms = 2;
constexpr std::size_t most_waiting_bytes = 64 * 1024;

} // namespace

soak_relay::soak_relay(transport kind, std::string target)
    : entrance_(kind, std::move(target)),
      thread_([this](const std::stop_token& stop) { run(stop); })
{}

void soak_relay::cut()
{
    std::unique_lock lock(mutex_);
    const std::size_t own = ++wanted_cuts_;
    is_cut_.wait(lock, [&] { return made_cuts_ >= own; });
}

void soak_relay::cut_if_told()
{
    const std::lock_guard lock(mutex_);
    if (made_cuts_ == wanted_cuts_)
        return;
    for (link& each : links_) {
        each.client.abort();
        each.server.abort();
    }
    links_.clear();
    made_cuts_ = wanted_cuts_;
    is_cut_.notify_all();
}

void soak_relay::run(const std::stop_token& stop)
{
    while (!stop.stop_requested()) {
        std::vector<pollfd> ends{{entrance_.fd(), POLLIN, 0}};
        const auto wants = [](const half& in, const half& out) {
            int events = 0;
            if (!in.has_ended && in.waiting.size() < most_waiting_bytes)
                events |= POLLIN;
            if (!out.waiting.empty())
                events |= POLLOUT;
            return static_cast<short>(events);
        };
        for (const link& each : links_) {
            ends.push_back({each.client.fd(), wants(each.to_server, each.to_client), 0});
            ends.push_back({each.server.fd(), wants(each.to_client, each.to_server), 0});
        }
        ::poll(ends.data(), ends.size(), look_for_the_end_ms);
        std::erase_if(links_, [](link& each) {
            const bool works = move(each.client, each.server, each.to_server) &&
                               move(each.server, each.client, each.to_client);
            return !works || (each.to_server.has_passed_end && each.to_client.has_passed_end);
        });
        if (ends[0].revents != 0)
            accept();
        cut_if_told();
    }
    cut_if_told();
}

void soak_relay::accept()
{
    auto both = entrance_.let_in();
    if (!both)
        return;
    links_.push_back({std::move(both->client), std::move(both->server), {}, {}});
}

/// False if the connection has failed.
bool soak_relay::move(raw_peer& from, raw_peer& to, half& way)
{
    if (!way.has_ended && way.waiting.size() < most_waiting_bytes) {
        char bytes[16384];
        const ssize_t count = ::recv(from.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (count > 0)
            way.waiting.append(bytes, static_cast<std::size_t>(count));
        else if (count == 0)
            way.has_ended = true;
        else if (errno != EAGAIN && errno != EINTR)
            return false;
    }
    if (!way.waiting.empty()) {
        const ssize_t count =
            ::send(to.fd(), way.waiting.data(), way.waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0)
            way.waiting.erase(0, static_cast<std::size_t>(count));
        else if (count < 0 && errno != EAGAIN && errno != EINTR)
            return false;
    }
    if (way.has_ended && way.waiting.empty() && !way.has_passed_end) {
        ::shutdown(to.fd(), SHUT_WR);
        way.has_passed_end = true;
    }
    return true;
}

} // namespace zlink::test
