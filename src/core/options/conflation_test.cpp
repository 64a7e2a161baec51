// SPDX-License-Identifier: Apache-2.0
#include "core/options/conflation.hpp"
#include "engine/handshake/socket_types.hpp"
#include "sockets/patterns.hpp"

#include "core/pipe/pipe.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace zlink::test {
namespace {

using namespace core;
namespace types = engine::socket_types;

TEST(Conflation, is_for_the_directions_that_carry_messages)
{
    struct row {
        int type;
        bool sending;
        bool receiving;
    };
    for (const row& row : {row{types::push, true, false}, row{types::pull, false, true},
                           row{types::pub, true, false}, row{types::sub, false, true},
                           row{types::dealer, true, true}, row{types::router, false, false},
                           row{types::xpub, false, false}, row{types::pair, false, false}}) {
        socket_options options;
        options.type = row.type;
        options.traits = &sockets::traits_of(row.type);
        EXPECT_FALSE(conflates_sending(options) || conflates_receiving(options)) << row.type;
        options.conflate = true;
        EXPECT_EQ(row.sending, conflates_sending(options)) << row.type;
        EXPECT_EQ(row.receiving, conflates_receiving(options)) << row.type;
    }
}

/// The two ends of a pipe within the process.
class ConflatingPipe : public ::testing::Test {
protected:
    ConflatingPipe()
    {
        sender_->set_other_end(receiver_);
        receiver_->set_other_end(sender_);
        sender_->set_limits(2, 2);
        receiver_->set_limits(2, 2);
    }
    ~ConflatingPipe() override
    {
        sender_->set_other_end(nullptr);
        receiver_->set_other_end(nullptr);
        told(); // mail that waits would keep its pipe end, and that the mailbox
    }

    bool send(const std::string& body, bool more = false)
    {
        return sender_->out.can_write() && sender_->out.write(frame_of(body, more));
    }
    std::string peek()
    {
        frame part;
        return receiver_->in.peek(part) ? std::string(part.text()) : "nothing";
    }
    std::string receive()
    {
        const std::string body = peek();
        receiver_->in.pop();
        return body;
    }
    /// Whether the receiver was told since this was asked last.
    bool told()
    {
        bool readable = false;
        box_->collect([&](const auto&, base::mail&, std::uint32_t events) {
            readable |= (events & pipe_end::readable) != 0;
        });
        return readable;
    }

    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    std::shared_ptr<base::mailbox> box_ = std::make_shared<base::mailbox>();
    std::shared_ptr<pipe_end> sender_ = std::make_shared<pipe_end>(channels_, true, nullptr);
    std::shared_ptr<pipe_end> receiver_ = std::make_shared<pipe_end>(channels_, false, box_);
};

TEST_F(ConflatingPipe, a_plain_receiver_gets_the_newest_message_and_is_woken)
{
    sender_->set_conflation(true, false);
    EXPECT_EQ("nothing", receive());
    for (int index = 0; index < 100; ++index)
        ASSERT_TRUE(send(std::to_string(index)));
    EXPECT_TRUE(told());
    EXPECT_EQ("99", receive());
    EXPECT_EQ("nothing", receive());
    EXPECT_FALSE(told());
    ASSERT_TRUE(send("again"));
    EXPECT_TRUE(told());
    EXPECT_EQ("again", receive());
}

TEST_F(ConflatingPipe, a_peeked_part_gives_way_to_a_newer_message)
{
    sender_->set_conflation(true, false);
    receiver_->set_conflation(false, true);
    ASSERT_TRUE(send("old"));
    EXPECT_EQ("old", peek());
    EXPECT_EQ("old", peek());
    ASSERT_TRUE(send("new"));
    EXPECT_EQ("new", receive());
    EXPECT_EQ("nothing", receive());
}

TEST_F(ConflatingPipe, skipping_a_message_does_not_skip_a_newer_one)
{
    sender_->set_conflation(true, false);
    receiver_->set_conflation(false, true);
    ASSERT_TRUE(send("old"));
    EXPECT_EQ("old", peek());
    ASSERT_TRUE(send("new"));
    std::size_t max_parts = SIZE_MAX;
    receiver_->in.skip_message(max_parts);
    EXPECT_EQ("new", receive());
}

TEST_F(ConflatingPipe, keeps_the_last_part_of_a_message)
{
    sender_->set_conflation(true, false);
    ASSERT_TRUE(send("a", true));
    EXPECT_EQ("nothing", receive());
    ASSERT_TRUE(send("b"));
    frame part;
    ASSERT_TRUE(receiver_->in.peek(part));
    EXPECT_EQ("b", part.text());
    EXPECT_FALSE(part.more());
}

TEST_F(ConflatingPipe, begins_to_conflate_when_the_peer_says_so)
{
    int accepted = 0;
    while (send("queued " + std::to_string(accepted)))
        ++accepted;
    EXPECT_EQ(4, accepted);
    receiver_->set_conflation(false, true);
    peer_info info;
    info.wants_newest = true;
    sender_->set_peer(std::make_unique<peer_info>(std::move(info)));
    sender_->take_peer();
    EXPECT_EQ("queued 3", peek());
    ASSERT_TRUE(send("newer"));
    ASSERT_TRUE(send("newest"));
    EXPECT_EQ("newest", receive());
    EXPECT_EQ("nothing", receive());
    sender_->set_limits(2, 2);
    for (int index = 0; index < 100; ++index)
        ASSERT_TRUE(send("unlimited"));
}

} // namespace
} // namespace zlink::test
