// SPDX-License-Identifier: Apache-2.0
#include "base/wait/sleep.hpp"

#include <cerrno>

namespace zlink::base {

wait_result sleep_until_mail(std::span<mailbox* const> boxes, waiter& sleeper, std::uint32_t seen,
                             deadline until, const polling* also) noexcept
{
    if (also)
        sleeper.begin_polling(*also);
    std::size_t prepared = 0;
    while (prepared < boxes.size() && boxes[prepared]->prepare_sleep(sleeper))
        ++prepared;
    wait_result woken = wait_result::signalled;
    if (prepared == boxes.size())
        woken = also ? sleeper.poll(seen, until, *also) : sleeper.wait(seen, until);
    const int reason = errno;
    std::uint32_t signals = 0;
    for (std::size_t i = 0; i < prepared; ++i)
        signals += boxes[i]->finish_sleep() ? 1 : 0;
    sleeper.absorb(signals);
    if (also)
        sleeper.end_polling(*also, signals != 0);
    errno = reason;
    if (woken == wait_result::interrupted) // also with mail: that lies there still
        return woken;
    return signals ? wait_result::signalled : woken;
}

} // namespace zlink::base
