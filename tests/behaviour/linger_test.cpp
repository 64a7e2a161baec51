// SPDX-License-Identifier: Apache-2.0
// What happens to unsent messages when a socket is closed and the context ends.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <future>
#include <sys/socket.h>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class Linger : public transport_test {
protected:
    /// Connects to nobody, queues a message and closes.
    static void queue_and_close(test_context& context, const std::string& address, int linger_ms)
    {
        test_socket socket(context, ZMQ_PUSH);
        socket.set(ZMQ_LINGER, linger_ms);
        socket.set(ZMQ_RECONNECT_IVL, 5);
        socket.connect(address);
        socket.send("unsent");
        const stopwatch clock;
        socket.close();
        EXPECT_GT(2000, clock.elapsed_ms());
    }

    std::string address_ = known_address(GetParam());
};

TEST_P(Linger, of_zero_drops_at_once)
{
    queue_and_close(context_, address_, 0);
    const stopwatch clock;
    context_.term();
    EXPECT_GT(2000, clock.elapsed_ms());
}

TEST_P(Linger, of_some_time_is_waited_for_by_term)
{
    queue_and_close(context_, address_, 150);
    const stopwatch clock;
    context_.term();
    EXPECT_LE(100, clock.elapsed_ms());
}

TEST_P(Linger, without_limit_waits_until_the_peer_came_and_took_it)
{
    queue_and_close(context_, address_, -1);
    auto ended = std::async(std::launch::async, [this] { context_.term(); });
    EXPECT_EQ(std::future_status::timeout, ended.wait_for(quiet_window));
    test_context other;
    test_socket sink(other, ZMQ_PULL);
    sink.bind(address_);
    EXPECT_EQ("unsent", sink.recv());
    EXPECT_EQ(std::future_status::ready, ended.wait_for(patience));
}

TEST_P(Linger, is_the_value_at_the_time_of_close)
{
    test_socket socket = test_socket::with_defaults(context_, ZMQ_PUSH);
    socket.connect(address_);
    socket.send("unsent");
    socket.set(ZMQ_LINGER, 0);
    socket.close();
    context_.term();
}

/// One thread sends, closes and ends its context while the other one is still reading.
void send_close_and_receive(const std::string& address, int count)
{
    test_context receiving;
    test_socket sink(receiving, ZMQ_PULL);
    sink.bind(address);
    auto sender = std::async(std::launch::async, [&] {
        test_context sending;
        test_socket source = test_socket::with_defaults(sending, ZMQ_PUSH);
        source.connect(address);
        for (int index = 0; index < count; ++index)
            source.send(std::to_string(index));
        source.close();
        sending.term();
    });
    for (int index = 0; index < count; ++index)
        ASSERT_EQ(std::to_string(index), sink.recv());
    sender.get();
}

TEST_P(Linger, delivers_everything_sent_before_close_and_term)
{
    for (int round = 0; round < 5; ++round)
        send_close_and_receive(known_address(GetParam()), 900);
}

class LingerAfterRefusal : public Linger {};

class ZlinkOnlyLinger : public ::testing::TestWithParam<transport> {
    const link_in_use link_{GetParam()};
};
class ZlinkOnlyLingerOnTheWire : public ZlinkOnlyLinger {};

