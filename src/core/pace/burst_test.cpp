// SPDX-License-Identifier: Apache-2.0
#include "core/pace/burst.hpp"

#include "base/tuning.hpp"

#include "support/scarce_memory.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace zlink::core {
namespace {

using namespace std::chrono_literals;

/// A connection for which a thread owns the writing until it is told otherwise.
class fake_connection final : public batched_connection {
public:
    bool write_committed() noexcept override
    {
        ++writes;
        return owner && !has_nothing;
    }
    bool end_ownership() noexcept override { return owner.exchange(false); }
    void write_last() noexcept override { ++last_writes; }
    void leave_to_io_thread() noexcept override { ++handed_over; }
    std::uint64_t committed_messages() const noexcept override { return committed; }
    bool request_write_for_owner() noexcept override
    {
        if (!owner)
            return false;
        ++requests;
        requests.notify_all();
        return true;
    }

    std::atomic<bool> owner{true};
    std::atomic<bool> has_nothing{false};
    std::atomic<std::uint64_t> committed{1};
    std::atomic<int> writes{0};
    std::atomic<int> last_writes{0};
    std::atomic<int> handed_over{0};
    std::atomic<int> requests{0};
};

class Burst : public ::testing::Test {
protected:
    std::shared_ptr<fake_connection> add(burst::time_point now = burst::clock::now())
    {
        auto fresh = std::make_shared<fake_connection>();
        thread_->add(fresh, io_, now);
        return fresh;
    }

    boost::asio::io_context io_;
    std::shared_ptr<burst> thread_ = std::make_shared<burst>();
};

TEST_F(Burst, writes_what_is_left_when_its_thread_waits)
{
    const auto one = add();
    const auto other = add();
    EXPECT_TRUE(thread_->has_several());
    other->owner = false; // has been written already
    thread_->end();
    EXPECT_EQ(1, one->last_writes);
    EXPECT_FALSE(one->owner);
    EXPECT_EQ(0, other->last_writes);
    EXPECT_FALSE(thread_->has_several());
    thread_->end();
    EXPECT_EQ(1, one->last_writes);
}

TEST_F(Burst, knows_a_connection_once_whose_duty_was_ended_and_began_again)
{
    const auto one = add();
    one->owner = false;
    one->owner = true;
    thread_->add(one, io_, burst::clock::now());
    EXPECT_FALSE(thread_->has_several());
    thread_->end();
    EXPECT_EQ(1, one->last_writes);
}

TEST_F(Burst, writes_when_the_oldest_message_is_old)
{
    const auto begin = burst::clock::now();
    const auto one = add(begin);
    const auto other = add(begin + 10us);
    thread_->look(begin + tuning::batching::max_delay - 1ns);
    EXPECT_EQ(0, one->writes);
    other->has_nothing = true;
    thread_->look(begin + tuning::batching::max_delay);
    EXPECT_EQ(1, one->writes);
    EXPECT_EQ(1, other->writes);
    EXPECT_TRUE(one->owner);
    EXPECT_FALSE(thread_->has_several()) << "nothing more has come for the other";
}

TEST_F(Burst, goes_on_while_all_it_sends_to_are_batched_for)
{
    const auto begin = burst::clock::now();
    thread_->wrote(begin);
    for (int i = 1; i < 3; ++i)
        EXPECT_FALSE(thread_->follows_quickly(begin + i * 1us));
    EXPECT_TRUE(thread_->follows_quickly(begin + 2us));
    const auto one = add(begin + 2us);
    EXPECT_TRUE(thread_->follows_quickly(begin + tuning::batching::max_delay))
        << "the owner wakes nobody";
    EXPECT_FALSE(thread_->follows_quickly(begin + 1s));
}

TEST_F(Burst, is_known_by_those_before)
{
    auto now = burst::clock::now();
    const auto batches_from = [&](int messages) {
        int first = 0;
        now += 1ms;
        for (int i = 1; i <= messages; ++i) {
            if (thread_->follows_quickly(now += 1us) && first == 0)
                first = i;
            thread_->wrote(now += 5us);
        }
        thread_->end();
        thread_->end(); // looks again and again before it sleeps
        return first;
    };
    EXPECT_EQ(4, batches_from(5));
    EXPECT_EQ(4, batches_from(5));
    EXPECT_EQ(2, batches_from(5));
    EXPECT_EQ(2, batches_from(3));
    EXPECT_EQ(0, batches_from(1)) << "isolated";
    EXPECT_EQ(2, batches_from(5)) << "one short burst among long ones";
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(0, batches_from(1));
    EXPECT_EQ(4, batches_from(5)) << "after a dialogue";
}

/// After several long bursts.
class KnownBurst : public Burst {
protected:
    void SetUp() override
    {
        for (int bursts = 0; bursts < 2; ++bursts) {
            for (int messages = 0; messages < 4; ++messages) {
                follows_quickly();
                thread_->wrote(now_);
            }
            thread_->end();
        }
    }
    bool follows_quickly() { return thread_->follows_quickly(now_ += 1us); }

