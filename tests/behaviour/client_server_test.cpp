// SPDX-License-Identifier: Apache-2.0
// CLIENT and SERVER: peers with numbers, messages of one part.
#include "support/draft.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <set>
#include <thread>

namespace zlink::test {
namespace {

class ClientServer : public transport_test {
protected:
    test_socket server_{context_, ZMQ_SERVER};
    std::string address_ = server_.bind_and_resolve(fresh_bind_address(GetParam()));

    test_socket make_client()
    {
        test_socket client(context_, ZMQ_CLIENT);
        client.connect(address_);
        return client;
    }
    std::uint32_t greet(test_socket& client, const std::string& body = "hello")
    {
        client.send(body);
        draft_message message;
        receive(server_, message);
        EXPECT_EQ(body, message.body());
        return message.routing_id();
    }
};

TEST_P(ClientServer, answers_the_client_that_asked)
{
    test_socket one = make_client();
    test_socket two = make_client();
    const std::uint32_t first = greet(one);
    const std::uint32_t second = greet(two);
    EXPECT_NE(0u, first);
    EXPECT_NE(0u, second);
    EXPECT_NE(first, second);
    for (int index = 0; index < 100; ++index) {
        const std::string number = std::to_string(index);
        EXPECT_EQ(static_cast<int>(number.size()), send_to(server_, second, number));
        EXPECT_EQ(static_cast<int>(number.size()) + 1, send_to(server_, first, "-" + number));
    }
    for (int index = 0; index < 100; ++index) {
        EXPECT_EQ("-" + std::to_string(index), one.recv());
        draft_message message;
        receive(two, message);
        EXPECT_EQ(std::to_string(index), message.body());
        EXPECT_EQ(0u, message.routing_id()); // a client does not number its servers
    }
    EXPECT_EQ(first, greet(one)); // it stays
}

TEST_P(ClientServer, answers_with_the_message_received)
{
    test_socket client = make_client();
    for (const std::size_t size : {0, 10, 33, 34, 1000, 100'000}) {
        client.send(std::string(size, 'x'));
        draft_message message;
        receive(server_, message);
        EXPECT_EQ(static_cast<int>(size), zmq_msg_send(message, server_, 0));
        EXPECT_EQ(std::string(size, 'x'), client.recv());
    }
}

TEST_P(ClientServer, refuses_an_unknown_peer)
{
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(server_, "x", 1, 0)));
    EXPECT_TRUE(fails_with(EHOSTUNREACH, send_to(server_, 0, "x")));
    test_socket client = make_client();
    const std::uint32_t id = greet(client);
    EXPECT_TRUE(fails_with(EHOSTUNREACH, send_to(server_, id + 1000, "x")));
    draft_message kept("kept");
    zmq_msg_set_routing_id(kept, id + 1000);
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_msg_send(kept, server_, 0)));
    EXPECT_EQ("kept", kept.body());
    EXPECT_EQ(id + 1000, kept.routing_id());
}

TEST_P(ClientServer, refuses_a_peer_that_has_gone)
{
    std::uint32_t id = 0;
    {
        test_socket client = make_client();
        id = greet(client);
    }
    ASSERT_TRUE(wait_until([&] {
        return send_to(server_, id, "x", ZMQ_DONTWAIT) < 0 && zmq_errno() == EHOSTUNREACH;
    }));
}

TEST_P(ClientServer, reads_what_a_peer_that_has_gone_had_sent)
{
    {
        test_socket client(context_, ZMQ_CLIENT);
        client.set(ZMQ_LINGER, 5000);
        client.connect(address_);
        for (int index = 0; index < 10; ++index)
            client.send(std::to_string(index));
    }
    std::uint32_t id = 0;
    for (int index = 0; index < 10; ++index) {
        draft_message message;
        receive(server_, message);
        EXPECT_EQ(std::to_string(index), message.body());
        EXPECT_TRUE(id == 0 || id == message.routing_id());
        id = message.routing_id();
    }
}

TEST_P(ClientServer, takes_messages_of_one_part_only)
{
    test_socket client = make_client();
    const std::uint32_t id = greet(client);
    EXPECT_TRUE(fails_with(EINVAL, zmq_send(client, "x", 1, ZMQ_SNDMORE)));
    EXPECT_TRUE(fails_with(EINVAL, send_to(server_, id, "x", ZMQ_SNDMORE)));
    greet(client, "whole");
}

