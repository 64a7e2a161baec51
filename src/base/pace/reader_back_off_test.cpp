// SPDX-License-Identifier: Apache-2.0
#include "base/pace/reader_back_off.hpp"

#include <gtest/gtest.h>

namespace zlink::base {
namespace {

using std::chrono::nanoseconds;

class ReaderBackOff : public ::testing::Test {
protected:
    /// What a look finds, and how long a message takes.
    struct stream {
        std::uint64_t messages;
        nanoseconds each;
    };
    bool look(const stream& in)
    {
        taken_ += in.messages;
        now_ += in.each * in.messages;
        return back_off_.wants_break(taken_, [&] { return now_; });
    }
    /// How many of so many looks had a break before them.
    int breaks_of(int looks, const stream& without, const stream& with)
    {
        int breaks = 0;
        for (; looks > 0; --looks) {
            broke_ = look(broke_ ? with : without);
            breaks += broke_;
        }
        return breaks;
    }

    reader_back_off back_off_;
    steady_clock::time_point now_ = steady_clock::now();
    std::uint64_t taken_ = 0;
    bool broke_ = false;
};

TEST_F(ReaderBackOff, breaks_go_on_while_messages_come_faster_with_them)
{
    const stream lockstep{1, nanoseconds(70)};
    const stream batches{30, nanoseconds(40)};
    EXPECT_LT(breaks_of(100, lockstep, batches), 100);
    EXPECT_GT(breaks_of(100'000, lockstep, batches), 95'000);
}

TEST_F(ReaderBackOff, breaks_that_bring_nothing_become_rare)
{
    const stream lockstep{1, nanoseconds(70)};
    const stream no_faster{8, nanoseconds(70)};
    const int breaks = breaks_of(1'000'000, lockstep, no_faster);
    EXPECT_GT(breaks, 0);
    EXPECT_LT(breaks, 1000);
}

TEST_F(ReaderBackOff, breaks_are_tried_soon_again_after_they_have_paid)
{
    const stream lockstep{1, nanoseconds(70)};
    const stream batches{30, nanoseconds(40)};
    breaks_of(10'000, lockstep, batches);
    breaks_of(100, {1, nanoseconds(1000)}, {1, nanoseconds(1000)}); // the writer has paused
    EXPECT_GT(breaks_of(1'000, lockstep, batches), 700);
}

TEST_F(ReaderBackOff, there_are_none_in_a_dialogue)
{
    const stream dialogue{1, nanoseconds(700)};
    EXPECT_EQ(0, breaks_of(100'000, dialogue, dialogue));
}

TEST_F(ReaderBackOff, there_are_none_where_looks_find_many_by_themselves)
{
    const stream batches{10, nanoseconds(40)};
    EXPECT_EQ(0, breaks_of(100'000, batches, batches));
}

TEST_F(ReaderBackOff, a_break_ends_when_something_is_found)
{
    int looks = 0;
    const auto begin = steady_clock::now();
    reader_back_off::take_breaks([&] { return ++looks == 2; });
    EXPECT_EQ(2, looks);
    EXPECT_GE(steady_clock::now() - begin, 2 * tuning::back_off::break_time);
    looks = 0;
    reader_back_off::take_breaks([&] { return ++looks == 1000; });
    EXPECT_LT(looks, 10);
}

} // namespace
} // namespace zlink::base
