// SPDX-License-Identifier: Apache-2.0
// Heartbeats between sockets and on the wire.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <future>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class Heartbeat : public transport_test {};

TEST_P(Heartbeat, an_idle_connection_of_living_peers_stays)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    test_socket dealer(context_, ZMQ_DEALER);
    for (auto* socket : {&router, &dealer}) {
        socket->set(ZMQ_HEARTBEAT_IVL, 20);
        socket->set(ZMQ_HEARTBEAT_TIMEOUT, 200);
        socket->set(ZMQ_HEARTBEAT_TTL, 200);
    }
    dealer.connect(router.bind_and_resolve(fresh_bind_address(GetParam())));
    dealer.send("hello");
    const parts first = router.recv_parts();
    ASSERT_EQ(2u, first.size());
    // A connection made anew would have another routing id.
    EXPECT_FALSE(router.readable(500ms));
    router.send_parts({first[0], "still there"});
    EXPECT_EQ("still there", dealer.recv());
}

TEST_P(Heartbeat, heartbeats_between_the_parts_of_traffic_disturb_nothing)
{
    test_socket sink(context_, ZMQ_PULL);
    test_socket source(context_, ZMQ_PUSH);
    for (auto* socket : {&sink, &source})
        socket->set(ZMQ_HEARTBEAT_IVL, 1);
    sink.set(ZMQ_HEARTBEAT_TIMEOUT, 5000);
    source.set(ZMQ_HEARTBEAT_TIMEOUT, 5000);
    source.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
    const std::string large(200'000, 'b');
    const auto end = std::chrono::steady_clock::now() + 200ms;
    for (int index = 0; std::chrono::steady_clock::now() < end; ++index) {
        const parts message{std::to_string(index), large, ""};
        source.send_parts(message);
        ASSERT_EQ(message, sink.recv_parts()) << index;
    }
}

INSTANTIATE_TEST_SUITE_P(Transports, Heartbeat, ::testing::Values(transport::tcp, transport::ipc),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Calls a function at the end of its scope.
class at_exit {
public:
    explicit at_exit(std::function<void()> call) : call_(std::move(call)) {}
    ~at_exit() { call_(); }
    at_exit(const at_exit&) = delete;
    at_exit& operator=(const at_exit&) = delete;

private:
    std::function<void()> call_;
};

class HeartbeatOnTheWire : public ::testing::Test {
protected:
    static configuration every(int interval_ms, int timeout_ms = -1)
    {
        return [=](test_socket& socket) {
            socket.set(ZMQ_HEARTBEAT_IVL, interval_ms);
            if (timeout_ms >= 0)
                socket.set(ZMQ_HEARTBEAT_TIMEOUT, timeout_ms);
        };
    }

    test_context context_;
};

TEST_F(HeartbeatOnTheWire, is_for_peers_of_zmtp_3_0_too)
{
    raw_link at(context_, ZMQ_PULL, every(20, 5000));
    zmtp::shake_hands(at.peer, "PUSH", 0);
    EXPECT_EQ(zmtp::ping(), zmtp::recv_frame(at.peer));
}

TEST_F(HeartbeatOnTheWire, is_answered_by_anything)
{
    raw_link at(context_, ZMQ_PULL, every(50));
    zmtp::shake_hands(at.peer, "PUSH");
    const std::string answers[] = {zmtp::frame("message"), zmtp::command("UNKNOWN"),
                                   zmtp::frame("", zmtp::command_bit), zmtp::ping()};
    for (int round = 0; round < 3; ++round)
        for (const std::string& answer : answers) {
            ASSERT_EQ(zmtp::ping(), zmtp::recv_frame(at.peer));
            at.peer.send(answer);
            if (answer == zmtp::ping()) {
                ASSERT_EQ(zmtp::pong(), zmtp::recv_frame(at.peer));
            }
        }
    EXPECT_EQ(zmtp::ping(), zmtp::recv_frame(at.peer));
    EXPECT_LE(at.peer.recv_to_end().size(), zmtp::ping().size()); // silence ends it
}

TEST_F(HeartbeatOnTheWire, without_timeout_needs_no_answer)
{
    raw_link at(context_, ZMQ_PULL, every(10, 0));
    zmtp::shake_hands(at.peer, "PUSH");
    for (int round = 0; round < 20; ++round)
        EXPECT_EQ(zmtp::ping(), zmtp::recv_frame(at.peer));
}

TEST_F(HeartbeatOnTheWire, a_frame_behind_a_ping_ends_its_time_to_live)
{
    for (const std::string& traffic : {zmtp::frame("message"), zmtp::command("UNKNOWN")}) {
        raw_link at(context_, ZMQ_PULL);
        zmtp::shake_hands(at.peer, "PUSH");
        at.peer.send(zmtp::ping(1) + traffic);
        EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(at.peer));
        EXPECT_FALSE(at.peer.ended(300ms));
    }
}

TEST_F(HeartbeatOnTheWire, a_part_of_a_frame_behind_a_ping_does_not_end_its_time_to_live)
{
    const std::string message = zmtp::frame(std::string(100'000, 'x'));
    for (const std::size_t bytes : {std::size_t{1}, message.size() / 2}) {
        raw_link at(context_, ZMQ_PULL);
        zmtp::shake_hands(at.peer, "PUSH");
        at.peer.send(zmtp::ping(1) + message.substr(0, bytes));
        EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(at.peer));
        EXPECT_TRUE(at.peer.ended());
    }
}

// A peer that asks and asks and never reads must not cost memory without end.
TEST_F(HeartbeatOnTheWire, is_not_answered_for_ever_to_who_does_not_read)
{
    raw_link at(context_, ZMQ_PULL);
    zmtp::shake_hands(at.peer, "PUSH");
    std::string pings;
    while (pings.size() < 100'000)
        pings += zmtp::ping(0, "0123456789abcdef");
    std::size_t asked = 0;
    for (; asked < 20'000'000; asked += pings.size())
        at.peer.send(pings);
    at.peer.send(zmtp::frame("all read"));
    EXPECT_EQ("all read", at.socket.recv());
    // What the kernel holds for both sides, and a little more.
    EXPECT_LT(at.peer.recv_at_most(asked / 2, 1s).size(), asked / 2);
}

TEST_F(HeartbeatOnTheWire, is_answered_between_messages_of_any_size)
{
    raw_link at(context_, ZMQ_PUSH, [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 10);
        socket.set(ZMQ_SNDTIMEO, 100);
    });
    zmtp::shake_hands(at.peer, "PULL");
    const std::string body(400'000, 'b');
    const std::string answer = zmtp::pong("context");
    std::atomic<bool> sent{false};
    std::atomic<bool> asked{false};
    const auto asker = std::async(std::launch::async, [&] {
        for (int count = 0; count < 100'000 && !asked; ++count)
            at.peer.send(zmtp::ping(0, "context"));
    });
    const auto sender = std::async(std::launch::async, [&] {
        while (!sent)
            zmq_send(at.socket, body.data(), body.size(), 0);
    });
    const at_exit end([&] {
        sent = true;
        asked = true;
        ::shutdown(at.peer.fd(), SHUT_RDWR); // wakes the asker
    });
    int messages = 0;
    int answers = 0;
    while (messages < 200 || answers == 0) {
        const std::string header = at.peer.recv(2);
        if (header == answer.substr(0, 2)) {
            ASSERT_EQ(answer, header + at.peer.recv(answer.size() - 2));
            ++answers;
        } else {
            ASSERT_EQ(zmtp::frame(body).substr(0, 9), header + at.peer.recv(7));
            ASSERT_TRUE(at.peer.recv(body.size()) == body);
            sent = ++messages >= 200;
        }
    }
}

} // namespace
} // namespace zlink::test
