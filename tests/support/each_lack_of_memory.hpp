// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/scarce_memory.hpp"

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE

#include <gtest/gtest.h>
#include <string>

namespace zlink::test {

/// The allocations that fail in one of the rounds of play_with_each_lack_of_memory().
class lack_of_memory {
public:
    lack_of_memory(long allocations_before, bool comes_again)
        : allocations_before_(allocations_before), comes_again_(comes_again)
    {}

    /// Calls `body`, which must not throw, while they fail.
    template <class Body>
    void during(Body body)
    {
        if (comes_again_)
            call(memory_but_each_third(allocations_before_), body);
        else
            call(memory_but_once(allocations_before_), body);
    }
    /// Did any fail?
    bool has_come() const noexcept { return has_come_; }

private:
    template <class Memory, class Body>
    void call(const Memory& memory, Body& body) noexcept
    {
        body();
        has_come_ = memory.was_refused();
    }

    const long allocations_before_;
    const bool comes_again_;
    bool has_come_ = false;
};

/// Expects that what `play` does leaves nothing in memory. What is kept for later calls, as OpenSSL
/// and the C++ library do, is not made again.
template <class Play>
void expect_no_leak(Play play)
{
    constexpr int times = 4;
    long left = 1;
    for (int time = 0; left > 0 && time < times && !::testing::Test::HasFailure(); ++time) {
        const long before = blocks_in_use();
        play();
        left = blocks_in_use() - before;
    }
    EXPECT_LE(left, 0) << "blocks that nobody frees";
}

/// Plays the same with its first allocation failing, with its second, and so on until it needs no
/// more, and then with each third one. `step`: 2 for every other one, and so on.
/// `play(lack_of_memory&)` says by during() what it is that lacks memory; it ends all that it
/// begins.
template <class Play>
void play_with_each_lack_of_memory(Play play, long step = 1)
{
    const auto lacks = [&](long allocations_before, bool comes_again) {
        SCOPED_TRACE((comes_again ? "each third after " : "the one after ") +
                     std::to_string(allocations_before));
        bool has_come = false;
        expect_no_leak([&] {
            lack_of_memory lack(allocations_before, comes_again);
            play(lack);
            has_come = lack.has_come();
        });
        return has_come && !::testing::Test::HasFailure();
    };
    for (long before = 0; lacks(before, false); before += step) {
    }
    for (long before = 0; before < 3 && lacks(before, true); ++before) {
    }
}

} // namespace zlink::test

#endif