TEST_P(ClientServer, spreads_messages_over_servers)
{
    test_socket other(context_, ZMQ_SERVER);
    test_socket client = make_client();
    greet(client);
    const std::string second = other.bind_and_resolve(fresh_bind_address(GetParam()));
    client.connect(second);
    for (int index = 0; index < 10; ++index)
        client.send("x");
    for (int index = 0; index < 5; ++index) {
        EXPECT_EQ("x", server_.recv());
        EXPECT_EQ("x", other.recv());
    }
    EXPECT_FALSE(server_.readable(std::chrono::milliseconds(0)));
}

TEST_P(ClientServer, waits_for_room_at_one_peer_only)
{
    server_.set(ZMQ_SNDHWM, 5);
    test_socket slow(context_, ZMQ_CLIENT);
    slow.set(ZMQ_RCVHWM, 5);
    slow.connect(address_);
    test_socket quick = make_client();
    const std::uint32_t slow_id = greet(slow);
    const std::uint32_t quick_id = greet(quick);
    const std::string body(10'000, 'x');
    int sent = 0;
    while (send_to(server_, slow_id, body, ZMQ_DONTWAIT) >= 0)
        ASSERT_LT(++sent, 100'000);
    EXPECT_EQ(EAGAIN, zmq_errno());
    EXPECT_GE(sent, 5);
    EXPECT_EQ(1, send_to(server_, quick_id, "q"));
    EXPECT_EQ("q", quick.recv());
    EXPECT_NE(0, server_.events() & ZMQ_POLLOUT); // as ever
    std::thread sending([&] { EXPECT_EQ(4, send_to(server_, slow_id, "last")); });
    for (int index = 0; index < sent; ++index)
        EXPECT_EQ(body, slow.recv());
    EXPECT_EQ("last", slow.recv());
    sending.join();
}

TEST_P(ClientServer, lets_go_of_a_peer)
{
    test_socket one = make_client();
    test_socket two = make_client();
    const std::uint32_t first = greet(one);
    const std::uint32_t second = greet(two);
    EXPECT_EQ(0, zmq_disconnect_peer(server_, first));
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_disconnect_peer(server_, first)));
    EXPECT_TRUE(fails_with(EHOSTUNREACH, send_to(server_, first, "x")));
    EXPECT_EQ(1, send_to(server_, second, "y"));
    EXPECT_EQ("y", two.recv());
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_disconnect_peer(two, 1)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_disconnect_peer(nullptr, 1)));
}

TEST_P(ClientServer, queues_before_there_is_a_server)
{
    const std::string address = known_address(GetParam());
    test_socket client(context_, ZMQ_CLIENT);
    EXPECT_FALSE(client.try_send("nobody"));
    client.connect(address);
    client.send("early");
    test_socket late(context_, ZMQ_SERVER);
    late.bind(address);
    EXPECT_EQ("early", late.recv());
}

ZLINK_ALL_TRANSPORTS(ClientServer);

