// SPDX-License-Identifier: Apache-2.0
#include "core/pace/flush_list.hpp"

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

/// A connection that a thread batches for until it is told otherwise.
class fake_connection final : public batched_connection {
public:
    bool write_batch() noexcept override
    {
        ++writes;
        return batched && !has_nothing;
    }
    bool stop_batches() noexcept override { return batched.exchange(false); }
    void write_last() noexcept override { ++last_writes; }
    void leave_to_io_thread() noexcept override { ++handed_over; }
    std::uint64_t committed_messages() const noexcept override { return committed; }
    bool request_write() noexcept override
    {
        if (!batched)
            return false;
        ++requests;
        requests.notify_all();
        return true;
    }

    std::atomic<bool> batched{true};
    std::atomic<bool> has_nothing{false};
    std::atomic<std::uint64_t> committed{1};
    std::atomic<int> writes{0};
    std::atomic<int> last_writes{0};
    std::atomic<int> handed_over{0};
    std::atomic<int> requests{0};
};

class FlushList : public ::testing::Test {
protected:
    std::shared_ptr<fake_connection> add(flush_list::time_point now = flush_list::clock::now())
    {
        auto fresh = std::make_shared<fake_connection>();
        thread_->add(fresh, io_, now);
        return fresh;
    }

    cadence next(flush_list::time_point now) { return thread_->next_cadence(now); }

    boost::asio::io_context io_;
    std::shared_ptr<flush_list> thread_ = std::make_shared<flush_list>();
};

TEST_F(FlushList, writes_what_is_left_when_its_thread_waits)
{
    const auto one = add();
    const auto other = add();
    EXPECT_TRUE(thread_->has_several());
    other->batched = false; // has been written already
    thread_->flush();
    EXPECT_EQ(1, one->last_writes);
    EXPECT_FALSE(one->batched);
    EXPECT_EQ(0, other->last_writes);
    EXPECT_FALSE(thread_->has_several());
    thread_->flush();
    EXPECT_EQ(1, one->last_writes);
}

TEST_F(FlushList, knows_a_connection_once_whose_batches_ended_and_began_again)
{
    const auto one = add();
    one->batched = false;
    one->batched = true;
    thread_->add(one, io_, flush_list::clock::now());
    EXPECT_FALSE(thread_->has_several());
    thread_->flush();
    EXPECT_EQ(1, one->last_writes);
}

TEST_F(FlushList, writes_when_the_oldest_message_is_old)
{
    const auto begin = flush_list::clock::now();
    const auto one = add(begin);
    const auto other = add(begin + 10us);
    thread_->flush_if_due(begin + tuning::batching::max_delay - 1ns);
    EXPECT_EQ(0, one->writes);
    other->has_nothing = true;
    thread_->flush_if_due(begin + tuning::batching::max_delay);
    EXPECT_EQ(1, one->writes);
    EXPECT_EQ(1, other->writes);
    EXPECT_TRUE(one->batched);
    EXPECT_FALSE(thread_->has_several()) << "nothing more has come for the other";
}

TEST_F(FlushList, goes_on_while_all_it_sends_to_are_batched_for)
{
    const auto begin = flush_list::clock::now();
    thread_->wrote(begin);
    for (int i = 1; i < 3; ++i)
        EXPECT_NE(cadence::stream, next(begin + i * 1us));
    EXPECT_EQ(cadence::stream, next(begin + 2us));
    const auto one = add(begin + 2us);
    EXPECT_EQ(cadence::stream, next(begin + tuning::batching::max_delay))
        << "commits to it are not announced";
    EXPECT_EQ(cadence::sparse, next(begin + 1s));
}

