// SPDX-License-Identifier: Apache-2.0
#include "core/pace/write_policy.hpp"

#include "base/tuning.hpp"

#include <deque>
#include <gtest/gtest.h>

namespace zlink::core {
namespace {

using namespace std::chrono_literals;
using way = write_policy::way;

class WritePolicy : public ::testing::Test {
protected:
    /// A message for `to`, `gap` after what happened last.
    way send(write_policy& to, std::chrono::nanoseconds gap)
    {
        const way how = to.choose(thread_, now_ += gap);
        if (how == way::at_once)
            now_ += 5us; // a write takes so long
        thread_.wrote(now_);
        return how;
    }

    burst thread_;
    write_policy::time_point now_{1h};
};

TEST_F(WritePolicy, writes_at_once_what_comes_now_and_then)
{
    write_policy policy(std::make_shared<fan_out_budget>());
    EXPECT_FALSE(policy.is_one_of_many());
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(send(policy, 4us), way::at_once);
}

TEST_F(WritePolicy, batches_from_the_third_message_in_quick_succession)
{
    write_policy policy(std::make_shared<fan_out_budget>());
    EXPECT_EQ(send(policy, 1ms), way::at_once);
    EXPECT_EQ(send(policy, 1us), way::at_once);
    EXPECT_EQ(send(policy, 1us), way::at_once);
    EXPECT_EQ(send(policy, 1us), way::in_batches);
    EXPECT_EQ(send(policy, 1us), way::in_batches);
    EXPECT_EQ(send(policy, 4us), way::at_once);
}

TEST_F(WritePolicy, batches_what_one_thread_sends_to_several_connections_in_turn)
{
    write_policy policies[] = {write_policy(std::make_shared<fan_out_budget>()),
                               write_policy(std::make_shared<fan_out_budget>())};
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(send(policies[i % 2], 1us), way::at_once);
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(send(policies[i % 2], 1us), way::in_batches);
    thread_.end();
    EXPECT_EQ(send(policies[0], 1us), way::at_once) << "it was no stream, or has ended";
}

TEST_F(WritePolicy, wants_batches_of_messages_that_could_pass_by_the_queue)
{
    const auto shared = std::make_shared<fan_out_budget>();
    write_policy policy(shared);
    const auto follows = [&](std::chrono::nanoseconds gap) {
        const bool wanted = policy.wants_batches(thread_, now_ += gap);
        if (!wanted)
            thread_.wrote(now_ += 5us);
        return wanted;
    };
    for (int i = 0; i < 10; ++i)
        EXPECT_FALSE(follows(4us));
    EXPECT_FALSE(follows(1us));
    EXPECT_FALSE(follows(1us));
    EXPECT_TRUE(follows(1us));
    EXPECT_EQ(send(policy, 1us), way::in_batches) << "so the queue is told as well";
    thread_.end();
    EXPECT_FALSE(follows(1us));
    // Of a socket that sends to many only if it has one connection.
    shared->fans_out = true;
    for (const std::size_t connections : {1, 2}) {
        shared->connections = connections;
        thread_.end();
        EXPECT_FALSE(follows(1us));
        EXPECT_FALSE(follows(1us));
        EXPECT_EQ(connections == 1, follows(1us));
    }
}

TEST_F(WritePolicy, takes_a_dialogue_for_no_stream)
{
    write_policy policy(std::make_shared<fan_out_budget>());
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(send(policy, 1us), way::at_once);
        thread_.end();
    }
}

TEST_F(WritePolicy, counts_from_the_end_of_a_batch)
{
    write_policy policy(std::make_shared<fan_out_budget>());
    for (int i = 0; i < 3; ++i)
        send(policy, 1us);
    EXPECT_EQ(send(policy, 1us), way::in_batches);
    thread_.wrote(now_ += 10us);
    EXPECT_EQ(send(policy, 1us), way::in_batches);
}

// What a busy thread sends to a connection now and then gains nothing by waiting.
TEST_F(WritePolicy, does_not_hold_back_what_nothing_joins)
{
    write_policy busy(std::make_shared<fan_out_budget>());
    write_policy quiet(std::make_shared<fan_out_budget>());
    for (int i = 0; i < 4; ++i)
        send(busy, 1us);
    EXPECT_EQ(send(quiet, 1us), way::in_batches);
    const auto at_once = [&] {
        int count = 0;
        for (; send(quiet, 1us) == way::at_once; ++count)
            EXPECT_EQ(send(busy, 1us), way::in_batches) << "it has a batch of its own";
        return count;
    };
    quiet.batch_was_written(1);
    const int first = at_once();
    EXPECT_EQ(16, first);
    quiet.batch_was_written(1);
    EXPECT_EQ(2 * first, at_once()) << "it is tried ever less often";
    quiet.batch_was_written(2);
    EXPECT_EQ(0, at_once()) << "batches move more of them";
    quiet.batch_was_written(1);
    EXPECT_EQ(first, at_once());
    for (int i = 0; i < 20; ++i)
        quiet.batch_was_written(1);
    EXPECT_EQ(1024, at_once()) << "at last";
}

/// A socket that sends each message to a few connections.
class PublisherToFew : public WritePolicy {
protected:
    PublisherToFew()
    {
        shared_->fans_out = true;
        for (std::size_t i = 0; i < tuning::batching::max_connections_per_thread; ++i)
            connections_.emplace_back(shared_);
    }
    /// To all of them, asleep all; how each is written to.
    way publish(std::chrono::nanoseconds gap)
    {
        shared_->begin_message_to_few();
        now_ += gap;
        const way how = send(connections_.front(), 0us);
        for (write_policy& connection : connections_)
            EXPECT_EQ(how, send(connection, 0us)) << "as the first one";
        shared_->message = fan_out_budget::extent::unknown;
        return how;
    }

