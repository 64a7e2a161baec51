// SPDX-License-Identifier: Apache-2.0
// What zmq_msg_gets tells of the properties that a peer announces in its handshake.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/fixture.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

namespace zlink::test {
namespace {

using property_list = std::vector<std::pair<std::string, std::string>>;

/// A message that a peer with these properties sends to a PULL socket.
class peer_properties : public ::testing::Test {
protected:
    ~peer_properties() override { zmq_msg_close(&message_); }

    void receive_from(raw_peer& peer, const property_list& properties)
    {
        std::string announced;
        for (const auto& [name, value] : properties)
            announced += zmtp::property(name, value);
        zmtp::play(peer,
                   {zmtp::greeting(), zmtp::command("READY", announced), zmtp::frame("hello")});
        ASSERT_EQ(zmq_msg_recv(&message_, pull_, 0), 5);
    }

    /// The property of the message, or what is not one.
    std::string get(const char* name)
    {
        const char* const value = zmq_msg_gets(&message_, name);
        return value ? value : "(none)";
    }

    test_context context_;
    test_socket pull_{context_, ZMQ_PULL};
    std::string address_ = pull_.bind_and_resolve(fresh_bind_address(transport::tcp));
    zmq_msg_t message_ = [] {
        zmq_msg_t empty;
        zmq_msg_init(&empty);
        return empty;
    }();
};

TEST_F(peer_properties, are_found_by_their_exact_names)
{
    raw_peer peer(address_);
    receive_from(peer, {{"Socket-Type", "PUSH"},
                        {"X-Foo", "bar"},
                        {"X-Foo", "second"},
                        {"X-Empty", ""},
                        {"X-Zero", std::string("a\0b", 3)},
                        {"Other", "1:2"}});
    EXPECT_EQ(get("Socket-Type"), "PUSH");
    EXPECT_EQ(get("X-Foo"), "bar") << "the first of a name wins";
    EXPECT_EQ(get("X-Empty"), "");
    EXPECT_EQ(get("X-Zero"), "a");
    EXPECT_EQ(get("Other"), "1:2");
    EXPECT_EQ(get("x-foo"), "(none)");
    EXPECT_EQ(get("X-Fo"), "(none)");
    EXPECT_EQ(get("Peer-Address"), "127.0.0.1");
}

TEST_F(peer_properties, are_kept_with_and_without_a_meaning)
{
    raw_peer peer(address_);
    receive_from(peer, {{"Identity", "name"}, {"Resource", "/part"}, {"Socket-Type", "PUSH"}});
    EXPECT_EQ(get("Identity"), "name");
    EXPECT_EQ(get("Resource"), "/part");
    EXPECT_EQ(get("Socket-Type"), "PUSH");
}

TEST_F(peer_properties, do_not_stand_for_what_is_known_of_the_connection)
{
    raw_peer peer(address_);
    receive_from(peer, {{"Socket-Type", "PUSH"}, {"Peer-Address", "192.0.2.1"}, {"__fd", "0"}});
    EXPECT_EQ(get("Peer-Address"), "127.0.0.1");
    EXPECT_EQ(get("__fd"), std::to_string(zmq_msg_get(&message_, ZMQ_SRCFD)));
}

// libzmq hands it on when no handler was asked.
TEST_F(peer_properties, ZlinkOnly_do_not_tell_who_a_user_is)
{
    raw_peer peer(address_);
    receive_from(peer, {{"Socket-Type", "PUSH"}, {"User-Id", "root"}, {"X-Foo", "bar"}});
    EXPECT_EQ(get("User-Id"), "(none)");
    EXPECT_EQ(get("X-Foo"), "bar");
}

TEST_F(peer_properties, need_not_tell_the_type)
{
    raw_peer peer(address_);
    receive_from(peer, {{"socket-type", "SUB"}});
    EXPECT_EQ(get("Socket-Type"), "(none)");
    EXPECT_EQ(get("socket-type"), "SUB");
}

TEST_F(peer_properties, belong_to_the_peer_of_the_message)
{
    raw_peer first(address_);
    receive_from(first, {{"Socket-Type", "PUSH"}, {"X-Name", "first"}});
    EXPECT_EQ(get("X-Name"), "first");
    raw_peer second(address_);
    receive_from(second, {{"Socket-Type", "PUSH"}, {"X-Name", "second"}});
    EXPECT_EQ(get("X-Name"), "second");
    first.send(zmtp::frame("again"));
    ASSERT_EQ(zmq_msg_recv(&message_, pull_, 0), 5);
    EXPECT_EQ(get("X-Name"), "first");
}

TEST_F(peer_properties, are_not_there_with_peers_older_than_zmtp_3_0)
{
    raw_peer peer(address_);
    // Signature, revision 1, PUSH, no identity, a message.
    peer.send(std::string("\xff\0\0\0\0\0\0\0\1\x7f\1\x8\0\0\0\5hello", 21));
    ASSERT_EQ(zmq_msg_recv(&message_, pull_, 0), 5);
    EXPECT_EQ(get("Socket-Type"), "(none)");
    EXPECT_EQ(get("Peer-Address"), "127.0.0.1");
}

} // namespace
} // namespace zlink::test
