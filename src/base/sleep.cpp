// SPDX-License-Identifier: Apache-2.0
#include "base/sleep.hpp"

namespace zlink::base {

wait_result sleep_until_mail(std::span<mailbox* const> boxes, waiter& sleeper, std::uint32_t seen,
                             deadline until, std::span<const int> others) noexcept
{
    const bool polls = !others.empty() && sleeper.begin_polling();
    std::size_t prepared = 0;
    while (prepared < boxes.size() && boxes[prepared]->prepare_sleep(sleeper))
        ++prepared;
    wait_result woken = wait_result::signalled;
    if (prepared == boxes.size())
        woken = polls ? sleeper.poll(seen, until, others) : sleeper.wait(seen, until);
    std::uint32_t signals = 0;
    for (std::size_t i = 0; i < prepared; ++i)
        signals += boxes[i]->finish_sleep() ? 1 : 0;
    sleeper.absorb(seen, signals);
    if (polls)
        sleeper.end_polling(signals);
    return signals ? wait_result::signalled : woken;
}

} // namespace zlink::base
