// SPDX-License-Identifier: Apache-2.0
#include "base/wait/sleep.hpp"

#include <cerrno>

namespace zlink::base {

wait_result sleep_until_mail(std::span<mailbox* const> boxes, waiter& sleeper, std::uint32_t seen,
                             deadline until, const polling* also)
{
    if (also)
        sleeper.begin_polling(*also);
    std::size_t prepared = 0;
    while (prepared < boxes.size() && boxes[prepared]->prepare_sleep(sleeper))
        ++prepared;
    // Whether there were signals.
    const auto take_back = [&] {
        std::uint32_t signals = 0;
        for (std::size_t i = 0; i < prepared; ++i)
            signals += boxes[i]->finish_sleep() ? 1 : 0;
        sleeper.absorb(signals);
        if (also)
            sleeper.end_polling(*also, signals != 0);
        return signals != 0;
    };
    wait_result woken = wait_result::signalled;
    try {
        if (prepared == boxes.size())
            woken = also ? sleeper.poll(seen, until, *also) : sleeper.wait(seen, until);
    } catch (...) { // the thread is cancelled
        take_back();
        throw;
    }
    const int reason = errno;
    const bool signals = take_back();
    errno = reason;
    if (woken == wait_result::interrupted) // also with mail: that lies there still
        return woken;
    return signals ? wait_result::signalled : woken;
}

} // namespace zlink::base
