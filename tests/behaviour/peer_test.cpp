// SPDX-License-Identifier: Apache-2.0
// PEER: a SERVER among its like.
#include "support/draft.hpp"

namespace zlink::test {
namespace {

class PeerSocket : public transport_test {
protected:
    test_socket bound_{context_, ZMQ_PEER};
    std::string address_ = bound_.bind_and_resolve(fresh_bind_address(GetParam()));
};

TEST_P(PeerSocket, sends_first_to_the_peer_it_connects_to)
{
    test_socket caller(context_, ZMQ_PEER);
    const std::uint32_t to = connect_peer(caller, address_);
    ASSERT_NE(0u, to);
    EXPECT_EQ(5, send_to(caller, to, "hello"));
    draft_message message;
    receive(bound_, message);
    EXPECT_EQ("hello", message.body());
    EXPECT_NE(0u, message.routing_id());
    EXPECT_EQ(5, send_to(bound_, message.routing_id(), "there"));
    draft_message answer;
    receive(caller, answer);
    EXPECT_EQ("there", answer.body());
    EXPECT_EQ(to, answer.routing_id());
}

TEST_P(PeerSocket, keeps_its_peers_apart)
{
    test_socket other(context_, ZMQ_PEER);
    const std::string second = other.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket caller(context_, ZMQ_PEER);
    const std::uint32_t one = connect_peer(caller, address_);
    const std::uint32_t two = connect_peer(caller, second);
    EXPECT_NE(one, two);
    send_to(caller, two, "to the second");
    send_to(caller, one, "to the first");
    EXPECT_EQ("to the first", bound_.recv());
    EXPECT_EQ("to the second", other.recv());
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(caller, "nobody", 6, 0)));
}

TEST_P(PeerSocket, queues_for_a_peer_that_comes_later_and_keeps_its_number)
{
    const std::string address = known_address(GetParam());
    test_socket caller(context_, ZMQ_PEER);
    caller.set(ZMQ_RECONNECT_IVL, 10);
    const std::uint32_t to = connect_peer(caller, address);
    ASSERT_NE(0u, to);
    EXPECT_EQ(5, send_to(caller, to, "early"));
    {
        test_socket late(context_, ZMQ_PEER);
        late.bind(address);
        draft_message message;
        receive(late, message);
        EXPECT_EQ("early", message.body());
        send_to(late, message.routing_id(), "answer");
        draft_message answer;
        receive(caller, answer);
        EXPECT_EQ(to, answer.routing_id());
    }
    if (GetParam() == transport::inproc)
        return; // does not reconnect
    test_socket again(context_, ZMQ_PEER);
    again.bind(address);
    draft_message message;
    ASSERT_TRUE(wait_until([&] {
        send_to(caller, to, "again", ZMQ_DONTWAIT);
        return again.readable(std::chrono::milliseconds(10));
    }));
    receive(again, message);
    EXPECT_EQ("again", message.body());
    send_to(again, message.routing_id(), "answer");
    receive(caller, message);
    EXPECT_EQ("answer", message.body());
    EXPECT_EQ(to, message.routing_id());
}

TEST_P(PeerSocket, lets_go_of_a_peer_it_has_connected_to)
{
    test_socket caller(context_, ZMQ_PEER);
    const std::uint32_t to = connect_peer(caller, address_);
    send_to(caller, to, "hello");
    draft_message message;
    receive(bound_, message);
    EXPECT_EQ(0, zmq_disconnect_peer(caller, to));
    EXPECT_TRUE(fails_with(EHOSTUNREACH, send_to(caller, to, "x")));
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_disconnect_peer(caller, to)));
    ASSERT_TRUE(wait_until([&] {
        return send_to(bound_, message.routing_id(), "x", ZMQ_DONTWAIT) < 0 &&
               zmq_errno() == EHOSTUNREACH;
    }));
}

ZLINK_ALL_TRANSPORTS(PeerSocket);

int error_of(void* socket, const char* address)
{
    errno = 0;
    EXPECT_EQ(0u, zmq_connect_peer(socket, address)) << address;
    return zmq_errno();
}

TEST(ConnectPeer, says_what_is_wrong)
{
    test_context context;
    test_socket peer(context, ZMQ_PEER);
    EXPECT_EQ(ENOTSOCK, error_of(nullptr, "inproc://x"));
    EXPECT_EQ(EINVAL, error_of(peer, nullptr));
    EXPECT_EQ(EINVAL, error_of(peer, "nonsense"));
    EXPECT_EQ(EPROTONOSUPPORT, error_of(peer, "other://x"));
    for (const int type : {ZMQ_SERVER, ZMQ_CLIENT, ZMQ_DEALER}) {
        test_socket other(context, type);
        EXPECT_EQ(ENOTSUP, error_of(other, "inproc://x")) << type;
    }
    peer.set(ZMQ_IMMEDIATE, 1);
    EXPECT_EQ(EFAULT, error_of(peer, "inproc://x"));
}

TEST(ConnectPeer, says_what_is_wrong_with_an_address)
{
    test_context context;
    test_socket peer(context, ZMQ_PEER);
    for (const char* address :
         {"", "tcp", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:*",
          "tcp://127.0.0.1:http", "tcp://:5555", "tcp://*:5555", "ipc://@", "inproc://"})
        EXPECT_EQ(EINVAL, error_of(peer, address)) << address;
    const std::string too_long = "ipc:///" + std::string(108, 'p');
    EXPECT_EQ(ENAMETOOLONG, error_of(peer, too_long.c_str()));
    EXPECT_EQ(ENOCOMPATPROTO, error_of(peer, "udp://127.0.0.1:5555"));
    // No endpoint is left behind.
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(peer, too_long.c_str())));
    test_socket other(context, ZMQ_PEER);
    const std::string address = other.bind_and_resolve("tcp://127.0.0.1:*");
    const std::uint32_t to = connect_peer(peer, address);
    EXPECT_EQ(5, send_to(peer, to, "hello"));
    EXPECT_EQ("hello", other.recv());
}

TEST(ConnectPeer, says_that_there_is_no_io_thread)
{
    test_context context;
    ASSERT_EQ(0, zmq_ctx_set(context, ZMQ_IO_THREADS, 0));
    test_socket peer(context, ZMQ_PEER);
    EXPECT_EQ(EMTHREAD, error_of(peer, "tcp://127.0.0.1:5555"));
    EXPECT_EQ(EMTHREAD, error_of(peer, known_address(transport::ipc).c_str()));
    test_socket other(context, ZMQ_PEER);
    other.bind("inproc://without");
    const std::uint32_t to = zmq_connect_peer(peer, "inproc://without");
    EXPECT_EQ(5, send_to(peer, to, "hello"));
    EXPECT_EQ("hello", other.recv());
}

} // namespace
} // namespace zlink::test
