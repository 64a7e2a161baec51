// SPDX-License-Identifier: Apache-2.0
// IMMEDIATE: nothing is queued for a peer that is not there.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class Immediate : public transport_test {
protected:
    test_socket source(int type)
    {
        test_socket socket(context_, type);
        socket.set(ZMQ_IMMEDIATE, 1);
        socket.set(ZMQ_RECONNECT_IVL, 5);
        return socket;
    }
};

TEST_P(Immediate, without_it_messages_are_queued_for_absent_peers)
{
    test_socket absent_first(context_, ZMQ_PUSH);
    test_socket sink(context_, ZMQ_PULL);
    absent_first.connect(known_address(GetParam()));
    absent_first.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
    for (int index = 0; index < 10; ++index)
        absent_first.send("x");
    for (int index = 0; index < 5; ++index)
        EXPECT_EQ("x", sink.recv());
    EXPECT_FALSE(sink.readable(quiet_window));
}

TEST_P(Immediate, messages_go_only_to_peers_that_are_there)
{
    test_socket socket = source(ZMQ_PUSH);
    test_socket sink(context_, ZMQ_PULL);
    socket.connect(known_address(GetParam()));
    socket.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
    for (int index = 0; index < 10; ++index)
        socket.send(std::to_string(index));
    for (int index = 0; index < 10; ++index)
        EXPECT_EQ(std::to_string(index), sink.recv());
}

TEST_P(Immediate, sending_waits_until_the_peer_is_there)
{
    for (const auto& [type, sink_type] :
         {std::pair{ZMQ_PUSH, ZMQ_PULL}, {ZMQ_DEALER, ZMQ_ROUTER}, {ZMQ_REQ, ZMQ_ROUTER}}) {
        test_socket socket = source(type);
        const std::string address = known_address(GetParam());
        socket.connect(address);
        EXPECT_TRUE(fails_with(EAGAIN, zmq_send(socket, "x", 1, ZMQ_DONTWAIT)));
        EXPECT_FALSE(socket.writable(5ms));
        test_socket sink(context_, sink_type);
        sink.bind(address);
        EXPECT_TRUE(socket.writable()) << type;
        socket.send("x");
        EXPECT_EQ("x", sink.recv_parts().back());
    }
}

TEST_P(Immediate, a_lost_peer_makes_sending_wait_again)
{
    const std::string address = known_address(GetParam());
    test_socket socket = source(ZMQ_DEALER);
    socket.connect(address);
    for (int round = 0; round < 3; ++round) {
        test_socket sink(context_, ZMQ_DEALER);
        ASSERT_TRUE(wait_until([&] { return sink.try_bind(address); }));
        ASSERT_TRUE(socket.writable());
        socket.send(std::to_string(round));
        EXPECT_EQ(std::to_string(round), sink.recv());
        sink.close();
        ASSERT_TRUE(wait_until([&] { return (socket.events() & ZMQ_POLLOUT) == 0; }));
    }
}

ZLINK_WIRE_TRANSPORTS(Immediate);