// Commits of a batch are not announced: its messages are counted when it is written.
TEST_F(FlushList, counts_the_messages_of_its_batches)
{
    for (const std::uint64_t messages : {1, 3}) {
        auto now = flush_list::clock::now();
        for (int i = 0; i < 2; ++i) {
            const auto one = add(now += 1ms);
            next(now);
            one->committed += messages - 1;
            thread_->flush();
        }
        now += 1ms;
        next(now);
        thread_->wrote(now);
        EXPECT_EQ(messages == 3 ? cadence::stream : cadence::sparse, next(now + 1us)) << messages;
        thread_->flush();
    }
}

TEST_F(FlushList, leaves_many_connections_to_the_io_threads)
{
    const auto begin = flush_list::clock::now();
    thread_->wrote(begin - 2us);
    for (int i = 0; i < 3; ++i)
        next(begin - 1us);
    std::vector<std::shared_ptr<fake_connection>> connections;
    for (std::size_t i = 0; i < tuning::batching::max_connections_per_thread; ++i)
        connections.push_back(add(begin));
    EXPECT_FALSE(thread_->is_wide());
    EXPECT_EQ(0, connections.front()->handed_over);
    connections.push_back(add(begin));
    EXPECT_TRUE(thread_->is_wide());
    for (const auto& each : connections) {
        EXPECT_EQ(1, each->handed_over);
        EXPECT_FALSE(each->batched);
    }
    EXPECT_EQ(cadence::stream, next(begin + 100us)) << "commits to busy ones are not announced";
    EXPECT_TRUE(thread_->is_wide());
    EXPECT_EQ(cadence::sparse, next(begin + 1ms));
    EXPECT_FALSE(thread_->is_wide());
}

TEST_F(FlushList, is_looked_after_while_its_thread_stays_away)
{
    const auto work = boost::asio::make_work_guard(io_);
    std::thread io_thread([this] { io_.run(); });
    const auto one = add();
    for (int seen = 0; seen < 3; ++seen)
        one->requests.wait(seen);
    one->batched = false;
    const auto other = add();
    for (int seen = 0; seen < 3; ++seen)
        other->requests.wait(seen);
    EXPECT_EQ(0, one->last_writes + other->last_writes);
    thread_->flush();
    EXPECT_EQ(1, other->last_writes);
    io_.stop();
    io_thread.join();
}

TEST_F(FlushList, ends_its_guard_when_nothing_is_left_to_it)
{
    add();
    thread_->flush();
    io_.run(); // returns when there is nothing more to wait for
    const auto one = add();
    io_.restart();
    std::thread io_thread([this] { io_.run(); });
    one->requests.wait(0); // by another guard
    thread_->flush();
    io_thread.join();
}

TEST_F(FlushList, hands_over_what_is_left_when_the_io_thread_of_its_guard_goes)
{
    auto io = std::make_unique<boost::asio::io_context>();
    const auto one = std::make_shared<fake_connection>();
    thread_->add(one, *io, flush_list::clock::now());
    io.reset();
    EXPECT_EQ(1, one->handed_over);
    EXPECT_FALSE(one->batched);
    const auto other = add();
    EXPECT_EQ(0, other->handed_over) << "has a guard of its own";
}

TEST_F(FlushList, is_ended_with_its_thread)
{
    const auto one = std::make_shared<fake_connection>();
    std::thread([&] {
        flush_list::of_this_thread()->add(one, io_, flush_list::clock::now());
    }).join();
    EXPECT_EQ(1, one->last_writes);
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST_F(FlushList, leaves_all_to_the_io_thread_without_memory)
{
    for (int allocations = 0; allocations < 6; ++allocations) {
        const auto thread = std::make_shared<flush_list>();
        const auto one = std::make_shared<fake_connection>();
        const auto now = flush_list::clock::now();
        {
            const test::memory_for scarce(allocations);
            thread->add(one, io_, now);
        }
        EXPECT_EQ(one->batched, one->handed_over == 0) << allocations;
        thread->flush();
        EXPECT_EQ(1, one->handed_over + one->last_writes);
    }
}
#endif

} // namespace
} // namespace zlink::core
