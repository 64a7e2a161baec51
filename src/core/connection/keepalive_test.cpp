// SPDX-License-Identifier: Apache-2.0
#include "core/connection/keepalive.hpp"

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"

#include <gtest/gtest.h>
#include <new>
#include <string>
#include <vector>

namespace zlink::core {
namespace {

using action = keepalive::action;
using engine::traffic_command;
using engine::traffic_command_kind;
using texts = std::vector<std::string>;

std::string text(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string describe(const traffic_command& command)
{
    switch (command.kind) {
    case traffic_command_kind::ping:
        return "PING " + std::to_string(command.ttl_ms) + text(command.argument);
    case traffic_command_kind::pong:
        return "PONG " + text(command.argument);
    default:
        return "other";
    }
}

/// The connection is the test, and time stands still unless the timer is run.
class Keepalive : public ::testing::Test, public kept_connection {
protected:
    static constexpr bool with_commands = true;
    static constexpr bool without_commands = false;

    void send_command(const traffic_command& command) override
    {
        if (has_no_memory_)
            throw std::bad_alloc();
        sent_.push_back(describe(command));
        out_.written_bytes += static_cast<std::int64_t>(bytes_on_wire(command));
    }
    bool control_waits() override { return out_.control_waits; }
    std::size_t bytes_on_wire(const traffic_command& command) override
    {
        return engine::traffic_command_frame_bytes(command);
    }
    engine::sending_progress::state progress() override { return out_; }
    void end_connection() noexcept override
    {
        ++ends_;
        keepalive_.stop();
    }
    std::shared_ptr<void> timer_owner() override { return owner_; }

    void begin(bool carries_commands = with_commands) { keepalive_.begin(carries_commands); }
    void receive(const traffic_command& command)
    {
        std::vector<std::byte> frame;
        engine::append_traffic_command(frame, command);
        engine::zmtp3::for_each_frame(frame, [this](std::uint8_t, std::span<const std::byte> body) {
            keepalive_.command_received(body);
        });
    }

    boost::asio::io_context io_;
    std::shared_ptr<int> owner_ = std::make_shared<int>();
    engine::heartbeat_settings settings_{
        .interval_ms = 10'000, .timeout_ms = 10'000, .ttl_ms = 700};
    keepalive keepalive_{io_, settings_, *this};
    engine::sending_progress::state out_;
    texts sent_;
    int ends_ = 0;
    bool has_no_memory_ = false;
};

TEST_F(Keepalive, begins_with_a_ping_where_there_are_heartbeats_and_commands)
{
    std::vector<std::byte> expected;
    engine::append_traffic_command(expected, {traffic_command_kind::ping, {}, 700});
    std::vector<std::byte> frames;
    keepalive_.append_first_ping(frames, with_commands);
    EXPECT_EQ(expected, frames);
    frames.clear();
    keepalive_.append_first_ping(frames, without_commands);
    EXPECT_TRUE(frames.empty());
    settings_.interval_ms = 0;
    keepalive_.append_first_ping(frames, with_commands);
    EXPECT_TRUE(frames.empty());
}

TEST_F(Keepalive, judges_the_peer_where_there_are_heartbeats_and_commands)
{
    begin(without_commands);
    EXPECT_FALSE(keepalive_.judges());
    begin();
    EXPECT_TRUE(keepalive_.judges());
    EXPECT_EQ(2, owner_.use_count()) << "kept by the timer";
    keepalive_.stop();
    EXPECT_FALSE(keepalive_.judges());
}

TEST_F(Keepalive, sends_a_ping_unless_an_earlier_one_waits_to_be_written)
{
    begin();
    keepalive_.due(action::ping);
    EXPECT_EQ(texts{"PING 700"}, sent_);
    EXPECT_TRUE(keepalive_.timer().awaits_answer());
    out_.control_waits = true;
    keepalive_.due(action::ping);
    EXPECT_EQ(1u, sent_.size());
}

TEST_F(Keepalive, sends_a_pong_that_nobody_asked_for_unless_the_peer_will_hear_of_it_anyway)
{
    begin();
    out_.control_waits = true;
    keepalive_.due(action::pong);
    EXPECT_EQ(texts{}, sent_);
    out_.control_waits = false;
    keepalive_.due(action::pong);
    EXPECT_EQ(texts{"PONG "}, sent_);
}

TEST_F(Keepalive, answers_a_ping_with_its_context)
{
    begin(without_commands);
    receive({traffic_command_kind::ping, engine::as_bytes("context"), 300});
    EXPECT_EQ(texts{"PONG context"}, sent_);
    EXPECT_TRUE(keepalive_.judges()) << "the peer has said how long it will not be silent";
}

TEST_F(Keepalive, takes_other_commands_as_signs_of_life_only)
{
    begin();
    for (const auto kind : {traffic_command_kind::pong, traffic_command_kind::subscribe}) {
        keepalive_.due(action::ping);
        EXPECT_TRUE(keepalive_.timer().awaits_answer());
        receive({kind, {}, 0});
        EXPECT_FALSE(keepalive_.timer().awaits_answer());
    }
    EXPECT_EQ((texts{"PING 700", "PING 700"}), sent_);
}

TEST_F(Keepalive, ends_the_connection_of_a_peer_that_does_not_answer)
{
    begin();
    keepalive_.due(action::ping);
    keepalive_.due(action::unanswered);
    EXPECT_EQ(1, ends_);
}

TEST_F(Keepalive, ends_the_connection_of_a_peer_that_breaks_its_promise)
{
    begin();
    keepalive_.due(action::dead);
    EXPECT_EQ(1, ends_);
}

TEST_F(Keepalive, waits_on_while_the_peer_takes_what_is_ahead_of_the_ping)
{
    begin();
    out_ = {.written_bytes = 1000, .acknowledged_bytes = 100};
    keepalive_.due(action::ping);
    out_.acknowledged_bytes = 500;
    keepalive_.due(action::unanswered);
    EXPECT_EQ(0, ends_);
    keepalive_.due(action::unanswered);
    EXPECT_EQ(1, ends_) << "nothing has moved since";
}

TEST_F(Keepalive, counts_what_was_ahead_of_the_first_of_several_pings)
{
    begin();
    keepalive_.due(action::ping);
    out_.written_bytes += 1000;
    keepalive_.due(action::ping);
    out_.acknowledged_bytes = 500;
    keepalive_.due(action::unanswered);
    EXPECT_EQ(1, ends_) << "behind the unanswered PING, the kernel of a peer that hangs takes it";
}

TEST_F(Keepalive, ends_the_connection_when_there_is_no_memory_to_keep_it)
{
    settings_.interval_ms = 1;
    has_no_memory_ = true;
    begin();
    io_.run();
    EXPECT_EQ(1, ends_);
    EXPECT_EQ(texts{}, sent_);
    EXPECT_EQ(1, owner_.use_count());
}

TEST_F(Keepalive, concludes_nothing_from_silence_once_input_means_nothing)
{
    settings_.interval_ms = 0;
    EXPECT_FALSE(keepalive_.listens_to_the_end());
    begin();
    receive({traffic_command_kind::ping, {}, 300});
    keepalive_.input_means_nothing();
    EXPECT_TRUE(keepalive_.timer().paused());
}

TEST_F(Keepalive, listens_to_the_end_where_it_sends_pings)
{
    EXPECT_TRUE(keepalive_.listens_to_the_end());
    begin();
    keepalive_.input_means_nothing();
    EXPECT_FALSE(keepalive_.timer().paused());
}

} // namespace
} // namespace zlink::core
