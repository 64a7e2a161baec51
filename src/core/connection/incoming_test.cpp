// SPDX-License-Identifier: Apache-2.0
#include "core/connection/incoming.hpp"

#include "core/connection/traffic_for_tests.hpp"
#include "sockets/patterns.hpp"

#include "engine/codec/zmtp3.hpp"
#include "engine/handshake/socket_types.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
using texts = std::vector<std::string>;
using test::frame_bytes;

class Incoming : public ::testing::Test, public engine::command_handler {
protected:
    void on_command(std::span<const std::byte>) override
    {
        if (lost_by_command_)
            in_->reset();
    }
    void begin(int type)
    {
        options_.type = type;
        options_.traits = &sockets::traits_of(type);
        in_.emplace(std::make_shared<const socket_options>(options_));
        connect();
    }
    void connect()
    {
        engine::wire how;
        how.is_plain_bytes = options_.wire != wire_format::zmtp;
        in_->begin(how, pipe_, *this);
    }
    engine::inbound_error feed(const std::string& bytes)
    {
        return in_->feed(std::as_bytes(std::span(bytes)));
    }
    /// The parts that the socket can read now.
    texts received()
    {
        texts all;
        for (frame part; pipe_->in.peek(part); pipe_->in.pop())
            all.emplace_back(part.text());
        return all;
    }

    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    std::shared_ptr<pipe_end> pipe_ = std::make_shared<pipe_end>(channels_, true, nullptr);
    socket_options options_;
    std::optional<incoming> in_;
    bool lost_by_command_ = false;
};

TEST_F(Incoming, passes_on_what_has_come_before_an_error)
{
    options_.max_message_bytes = 5;
    begin(types::pull);
    EXPECT_EQ(feed(frame_bytes(0, "one") + frame_bytes(0, "two")), engine::inbound_error::none);
    EXPECT_EQ(received(), (texts{"one", "two"}));
    EXPECT_EQ(feed(frame_bytes(0, "three") + frame_bytes(0, "too long")),
              engine::inbound_error::too_large);
    EXPECT_EQ(received(), texts{"three"});
}

TEST_F(Incoming, expects_of_a_reply_what_a_reply_has)
{
    begin(types::req);
    EXPECT_EQ(feed(frame_bytes(0, "no envelope")), engine::inbound_error::bad_envelope);
    EXPECT_EQ(received(), texts{});
}

TEST_F(Incoming, begins_each_connection_with_a_whole_message)
{
    begin(types::pull);
    feed(frame_bytes(engine::zmtp3::flag_more, "half"));
    in_->reset();
    EXPECT_EQ(feed(frame_bytes(0, "nobody")), engine::inbound_error::none)
        << "nothing is connected";
    connect();
    feed(frame_bytes(0, "whole"));
    EXPECT_EQ(received(), texts{"whole"});
}

TEST_F(Incoming, takes_nothing_that_follows_a_command_that_ended_the_connection)
{
    begin(types::pull);
    lost_by_command_ = true;
    EXPECT_EQ(feed(frame_bytes(0, "before") + frame_bytes(engine::zmtp3::flag_command, "\4PING") +
                   frame_bytes(0, "after")),
              engine::inbound_error::none);
    EXPECT_EQ(received(), texts{"before"});
}

TEST_F(Incoming, tells_of_a_loss_behind_what_has_come)
{
    options_.disconnect_message = "gone";
    options_.hiccup_message = "again";
    begin(types::peer);
    feed(frame_bytes(0, "last") + frame_bytes(engine::zmtp3::flag_more, "half"));
    in_->reset();
    in_->tell_of_loss(false);
    EXPECT_EQ(received(), (texts{"last", "gone"}));
    in_->tell_of_loss(true);
    EXPECT_EQ(received(), (texts{"gone", "again"}));
}

TEST_F(Incoming, keeps_the_newest_if_that_is_wanted)
{
    pipe_->set_conflation(false, true);
    options_.conflate = true;
    begin(types::pull);
    EXPECT_TRUE(in_->keeps_newest());
    feed(frame_bytes(0, "old") + frame_bytes(0, "new"));
    EXPECT_EQ(received(), texts{"new"});
    in_->leave();
    feed(frame_bytes(0, "nobody reads this"));
    EXPECT_EQ(received(), texts{});
}

} // namespace
} // namespace zlink::core
