// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/alarm_reserve.hpp"
#include "base/wait/sleep.hpp"
#include "core/socket/socket.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <vector>

namespace zlink::core {

/// The sleep of a thread that waits for events of several sockets (a base::sleeper). Sockets that
/// belong to the thread end it with their mail. Those that many threads use are watched: their
/// gates signal.
///
/// Use: add() the sockets, watch(), and then again and again begin(), a poll of all of the sockets,
/// prepare() and sleep(). That poll ends with socket::poll_events() or socket::expect_mail() of
/// each socket that is watched. Thread safety: one thread, the one that uses the sockets. Lifetime:
/// the sockets and their contexts outlive the object; thread-safe sockets may be closed meanwhile.
class wait_set {
public:
    wait_set() = default;
    ~wait_set();
    wait_set(const wait_set&) = delete;
    wait_set& operator=(const wait_set&) = delete;

    /// A socket may be added more than once. `for_input`: it is input that is waited for.
    void add(socket& waited_for, bool for_input);
    /// Once, after the last add(). True if there are watched sockets: from now on they signal, all
    /// of them have to be polled afterwards. With `polled`, a sleep ends with these as well, which
    /// are afterwards as before; with a mask, that is in force meanwhile. Both outlive the object.
    bool watch(std::vector<pollfd>* polled = nullptr, const sigset_t* mask = nullptr);

    /// What is signalled from now on ends the next sleep, even if that has not begun.
    void begin() noexcept { seen_ = waiter_.count(); }

    // What base::blocking_wait needs. A sleep may end without an event.
    bool prepare();
    base::adaptive_spin* spin() noexcept
    {
        // Where all belong to many threads there is none whose habits could be known.
        return polled_ || own_.empty() ? nullptr : &own_.front()->polling_spin();
    }
    bool in_stream() noexcept;
    base::glance check();
    base::wait_result sleep(base::deadline until);

private:
    /// What gates signal: the waiter, or the alarm alone, if there is one that serves for all
    /// sleeps.
    class gate_bell final : public base::wakeup {
    public:
        explicit gate_bell(base::waiter& sleeper) : sleeper_(sleeper) {}
        void ring_only(base::descriptor_wakeup& alarm) noexcept { alarm_ = &alarm; }
        void signal() noexcept override
        {
            if (alarm_)
                alarm_->signal();
            else
                sleeper_.signal_beside();
        }

    private:
        base::waiter& sleeper_;
        base::descriptor_wakeup* alarm_ = nullptr;
    };

    base::wait_result sleep_reading(base::deadline until);
    base::wait_result sleep_on_descriptors(base::deadline until);
    bool leave_reading();
    bool has_alarm();

    std::vector<socket*> own_;          ///< sockets that belong to this thread
    std::vector<socket*> readers_;      ///< those of them whose connections it may read by itself
    std::vector<socket*> writers_;      ///< the others
    std::vector<int> leased_;           ///< descriptors of such connections
    std::vector<base::mailbox*> boxes_; ///< theirs, each once
    std::vector<socket_gate*> gates_;   ///< of the others, each once
    std::vector<pollfd>* polled_ = nullptr; ///< not null: it sleeps in poll(2)
    const sigset_t* mask_ = nullptr;
    bool watching_ = false;
    base::waiter waiter_;
    std::uint32_t seen_ = 0;
    gate_bell bell_{waiter_};
    base::alarm_reserve* reserve_ = nullptr; ///< of the context of the first socket
    base::alarm_reserve::alarm alarm_;       ///< borrowed when it was needed
};

} // namespace zlink::core
