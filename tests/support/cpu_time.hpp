// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

namespace zlink::test {

/// The processor time that all threads of this process have used up to now. What it has cost to do
/// something does not depend on what else the machine does meanwhile; how long it took does.
inline std::chrono::microseconds cpu_time()
{
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) +
           std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::nanoseconds(used.tv_nsec));
}

/// Whether something costs at most `times` as much as something else has: for tests that tell what
/// grows with the square of an amount from what does not, on machines of any speed. What is not
/// measurable makes no difference.
inline bool costs_at_most(double times, std::chrono::microseconds other,
                          std::chrono::microseconds this_one)
{
    constexpr std::chrono::milliseconds measurable{20};
    return this_one <= times * other + measurable;
}

} // namespace zlink::test
