// SPDX-License-Identifier: Apache-2.0
// A sending thread whose connection takes no more for a moment.
#include "base/pace/wait_budget.hpp"
#include "core/connection/traffic_for_tests.hpp"
#include "core/connection/writer.hpp"
#include "core/pipe/pipe.hpp"
#include "support/memory_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>

namespace zlink::core {
namespace {

constexpr unsigned for_ever = 1U << 30;

/// The sending side of a link: writes in the thread that sends.
class sending_outlet final : public outlet {
public:
    explicit sending_outlet(writer& out) : out_(out) {}
    direct_write write_direct(const iovec (&message)[2],
                              base::certain_memory& for_rest) noexcept override
    {
        const auto written = out_.write_through(message, for_rest, how);
        return {written.bytes, written.next};
    }
    plan committed() noexcept override { return last = out_.write_queued(how); }
    plan flush(flush_reason why) noexcept override
    {
        if (why == flush_reason::large_message)
            backlog = out_.write_backlog(how);
        return backlog.value_or(plan{});
    }

    plan last;
    std::optional<plan> backlog; ///< if it was written
    writer::stalls how = writer::stalls::wait;

private:
    writer& out_;
};

class StalledConnection : public ::testing::Test {
protected:
    StalledConnection()
    {
        test::connect(sender_, outlet_);
        writer_.attach(stream_, {});
        writer_.drain();
        stream_.attempts = 0;
    }
    void send(std::size_t bytes)
    {
        ASSERT_TRUE(sender_.out.write(frame_of(std::string(bytes, 'x'), false)));
        sent_ += bytes + (bytes < 256 ? 2 : 9);
    }

    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    writer writer_{channels_->a_to_b};
    sending_outlet outlet_{writer_};
    test::memory_stream stream_;
    pipe_end sender_{channels_, true, nullptr};
    std::size_t sent_ = 0;
};

TEST_F(StalledConnection, is_written_to_at_once_with_all_parts_of_a_large_message)
{
    const std::string body(20'000, 'x');
    for (int round = 0; round < 2; ++round) {
        stream_.attempts = 0;
        stream_.written.clear();
        ASSERT_TRUE(sender_.out.write(frame_of("to", true)));
        ASSERT_TRUE(sender_.out.write(frame_of("", true)));
        EXPECT_EQ(0u, stream_.attempts);
        ASSERT_TRUE(sender_.out.write(frame_of(body, false)));
        EXPECT_EQ(1u, stream_.attempts);
        EXPECT_EQ(6 + 9 + body.size(), stream_.written.size());
        EXPECT_EQ(std::string("\1\2to\1\0\2", 7), stream_.written.substr(0, 7));
        EXPECT_EQ(0u, channels_->a_to_b.queue.published_position()) << "nothing went by the queue";
        EXPECT_TRUE(writer_.drained());
    }
}

TEST_F(StalledConnection, is_waited_for_if_it_soon_takes_more)
{
    stream_.pauses = 2;
    stream_.portion = 30;
    send(100);
    EXPECT_EQ(writer_is::nobody, outlet_.last.who);
    EXPECT_EQ(sent_, stream_.written.size());
}

TEST_F(StalledConnection, takes_a_large_body_in_pieces_from_where_it_lies)
{
    stream_.pauses = 1;
    stream_.portion = 20'000;
    send(100'000);
    EXPECT_EQ(sent_, stream_.written.size());
    EXPECT_TRUE(writer_.drained());
}

TEST_F(StalledConnection, is_left_to_the_io_thread_if_it_takes_nothing)
{
    stream_.pauses = for_ever;
    send(100);
    EXPECT_EQ(writer_is::blocked, outlet_.last.who);
    EXPECT_LT(1U, stream_.attempts);
    stream_.pauses = 0;
    EXPECT_EQ(writer_is::nobody, writer_.drain().who);
    EXPECT_EQ(sent_, stream_.written.size());
}

TEST_F(StalledConnection, is_left_at_once_where_others_would_wait)
{
    stream_.pauses = 1;
    outlet_.how = writer::stalls::leave;
    send(100);
    EXPECT_EQ(writer_is::blocked, outlet_.last.who);
    EXPECT_EQ(1U, stream_.attempts);
    EXPECT_EQ(writer_is::nobody, writer_.drain().who);
    stream_.portion = 20'000;
    send(30'000);
    EXPECT_GT(sent_, stream_.written.size());
}

TEST_F(StalledConnection, is_waited_for_where_others_can_wait_meanwhile)
{
    std::thread([&] { // which has not waited yet
        outlet_.how = writer::stalls::share;
        stream_.pauses = 2;
        stream_.portion = 30;
        send(100);
        EXPECT_EQ(writer_is::nobody, outlet_.last.who);
        EXPECT_EQ(sent_, stream_.written.size());
        const auto now = base::steady_clock::now();
        base::wait_budget::of_this_thread()->waited(now - std::chrono::hours(1), now);
        stream_.attempts = 0;
        send(100);
        EXPECT_EQ(writer_is::blocked, outlet_.last.who) << "they have waited long enough";
        EXPECT_EQ(1U, stream_.attempts);
        stream_.pauses = 0;
        send(100'000);
        EXPECT_FALSE(outlet_.backlog);
        EXPECT_GT(sent_, stream_.written.size());
    })
        .join();
    while (writer_.drain().who == writer_is::blocked) {
    }
    EXPECT_EQ(sent_, stream_.written.size());
}

TEST_F(StalledConnection, that_takes_nothing_is_waited_for_less_and_less)
{
    unsigned waits = 0;
    for (int stalls = 0; stalls < 100; ++stalls) {
        stream_.pauses = for_ever;
        stream_.attempts = 0;
        send(100);
        waits += stream_.attempts > 1 ? 1 : 0;
        stream_.pauses = 0;
        ASSERT_EQ(writer_is::nobody, writer_.drain().who);
    }
    EXPECT_LE(1U, waits);
    EXPECT_GE(8U, waits);
    EXPECT_EQ(sent_, stream_.written.size());
}

// Whatever is queued meanwhile would only grow, as queueing is faster than sending.
TEST_F(StalledConnection, is_relieved_of_its_backlog_before_a_large_message)
{
    stream_.pauses = for_ever;
    send(100);
    ASSERT_EQ(writer_is::blocked, outlet_.last.who);
    send(100);
    EXPECT_FALSE(outlet_.backlog) << "a small message may wait in the queue";
    stream_.pauses = 3;
    stream_.portion = 30'000;
    while (!outlet_.backlog || outlet_.backlog->who != writer_is::nobody || !writer_.drained()) {
        ASSERT_LT(sent_, 10'000'000U);
        send(100'000);
    }
    EXPECT_EQ(sent_, stream_.written.size());
}

TEST_F(StalledConnection, is_not_relieved_where_others_would_wait)
{
    stream_.pauses = for_ever;
    outlet_.how = writer::stalls::leave;
    send(100);
    stream_.attempts = 0;
    send(100'000);
    EXPECT_FALSE(outlet_.backlog) << "the I/O thread sees to it, as before";
    EXPECT_EQ(0U, stream_.attempts);
    stream_.pauses = 0;
    EXPECT_EQ(writer_is::nobody, writer_.drain().who);
    EXPECT_EQ(sent_, stream_.written.size());
}

TEST_F(StalledConnection, is_left_to_the_thread_that_waits_for_it)
{
    auto seen = writer_is::nobody;
    stream_.on_write = [&] {
        if (stream_.attempts == 3)
            std::thread([&] { seen = writer_.drain().who; }).join(); // as the I/O thread
    };
    stream_.pauses = 4;
    send(100);
    EXPECT_EQ(writer_is::committer, seen);
    EXPECT_EQ(writer_is::nobody, outlet_.last.who);
    EXPECT_EQ(sent_, stream_.written.size());
}

TEST_F(StalledConnection, is_the_io_threads_while_it_is_not_waited_for)
{
    stream_.pauses = for_ever;
    send(100); // in vain: the next ones are not waited for
    ASSERT_EQ(writer_is::blocked, outlet_.last.who);
    send(100'000);
    EXPECT_FALSE(outlet_.backlog) << "nobody need be told";
    stream_.pauses = 0;
    EXPECT_EQ(writer_is::nobody, writer_.drain().who);
    EXPECT_EQ(sent_, stream_.written.size());
}

TEST_F(StalledConnection, that_breaks_meanwhile_leaves_the_rest_to_the_queue)
{
    stream_.portion = 3000;
    send(100);
    test::memory_stream broken;
    broken.portion = 3000;
    broken.fail_at = 1;
    broken.error = EPIPE;
    writer_.detach();
    writer_.attach(broken, {});
    writer_.drain();
    sent_ = 0;
    send(100'000);
    EXPECT_EQ(writer_is::io_thread, outlet_.last.who);
    EXPECT_EQ(EPIPE, writer_.error());
    // The sender still had the message that was begun: the next connection begins with it.
    writer_.detach();
    stream_.written.clear();
    send(10);
    stream_.portion = SIZE_MAX;
    writer_.attach(stream_, {});
    EXPECT_EQ(writer_is::nobody, writer_.drain().who);
    EXPECT_EQ(sent_, stream_.written.size());
}

} // namespace
} // namespace zlink::core
