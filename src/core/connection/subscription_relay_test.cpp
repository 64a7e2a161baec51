// SPDX-License-Identifier: Apache-2.0
#include "core/connection/subscription_relay.hpp"

#include "engine/commands/traffic_commands.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace zlink::core {
namespace {

using engine::traffic_command_kind;

std::vector<std::byte> command_frame(traffic_command_kind kind, std::string_view argument)
{
    std::vector<std::byte> bytes;
    engine::append_traffic_command(bytes, {kind, std::as_bytes(std::span(argument)), 0});
    return bytes;
}

std::string text(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One subscription, or one group.
class one_subscription final : public subscription_source {
public:
    explicit one_subscription(traffic_command_kind kind) : kind_(kind) {}
    void snapshot(std::vector<std::byte>& frames, bool again, pipe_end&,
                  const std::function<void()>& then) override
    {
        frames = command_frame(kind_, "a");
        repeated.push_back(again);
        then();
    }
    std::vector<bool> repeated;

private:
    const traffic_command_kind kind_;
};

class SubscriptionRelay : public ::testing::Test {
protected:
    void begin(subscription_source& source, announced what, std::uint8_t major, std::uint8_t minor)
    {
        engine::remote_peer remote;
        remote.major = major;
        remote.minor = minor;
        opening_.clear();
        relay_.begin(opening_, source, what, remote, pipe_, [&] { ++announced_; });
    }
    std::string opening() const { return text(opening_); }
    /// What becomes of a command that lies at `position` of the queue.
    std::string filtered(traffic_command_kind kind, std::uint64_t position)
    {
        engine::wire how;
        how.filter = &relay_;
        engine::write_batch out;
        const auto frame = command_frame(kind, "a"); // flags, size, body
        engine::frame_encoder(how, out).put({4, std::span(frame).subspan(2), nullptr, position});
        return text(out.copies());
    }

    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    pipe_end pipe_{channels_, true, nullptr};
    std::vector<std::byte> opening_;
    subscription_relay relay_;
    int announced_ = 0;
};

TEST_F(SubscriptionRelay, tells_each_connection_what_is_subscribed)
{
    one_subscription source(traffic_command_kind::subscribe);
    for (int connection = 1; connection <= 2; ++connection) {
        begin(source, announced::subscriptions, 3, 1);
        EXPECT_EQ(opening(), text(command_frame(traffic_command_kind::subscribe, "a")));
        EXPECT_EQ(announced_, connection);
        EXPECT_TRUE(pipe_.origin.takes_subscriptions);
    }
    EXPECT_EQ(source.repeated, (std::vector<bool>{true, false}));
}

TEST_F(SubscriptionRelay, tells_older_peers_by_messages)
{
    one_subscription source(traffic_command_kind::subscribe);
    begin(source, announced::subscriptions, 3, 0);
    EXPECT_EQ(opening(), std::string("\0\2\1a", 4));
    EXPECT_EQ(filtered(traffic_command_kind::cancel, 0), std::string("\0\2\0a", 4));
    EXPECT_FALSE(relay_.passes_all(1000));
    begin(source, announced::subscriptions, 1, 0);
    EXPECT_EQ(opening(), std::string("\0\2\1a", 4)) << "the wire gives it the head of ZMTP 1.0";
}

TEST_F(SubscriptionRelay, tells_of_groups_by_commands)
{
    one_subscription source(traffic_command_kind::join);
    begin(source, announced::groups, 3, 0);
    EXPECT_EQ(opening(), text(command_frame(traffic_command_kind::join, "a")));
}

TEST_F(SubscriptionRelay, tells_peers_without_commands_of_no_groups)
{
    one_subscription source(traffic_command_kind::join);
    for (const std::uint8_t major : {1, 2}) {
        begin(source, announced::groups, major, 0);
        EXPECT_EQ(opening(), "");
        EXPECT_EQ(filtered(traffic_command_kind::leave, 0), "");
    }
}

TEST_F(SubscriptionRelay, leaves_out_what_the_connection_was_told_already)
{
    const frame early = frame_of("queued before the connection", false);
    ASSERT_TRUE(pipe_.out.write(early));
    const std::uint64_t position = channels_->a_to_b.queue.published_position();
    ASSERT_GT(position, 0u);
    one_subscription source(traffic_command_kind::subscribe);
    begin(source, announced::subscriptions, 3, 1);
    EXPECT_FALSE(relay_.passes_all(position - 1));
    EXPECT_TRUE(relay_.passes_all(position)) << "it passes as it lies in the queue";
    EXPECT_EQ(filtered(traffic_command_kind::subscribe, position - 1), "");
    EXPECT_EQ(filtered(traffic_command_kind::subscribe, position),
              text(command_frame(traffic_command_kind::subscribe, "a")));
}

} // namespace
} // namespace zlink::core