// More than the receiver's high-water mark: the end of the connection must not overtake its data.
TEST_P(ZlinkOnlyLinger, delivers_everything_to_a_receiver_that_is_behind)
{
    for (int round = 0; round < 5; ++round)
        send_close_and_receive(known_address(GetParam()), 20'000);
}

TEST_P(Linger, at_disconnect_is_the_value_of_then)
{
    test_socket socket = test_socket::with_defaults(context_, ZMQ_PUSH);
    socket.connect(address_);
    socket.send("dropped");
    socket.set(ZMQ_LINGER, 0);
    socket.disconnect(address_);
    socket.set(ZMQ_LINGER, -1);
    socket.close();
    context_.term(); // waits for nothing
}

TEST_P(Linger, of_a_disconnected_endpoint_is_waited_for_by_term)
{
    test_socket source = test_socket::with_defaults(context_, ZMQ_PUSH);
    source.set(ZMQ_RECONNECT_IVL, 5);
    source.connect(address_);
    source.send("unsent");
    source.disconnect(address_);
    source.set(ZMQ_LINGER, 0); // too late: the value at the time of zmq_disconnect counts
    source.close();
    auto ended = std::async(std::launch::async, [this] { context_.term(); });
    EXPECT_EQ(std::future_status::timeout, ended.wait_for(quiet_window));
    test_context other;
    test_socket sink(other, ZMQ_PULL);
    sink.bind(address_);
    EXPECT_EQ("unsent", sink.recv());
    EXPECT_EQ(std::future_status::ready, ended.wait_for(patience));
}

TEST_P(Linger, delivers_a_large_multipart_message_whole)
{
    test_context receiving;
    test_socket sink(receiving, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(address_);
    const parts message{std::string(1'000'000, 'a'), "", std::string(500'000, 'b')};
    {
        test_socket source = test_socket::with_defaults(context_, ZMQ_PUSH);
        source.connect(address);
        source.send_parts(message);
    }
    EXPECT_EQ(message, sink.recv_parts());
}

TEST_P(LingerAfterRefusal, without_limit_does_not_wait_for_a_peer)
{
    for (const bool refused_before_close : {false, true}) {
        test_context context;
        test_socket dealer(context, ZMQ_DEALER);
        dealer.set(ZMQ_LINGER, -1);
        dealer.set(ZMQ_RECONNECT_IVL, 5);
        const std::string address = known_address(GetParam());
        dealer.connect(address);
        dealer.send("for nobody");
        test_context other;
        test_socket publisher(other, ZMQ_PUB);
        publisher.bind(address);
        if (refused_before_close) {
            EXPECT_TRUE(wait_until([&] { return (dealer.events() & ZMQ_POLLOUT) == 0; }));
        }
        dealer.close();
        auto ended = std::async(std::launch::async, [&] { context.term(); });
        EXPECT_EQ(std::future_status::ready, ended.wait_for(patience));
    }
}

TEST_P(ZlinkOnlyLinger, without_limit_does_not_wait_for_a_peer_that_is_not_tried_again)
{
    for (const bool failed_before_close : {false, true}) {
        test_context context;
        test_socket socket(context, ZMQ_PUSH);
        socket.set(ZMQ_LINGER, -1);
        socket.set(ZMQ_RECONNECT_IVL, -1);
        socket.connect(known_address(GetParam()));
        socket.try_send("for nobody"); // taken if the endpoint is not gone yet
        test_context other;
        test_socket sink(other, ZMQ_PULL);
        if (failed_before_close) {
            // Whatever has reached a second endpoint came after the failure at the first one.
            socket.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
            EXPECT_TRUE(wait_until([&] {
                socket.try_send("x");
                return sink.readable(1ms);
            }));
        }
        socket.close();
        auto ended = std::async(std::launch::async, [&] { context.term(); });
        EXPECT_EQ(std::future_status::ready, ended.wait_for(patience));
    }
}

TEST_P(ZlinkOnlyLinger, at_unbind_is_the_value_of_then)
{
    test_context context;
    const std::string large(300'000, 'x');
    for (const int linger_ms : {-1, 0}) {
        test_socket source(context, ZMQ_PUSH);
        source.set(ZMQ_SNDHWM, 10);
        const std::string address = source.bind_and_resolve(fresh_bind_address(GetParam()));
        test_socket sink(context, ZMQ_PULL);
        sink.set(ZMQ_RCVHWM, 1);
        sink.set(ZMQ_RECONNECT_IVL, -1);
        sink.connect(address);
        const int sent = send_until_stuck(source, large, 300ms);
        source.set(ZMQ_LINGER, linger_ms);
        source.unbind(address);
        source.events(); // an unbound endpoint ends when the socket is used
        int received = 0;
        while (received < sent && sink.readable(linger_ms ? patience : 300ms)) {
            sink.recv();
            ++received;
        }
        if (linger_ms)
            EXPECT_EQ(sent, received);
        else
            EXPECT_GT(sent, received);
    }
}

TEST_P(Linger, of_a_subscriber_that_has_sent_all_is_not_waited_for)
{
    test_context other;
    test_socket publisher(other, ZMQ_XPUB);
    test_socket subscriber(context_, ZMQ_XSUB);
    subscriber.set(ZMQ_LINGER, 5000);
    subscriber.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    subscriber.send("\1topic");
    EXPECT_EQ("\1topic", publisher.recv());
    subscriber.send("message of the user");
    EXPECT_EQ("message of the user", publisher.recv());
    const stopwatch clock;
    subscriber.close();
    context_.term();
    EXPECT_GT(2000, clock.elapsed_ms());
}

// A kernel that has taken the last message gives up what a closed socket has left if the peer sends
// anything then.
TEST_P(ZlinkOnlyLingerOnTheWire, loses_nothing_to_a_peer_that_sends_meanwhile)
{
    test_context context;
    test_socket source(context, ZMQ_PUSH);
    source.set(ZMQ_LINGER, -1);
    source.set(ZMQ_SNDHWM, 2);
    source.set(ZMQ_SNDBUF, 2'000'000);
    const raw_peer peer(source.bind_and_resolve(fresh_bind_address(GetParam())));
    const int little = 64 * 1024;
    ::setsockopt(peer.fd(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    zmtp::shake_hands(peer, "PULL");
    const std::string body(100'000, 'x');
    const int sent = send_until_stuck(source, body, 100ms);
    source.close();
    auto ended = std::async(std::launch::async, [&context] { context.term(); });
    // Nothing is queued any more when so much has been read, but much is still in the kernel.
    const std::string frame = zmtp::frame(body);
    std::size_t received = 0;
    for (; received < static_cast<std::size_t>(sent) * frame.size() / 2; received += frame.size())
        ASSERT_EQ(frame.size(), peer.recv(frame.size()).size());
    ended.wait_for(quiet_window);
    peer.send(zmtp::ping());
    received += peer.recv_to_end().size();
    EXPECT_EQ(static_cast<std::size_t>(sent) * frame.size(), received);
    EXPECT_EQ(std::future_status::ready, ended.wait_for(patience));
}

ZLINK_WIRE_TRANSPORTS(Linger);
ZLINK_LINKS(LingerAfterRefusal,
            links_with(&link_traits::has_wire, &link_traits::tells_socket_types));
ZLINK_WIRE_TRANSPORTS(ZlinkOnlyLinger);
ZLINK_LINKS_WITH(ZlinkOnlyLingerOnTheWire, has_plain_zmtp);

class Unread : public transport_test {};

TEST_P(Unread, messages_are_lost_when_the_receiver_closes)
{
    const std::string address = known_address(GetParam());
    test_socket source(context_, ZMQ_PUSH);
    source.set(ZMQ_RECONNECT_IVL, 5);
    test_socket first(context_, ZMQ_PULL);
    first.set(ZMQ_LINGER, -1); // is for what it sends
    first.bind(address);
    source.connect(address);
    source.send("read");
    source.send_parts({"un", "read"});
    EXPECT_EQ("read", first.recv());
    ASSERT_TRUE(first.readable()); // it has come
    first.close();
    test_socket second(context_, ZMQ_PULL);
    ASSERT_TRUE(wait_until([&] { return second.try_bind(address); }));
    if (GetParam() == transport::inproc)
        source.connect(address); // does not reconnect
    // What is on its way to the first one may be lost; nothing may come back.
    ASSERT_TRUE(wait_until([&] {
        source.try_send("later");
        return second.readable(5ms);
    }));
    while (const auto message = second.try_recv_parts())
        EXPECT_EQ(parts{"later"}, *message);
}

ZLINK_ALL_TRANSPORTS(Unread);

} // namespace
} // namespace zlink::test
