// SPDX-License-Identifier: Apache-2.0
#include "core/wait/wait_set.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace zlink::core {

wait_set::~wait_set()
{
    if (watching_)
        for (socket_gate* gate : gates_)
            gate->unwatch(bell_);
    if (!alarm_)
        return;
    if (!gates_.empty())
        alarm_->clear(); // one may have signalled since the last sleep
    reserve_->release(std::move(alarm_));
}

void wait_set::add(socket& waited_for, bool for_input)
{
    if (!reserve_)
        reserve_ = &waited_for.alarms();
    if (socket_gate* const gate = waited_for.gate()) {
        gates_.push_back(gate);
        return;
    }
    own_.push_back(&waited_for);
    (for_input ? readers_ : writers_).push_back(&waited_for);
}

bool wait_set::watch(std::vector<pollfd>* polled, const sigset_t* mask)
{
    const auto drop_repeated = [](auto& list) {
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    boxes_.reserve(own_.size());
    for (socket* each : own_)
        boxes_.push_back(&each->box());
    drop_repeated(boxes_);
    drop_repeated(readers_);
    drop_repeated(gates_);
    std::erase_if(writers_,
                  [&](socket* each) { return std::ranges::binary_search(readers_, each); });
    polled_ = polled;
    mask_ = mask;
    if (gates_.empty())
        return false;
    if (polled_ && has_alarm())
        bell_.ring_only(*alarm_);
    watching_ = true;
    for (socket_gate* gate : gates_)
        gate->watch(bell_);
    return true;
}

// Borrowed for the rest of the object's life.
bool wait_set::has_alarm()
{
    if (!alarm_ && reserve_)
        alarm_ = reserve_->acquire();
    return alarm_ != nullptr;
}

bool wait_set::prepare()
{
    leased_.clear();
    if (polled_ || !gates_.empty())
        return !leave_reading();
    for (socket* each : writers_) // their peers may wait for them to be read meanwhile
        if (each->leave_reading())
            return false;
    return std::ranges::all_of(readers_, [this](socket* each) {
        return each->prepare_to_poll(leased_, tuning::direct_reading::max_connections);
    });
}

bool wait_set::in_stream() noexcept
{
    bool sleeps = false;
    for (socket* each : own_)
        sleeps |= sleeps_at_once(each->take_cadence());
    return sleeps;
}

base::glance wait_set::check()
{
    if (waiter_.count() != seen_ || std::ranges::any_of(boxes_, &base::mailbox::has_mail))
        return base::glance::news;
    auto seen = base::glance::nothing;
    if (!leased_.empty())
        for (socket* each : readers_)
            seen = std::max(seen, each->read_leased());
    return seen;
}

base::wait_result wait_set::sleep(base::deadline until)
{
    if (polled_)
        return sleep_on_descriptors(until);
    return leased_.empty() ? base::sleep_until_mail(boxes_, waiter_, seen_, until)
                           : sleep_reading(until);
}

// The thread sleeps in a way in which it cannot read its connections. True if there were any: what
// has been read from them has to be looked at.
bool wait_set::leave_reading()
{
    bool any = false;
    for (socket* each : own_)
        any |= each->leave_reading();
    return any;
}

base::wait_result wait_set::sleep_reading(base::deadline until)
{
    if (!has_alarm()) { // the I/O threads can read without one
        leave_reading();
        return base::wait_result::signalled;
    }
    std::array<pollfd, 1 + tuning::direct_reading::max_connections> watched{};
    std::size_t used = 1;
    for (const int fd : leased_)
        watched[used++] = {fd, POLLIN, 0};
    const base::polling how{{watched.data(), used}, alarm_.get()};
    return base::sleep_until_mail(boxes_, waiter_, seen_, until, &how);
}

base::wait_result wait_set::sleep_on_descriptors(base::deadline until)
{
    if (boxes_.empty() && gates_.empty()) {
        timespec remaining{};
        const int count =
            ::ppoll(polled_->data(), polled_->size(),
                    base::remaining_time(until, remaining) ? &remaining : nullptr, mask_);
        return count > 0    ? base::wait_result::ready
               : count == 0 ? base::wait_result::timeout
                            : base::wait_result::interrupted;
    }
    // Watched sockets signal one that was there from the beginning, or the waiter.
    if (gates_.empty())
        has_alarm();
    polled_->insert(polled_->begin(), pollfd{-1, POLLIN, 0});
    const base::polling how{*polled_, alarm_.get(), mask_};
    const auto woken = base::sleep_until_mail(boxes_, waiter_, seen_, until, &how);
    polled_->erase(polled_->begin());
    return woken;
}

} // namespace zlink::core
