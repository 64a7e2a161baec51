// SPDX-License-Identifier: Apache-2.0
#include "core/pace/bulk_sleep.hpp"

#include <gtest/gtest.h>

namespace zlink::core {
namespace {

using std::chrono::microseconds;

class BulkSleep : public ::testing::Test {
protected:
    static constexpr int window = tuning::bulk_sleep::messages_in_window;

    struct message_times {
        microseconds looking;
        microseconds sleeping;
    };
    /// Messages of `bytes` bytes, each read in two pieces. Every `followed`-th comes with a part of
    /// the next one, if that is not 0. How many of them found the thread asleep.
    int receive(int messages, message_times each, int followed, std::size_t bytes = 128 * 1024)
    {
        int asleep = 0;
        for (int i = 1; i <= messages; ++i) {
            asleep += sleep_.sleeps();
            now_ += sleep_.sleeps() ? each.sleeping : each.looking;
            const auto now = [this] { return now_; };
            sleep_.note(0, bytes / 2, false, now);
            sleep_.note(1, bytes / 2, followed != 0 && i % followed == 0, now);
        }
        return asleep;
    }

    bulk_sleep sleep_;
    base::steady_clock::time_point now_{microseconds(1'000'000)};
};

constexpr int some = 5;
constexpr int none = 0;

TEST_F(BulkSleep, begins_with_looks)
{
    EXPECT_FALSE(sleep_.sleeps());
    EXPECT_EQ(0, receive(window, {microseconds(30), microseconds(30)}, some));
}

TEST_F(BulkSleep, sleeps_in_a_stream_that_is_as_fast)
{
    EXPECT_GT(receive(100 * window, {microseconds(30), microseconds(30)}, some), 90 * window);
}

TEST_F(BulkSleep, sleeps_in_a_stream_that_is_faster)
{
    EXPECT_GT(receive(100 * window, {microseconds(30), microseconds(20)}, some), 90 * window);
}

TEST_F(BulkSleep, never_tries_in_a_dialogue)
{
    EXPECT_EQ(0, receive(10'000, {microseconds(30), microseconds(80)}, none));
}

TEST_F(BulkSleep, never_tries_with_small_messages)
{
    EXPECT_EQ(0, receive(10'000, {microseconds(30), microseconds(30)}, some,
                         tuning::batching::min_unbatched_bytes / 2));
}

TEST_F(BulkSleep, seldom_tries_where_that_takes_much_longer)
{
    EXPECT_LT(receive(10'000, {microseconds(30), microseconds(80)}, some), 200);
}

TEST_F(BulkSleep, gives_a_try_up_that_took_a_little_longer)
{
    EXPECT_LT(receive(10'000, {microseconds(30), microseconds(34)}, some), 10 * window);
}

TEST_F(BulkSleep, looks_again_when_a_dialogue_follows)
{
    receive(10 * window, {microseconds(30), microseconds(30)}, some);
    ASSERT_TRUE(sleep_.sleeps());
    EXPECT_LE(receive(10'000, {microseconds(30), microseconds(30)}, none), 2 * window);
}

TEST_F(BulkSleep, looks_again_when_messages_come_more_slowly)
{
    receive(10 * window, {microseconds(30), microseconds(30)}, some);
    ASSERT_TRUE(sleep_.sleeps());
    receive(2 * window, {microseconds(30), microseconds(90)}, some);
    EXPECT_FALSE(sleep_.sleeps());
}

TEST_F(BulkSleep, a_pause_before_the_stream_does_not_keep_a_dialogue_asleep)
{
    receive(window, {microseconds(30), microseconds(30)}, none);
    now_ += std::chrono::seconds(10); // counts as the time of the looks
    receive(10 * window, {microseconds(30), microseconds(80)}, some);
    EXPECT_LE(receive(10'000, {microseconds(30), microseconds(80)}, none), 2 * window);
}

} // namespace
} // namespace zlink::core
