// SPDX-License-Identifier: Apache-2.0
#include "base/system/held_signals.hpp"

#include <array>
#include <pthread.h>

namespace zlink::base {
namespace {

// Signals that tell of a fault in this very thread are not put off: the kernel would end the
// process. Made each time: what is made once takes a lock, which a forked child might find taken.
sigset_t can_be_held() noexcept
{
    sigset_t set;
    sigfillset(&set);
    for (const int fault : std::array{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
        sigdelset(&set, fault);
    return set;
}

bool has_handler(int number) noexcept
{
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0)
        return false;
    return (action.sa_flags & SA_SIGINFO) != 0 ||
           (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

} // namespace

held_signals::held_signals() noexcept
{
    const sigset_t held = can_be_held();
    pthread_sigmask(SIG_BLOCK, &held, &before_);
}

held_signals::~held_signals()
{
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool held_signals::waiting() const noexcept
{
    sigset_t pending;
    if (sigpending(&pending) != 0)
        return false;
    for (int number = 1; number < NSIG; ++number)
        if (sigismember(&pending, number) == 1 && sigismember(&before_, number) == 0 &&
            has_handler(number))
            return true;
    return false;
}

} // namespace zlink::base
