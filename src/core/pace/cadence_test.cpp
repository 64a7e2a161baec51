// SPDX-License-Identifier: Apache-2.0
#include "core/pace/cadence.hpp"

#include "base/tuning.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <vector>

namespace zlink::core {
namespace {

using namespace std::chrono_literals;
using list = std::vector<cadence>;

class SendingCadence : public ::testing::Test {
protected:
    /// A message `gap` after the write of the one before it, which took a while.
    cadence send(std::chrono::nanoseconds gap, std::size_t bytes = 10)
    {
        const cadence how = of_.next(now_ += gap, false, bytes);
        of_.wrote(now_ += 5us);
        return how;
    }
    list send_several(int messages, std::chrono::nanoseconds gap)
    {
        list found;
        for (int i = 0; i < messages; ++i)
            found.push_back(send(gap));
        return found;
    }
    /// The number of the first of so many messages in quick succession that is part of a stream; 0:
    /// none.
    int first_of_stream(int messages)
    {
        int first = 0;
        now_ += 1ms;
        for (int i = 1; i <= messages; ++i)
            if (send(1us) == cadence::stream && first == 0)
                first = i;
        of_.waits(0);
        of_.waits(0); // nothing was sent between the two
        return first;
    }

    sending_cadence of_;
    cadence_time now_{1h};
};

TEST_F(SendingCadence, is_sparse_where_messages_come_now_and_then)
{
    EXPECT_EQ(cadence::dialogue, send(1ms)) << "the first one";
    EXPECT_EQ(list(10, cadence::sparse), send_several(10, tuning::batching::quick_succession));
}

TEST_F(SendingCadence, is_a_stream_from_the_third_message_in_quick_succession)
{
    send(1ms);
    EXPECT_EQ((list{cadence::sparse, cadence::sparse, cadence::stream, cadence::stream}),
              send_several(4, 1us));
    EXPECT_EQ(cadence::sparse, send(4us)) << "a pause";
}

TEST_F(SendingCadence, is_bulk_where_bodies_are_large)
{
    send(1ms);
    send_several(3, 1us);
    EXPECT_EQ(cadence::stream, send(1us, tuning::batching::min_unbatched_bytes - 1));
    EXPECT_EQ(cadence::bulk, send(1us, tuning::batching::min_unbatched_bytes));
    EXPECT_EQ(cadence::sparse, send(4us, tuning::batching::min_unbatched_bytes));
}

TEST_F(SendingCadence, is_a_dialogue_where_the_thread_waits_in_between)
{
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(cadence::dialogue, send(1us));
        of_.waits(0);
    }
}

TEST_F(SendingCadence, goes_on_while_commits_are_not_announced)
{
    send(1ms);
    send_several(3, 1us);
    EXPECT_EQ(cadence::stream, of_.next(now_ += 1ms, true));
    EXPECT_TRUE(of_.in_succession());
    EXPECT_EQ(cadence::sparse, of_.next(now_ += 1ms, false));
    EXPECT_FALSE(of_.in_succession());
}

TEST_F(SendingCadence, is_known_by_the_bursts_before)
{
    EXPECT_EQ(4, first_of_stream(5));
    EXPECT_EQ(4, first_of_stream(5));
    EXPECT_EQ(2, first_of_stream(5));
    EXPECT_EQ(2, first_of_stream(3));
    EXPECT_EQ(0, first_of_stream(1)) << "isolated";
    EXPECT_EQ(2, first_of_stream(5)) << "one short burst among long ones";
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(0, first_of_stream(1));
    EXPECT_EQ(4, first_of_stream(5)) << "after a dialogue";
}

TEST_F(SendingCadence, learns_from_batches_of_several_messages)
{
    for (int i = 0; i < 2; ++i) {
        send(1ms);
        of_.waits(tuning::batching::messages_of_long_burst);
    }
    EXPECT_EQ(2, first_of_stream(2));
    for (int i = 0; i < 2; ++i) {
        send(1ms);
        of_.waits(1);
    }
    EXPECT_EQ(0, first_of_stream(2)) << "single messages in batches are no long bursts";
}

TEST_F(SendingCadence, of_a_known_thread_is_a_stream_at_once_if_more_input_is_queued)
{
    const auto is_known = [&] {
        for (int i = 0; i < 2; ++i)
            first_of_stream(5);
    };
    is_known();
    of_.expect_more();
    EXPECT_EQ(cadence::stream, send(1ms));
    of_.waits(0);
    is_known();
    of_.expect_more();
    of_.waits(0);
    EXPECT_EQ(cadence::dialogue, send(1ms)) << "that was before the last wait";
}

class ReceivingCadence : public ::testing::Test {
protected:
    void wait(std::chrono::nanoseconds after) { of_.waits(now_ += after); }
    void receive(unsigned parts)
    {
        for (unsigned i = 0; i < parts; ++i)
            of_.received();
    }

    receiving_cadence of_;
    cadence_time now_{1h};
};

TEST_F(ReceivingCadence, is_a_dialogue_where_waits_follow_each_other)
{
    wait(1s);
    EXPECT_EQ(cadence::sparse, of_.now(false));
    wait(tuning::direct_reading::quick_wait - 1ns);
    EXPECT_EQ(cadence::dialogue, of_.now(false));
    wait(tuning::direct_reading::quick_wait);
    EXPECT_EQ(cadence::sparse, of_.now(false));
}

TEST_F(ReceivingCadence, is_a_stream_of_many_messages_between_two_waits)
{
    receive(tuning::spin::max_messages_in_dialogue);
    EXPECT_EQ(cadence::sparse, of_.now(false));
    receive(tuning::spin::max_messages_in_dialogue + 1);
    EXPECT_EQ(cadence::stream, of_.now(false));
    EXPECT_EQ(cadence::sparse, of_.now(false)) << "nothing since";
    receive(1000);
    EXPECT_EQ(cadence::sparse, of_.now(true)) << "it reads all that is there";
    EXPECT_TRUE(sleeps_at_once(cadence::bulk) && sleeps_at_once(cadence::stream));
    EXPECT_FALSE(sleeps_at_once(cadence::dialogue) || sleeps_at_once(cadence::sparse));
}

TEST_F(ReceivingCadence, asks_to_read_after_many_quick_waits_and_again_after_more)
{
    std::vector<int> asked;
    for (int waits = 1; waits <= 200; ++waits) {
        wait(1ms);
        if (of_.asks_to_read())
            asked.push_back(waits);
    }
    EXPECT_EQ((std::vector<int>{9, 73, 137}), asked);
    wait(1s);
    EXPECT_FALSE(of_.asks_to_read());
}

} // namespace
} // namespace zlink::core
