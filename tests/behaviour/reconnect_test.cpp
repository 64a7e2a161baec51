// SPDX-License-Identifier: Apache-2.0
// Peers that come late, go away and come back; unbind and disconnect.
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

void reconnect_quickly(test_socket& socket)
{
    socket.set(ZMQ_RECONNECT_IVL, 5);
}

void rebind(test_socket& socket, const std::string& address)
{
    if (!wait_until([&] { return socket.try_bind(address); }))
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
    zmtp::shake_hands(first, "PULL");
    sender.send("hello");
    EXPECT_EQ(zmtp::frame("hello"), zmtp::recv_frame(first));
    const std::string block(100'000, 'x');
    while (zmq_send(sender, block.data(), block.size(), 0) != -1) {
    }
    first.abort();
    raw_peer second = listener.accept();
    zmtp::shake_hands(second, "PULL");
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(zmtp::recv_frame(second) == zmtp::frame(block)) << i;
    }
}

TEST(ReconnectInterval, of_minus_one_gives_up_after_the_first_failure)
{
    test_context context;
    test_socket source(context, ZMQ_PUSH);
    source.set(ZMQ_RECONNECT_IVL, -1);
    const std::string address = known_address(transport::tcp);
    source.connect(address);
    source.try_send("never delivered"); // taken if the endpoint is not gone yet
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

class Resubscription : public ::testing::TestWithParam<int> {};

TEST_P(Resubscription, is_complete_on_every_connection)
{
    test_context context;
    const raw_listener listener;
    test_socket socket(context, GetParam());
    reconnect_quickly(socket);
    const auto change = [&](bool subscribe, const std::string& topic) {
        if (GetParam() == ZMQ_SUB)
            socket.set(subscribe ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE, topic);
        else
            socket.send((subscribe ? "\1"s : "\0"s) + topic);
    };
    for (const char* topic : {"a", "cancelled", "", "b"})
        change(true, topic);
    change(false, "cancelled");
    socket.connect(listener.endpoint());
    std::set<std::string> expected;
    for (const char* topic : {"", "a", "b"})
        expected.insert(zmtp::command("SUBSCRIBE", topic));
    for (int round = 0; round < 3; ++round) {
        const raw_peer peer = listener.accept();
        zmtp::shake_hands(peer, "PUB");
        pollfd input{peer.fd(), POLLIN, 0};
        ASSERT_TRUE(wait_until([&] {
            socket.events(); // a loss may be noticed only in a call
            return ::poll(&input, 1, 5) == 1;
        }));
        std::set<std::string> received;
        for (std::size_t count = 0; count < expected.size(); ++count)
            received.insert(zmtp::recv_frame(peer));
        EXPECT_EQ(expected, received);
        peer.send(zmtp::ping());
        EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(peer)); // and nothing else
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Resubscription, ::testing::Values(ZMQ_SUB, ZMQ_XSUB),
                         [](const auto& info) { return info.param == ZMQ_SUB ? "sub" : "xsub"; });

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

TEST_P(Unbind, is_told_to_the_peers_and_not_to_the_socket_itself)
{
    test_socket bound(context_, ZMQ_DEALER);
    test_socket peer(context_, ZMQ_DEALER);
    reconnect_quickly(peer);
    listening_post at_bound(context_, bound, ZMQ_EVENT_DISCONNECTED);
    listening_post at_peer(context_, peer, ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED);
    const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
    peer.connect(address);
    peer.send("unread");
    ASSERT_TRUE(bound.readable());
    bound.unbind(address);
    EXPECT_EQ("unread", bound.recv());
    EXPECT_TRUE(wait_until([&] {
        bound.events();
        return at_peer.socket().readable(1ms);
    }));
    at_peer.expect(ZMQ_EVENT_DISCONNECTED);
    at_peer.expect(ZMQ_EVENT_CONNECT_RETRIED);
    EXPECT_TRUE(at_bound.quiet());
}

ZLINK_WIRE_TRANSPORTS(Unbind);

struct violation {
    const char* name;
    int type;
    std::vector<std::string> steps;
};

void PrintTo(const violation& what, std::ostream* out)
{
    *out << what.name;
}

class ProtocolViolation : public ::testing::TestWithParam<violation> {};

TEST_P(ProtocolViolation, is_not_tried_again_until_the_endpoint_is_connected_anew)
{
    test_context context;
    const raw_listener listener;
    test_socket socket(context, GetParam().type);
    reconnect_quickly(socket);
    limit_messages(socket, 100);
    socket.connect(listener.endpoint());
    {
        const raw_peer peer = listener.accept();
        zmtp::play(peer, GetParam().steps);
        peer.recv_to_end();
    }
    EXPECT_FALSE(listener.has_caller(quiet_window));
    socket.disconnect(listener.endpoint());
    socket.connect(listener.endpoint());
    EXPECT_TRUE(listener.has_caller(patience));
}

violation in_handshake(const char* name, const std::string& bytes)
{
    return {name, ZMQ_DEALER, {zmtp::greeting(), bytes}};
}

violation in_traffic(const char* name, const std::string& bytes)
{
    return {name, ZMQ_DEALER, {zmtp::greeting(), zmtp::ready("ROUTER"), bytes}};
}

violation in_reply(const char* name, const std::string& bytes)
{
    return {name, ZMQ_REQ, {zmtp::greeting(), zmtp::ready("REP"), bytes}};
}

INSTANTIATE_TEST_SUITE_P(
    Of, ProtocolViolation,
    ::testing::Values(violation{"mechanism", ZMQ_DEALER, {zmtp::greeting(1, "PLAIN")}},
                      violation{"length_of_zmtp_1_0", ZMQ_DEALER, {"\1\0\0"s}},
                      in_handshake("type", zmtp::ready("PUB")),
                      in_handshake("metadata", zmtp::ready("ROUTER", "\7")),
                      in_handshake("command", zmtp::command("HELLO")),
                      in_handshake("malformed_command", zmtp::frame("\6READY", zmtp::command_bit)),
                      in_handshake("refusal", zmtp::refusal("400")),
                      in_handshake("refusal_without_code", zmtp::refusal("")),
                      in_traffic("impossible_size", "\2" + std::string(8, '\xff')),
                      in_reply("no_delimiter", zmtp::frame("reply")),
                      in_reply("only_a_delimiter", zmtp::frame("")),
                      in_reply("no_number", zmtp::frame("odd", zmtp::more) +
                                                zmtp::frame("", zmtp::more) + zmtp::frame("reply")),
                      in_reply("only_a_number", zmtp::frame("1234")),
                      in_reply("no_delimiter_behind_a_number", zmtp::frame("1234", zmtp::more) +
                                                                   zmtp::frame("x", zmtp::more) +
                                                                   zmtp::frame("reply")),
                      in_reply("nothing_behind_the_delimiter",
                               zmtp::frame("1234", zmtp::more) + zmtp::frame(""))),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(ZlinkOnlyOf, ProtocolViolation,
                         ::testing::Values(violation{"two_bodies",
                                                     ZMQ_DISH,
                                                     {zmtp::greeting(), zmtp::ready("RADIO"),
                                                      zmtp::frame("g", zmtp::more) +
                                                          zmtp::frame("a", zmtp::more) +
                                                          zmtp::frame("b")}}),
                         [](const auto& info) { return info.param.name; });

} // namespace
} // namespace zlink::test