    burst::time_point now_ = burst::clock::now();
};

TEST_F(KnownBurst, batches_from_the_first_message_on_if_there_is_more_to_answer)
{
    now_ += 1ms;
    EXPECT_FALSE(follows_quickly());
    thread_->end();
    SetUp();
    now_ += 1ms;
    thread_->expect_more();
    EXPECT_TRUE(follows_quickly());
    thread_->end();
    SetUp();
    now_ += 1ms;
    EXPECT_FALSE(follows_quickly()) << "that was before the last wait";
}

TEST_F(KnownBurst, is_not_kept_up_by_single_messages_in_batches)
{
    const auto one = add(now_);
    follows_quickly();
    thread_->end();
    EXPECT_EQ(1, one->last_writes);
    EXPECT_FALSE(follows_quickly());
    thread_->wrote(now_);
    EXPECT_FALSE(follows_quickly()) << "a dialogue";
}

TEST_F(KnownBurst, is_kept_up_by_batches_of_several_messages)
{
    const auto one = add(now_ += 1ms);
    follows_quickly();
    one->committed += 2;
    thread_->end();
    now_ += 1ms;
    EXPECT_FALSE(follows_quickly());
    thread_->wrote(now_);
    EXPECT_TRUE(follows_quickly());
}

TEST_F(Burst, leaves_many_connections_to_the_io_threads)
{
    const auto begin = burst::clock::now();
    thread_->wrote(begin - 2us);
    for (int i = 0; i < 3; ++i)
        thread_->follows_quickly(begin - 1us);
    std::vector<std::shared_ptr<fake_connection>> connections;
    for (std::size_t i = 0; i < tuning::batching::max_connections_per_thread; ++i)
        connections.push_back(add(begin));
    EXPECT_FALSE(thread_->is_wide());
    EXPECT_EQ(0, connections.front()->handed_over);
    connections.push_back(add(begin));
    EXPECT_TRUE(thread_->is_wide());
    for (const auto& each : connections) {
        EXPECT_EQ(1, each->handed_over);
        EXPECT_FALSE(each->owner);
    }
    EXPECT_TRUE(thread_->follows_quickly(begin + 100us)) << "busy connections wake nobody";
    EXPECT_TRUE(thread_->is_wide());
    EXPECT_FALSE(thread_->follows_quickly(begin + 1ms));
    EXPECT_FALSE(thread_->is_wide());
}

TEST_F(Burst, is_looked_after_while_its_thread_stays_away)
{
    const auto work = boost::asio::make_work_guard(io_);
    std::thread io_thread([this] { io_.run(); });
    const auto one = add();
    for (int seen = 0; seen < 3; ++seen)
        one->requests.wait(seen);
    one->owner = false;
    const auto other = add();
    for (int seen = 0; seen < 3; ++seen)
        other->requests.wait(seen);
    EXPECT_EQ(0, one->last_writes + other->last_writes);
    thread_->end();
    EXPECT_EQ(1, other->last_writes);
    io_.stop();
    io_thread.join();
}

TEST_F(Burst, ends_its_guard_when_nothing_is_left_to_it)
{
    add();
    thread_->end();
    io_.run(); // returns when there is nothing more to wait for
    const auto one = add();
    io_.restart();
    std::thread io_thread([this] { io_.run(); });
    one->requests.wait(0); // by another guard
    thread_->end();
    io_thread.join();
}

TEST_F(Burst, hands_over_what_is_left_when_the_io_thread_of_its_guard_goes)
{
    auto io = std::make_unique<boost::asio::io_context>();
    const auto one = std::make_shared<fake_connection>();
    thread_->add(one, *io, burst::clock::now());
    io.reset();
    EXPECT_EQ(1, one->handed_over);
    EXPECT_FALSE(one->owner);
    const auto other = add();
    EXPECT_EQ(0, other->handed_over) << "has a guard of its own";
}

TEST_F(Burst, is_ended_with_its_thread)
{
    const auto one = std::make_shared<fake_connection>();
    std::thread([&] { burst::of_this_thread()->add(one, io_, burst::clock::now()); }).join();
    EXPECT_EQ(1, one->last_writes);
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST_F(Burst, leaves_all_to_the_io_thread_without_memory)
{
    for (int allocations = 0; allocations < 6; ++allocations) {
        const auto thread = std::make_shared<burst>();
        const auto one = std::make_shared<fake_connection>();
        const auto now = burst::clock::now();
        {
            const test::memory_for scarce(allocations);
            thread->add(one, io_, now);
        }
        EXPECT_EQ(one->owner, one->handed_over == 0) << allocations;
        thread->end();
        EXPECT_EQ(1, one->handed_over + one->last_writes);
    }
}
#endif

} // namespace
} // namespace zlink::core
