// SPDX-License-Identifier: Apache-2.0
#include "core/connection/reading_lease.hpp"

#include "core/connection/reading_inlet_for_tests.hpp"
#include "core/connection/traffic_for_tests.hpp"
#include "core/pipe/pipe.hpp"

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/traffic/inbound.hpp"
#include "engine/traffic/wire_inbound.hpp"
#include "engine/wire/toy_wire_for_tests.hpp"
#include "engine/wire/websocket_codec.hpp"
#include "support/memory_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace zlink::core {
namespace {

using engine::zmtp3::flag_command;
using request = reading_lease::request;
using test::frame_bytes;
using test::reading_inlet;

class ReadingLease : public ::testing::Test, public engine::command_handler {
protected:
    ReadingLease() { stream_.facts.descriptor = 77; }

    void on_command(std::span<const std::byte> body) override
    {
        EXPECT_TRUE(lease_.keep_for_later(body));
    }
    /// How many messages have come since the last time.
    int take_messages()
    {
        int count = 0;
        for (frame part; receiver_.in.peek(part); ++count)
            receiver_.in.pop();
        return count;
    }

    boost::asio::io_context io_;
    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    pipe_end receiver_{channels_, false, nullptr};
    engine::inbound in_{channels_->a_to_b, {100, engine::kept_commands::none}, *this};
    test::memory_stream stream_;
    reading_lease lease_{io_};
};

TEST_F(ReadingLease, leaves_reading_to_the_io_thread_until_it_is_handed_over)
{
    stream_.pieces = {frame_bytes(0, "a")};
    EXPECT_EQ(lease_.read_for_room(), request::read);
    const auto step = lease_.read_leased({});
    EXPECT_FALSE(step.read.leased);
    EXPECT_FALSE(step.ended);
    EXPECT_FALSE(lease_.give_back());
    EXPECT_FALSE(lease_.keep_for_later({}));
    EXPECT_EQ(take_messages(), 0);
}

TEST_F(ReadingLease, offers_until_the_connection_has_nothing_more)
{
    channels_->a_to_b.credit.set_producer_limit(1);
    ASSERT_TRUE(in_.append(0, {}));
    stream_.pieces = {frame_bytes(0, "a")};
    lease_.offer(in_, stream_);
    EXPECT_EQ(lease_.read_for_room(), request::none) << "the queue is still full";
    EXPECT_EQ(take_messages(), 1);
    EXPECT_EQ(lease_.read_for_room(), request::read) << "the connection had no more";
    EXPECT_EQ(take_messages(), 1);
    stream_.pieces = {frame_bytes(0, "b")};
    EXPECT_EQ(lease_.read_for_room(), request::read);
    EXPECT_FALSE(lease_.read_leased({}).read.leased);
    EXPECT_EQ(take_messages(), 0) << "the offer was over";
    lease_.take_back();
    EXPECT_FALSE(stream_.is_released);
}

TEST_F(ReadingLease, leases_until_it_is_given_back)
{
    EXPECT_EQ(take_messages(), 0); // from now on the reader waits
    ASSERT_TRUE(lease_.grant(in_, stream_));
    EXPECT_TRUE(stream_.is_released);
    auto step = lease_.read_leased({});
    EXPECT_TRUE(step.read.leased);
    EXPECT_FALSE(step.read.got);
    EXPECT_EQ(step.read.descriptor, 77);
    stream_.pieces = {frame_bytes(0, "a")};
    step = lease_.read_leased({});
    EXPECT_TRUE(step.read.leased);
    EXPECT_TRUE(step.read.got);
    EXPECT_EQ(lease_.read_for_room(), request::none) << "whatever the reason";
    EXPECT_TRUE(lease_.give_back());
    EXPECT_FALSE(lease_.give_back());
    EXPECT_TRUE(stream_.is_released) << "that is for the I/O thread to end";
    lease_.take_back();
    EXPECT_FALSE(stream_.is_released);
    EXPECT_EQ(take_messages(), 1);
}

// More would leave the caches before it is looked at, and a sender that keeps up would never let it
// go to its reader.
TEST_F(ReadingLease, reads_a_little_ahead_at_a_time)
{
    constexpr int sent = 100;
    std::string stream;
    for (int i = 0; i < sent; ++i) {
        std::byte header[engine::zmtp3::long_header_bytes];
        const std::size_t header_bytes = engine::zmtp3::encode_header(header, 0, 60'000);
        stream.append(reinterpret_cast<const char*>(header), header_bytes).append(60'000, 'x');
    }
    engine::inbound unlimited{channels_->a_to_b, {-1, engine::kept_commands::none}, *this};
    EXPECT_EQ(take_messages(), 0); // from now on the reader waits
    stream_.pieces = {stream};
    ASSERT_TRUE(lease_.grant(unlimited, stream_));
    const auto step = lease_.read_leased({});
    EXPECT_TRUE(step.read.got);
    EXPECT_EQ(step.read.descriptor, 77) << "there is more";
    int taken = take_messages();
    EXPECT_GT(taken, 1);
    EXPECT_LT(taken, 20);
    lease_.take_back();
    // Who was offered the reading has to be told to go on when all is taken.
    lease_.offer(unlimited, stream_);
    EXPECT_EQ(lease_.read_for_room(), request::watch) << "it might take its time";
    EXPECT_FALSE(stream_.pieces.empty());
    reading_inlet way_in(lease_);
    test::connect(receiver_, way_in);
    taken += take_messages();
    EXPECT_EQ(taken, sent);
}

TEST_F(ReadingLease, tells_of_parts_of_a_message)
{
    EXPECT_EQ(take_messages(), 0); // from now on the reader waits
    ASSERT_TRUE(lease_.grant(in_, stream_));
    const std::string whole = frame_bytes(0, "abc");
    stream_.pieces = {whole.substr(0, 3)};
    auto step = lease_.read_leased({});
    EXPECT_FALSE(step.read.got);
    EXPECT_TRUE(step.read.moved);
    step = lease_.read_leased({});
    EXPECT_FALSE(step.read.moved);
    stream_.pieces = {whole.substr(3)};
    step = lease_.read_leased({});
    EXPECT_TRUE(step.read.got);
    EXPECT_TRUE(step.read.moved);
    EXPECT_EQ(take_messages(), 1);
}

TEST_F(ReadingLease, keeps_commands_for_the_io_thread)
{
    EXPECT_EQ(take_messages(), 0); // from now on the reader waits
    ASSERT_TRUE(lease_.grant(in_, stream_));
    stream_.pieces = {frame_bytes(0, "a") + frame_bytes(flag_command, "\4PING"),
                      frame_bytes(0, "b")};
    const auto step = lease_.read_leased({});
    EXPECT_TRUE(step.ended);
    EXPECT_FALSE(step.read.leased);
    EXPECT_TRUE(step.read.got);
    EXPECT_EQ(stream_.pieces.size(), 1u) << "what follows a command is read after the answer";
    lease_.take_back();
    EXPECT_EQ(lease_.take_findings().commands.size(), 1u);
    EXPECT_TRUE(lease_.take_findings().commands.empty());
    EXPECT_FALSE(lease_.keep_for_later({}));
}

TEST_F(ReadingLease, keeps_errors_for_the_io_thread)
{
    ASSERT_TRUE(lease_.grant(in_, stream_));
    stream_.pieces = {frame_bytes(0, std::string(101, 'x'))};
    EXPECT_TRUE(lease_.read_leased({}).ended);
    lease_.take_back();
    EXPECT_EQ(lease_.take_findings().error, engine::inbound_error::too_large);
    EXPECT_EQ(lease_.take_findings().error, engine::inbound_error::none);
}

TEST_F(ReadingLease, ends_with_the_connection)
{
    stream_.ended = true;
    ASSERT_TRUE(lease_.grant(in_, stream_));
    EXPECT_TRUE(lease_.read_leased({}).ended);
    EXPECT_FALSE(lease_.read_leased({}).ended) << "it was told";
}

TEST_F(ReadingLease, asks_once_until_it_is_answered)
{
    EXPECT_TRUE(lease_.ask());
    EXPECT_FALSE(lease_.ask());
    lease_.begin_answer();
    EXPECT_TRUE(lease_.ask());
}

using websocket_side = engine::websocket_codec::side;

enum class how_it_comes : std::uint8_t {
    as_in_a_queue,
    in_websocket_frames,
    masked,
};

/// With large bodies, that come in pieces.
class ReadingOutside : public ReadingLease, public ::testing::WithParamInterface<how_it_comes> {
protected:
    static constexpr std::size_t body_bytes = 50'000;

    ReadingOutside()
    {
        const engine::message_rules rules(-1, engine::kept_commands::none);
        const auto use = [this](auto in) {
            take_off_envelope_ = [&in = *in] { in.take_off_envelope(); };
            decoder_ = std::move(in);
        };
        if (GetParam() == how_it_comes::as_in_a_queue)
            use(std::make_unique<engine::inbound>(channels_->a_to_b, rules, *this));
        else
            use(std::make_unique<engine::wire_inbound>(
                channels_->a_to_b, wire_of(websocket_side::server), rules, *this));
        for (std::size_t i = 0; i < body_bytes; ++i)
            body_[i] = static_cast<char>(i * 7 / 5);
    }
    /// Of one end, which is that of a server where frames come masked.
    static engine::wire wire_of(websocket_side end)
    {
        engine::wire how;
        const bool turned = GetParam() == how_it_comes::in_websocket_frames;
        if (GetParam() != how_it_comes::as_in_a_queue)
            how.codec = std::make_shared<engine::websocket_codec>(
                (end == websocket_side::server) != turned ? websocket_side::server
                                                          : websocket_side::client);
        return how;
    }
    /// What comes of a frame.
    static std::string sent_frame(std::uint8_t flags, const std::string& body)
    {
        const engine::wire how = wire_of(websocket_side::client);
        engine::write_batch out;
        engine::frame_encoder(how, out).put_frame(flags, engine::as_bytes(body), nullptr);
        return test::bytes_of(out);
    }
    std::span<std::byte> memory() { return std::as_writable_bytes(std::span(memory_)); }
    /// What was read into the memory is not there any more.
    void use_memory_otherwise() { memory_.assign(memory_.size(), '#'); }
    std::string take_message()
    {
        frame part;
        if (!receiver_.in.peek(part))
            return "none";
        std::string text(part.text());
        receiver_.in.pop();
        return text;
    }

    std::string body_ = std::string(body_bytes, '\0');
    std::string memory_ = std::string(body_bytes, '#');
    engine::decoder& large_in() noexcept { return *decoder_; }
    std::unique_ptr<engine::decoder> decoder_;
    std::function<void()> take_off_envelope_;
};

INSTANTIATE_TEST_SUITE_P(Of, ReadingOutside,
                         ::testing::Values(how_it_comes::as_in_a_queue,
                                           how_it_comes::in_websocket_frames,
                                           how_it_comes::masked));

TEST_P(ReadingOutside, reads_a_large_body_into_the_memory_given)
{
    ASSERT_TRUE(lease_.grant(large_in(), stream_));
    const std::string bytes = sent_frame(0, body_);
    stream_.pieces = {bytes.substr(0, 1000)};
    const auto first = lease_.read_leased(memory());
    EXPECT_TRUE(first.read.outside);
    EXPECT_EQ(first.read.body.announced, nullptr);
    stream_.pieces = {bytes.substr(1000, 9000)};
    EXPECT_TRUE(lease_.read_leased(memory()).read.outside);
    stream_.pieces = {bytes.substr(10'000) + sent_frame(0, "next")};
    const auto last = lease_.read_leased(memory());
    EXPECT_FALSE(last.read.outside);
    ASSERT_NE(last.read.body.announced, nullptr);
    EXPECT_EQ(last.read.body.bytes, body_bytes);
    EXPECT_TRUE(memory_ == body_);
    frame part;
    ASSERT_TRUE(receiver_.in.peek(part));
    EXPECT_EQ(part.owner, last.read.body.announced);
    EXPECT_EQ(part.size, body_bytes);
    EXPECT_TRUE(part.text().substr(0, tuning::inproc::copied_at_once_bytes) ==
                body_.substr(0, tuning::inproc::copied_at_once_bytes));
    receiver_.in.pop();
    EXPECT_EQ(take_message(), "next");
    last.read.body.announced->drop_reference();
}

TEST_P(ReadingOutside, goes_on_there_with_a_body_of_which_little_has_come)
{
    for (const std::size_t come : {10U, 1000U, 16'000U, 17'000U}) {
        ASSERT_TRUE(lease_.grant(large_in(), stream_));
        const std::string bytes = sent_frame(0, body_);
        stream_.pieces = {bytes.substr(0, come)};
        EXPECT_FALSE(lease_.read_leased({}).read.outside);
        stream_.pieces = {bytes.substr(come)};
        const auto last = lease_.read_leased(memory());
        const auto* const announced = last.read.body.announced;
        EXPECT_EQ(come < 16'384, announced != nullptr) << come;
        EXPECT_TRUE(memory_ == (announced ? body_ : std::string(body_bytes, '#'))) << come;
        const std::string message = take_message();
        EXPECT_EQ(body_bytes, message.size());
        EXPECT_EQ(0, message.compare(0, 4096, body_, 0, 4096));
        if (announced)
            last.read.body.announced->drop_reference();
        else
            EXPECT_TRUE(message == body_);
        use_memory_otherwise();
        lease_.take_back();
    }
}

TEST_P(ReadingOutside, does_not_go_on_there_with_a_later_part)
{
    ASSERT_TRUE(lease_.grant(large_in(), stream_));
    const std::string bytes = sent_frame(1, "first") + sent_frame(0, body_);
    stream_.pieces = {bytes.substr(0, 1000)};
    EXPECT_FALSE(lease_.read_leased({}).read.outside);
    stream_.pieces = {bytes.substr(1000)};
    EXPECT_EQ(nullptr, lease_.read_leased(memory()).read.body.announced);
    EXPECT_EQ("first", take_message());
    EXPECT_TRUE(take_message() == body_);
    EXPECT_TRUE(memory_ == std::string(body_bytes, '#'));
}

TEST_P(ReadingOutside, leaves_what_follows_such_a_body_for_the_next_time)
{
    ASSERT_TRUE(lease_.grant(large_in(), stream_));
    const std::string next = sent_frame(0, body_);
    stream_.pieces = {sent_frame(0, body_) + next.substr(0, 500), next.substr(500)};
    const auto first = lease_.read_leased(memory());
    ASSERT_NE(nullptr, first.read.body.announced);
    EXPECT_TRUE(memory_ == body_);
    EXPECT_EQ(body_bytes, take_message().size());
    first.read.body.announced->drop_reference();
    use_memory_otherwise();
    const auto second = lease_.read_leased(memory());
    ASSERT_NE(nullptr, second.read.body.announced);
    EXPECT_TRUE(memory_ == body_);
    EXPECT_EQ(body_bytes, take_message().size());
    second.read.body.announced->drop_reference();
}

TEST_P(ReadingOutside, goes_on_inside_if_the_memory_is_wanted_back)
{
    const std::string bytes = sent_frame(0, body_);
    const std::vector<std::function<void()>> ends = {
        [&] { lease_.withdraw_memory(); },
        [&] { EXPECT_TRUE(lease_.give_back()); },
        [&] { EXPECT_EQ(lease_.read_for_room(), request::none); },
        [&] { lease_.take_back(); },
    };
    for (const auto& end : ends) {
        ASSERT_TRUE(lease_.grant(large_in(), stream_));
        stream_.pieces = {bytes.substr(0, 8000)};
        ASSERT_TRUE(lease_.read_leased(memory()).read.outside);
        end();
        use_memory_otherwise();
        lease_.take_back();
        ASSERT_TRUE(lease_.grant(large_in(), stream_));
        stream_.pieces = {bytes.substr(8000)};
        const auto rest = lease_.read_leased({});
        EXPECT_EQ(rest.read.body.announced, nullptr);
        EXPECT_TRUE(take_message() == body_);
        EXPECT_TRUE(memory_ == std::string(body_bytes, '#'));
        lease_.take_back();
    }
}

TEST_P(ReadingOutside, ends_when_the_io_thread_is_needed)
{
    ASSERT_TRUE(lease_.grant(large_in(), stream_));
    stream_.pieces = {sent_frame(0, body_).substr(0, 8000)};
    EXPECT_TRUE(lease_.read_leased(memory()).read.outside);
    stream_.ended = true;
    const auto step = lease_.read_leased(memory());
    EXPECT_TRUE(step.ended);
    EXPECT_FALSE(step.read.outside);
    large_in().reset();
    EXPECT_EQ(take_message(), "none");
}

TEST_P(ReadingOutside, is_for_what_comes_next_if_it_fits)
{
    ASSERT_TRUE(lease_.grant(large_in(), stream_));
    stream_.pieces = {sent_frame(0, body_ + "!")};
    EXPECT_EQ(lease_.read_leased(memory()).read.body.announced, nullptr);
    EXPECT_TRUE(take_message() == body_ + "!");
    stream_.pieces = {sent_frame(engine::zmtp3::flag_more, "first") + sent_frame(0, body_)};
    EXPECT_EQ(lease_.read_leased(memory()).read.body.announced, nullptr);
    EXPECT_EQ(take_message(), "first");
    EXPECT_TRUE(take_message() == body_);
    stream_.pieces = {sent_frame(0, "small")};
    EXPECT_FALSE(lease_.read_leased(memory()).read.outside);
    stream_.pieces = {sent_frame(0, body_)};
    EXPECT_EQ(lease_.read_leased({}).read.body.announced, nullptr) << "the memory was for one call";
    EXPECT_EQ(take_message(), "small");
    EXPECT_TRUE(take_message() == body_);
    stream_.pieces = {sent_frame(0, "first") + sent_frame(0, body_)};
    EXPECT_EQ(lease_.read_leased(memory()).read.body.announced, nullptr);
    EXPECT_EQ(take_message(), "first");
    EXPECT_TRUE(take_message() == body_);
}

TEST_P(ReadingOutside, is_for_the_part_behind_an_envelope_that_is_taken_off)
{
    const auto flag_more = engine::zmtp3::flag_more;
    take_off_envelope_();
    ASSERT_TRUE(lease_.grant(large_in(), stream_));
    const auto is_outside = [&](const std::string& before, const std::string& after = {}) {
        memory_.assign(memory_.size(), '#');
        stream_.pieces = {sent_frame(after.empty() ? 0 : flag_more, body_) + after};
        if (!before.empty())
            stream_.pieces.push_front(before);
        bool found = false;
        while (!stream_.pieces.empty()) {
            const auto body =
                lease_.read_leased(found ? std::span<std::byte>() : memory()).read.body;
            if (!body.announced)
                continue;
            found = true;
            EXPECT_TRUE(memory_ == body_);
            body.announced->drop_reference();
        }
        return found;
    };
    const auto take_all = [&] {
        std::vector<std::size_t> sizes;
        frame part;
        for (; receiver_.in.peek(part); receiver_.in.pop())
            sizes.push_back(part.size);
        return sizes;
    };
    using sizes = std::vector<std::size_t>;
    const std::string delimiter = sent_frame(flag_more, "");
    const std::string address = sent_frame(flag_more, "address");
    EXPECT_TRUE(is_outside(delimiter));
    EXPECT_EQ((sizes{0, body_bytes}), take_all());
    EXPECT_TRUE(is_outside(address + address + delimiter, sent_frame(0, "end")));
    EXPECT_EQ((sizes{7, 7, 0, body_bytes, 3}), take_all());
    EXPECT_FALSE(is_outside("")) << "may be part of the envelope";
    EXPECT_FALSE(is_outside(address, delimiter + sent_frame(0, "end"))) << "is part of it";
    EXPECT_FALSE(is_outside(delimiter + address)) << "is the second part";
    EXPECT_FALSE(is_outside(delimiter + delimiter)) << "the first part is empty as well";
    EXPECT_EQ((sizes{body_bytes, 7, body_bytes, 0, 3, 0, 7, body_bytes, 0, 0, body_bytes}),
              take_all());
}

TEST_F(ReadingLease, tells_when_it_is_not_made_use_of)
{
    int unused = 0;
    ASSERT_TRUE(lease_.grant(in_, stream_));
    lease_.watch([&] { ++unused; });
    stream_.pieces = {frame_bytes(0, "a")};
    lease_.read_leased({});
    io_.run_one();
    EXPECT_EQ(unused, 0) << "something was read";
    io_.run_one();
    EXPECT_EQ(unused, 1);
    EXPECT_EQ(io_.poll(), 0u) << "once is enough";
}

TEST_F(ReadingLease, tells_nothing_once_it_is_taken_back)
{
    int unused = 0;
    ASSERT_TRUE(lease_.grant(in_, stream_));
    lease_.watch([&] { ++unused; });
    lease_.take_back();
    io_.run();
    EXPECT_EQ(unused, 0);
    io_.restart();
    ASSERT_TRUE(lease_.grant(in_, stream_));
    lease_.watch([&] { ++unused; });
    lease_.stop();
    io_.run();
    EXPECT_EQ(unused, 0);
    EXPECT_FALSE(stream_.is_released);
}

} // namespace
} // namespace zlink::core
