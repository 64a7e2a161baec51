// SPDX-License-Identifier: Apache-2.0
#include "core/wait_set.hpp"

#include "base/sleep.hpp"
#include "core/session.hpp"

#include <algorithm>
#include <cerrno>

namespace zlink::core {

wait_set::~wait_set()
{
    if (watching_)
        for (socket_gate* gate : gates_)
            gate->unwatch(*watching_);
}

void wait_set::add(socket& waited_for, bool for_input)
{
    if (socket_gate* const gate = waited_for.gate()) {
        gates_.push_back(gate);
        return;
    }
    own_.push_back(&waited_for);
    (for_input ? readers_ : writers_).push_back(&waited_for);
}

int wait_set::prepare(bool with_descriptors)
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
    // Sockets of both kinds cannot share the waiter: that the last signal of a mailbox has come
    // could not be told from others.
    on_waiter_ = !with_descriptors && (boxes_.empty() || gates_.empty());
    if (gates_.empty())
        return 0;
    if (const int error = on_waiter_ ? 0 : alarm_.open())
        return error;
    watching_ = on_waiter_ ? static_cast<base::wakeup*>(&waiter_) : &alarm_;
    for (socket_gate* gate : gates_)
        gate->watch(*watching_);
    return 0;
}

int wait_set::sleep(base::deadline until, bool& timed_out, std::vector<pollfd>& polled,
                    const sigset_t* mask)
{
    session::write_what_this_thread_left();
    if (!on_waiter_)
        return leave_reading() ? 0 : sleep_on_descriptors(until, timed_out, polled, mask);
    const auto woken = sleep_on_waiter(until);
    timed_out = woken == base::wait_result::timeout;
    return woken == base::wait_result::interrupted ? EINTR : 0;
}

// News come as descriptors of mailboxes, which connections that this thread reads do not have. True
// if there were any: what has been read from them has to be looked at.
bool wait_set::leave_reading()
{
    bool any = false;
    for (socket* each : own_)
        any |= each->leave_reading();
    return any;
}

// With sockets of one kind only, the thread sleeps on one waiter that all of them signal.
base::wait_result wait_set::sleep_on_waiter(base::deadline until)
{
    if (own_.empty()) // of many threads: there is none whose habits could be known
        return base::sleep_until_mail(boxes_, waiter_, seen_, until);
    lent_.clear();
    for (socket* each : writers_) // their peers may wait for them to be read meanwhile
        if (each->leave_reading())
            return base::wait_result::signalled;
    for (socket* each : readers_)
        if (!each->prepare_to_poll(lent_, base::waiter::most_others))
            return base::wait_result::signalled;
    unsigned messages = 0;
    for (socket* each : own_)
        messages += each->take_received();
    return own_.front()->polling_patience().wait(
        lent_.empty() ? messages > base::patience::most_in_dialogue
                      : std::ranges::any_of(readers_, &socket::in_stream),
        until,
        [&] {
            if (std::ranges::any_of(boxes_, &base::mailbox::has_mail))
                return base::glance::news;
            auto seen = base::glance::nothing;
            if (!lent_.empty())
                for (socket* each : readers_)
                    seen = std::max(seen, each->read_lent());
            return seen;
        },
        [&] { return base::sleep_until_mail(boxes_, waiter_, seen_, until, lent_); });
}

int wait_set::sleep_on_descriptors(base::deadline until, bool& timed_out,
                                   std::vector<pollfd>& polled, const sigset_t* mask)
{
    const std::size_t others = polled.size();
    int error = 0;
    for (base::mailbox* box : boxes_) { // from now on it signals through a descriptor too
        const int fd = box->descriptor();
        if (fd < 0)
            error = errno;
        polled.push_back({fd, POLLIN, 0});
    }
    if (watching_)
        polled.push_back({alarm_.descriptor(), POLLIN, 0});
    int count = 0;
    if (!error) {
        timespec left{};
        count = ::ppoll(polled.data(), polled.size(),
                        base::time_left(until, left) ? &left : nullptr, mask);
        error = count < 0 ? errno : 0;
    }
    if (watching_ && polled.back().revents)
        alarm_.clear(); // before all are looked at again
    timed_out = count == 0 || (until != base::no_deadline && base::steady_clock::now() >= until);
    polled.resize(others);
    return error;
}

} // namespace zlink::core
