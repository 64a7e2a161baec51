// SPDX-License-Identifier: Apache-2.0
#include "core/reading_lease.hpp"

#include "engine/codec/zmtp3.hpp"
#include "engine/inbound.hpp"
#include "transport/stream_for_tests.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <string>

namespace zlink::core {
namespace {

using engine::zmtp3::flag_command;

std::string frame_bytes(std::uint8_t flags, const std::string& body)
{
    return std::string(1, static_cast<char>(flags)) + static_cast<char>(body.size()) + body;
}

/// Gives one piece of input with each read; then there is nothing more now, or for ever.
class scripted_stream final : public transport::stream_for_tests {
public:
    transport::io_result read_some(const iovec* buffers, int) noexcept override
    {
        if (input.empty())
            return ended ? transport::io_result{} : transport::io_result{0, EAGAIN};
        const std::size_t bytes = std::min(buffers->iov_len, input.front().size());
        std::memcpy(buffers->iov_base, input.front().data(), bytes);
        input.pop_front();
        return {bytes, 0};
    }
    int lend() noexcept override
    {
        is_lent = true;
        return descriptor();
    }
    bool reclaim() noexcept override
    {
        is_lent = false;
        return true;
    }
    int descriptor() const noexcept override { return 77; }

    std::deque<std::string> input;
    bool ended = false;
    bool is_lent = false;
};

class ReadingLease : public ::testing::Test, public engine::inbound::command_handler {
protected:
    void on_command(std::span<const std::byte> body) override
    {
        EXPECT_TRUE(lease_.keep_for_later(body));
    }
    /// How many messages have come since the last time.
    int take_messages()
    {
        int count = 0;
        for (frame part; receiver_.peek(part); ++count)
            receiver_.pop();
        return count;
    }

