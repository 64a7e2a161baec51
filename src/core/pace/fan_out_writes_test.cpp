// SPDX-License-Identifier: Apache-2.0
#include "core/pace/fan_out_writes.hpp"

#include "base/tuning.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace zlink::core {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t few = tuning::batching::max_connections_per_thread;
constexpr int all_direct = few;

class FanOutWrites : public ::testing::Test {
protected:
    /// To 40 connections, of which so many are idle; returns how many the sending thread writes to.
    int publish(std::chrono::nanoseconds gap, int idle = 40)
    {
        int direct = 0;
        of_.begin_message(40, [&] { return now_ += gap; });
        EXPECT_TRUE(of_.is_to_many());
        for (int i = 0; i < idle; ++i) {
            direct += of_.takes_turn();
            now_ += 5us;
        }
        of_.end_message([&] { return now_; });
        EXPECT_FALSE(of_.is_to_many());
        return direct;
    }
    /// What the connections of the message get, where the thread sends in these cadences.
    cadence of_message(cadence by_thread)
    {
        return of_.of_message([&] {
            ++asked_;
            return by_thread;
        });
    }

    fan_out_writes of_;
    cadence_time now_{1h};
    int asked_ = 0;
};

TEST_F(FanOutWrites, leaves_a_stream_to_many_to_the_io_threads)
{
    EXPECT_EQ(all_direct, publish(1ms));
    EXPECT_EQ(all_direct, publish(4us)) << "after a pause";
    EXPECT_EQ(0, publish(1us)) << "however long it takes to wake all of them";
    EXPECT_EQ(0, publish(1us, 10));
    EXPECT_EQ(0, publish(100us)) << "most of them were busy";
    EXPECT_EQ(all_direct, publish(4us));
    EXPECT_EQ(0, publish(1us));
    of_.waited_for_room(now_ += 1ms);
    EXPECT_EQ(0, publish(1us)) << "that was no pause";
}

TEST_F(FanOutWrites, decides_once_for_a_message_to_few)
{
    of_.begin_message(few, [&] { return now_; });
    EXPECT_TRUE(of_.is_to_few());
    EXPECT_EQ(cadence::sparse, of_message(cadence::sparse));
    EXPECT_EQ(cadence::sparse, of_message(cadence::stream))
        << "it took a while to write to the first";
    of_.end_message([&] { return now_; });
    of_.begin_message(few, [&] { return now_; });
    EXPECT_EQ(cadence::stream, of_message(cadence::stream));
    EXPECT_EQ(cadence::stream, of_message(cadence::sparse));
    EXPECT_EQ(2, asked_);
    of_.end_message([&] { return now_; });
}

TEST_F(FanOutWrites, decides_for_each_message_to_one)
{
    EXPECT_FALSE(of_.is_to_few() || of_.is_to_many());
    EXPECT_EQ(cadence::sparse, of_message(cadence::sparse));
    EXPECT_EQ(cadence::stream, of_message(cadence::stream));
    EXPECT_EQ(2, asked_);
}

} // namespace
} // namespace zlink::core