TEST(ClientServerInproc, drops_messages_of_several_parts_whole)
{
    test_context context;
    test_socket server(context, ZMQ_SERVER);
    server.bind("inproc://parts");
    test_socket dealer(context, ZMQ_DEALER); // nobody checks types within a process
    dealer.connect("inproc://parts");
    dealer.send_parts({"a", "b", "c"});
    dealer.send("whole");
    dealer.send_parts({"", std::string(100'000, 'x')});
    dealer.send("whole too");
    EXPECT_EQ("whole", server.recv());
    EXPECT_EQ(0, server.get(ZMQ_RCVMORE));
    EXPECT_EQ("whole too", server.recv());
    dealer.send_parts({"a", "b"});
    EXPECT_FALSE(server.readable(quiet_window));
}

TEST(SinglePart, is_all_that_types_for_many_threads_send_and_take)
{
    test_context context;
    for (const int type : {ZMQ_CLIENT, ZMQ_SERVER, ZMQ_RADIO, ZMQ_SCATTER, ZMQ_PEER, ZMQ_CHANNEL}) {
        test_socket socket(context, type);
        EXPECT_TRUE(fails_with(EINVAL, zmq_send(socket, "x", 1, ZMQ_SNDMORE))) << type;
    }
    for (const auto& [type, peer_type] : {std::pair{ZMQ_CLIENT, "SERVER"},
                                          {ZMQ_SERVER, "CLIENT"},
                                          {ZMQ_GATHER, "SCATTER"},
                                          {ZMQ_PEER, "PEER"},
                                          {ZMQ_CHANNEL, "CHANNEL"}}) {
        SCOPED_TRACE(type);
        test_socket socket(context, type);
        const raw_peer peer(socket.bind_and_resolve("tcp://127.0.0.1:*"));
        zmtp::shake_hands(peer, peer_type);
        peer.send(zmtp::frame("a", zmtp::more) + zmtp::frame("", zmtp::more) + zmtp::frame("b") +
                  zmtp::frame("whole"));
        EXPECT_EQ(parts{"whole"}, socket.recv_parts());
        EXPECT_FALSE(socket.readable(std::chrono::milliseconds(1)));
    }
}

TEST(PeerNumbers, count_up_from_anywhere)
{
    test_context context;
    std::vector<std::uint32_t> first_numbers;
    for (const auto& [type, peer_type] :
         {std::pair{ZMQ_SERVER, ZMQ_CLIENT}, {ZMQ_PEER, ZMQ_PEER}}) {
        test_socket socket(context, type);
        const std::string address = socket.bind_and_resolve("inproc://numbers");
        std::uint32_t last = 0;
        for (int index = 0; index < 4; ++index) {
            test_socket peer(context, peer_type);
            if (peer_type == ZMQ_PEER) {
                send_to(peer, connect_peer(peer, address), "x");
            } else {
                peer.connect(address);
                peer.send("x");
            }
            draft_message message;
            receive(socket, message);
            if (index == 0)
                first_numbers.push_back(message.routing_id());
            else
                EXPECT_LT(0, static_cast<std::int32_t>(message.routing_id() - last));
            last = message.routing_id();
        }
    }
    EXPECT_NE(first_numbers[0], first_numbers[1]);
}

TEST(DraftOptions, say_that_the_types_are_thread_safe_and_have_no_descriptor)
{
    test_context context;
    for (const int type : {ZMQ_SERVER, ZMQ_CLIENT, ZMQ_RADIO, ZMQ_DISH, ZMQ_GATHER, ZMQ_SCATTER,
                           ZMQ_PEER, ZMQ_CHANNEL}) {
        test_socket socket(context, type);
        EXPECT_EQ(1, socket.get(ZMQ_THREAD_SAFE)) << type;
        EXPECT_EQ(type, socket.get(ZMQ_TYPE));
        int fd = 0;
        std::size_t size = sizeof fd;
        EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket, ZMQ_FD, &fd, &size))) << type;
        const bool ready = type == ZMQ_SERVER || type == ZMQ_RADIO || type == ZMQ_PEER;
        EXPECT_EQ(ready ? ZMQ_POLLOUT : 0, socket.events()) << type;
    }
}

TEST(DraftOptions, linger_is_0_for_dish)
{
    test_context context;
    for (const int type : {ZMQ_DISH, ZMQ_RADIO, ZMQ_CLIENT}) {
        const test_socket socket = test_socket::with_defaults(context, type);
        EXPECT_EQ(type == ZMQ_DISH ? 0 : -1, socket.get(ZMQ_LINGER)) << type;
    }
}

TEST(DraftMessage, carries_a_routing_id)
{
    draft_message message("body");
    EXPECT_EQ(0u, message.routing_id());
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_set_routing_id(message, 0)));
    EXPECT_EQ(0, zmq_msg_set_routing_id(message, 7));
    draft_message copy;
    EXPECT_EQ(0, zmq_msg_copy(copy, message));
    EXPECT_EQ(7u, copy.routing_id());
    draft_message moved;
    EXPECT_EQ(0, zmq_msg_move(moved, message));
    EXPECT_EQ(7u, moved.routing_id());
    EXPECT_EQ(0u, message.routing_id());
}

TEST(DraftMessage, carries_a_group_of_up_to_255_bytes)
{
    for (const std::size_t body_size : {0, 33, 34, 5000}) {
        for (const std::size_t size : {0, 1, 12, 13, 14, 15, 16, 100, 255}) {
            const std::string body(body_size, 'b');
            const std::string group(size, 'g');
            draft_message message(body);
            EXPECT_EQ("", message.group());
            EXPECT_EQ(0, zmq_msg_set_group(message, group.c_str()));
            EXPECT_EQ(group, message.group());
            draft_message copy("to be replaced");
            zmq_msg_set_group(copy, std::string(200, 'o').c_str());
            EXPECT_EQ(0, zmq_msg_copy(copy, message));
            EXPECT_EQ(group, copy.group());
            EXPECT_EQ(body, copy.body());
            EXPECT_EQ(0, zmq_msg_set_group(message, "other"));
            EXPECT_EQ(group, copy.group());
            EXPECT_EQ("other", message.group());
            draft_message moved;
            EXPECT_EQ(0, zmq_msg_move(moved, copy));
            EXPECT_EQ(group, moved.group());
            EXPECT_EQ(body, moved.body());
            EXPECT_EQ("", copy.group());
            EXPECT_TRUE(
                fails_with(EINVAL, zmq_msg_set_group(moved, std::string(256, 'l').c_str())));
            EXPECT_EQ(group, moved.group());
            EXPECT_EQ(body, moved.body());
        }
    }
}

} // namespace
} // namespace zlink::test
