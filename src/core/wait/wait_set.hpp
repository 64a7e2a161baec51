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

/// The sleep of a thread that waits for news of several sockets. Sockets that belong to the thread
/// end it with their mail. Those that many threads use are watched: their gates signal.
///
/// Use: add() the sockets, prepare(), and then again and again begin(), a look at all of the
/// sockets, and sleep(). That look ends with socket::poll_events() or socket::expect_mail() of each
/// socket that is watched.
/// Thread safety: one thread, the one that uses the sockets.
/// Lifetime: the sockets and their contexts outlive the object; thread-safe sockets may be closed
/// meanwhile.
class wait_set {
public:
    wait_set() = default;
    ~wait_set();
    wait_set(const wait_set&) = delete;
    wait_set& operator=(const wait_set&) = delete;

    /// A socket may be added more than once. `for_input`: it is input that is waited for.
    void add(socket& waited_for, bool for_input);
    /// Once, after the last add(). From now on watched sockets signal: all of them have to be
    /// looked at afterwards. `with_descriptors`: sleep() gets descriptors or a signal mask.
    void prepare(bool with_descriptors);
    /// Are there watched sockets?
    bool watches() const noexcept { return !gates_.empty(); }

    /// What is signalled from now on ends the next sleep, even if that has not begun.
    void begin() noexcept { seen_ = waiter_.count(); }
    /// Sleeps until there may be news. `polled` ends it as well, and is as before afterwards; the
    /// mask is in force meanwhile. 0, EINTR, or the errno of poll(2).
    int sleep(base::deadline until, bool& timed_out, std::vector<pollfd>& polled,
              const sigset_t* mask = nullptr);

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

    base::wait_result sleep_on_waiter(base::deadline until);
    base::wait_result sleep_reading(base::deadline until);
    bool leave_reading();
    bool has_alarm();
    base::wait_result sleep_on_descriptors(base::deadline until, std::vector<pollfd>& polled,
                                           const sigset_t* mask);

    std::vector<socket*> own_;          ///< sockets that belong to this thread
    std::vector<socket*> readers_;      ///< those of them whose connections it may read by itself
    std::vector<socket*> writers_;      ///< the others
    std::vector<int> leased_;           ///< descriptors of such connections
    std::vector<base::mailbox*> boxes_; ///< theirs, each once
    std::vector<socket_gate*> gates_;   ///< of the others, each once
    bool with_descriptors_ = false;
    bool watching_ = false;
    base::waiter waiter_;
    std::uint32_t seen_ = 0;
    gate_bell bell_{waiter_};
    base::alarm_reserve* reserve_ = nullptr; ///< of the context of the first socket
    base::alarm_reserve::alarm alarm_;       ///< borrowed when it was needed
};

} // namespace zlink::core
