// SPDX-License-Identifier: Apache-2.0
// What becomes of the connections of an address that is unbound.
#include "support/listening_post.hpp" // first: it declares the draft API

#include "support/fixture.hpp"
#include "support/zmtp.hpp"

#include <stdexcept>
#include <string>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

/// libzmq keeps them until all has been received, and loses what comes after that.
class ZlinkOnlyUnbind : public transport_test {};

ZLINK_WIRE_TRANSPORTS(ZlinkOnlyUnbind);

TEST_P(ZlinkOnlyUnbind, ends_connections_although_messages_are_still_to_be_received)
{
    connected_pair pair = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    listening_post at_peer(context_, pair.peer, ZMQ_EVENT_DISCONNECTED);
    for (const char* const text : {"first", "second", "third"})
        pair.peer.send(text);
    EXPECT_EQ("first", pair.bound.recv());
    ASSERT_TRUE(pair.bound.readable()) << "the second one has come";
    pair.bound.unbind(pair.address);
    at_peer.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ("second", pair.bound.recv());
}

/// A peer that is written by hand.
class ZlinkOnlyUnbound : public transport_test {
protected:
    void SetUp() override
    {
        pull_.set(ZMQ_RCVHWM, 1);
        address_ = pull_.bind_and_resolve(fresh_bind_address(GetParam()));
        peer_ = raw_peer(address_);
        zmtp::shake_hands(peer_, "PUSH");
    }

    test_socket pull_{context_, ZMQ_PULL};
    std::string address_;
    raw_peer peer_;
};

ZLINK_LINKS_WITH(ZlinkOnlyUnbound, has_plain_zmtp);

TEST_P(ZlinkOnlyUnbound, leaves_what_has_come_to_be_received)
{
    constexpr int messages = 500;
    std::string frames;
    for (int number = 0; number < messages; ++number)
        frames += zmtp::frame(std::to_string(number));
    peer_.send(frames);
    peer_.wait_until_sent();
    pull_.unbind(address_);
    for (int number = 0; number < messages; ++number)
        ASSERT_EQ(std::to_string(number), pull_.recv());
}

// The peer could not know which of its messages is the last that is received.
TEST_P(ZlinkOnlyUnbound, is_the_end_of_what_is_received)
{
    peer_.send(zmtp::frame("first") + zmtp::frame("second"));
    peer_.wait_until_sent();
    ASSERT_TRUE(pull_.readable());
    pull_.unbind(address_);
    try {
        peer_.send(zmtp::frame("late"));
    } catch (const std::runtime_error&) { // it has been told already
    }
    EXPECT_EQ("first", pull_.recv());
    EXPECT_EQ("second", pull_.recv());
    EXPECT_FALSE(pull_.readable(quiet_window));
    EXPECT_NO_THROW(peer_.recv_to_end());
}

} // namespace
} // namespace zlink::test