    const std::shared_ptr<fan_out_budget> shared_ = std::make_shared<fan_out_budget>();
    std::deque<write_policy> connections_;
};

TEST_F(PublisherToFew, writes_to_all_at_once_what_comes_now_and_then)
{
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(way::at_once, publish(4us));
}

TEST_F(PublisherToFew, batches_messages_not_connections)
{
    EXPECT_EQ(way::at_once, publish(1ms));
    EXPECT_EQ(way::at_once, publish(1us));
    EXPECT_EQ(way::at_once, publish(1us));
    EXPECT_EQ(way::in_batches, publish(1us));
    EXPECT_EQ(way::in_batches, publish(1us));
    EXPECT_EQ(way::at_once, publish(4us)) << "has paused";
}

/// A socket that sends each message to more connections than a thread writes to.
class PublisherToMany : public WritePolicy {
protected:
    PublisherToMany()
    {
        shared_->fans_out = true;
        for (int i = 0; i < 40; ++i)
            connections_.emplace_back(shared_);
    }
    /// To all of which the first `asleep` are asleep; returns how many are written to at once.
    int publish(std::chrono::nanoseconds gap, int asleep = 40)
    {
        int direct = 0;
        shared_->begin_message_to_many(connections_.size(), now_ += gap);
        for (int i = 0; i < asleep; ++i)
            direct += connections_[static_cast<std::size_t>(i)].choose(thread_, now_ += 5us) ==
                      way::at_once;
        shared_->end_message_to_many(now_);
        return direct;
    }

    const std::shared_ptr<fan_out_budget> shared_ = std::make_shared<fan_out_budget>();
    std::deque<write_policy> connections_;
};

TEST_F(PublisherToMany, leaves_a_stream_to_the_io_threads)
{
    constexpr int all_direct = tuning::batching::max_connections_per_thread;
    EXPECT_EQ(publish(1ms), all_direct);
    EXPECT_EQ(publish(4us), all_direct) << "after a pause";
    EXPECT_EQ(publish(1us), 0) << "however long it takes to wake all of them";
    EXPECT_EQ(publish(1us, 10), 0);
    EXPECT_EQ(publish(100us), 0) << "most of them were busy";
    EXPECT_EQ(publish(4us), all_direct);
    EXPECT_EQ(publish(1us), 0);
    shared_->waited_for_room(now_ += 1ms);
    EXPECT_EQ(publish(1us), 0) << "that was no pause";
}

TEST_F(WritePolicy, treats_the_only_one_of_many_like_any_other)
{
    const auto shared = std::make_shared<fan_out_budget>();
    shared->fans_out = true;
    write_policy only(shared);
    send(only, 1ms);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(send(only, 4us), way::at_once);
    EXPECT_EQ(send(only, 1us), way::at_once);
    EXPECT_EQ(send(only, 1us), way::at_once);
    EXPECT_EQ(send(only, 1us), way::in_batches);
}

TEST_F(WritePolicy, is_the_only_connection_while_there_is_no_other)
{
    const auto shared = std::make_shared<fan_out_budget>();
    const write_policy policy(shared);
    shared->connections = 1;
    EXPECT_TRUE(policy.is_only_connection());
    shared->connections = 2;
    EXPECT_FALSE(policy.is_only_connection());
}

} // namespace
} // namespace zlink::core
