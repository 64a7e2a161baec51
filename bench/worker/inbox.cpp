// SPDX-License-Identifier: Apache-2.0
#include "worker/inbox.hpp"

#include "worker/frames.hpp"
#include "worker/usage.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace zlink::bench::worker {

namespace {

constexpr std::size_t max_id_bytes = 255;
// Of one socket before the others have their turn.
constexpr std::uint64_t messages_per_visit = 100;

int descriptor_of(void* socket)
{
    int fd = -1;
    std::size_t size = sizeof fd;
    checked(zmq_getsockopt(socket, ZMQ_FD, &fd, &size), "zmq_getsockopt(ZMQ_FD)");
    return fd;
}

} // namespace

inbox::inbox(const settings& chosen, std::vector<void*> sockets, const inbox_plan& plan)
    : chosen_(chosen),
      sockets_(std::move(sockets)),
      plan_(plan),
      timed_(is_timed(chosen.what)),
      body_(chosen.what.size_bytes),
      id_(max_id_bytes),
      next_(sockets_.size() * plan.parties, 0),
      met_(next_.size(), false),
      missing_(next_.size())
{
    if (plan.order == receive_order::turn) {
        return;
    }
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    for (std::size_t index = 0; index < sockets_.size(); ++index) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = index;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor_of(sockets_[index]), &event) != 0) {
            throw failure(fmt::format("epoll_ctl: {}", std::strerror(errno)));
        }
        ready_.push_back(index);
    }
}

inbox::~inbox()
{
    if (epoll_ != -1) {
        close(epoll_);
    }
}

void inbox::meet(std::function<void()> met)
{
    on_met_ = std::move(met);
    while (missing_ > 0) {
        if (plan_.order == receive_order::poll) {
            early_ += receive_ready(1);
            continue;
        }
        // The sockets before have met all parties.
        const auto first_missing = std::find(met_.begin(), met_.end(), false);
        take(static_cast<std::size_t>(first_missing - met_.begin()) / plan_.parties, 0);
    }
}

void inbox::receive(std::uint64_t count)
{
    const std::uint64_t taken = std::min(early_, count);
    early_ -= taken;
    count -= taken;
    while (count > 0) {
        if (plan_.order == receive_order::poll) {
            count -= receive_ready(count);
        } else if (take(turn_, 0) == found::message) {
            --count;
            turn_ = turn_ + 1 == sockets_.size() ? 0 : turn_ + 1;
        }
    }
}

/// Receives at most so many messages from the next socket that has some, and waits for one.
std::uint64_t inbox::receive_ready(std::uint64_t limit)
{
    while (ready_.empty()) {
        wait_until_ready();
    }
    const std::size_t index = ready_.front();
    ready_.pop_front();
    std::uint64_t count = 0;
    for (std::uint64_t taken = 0; taken < messages_per_visit && count < limit; ++taken) {
        const found what = take(index, ZMQ_DONTWAIT);
        if (what == found::nothing) {
            // A message may have come since; the descriptor will not tell of it once this is asked.
            if (has_input(index)) {
                break;
            }
            return count;
        }
        count += what == found::message ? 1 : 0;
    }
    ready_.push_back(index);
    return count;
}

void inbox::wait_until_ready()
{
    std::array<epoll_event, 64> events{};
    const int count =
        epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1 /* no limit */);
    if (count < 0 && errno != EINTR) {
        throw failure(fmt::format("epoll_wait: {}", std::strerror(errno)));
    }
    for (int i = 0; i < count; ++i) {
        const auto index = static_cast<std::size_t>(events[static_cast<std::size_t>(i)].data.u64);
        if (has_input(index)) {
            ready_.push_back(index);
        }
    }
}

bool inbox::has_input(std::size_t index) const
{
    int events = 0;
    std::size_t size = sizeof events;
    checked(zmq_getsockopt(sockets_[index], ZMQ_EVENTS, &events, &size),
            "zmq_getsockopt(ZMQ_EVENTS)");
    return (events & ZMQ_POLLIN) != 0;
}

inbox::found inbox::take(std::size_t index, int flags)
{
    void* const socket = sockets_[index];
    if (plan_.routing_ids) {
        if (!try_receive_frame(chosen_.what.api, socket, id_, flags, true)) {
            return found::nothing;
        }
        flags = 0;
    }
    const auto size = try_receive_frame(chosen_.what.api, socket, body_, flags, false);
    if (!size) {
        return found::nothing;
    }
    if (*size != body_.size()) {
        throw failure(fmt::format("received {} bytes instead of {}", *size, body_.size()));
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, body_.data(), sizeof bits);
    const auto number = message_number::from(bits);
    if (number.sequence == probe_sequence_of_many) {
        note_probe(index, number);
        return found::probe;
    }
    check(index, number);
    if (timed_) {
        std::int64_t from_ns = 0;
        std::memcpy(&from_ns, body_.data() + sizeof bits, sizeof from_ns);
        if (from_ns != 0) {
            latencies_ns_.push_back(now_ns() - from_ns);
        }
    }
    return found::message;
}

std::uint64_t& inbox::next_of(std::size_t index, std::uint32_t party)
{
    if (plan_.expected == arrivals::to_each) {
        if (party != plan_.first_party + index) {
            throw failure(fmt::format("a message for party {} arrived at {}", party,
                                      plan_.first_party + index));
        }
        return next_[index];
    }
    if (party >= plan_.parties) {
        throw failure(fmt::format("a message came from party {}, which there is not", party));
    }
    return next_[index * plan_.parties + party];
}

void inbox::check(std::size_t index, message_number number)
{
    std::uint64_t& next = next_of(index, number.party);
    const bool right =
        plan_.expected == arrivals::shared ? number.sequence >= next : number.sequence == next;
    if (!right) {
        throw failure(fmt::format("socket {}, party {}: message {} arrived where {} was expected",
                                  index, number.party, number.sequence, next));
    }
    next = number.sequence + 1;
    sum_of_sequences_ += number.sequence;
}

void inbox::note_probe(std::size_t index, message_number number)
{
    next_of(index, number.party); // a party that there is not is a failure here too
    const std::size_t place = index * plan_.parties + number.party;
    if (!met_[place]) {
        met_[place] = true;
        --missing_;
        on_met_();
    }
}

} // namespace zlink::bench::worker
