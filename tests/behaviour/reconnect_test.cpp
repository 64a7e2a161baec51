// SPDX-License-Identifier: Apache-2.0
// Peers that come late, go away and come back; unbind and disconnect.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

void reconnect_quickly(test_socket& socket)
{
    socket.set(ZMQ_RECONNECT_IVL, 5);
}

void rebind(test_socket& socket, const std::string& address)
{
    if (!wait_until([&] { return zmq_bind(socket, address.c_str()) == 0; }))
        throw call_failed("zmq_bind " + address);
}

class Reconnect : public transport_test {
protected:
    std::string address_ = known_address(GetParam());
};

TEST_P(Reconnect, connecting_before_binding_delivers_what_was_queued)
{
    test_socket source(context_, ZMQ_PUSH);
    reconnect_quickly(source);
    source.connect(address_);
    for (int index = 0; index < 100; ++index)
        source.send(std::to_string(index));
    test_socket sink(context_, ZMQ_PULL);
    sink.bind(address_);
    for (int index = 0; index < 100; ++index)
        EXPECT_EQ(std::to_string(index), sink.recv());
}

TEST_P(Reconnect, a_peer_that_rebinds_is_found_again)
{
    test_socket source(context_, ZMQ_PUSH);
    reconnect_quickly(source);
    source.connect(address_);
    for (int round = 0; round < 5; ++round) {
        test_socket sink(context_, ZMQ_PULL);
        rebind(sink, address_);
        // What was on its way to the last sink may be lost; later messages must arrive.
        ASSERT_TRUE(wait_until([&] {
            source.try_send("again");
            return sink.readable(2ms);
        })) << round;
    }
}

TEST_P(Reconnect, messages_queued_while_the_peer_is_away_survive)
{
    test_socket source(context_, ZMQ_DEALER);
    reconnect_quickly(source);
    source.connect(address_);
    {
        test_socket first(context_, ZMQ_DEALER);
        first.bind(address_);
        source.send("to the first");
        EXPECT_EQ("to the first", first.recv());
        first.send("reply");
        EXPECT_EQ("reply", source.recv());
    }
    test_socket second(context_, ZMQ_DEALER);
    rebind(second, address_);
    ASSERT_TRUE(second.writable());
    second.send("here");
    EXPECT_EQ("here", source.recv());
    for (int index = 0; index < 50; ++index)
        source.send(std::to_string(index));
    for (int index = 0; index < 50; ++index)
        EXPECT_EQ(std::to_string(index), second.recv());
}

TEST_P(Reconnect, subscriptions_are_sent_again)
{
    test_socket subscriber(context_, ZMQ_SUB);
    reconnect_quickly(subscriber);
    subscriber.set(ZMQ_SUBSCRIBE, "topic");
    subscriber.connect(address_);
    for (int round = 0; round < 3; ++round) {
        test_socket publisher(context_, ZMQ_XPUB);
        rebind(publisher, address_);
        // The subscriber may need its own thread to enter the library before it sends them.
        ASSERT_TRUE(wait_until([&] {
            subscriber.events();
            return publisher.readable(1ms);
        }));
        EXPECT_EQ("\1topic", publisher.recv());
        publisher.send("topic " + std::to_string(round));
        EXPECT_EQ("topic " + std::to_string(round), subscriber.recv());
    }
}

TEST_P(Reconnect, several_clients_find_a_restarted_server)
{
    std::vector<test_socket> clients;
    for (int index = 0; index < 8; ++index) {
        clients.emplace_back(context_, ZMQ_DEALER);
        reconnect_quickly(clients.back());
        clients.back().connect(address_);
    }
    for (int round = 0; round < 3; ++round) {
        test_socket server(context_, ZMQ_ROUTER);
        rebind(server, address_);
        ASSERT_TRUE(wait_until([&] {
            bool all = true;
            for (test_socket& client : clients) {
                client.try_send("ask");
                while (const auto request = server.try_recv_parts(2ms))
                    server.send_parts({request->front(), "answer " + std::to_string(round)});
                all = all && client.readable(0ms);
            }
            return all;
        }));
        for (test_socket& client : clients)
            while (client.readable(0ms))
                client.recv();
    }
}

ZLINK_WIRE_TRANSPORTS(Reconnect);