TEST(ImmediateTcp, what_was_queued_for_a_lost_peer_is_lost)
{
    test_context context;
    const raw_listener listener;
    test_socket source(context, ZMQ_PUSH);
    source.set(ZMQ_IMMEDIATE, 1);
    source.set(ZMQ_RECONNECT_IVL, 5);
    source.set(ZMQ_SNDHWM, 10);
    source.connect(listener.endpoint());
    raw_peer first = listener.accept();
    zmtp::shake_hands(first, "PULL");
    ASSERT_TRUE(source.writable());
    send_until_stuck(source, std::string(100'000, 'x'), 300ms);
    first.abort();
    const raw_peer second = listener.accept();
    zmtp::shake_hands(second, "PULL");
    source.send("fresh");
    EXPECT_EQ(zmtp::frame("fresh"), zmtp::recv_frame(second));
}

// Connects with IMMEDIATE to a listener that is a peer of the given type.
raw_peer meet(test_socket& socket, const raw_listener& listener, const std::string& type)
{
    socket.set(ZMQ_IMMEDIATE, 1);
    socket.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    zmtp::shake_hands(peer, type);
    return peer;
}

TEST(ImmediateTcp, what_has_come_can_be_read_after_disconnecting)
{
    test_context context;
    const raw_listener listener;
    test_socket sink(context, ZMQ_PULL);
    const raw_peer peer = meet(sink, listener, "PUSH");
    std::string messages; // in one segment: with the first one all have come
    for (int index = 0; index < 10; ++index)
        messages += zmtp::frame(std::to_string(index));
    peer.send(messages);
    EXPECT_EQ("0", sink.recv());
    ASSERT_EQ(0, zmq_disconnect(sink, listener.endpoint().c_str()));
    for (int index = 1; index < 10; ++index)
        EXPECT_EQ(std::to_string(index), sink.recv());
    EXPECT_FALSE(sink.readable(quiet_window));
    EXPECT_TRUE(peer.ended());
}

// Nobody may have read what lies in the kernel when the connection is given up: not the I/O thread,
// and not the socket's, which reads its connection by itself if it waits again and again.
class ZlinkOnlyDisconnect : public testing::TestWithParam<int> {};

TEST_P(ZlinkOnlyDisconnect, leaves_what_lies_in_the_kernel)
{
    test_context context;
    const raw_listener listener;
    test_socket sink(context, ZMQ_PULL);
    for (int round = 0; round < 10; ++round) {
        const raw_peer peer = meet(sink, listener, "PUSH");
        const int waits = GetParam();
        {
            std::atomic<int> wanted{0};
            // Ends with the test, also if that fails.
            const std::jthread sending([&](const std::stop_token& stop) {
                for (int index = 0; index < waits; ++index) {
                    while (wanted <= index && !stop.stop_requested())
                        std::this_thread::yield();
                    peer.send(zmtp::frame(std::to_string(index)));
                }
            });
            for (int index = 0; index < waits; ++index) {
                ++wanted;
                EXPECT_EQ(std::to_string(index), sink.recv());
            }
        }
        peer.send(zmtp::frame("last"));
        ASSERT_EQ(0, zmq_disconnect(sink, listener.endpoint().c_str()));
        EXPECT_EQ("last", sink.recv());
        EXPECT_TRUE(peer.ended());
    }
}

INSTANTIATE_TEST_SUITE_P(AfterWaits, ZlinkOnlyDisconnect, testing::Values(1, 40),
                         testing::PrintToStringParamName());

// A PAIR takes another peer once the one before is gone and nothing of it is left. libzmq does not.
TEST(ZlinkOnlyImmediateTcp, a_pair_takes_the_next_peer_after_disconnecting)
{
    test_context context;
    test_socket socket(context, ZMQ_PAIR);
    for (int round = 0; round < 10; ++round) {
        const bool gone_before = round % 2 != 0;
        const raw_listener listener;
        {
            const raw_peer peer = meet(socket, listener, "PAIR");
            peer.send(zmtp::frame("first") + zmtp::frame("second"));
            EXPECT_EQ("first", socket.recv());
            if (!gone_before) {
                ASSERT_EQ(0, zmq_disconnect(socket, listener.endpoint().c_str()));
                EXPECT_EQ("second", socket.recv());
                EXPECT_TRUE(peer.ended());
            }
        }
        if (gone_before) {
            ASSERT_TRUE(wait_until([&] { return (socket.events() & ZMQ_POLLOUT) == 0; }));
            ASSERT_EQ(0, zmq_disconnect(socket, listener.endpoint().c_str()));
            EXPECT_EQ("second", socket.recv());
        }
    }
}

// With libzmq that is so once the socket has noticed, a call or two later.
TEST(ZlinkOnlyImmediateTcp, nothing_is_sent_to_who_was_disconnected)
{
    test_context context;
    const raw_listener listener;
    test_socket socket(context, ZMQ_DEALER);
    const raw_peer peer = meet(socket, listener, "DEALER");
    peer.send(zmtp::frame("a") + zmtp::frame("b"));
    EXPECT_EQ("a", socket.recv());
    ASSERT_EQ(0, zmq_disconnect(socket, listener.endpoint().c_str()));
    EXPECT_TRUE(fails_with(EAGAIN, zmq_send(socket, "x", 1, ZMQ_DONTWAIT)));
    EXPECT_EQ("b", socket.recv());
    EXPECT_TRUE(peer.ended());
}

// Each connection has a pipe of its own, and ends while a message is written to it, before or
// after: a thread that is overtaken in the middle of a send finds what it needs.
TEST(ImmediateReconnect, goes_on_under_threads_that_send)
{
    constexpr int senders = 3;
    constexpr int connections_each = 350;
    std::vector<std::thread> threads;
    for (int index = 0; index < senders; ++index)
        threads.emplace_back([] {
            test_context context;
            test_socket socket(context, ZMQ_PUSH);
            socket.set(ZMQ_IMMEDIATE, 1);
            socket.set(ZMQ_RECONNECT_IVL, 1);
            const raw_listener listener;
            socket.connect(listener.endpoint());
            std::atomic<bool> done{false};
            std::thread peer([&] {
                for (int connection = 0; connection < connections_each; ++connection) {
                    raw_peer accepted = listener.accept();
                    zmtp::shake_hands(accepted, "PULL");
                    if (connection % 3 != 0)
                        accepted.recv(static_cast<std::size_t>(1 + connection % 50));
                    connection % 2 == 0 ? accepted.abort() : accepted.close();
                }
                done.store(true);
            });
            for (unsigned sent = 0; !done.load(); ++sent)
                if (zmq_send(socket, "message", 7, ZMQ_DONTWAIT) == -1) {
                    ASSERT_EQ(EAGAIN, zmq_errno());
                    std::this_thread::yield();
                }
            peer.join();
            socket.set(ZMQ_LINGER, 0);
        });
    for (std::thread& thread : threads)
        thread.join();
}

} // namespace
} // namespace zlink::test