    boost::asio::io_context io_;
    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    pipe_end receiver_{channels_, false, nullptr};
    engine::inbound in_{channels_->a_to_b, 100, engine::kept_commands::none, *this};
    scripted_stream stream_;
    reading_lease lease_{io_};
};

TEST_F(ReadingLease, leaves_reading_to_the_io_thread_until_it_is_handed_over)
{
    stream_.input = {frame_bytes(0, "a")};
    EXPECT_FALSE(lease_.read_for_room());
    const auto step = lease_.read_lent();
    EXPECT_FALSE(step.read.lent);
    EXPECT_FALSE(step.ended);
    EXPECT_FALSE(lease_.give_back());
    EXPECT_FALSE(lease_.keep_for_later({}));
    EXPECT_EQ(take_messages(), 0);
}

TEST_F(ReadingLease, offers_until_the_connection_has_nothing_more)
{
    channels_->a_to_b.flow.set_producer_limit(1);
    ASSERT_TRUE(in_.append(0, {}));
    stream_.input = {frame_bytes(0, "a")};
    lease_.offer(in_, stream_);
    EXPECT_TRUE(lease_.read_for_room()) << "the queue is still full";
    EXPECT_EQ(take_messages(), 1);
    EXPECT_FALSE(lease_.read_for_room()) << "the connection had no more";
    EXPECT_EQ(take_messages(), 1);
    stream_.input = {frame_bytes(0, "b")};
    EXPECT_FALSE(lease_.read_for_room());
    EXPECT_FALSE(lease_.read_lent().read.lent);
    EXPECT_EQ(take_messages(), 0) << "the offer was over";
    lease_.take_back();
    EXPECT_FALSE(stream_.is_lent);
}

TEST_F(ReadingLease, lends_until_it_is_given_back)
{
    EXPECT_EQ(take_messages(), 0); // from now on the reader waits
    ASSERT_TRUE(lease_.lend(in_, stream_));
    EXPECT_TRUE(stream_.is_lent);
    auto step = lease_.read_lent();
    EXPECT_TRUE(step.read.lent);
    EXPECT_FALSE(step.read.got);
    EXPECT_EQ(step.read.descriptor, 77);
    stream_.input = {frame_bytes(0, "a")};
    step = lease_.read_lent();
    EXPECT_TRUE(step.read.lent);
    EXPECT_TRUE(step.read.got);
    EXPECT_TRUE(lease_.read_for_room()) << "whatever the reason";
    EXPECT_TRUE(lease_.give_back());
    EXPECT_FALSE(lease_.give_back());
    EXPECT_TRUE(stream_.is_lent) << "that is for the I/O thread to end";
    lease_.take_back();
    EXPECT_FALSE(stream_.is_lent);
    EXPECT_EQ(take_messages(), 1);
}

TEST_F(ReadingLease, keeps_commands_for_the_io_thread)
{
    EXPECT_EQ(take_messages(), 0); // from now on the reader waits
    ASSERT_TRUE(lease_.lend(in_, stream_));
    stream_.input = {frame_bytes(0, "a") + frame_bytes(flag_command, "\4PING"),
                     frame_bytes(0, "b")};
    const auto step = lease_.read_lent();
    EXPECT_TRUE(step.ended);
    EXPECT_FALSE(step.read.lent);
    EXPECT_TRUE(step.read.got);
    EXPECT_EQ(stream_.input.size(), 1u) << "what follows a command is read after the answer";
    lease_.take_back();
    EXPECT_EQ(lease_.take_left_over().commands.size(), 1u);
    EXPECT_TRUE(lease_.take_left_over().commands.empty());
    EXPECT_FALSE(lease_.keep_for_later({}));
}

TEST_F(ReadingLease, keeps_errors_for_the_io_thread)
{
    ASSERT_TRUE(lease_.lend(in_, stream_));
    stream_.input = {frame_bytes(0, std::string(101, 'x'))};
    EXPECT_TRUE(lease_.read_lent().ended);
    lease_.take_back();
    EXPECT_EQ(lease_.take_left_over().error, engine::inbound_error::too_large);
    EXPECT_EQ(lease_.take_left_over().error, engine::inbound_error::none);
}

TEST_F(ReadingLease, ends_with_the_connection)
{
    stream_.ended = true;
    ASSERT_TRUE(lease_.lend(in_, stream_));
    EXPECT_TRUE(lease_.read_lent().ended);
    EXPECT_FALSE(lease_.read_lent().ended) << "it was told";
}

TEST_F(ReadingLease, asks_once_until_it_is_answered)
{
    EXPECT_TRUE(lease_.ask());
    EXPECT_FALSE(lease_.ask());
    lease_.begin_answer();
    EXPECT_TRUE(lease_.ask());
}

TEST_F(ReadingLease, is_not_lent_again_soon_after_it_was_blocked)
{
    EXPECT_FALSE(lease_.take_back_for_writing()) << "it is not lent";
    ASSERT_TRUE(lease_.lend(in_, stream_));
    lease_.take_back();
    ASSERT_TRUE(lease_.lend(in_, stream_));
    const auto blocked = std::chrono::steady_clock::now();
    EXPECT_TRUE(lease_.take_back_for_writing());
    EXPECT_FALSE(stream_.is_lent);
    const bool lent = lease_.lend(in_, stream_);
    if (std::chrono::steady_clock::now() - blocked < std::chrono::milliseconds(50)) {
        EXPECT_FALSE(lent);
    }
}

TEST_F(ReadingLease, tells_when_it_is_not_made_use_of)
{
    int unused = 0;
    ASSERT_TRUE(lease_.lend(in_, stream_));
    lease_.watch([&] { ++unused; });
    stream_.input = {frame_bytes(0, "a")};
    lease_.read_lent();
    io_.run_one();
    EXPECT_EQ(unused, 0) << "something was read";
    io_.run_one();
    EXPECT_EQ(unused, 1);
    EXPECT_EQ(io_.poll(), 0u) << "once is enough";
}

TEST_F(ReadingLease, tells_nothing_once_it_is_taken_back)
{
    int unused = 0;
    ASSERT_TRUE(lease_.lend(in_, stream_));
    lease_.watch([&] { ++unused; });
    lease_.take_back();
    io_.run();
    EXPECT_EQ(unused, 0);
    io_.restart();
    ASSERT_TRUE(lease_.lend(in_, stream_));
    lease_.watch([&] { ++unused; });
    lease_.stop();
    io_.run();
    EXPECT_EQ(unused, 0);
    EXPECT_FALSE(stream_.is_lent);
}

} // namespace
} // namespace zlink::core