void shake_hands_as_pull(raw_peer& peer)
{
    std::string greeting(64, '\0');
    greeting.replace(0, 12, std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\0", 12));
    greeting.replace(12, 4, "NULL");
    peer.send(greeting + std::string("\4\x1a\5READY\13Socket-Type\0\0\0\4PULL", 28));
    peer.recv(greeting.size());
    peer.recv(static_cast<unsigned char>(peer.recv(2)[1]));
}

// The peer is stuck: the connection has taken a part of a message and takes nothing more.
TEST(ReconnectAfterBreak, begins_with_a_whole_message)
{
    test_context context;
    raw_listener listener;
    test_socket sender(context, ZMQ_PUSH);
    reconnect_quickly(sender);
    sender.set(ZMQ_SNDHWM, 10);
    sender.set(ZMQ_SNDTIMEO, 100); // taken nothing for so long: stuck
    sender.connect(listener.endpoint());
    raw_peer first = listener.accept();
    shake_hands_as_pull(first);
    sender.send("hello");
    EXPECT_EQ(first.recv(7), std::string("\0\5hello", 7));
    const std::string block(100'000, 'x');
    while (zmq_send(sender, block.data(), block.size(), 0) != -1) {
    }
    first.abort();
    raw_peer second = listener.accept();
    shake_hands_as_pull(second);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(second.recv(9), std::string("\2\0\0\0\0\0\1\x86\xa0", 9)) << i;
        ASSERT_TRUE(second.recv(block.size()) == block) << i;
    }
}

TEST(ReconnectInterval, of_minus_one_gives_up_after_the_first_failure)
{
    test_context context;
    test_socket source(context, ZMQ_PUSH);
    source.set(ZMQ_RECONNECT_IVL, -1);
    const std::string address = known_address(transport::tcp);
    source.connect(address);
    source.send("never delivered");
    // A second endpoint proves that the socket itself is alive and its first attempt long over.
    test_socket other(context, ZMQ_PULL);
    source.connect(other.bind_and_resolve("tcp://127.0.0.1:*"));
    ASSERT_TRUE(wait_until([&] {
        source.try_send("x");
        return other.readable(1ms);
    }));
    test_socket late(context, ZMQ_PULL);
    late.bind(address);
    EXPECT_FALSE(late.readable(300ms));
}

/// A listener that counts the connections it gets and closes them at once.
class refusing_listener {
public:
    refusing_listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::listen(fd_, 100) != 0 ||
            ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("cannot listen");
        port_ = ntohs(address.sin_port);
    }
    ~refusing_listener() { ::close(fd_); }
    refusing_listener(const refusing_listener&) = delete;
    refusing_listener& operator=(const refusing_listener&) = delete;

    std::string address() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
    /// Times at which `count` connections came.
    std::vector<long> arrivals_ms(std::size_t count) const
    {
        const stopwatch clock;
        std::vector<long> times;
        wait_until([&] {
            const int connection = ::accept(fd_, nullptr, nullptr);
            if (connection >= 0) {
                times.push_back(clock.elapsed_ms());
                ::close(connection);
            }
            return times.size() == count;
        });
        return times;
    }

private:
    int fd_;
    int port_ = 0;
};

TEST(ReconnectInterval, is_kept_between_attempts)
{
    test_context context;
    const refusing_listener listener;
    test_socket source(context, ZMQ_PUSH);
    source.set(ZMQ_RECONNECT_IVL, 40);
    source.connect(listener.address());
    const std::vector<long> times = listener.arrivals_ms(4);
    ASSERT_EQ(4u, times.size());
    for (std::size_t index = 1; index < times.size(); ++index)
        EXPECT_LE(38, times[index] - times[index - 1]);
}

class Detach : public transport_test {};

TEST_P(Detach, disconnect_stops_sending_to_that_peer_only)
{
    test_socket source(context_, ZMQ_PUSH);
    test_socket kept(context_, ZMQ_PULL);
    test_socket left(context_, ZMQ_PULL);
    source.connect(kept.bind_and_resolve(fresh_bind_address(GetParam())));
    const std::string address = left.bind_and_resolve(fresh_bind_address(GetParam()));
    source.connect(address);
    for (int index = 0; index < 2; ++index)
        source.send("both");
    EXPECT_EQ("both", kept.recv());
    EXPECT_EQ("both", left.recv());
    source.disconnect(address);
    for (int index = 0; index < 10; ++index)
        source.send("one");
    for (int index = 0; index < 10; ++index)
        EXPECT_EQ("one", kept.recv());
}

TEST_P(Detach, disconnect_still_delivers_what_was_sent_before)
{
    test_socket source(context_, ZMQ_PUSH);
    source.set(ZMQ_LINGER, -1);
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    source.connect(address);
    for (int index = 0; index < 100; ++index)
        source.send(std::to_string(index));
    source.disconnect(address);
    for (int index = 0; index < 100; ++index)
        EXPECT_EQ(std::to_string(index), sink.recv());
}

TEST_P(Detach, disconnect_drops_what_was_received_but_not_read)
{
    test_socket sink(context_, ZMQ_PULL);
    test_socket source(context_, ZMQ_PUSH);
    const std::string address = source.bind_and_resolve(fresh_bind_address(GetParam()));
    sink.connect(address);
    source.send("one");
    source.send("two");
    EXPECT_EQ("one", sink.recv());
    sink.disconnect(address);
    EXPECT_FALSE(sink.readable(quiet_window));
}

TEST_P(Detach, a_disconnected_socket_can_connect_again)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    for (int round = 0; round < 20; ++round) {
        peer.send(std::to_string(round));
        EXPECT_EQ(std::to_string(round), bound.recv());
        peer.disconnect(address);
        EXPECT_TRUE(wait_until([&socket = peer] { return !socket.try_send("nobody"); }));
        peer.connect(address);
    }
}

ZLINK_ALL_TRANSPORTS(Detach);

class Unbind : public transport_test {};

TEST_P(Unbind, refuses_new_peers)
{
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    sink.unbind(address);
    test_socket source(context_, ZMQ_PUSH);
    reconnect_quickly(source);
    source.connect(address);
    source.send("nobody there");
    EXPECT_FALSE(sink.readable(quiet_window));
}

TEST_P(Unbind, ends_accepted_connections_when_they_are_drained)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_DEALER, ZMQ_DEALER);
    peer.set(ZMQ_RECONNECT_IVL, 5);
    peer.send("before");
    EXPECT_EQ("before", bound.recv());
    bound.unbind(address);
    EXPECT_TRUE(wait_until([&socket = bound] { return !socket.try_send("no peer any more"); }));
}

TEST_P(Unbind, leaves_what_had_arrived_readable)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    peer.send("one");
    peer.send("two");
    ASSERT_TRUE(bound.readable());
    bound.unbind(address);
    EXPECT_EQ("one", bound.recv());
}

ZLINK_WIRE_TRANSPORTS(Unbind);

} // namespace
} // namespace zlink::test
