// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

namespace zlink::test {

/// How long a test waits for something that must happen before it gives up. Generous on purpose:
/// it is only ever used up by a failing test. An instrumented library takes many times as long.
inline constexpr std::chrono::milliseconds patience{30'000};

/// Window in which something that must not happen is watched for.
inline constexpr std::chrono::milliseconds quiet_window{60};

/// Calls `predicate` again and again until it returns true.
/// @return true as soon as the predicate held, false if `deadline` passed before that.
bool wait_until(const std::function<bool()>& predicate,
                std::chrono::milliseconds deadline = patience);

/// Takes some ns for each round, so that other threads come first. Does not give the processor
/// away: on a busy machine that takes milliseconds each time.
inline void dawdle(unsigned rounds)
{
    for (volatile unsigned left = rounds; left != 0;)
        left = left - 1;
}

/// Measures the time since its construction.
class stopwatch {
public:
    /// Time passed since construction, in whole milliseconds (rounded down).
    long elapsed_ms() const
    {
        const auto passed = std::chrono::steady_clock::now() - start_;
        return std::chrono::duration_cast<std::chrono::milliseconds>(passed).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace zlink::test
