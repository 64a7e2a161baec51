// SPDX-License-Identifier: Apache-2.0
// Heartbeats between sockets and on the wire.
#define ZMQ_BUILD_DRAFT_API
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/slow_link.hpp"
#include "support/zmtp.hpp"

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <thread>

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

ZLINK_WIRE_TRANSPORTS(Heartbeat);

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

TEST_F(HeartbeatOnTheWire, begins_before_the_first_message)
{
    constexpr int an_hour_ms = 3'600'000;
    raw_link at(context_, ZMQ_PUSH, [](test_socket& socket) {
        every(an_hour_ms)(socket);
        socket.set(ZMQ_HEARTBEAT_TTL, 700);
    });
    std::thread sending([&] { at.socket.send("message"); }); // as soon as there is a peer
    zmtp::shake_hands(at.peer, "PULL");
    EXPECT_EQ(zmtp::ping(7), zmtp::recv_frame(at.peer));
    EXPECT_EQ(zmtp::frame("message"), zmtp::recv_frame(at.peer));
    sending.join();
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

// --- connections that take no more

constexpr int interval_ms = 50;
/// For peers that are to be spared: none of them is kept from its processor for so long.
constexpr int long_timeout_ms = 500;
constexpr std::chrono::milliseconds longer_than_timeout{2 * long_timeout_ms};

struct full_connection {
    transport kind;
    std::size_t body_bytes;
};

class FullConnection : public ::testing::TestWithParam<full_connection> {
protected:
    void connect(int timeout_ms = -1)
    {
        socket_.set(ZMQ_HEARTBEAT_IVL, interval_ms);
        if (timeout_ms >= 0)
            socket_.set(ZMQ_HEARTBEAT_TIMEOUT, timeout_ms);
        socket_.set(ZMQ_SNDHWM, 100);
        peer_ = raw_peer(socket_.bind_and_resolve(fresh_bind_address(GetParam().kind)));
        zmtp::shake_hands(peer_, "PULL");
    }
    std::string body() const { return std::string(GetParam().body_bytes, 'x'); }

    test_context context_;
    test_socket socket_{context_, ZMQ_PUSH};
    raw_peer peer_;
};

/// Sends without a pause while it lives.
class flood {
public:
    flood(test_socket& socket, std::string body)
        : thread_([this, &socket, body = std::move(body)](const std::stop_token& stop) {
              while (!stop.stop_requested())
                  if (!socket.try_send(body)) {
                      ++refused_;
                      std::this_thread::yield();
                  }
          })
    {}
    /// Waits until the connection is full.
    bool has_filled()
    {
        const unsigned before = refused_;
        return wait_until([&] { return refused_ != before; });
    }

private:
    std::atomic<unsigned> refused_{0};
    std::jthread thread_;
};

TEST_P(FullConnection, ends_when_the_peer_is_silent)
{
    connect();
    listening_post post(context_, socket_, ZMQ_EVENT_DISCONNECTED);
    const flood sending(socket_, body());
    EXPECT_TRUE(post.socket().readable());
}

// The socket is closed, and lingers for ever.
TEST_P(FullConnection, ends_when_the_peer_is_silent_and_the_socket_waits_for_it)
{
    connect(long_timeout_ms);
    socket_.set(ZMQ_LINGER, -1);
    {
        flood sending(socket_, body());
        ASSERT_TRUE(sending.has_filled());
    }
    socket_.close();
    auto end = std::async(std::launch::async, [&] { context_.term(); });
    EXPECT_EQ(std::future_status::ready, end.wait_for(patience));
    peer_.close();
}

class ZlinkOnlyFullConnection : public FullConnection {};

// libzmq ends it: it goes by what the peer says alone.
TEST_P(ZlinkOnlyFullConnection, stays_while_the_peer_makes_room)
{
    connect(long_timeout_ms);
    listening_post post(context_, socket_, ZMQ_EVENT_DISCONNECTED);
    flood sending(socket_, body());
    const auto until = std::chrono::steady_clock::now() + longer_than_timeout;
    while (std::chrono::steady_clock::now() < until) {
        ASSERT_TRUE(sending.has_filled());
        ASSERT_EQ(500'000U, peer_.recv(500'000).size());
    }
    EXPECT_FALSE(post.socket().readable(0ms));
}

const auto name_of_full_connection = [](const auto& info) {
    return std::string(name_of(info.param.kind)) + "_" + std::to_string(info.param.body_bytes);
};
INSTANTIATE_TEST_SUITE_P(Over, FullConnection,
                         ::testing::Values(full_connection{transport::tcp, 10},
                                           full_connection{transport::tcp, 1'000},
                                           full_connection{transport::tcp, 20'000},
                                           full_connection{transport::tcp, 200'000},
                                           full_connection{transport::ipc, 10},
                                           full_connection{transport::ipc, 20'000},
                                           full_connection{transport::ipc, 200'000}),
                         name_of_full_connection);
INSTANTIATE_TEST_SUITE_P(Over, ZlinkOnlyFullConnection,
                         ::testing::Values(full_connection{transport::tcp, 1'000},
                                           full_connection{transport::tcp, 200'000},
                                           full_connection{transport::ipc, 20'000}),
                         name_of_full_connection);

// Who does not read for the time being, as its queue is full, cannot answer what it does not see.
TEST(ZlinkOnlyPausedReader, tells_a_peer_that_has_asked_before_that_it_lives)
{
    test_context context;
    raw_link at(context, ZMQ_PULL, [](test_socket& socket) { socket.set(ZMQ_RCVHWM, 1); });
    zmtp::shake_hands(at.peer, "PUSH");
    at.peer.send(zmtp::ping());
    EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(at.peer));
    const std::string message = zmtp::frame(std::string(1'000, 'x'));
    constexpr int messages = 200;
    std::string all;
    for (int index = 0; index < messages; ++index)
        all += message;
    at.peer.send(all);
    for (int count = 0; count < 5; ++count)
        EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(at.peer));
    for (int index = 0; index < messages; ++index)
        EXPECT_EQ(1'000U, at.socket.recv().size());
    at.peer.send(zmtp::ping(0, "still there"));
    std::string answer = zmtp::recv_frame(at.peer);
    while (answer == zmtp::pong()) // from before
        answer = zmtp::recv_frame(at.peer);
    EXPECT_EQ(zmtp::pong("still there"), answer);
}

TEST(ZlinkOnlyPausedReader, that_nobody_has_asked_says_nothing)
{
    test_context context;
    raw_link at(context, ZMQ_PULL, [](test_socket& socket) { socket.set(ZMQ_RCVHWM, 1); });
    zmtp::shake_hands(at.peer, "PUSH");
    std::string all;
    for (int index = 0; index < 200; ++index)
        all += zmtp::frame(std::string(1'000, 'x'));
    at.peer.send(all);
    EXPECT_EQ("", at.peer.recv_at_most(1, quiet_window));
}

class ZlinkOnlySlowReceiver : public transport_test {
protected:
    // A sender with heartbeats, and a receiver without any that has more to read than it takes.
    void connect_and_fill()
    {
        sink_.set(ZMQ_RCVHWM, 1);
        source_.set(ZMQ_SNDHWM, 10);
        source_.set(ZMQ_HEARTBEAT_IVL, interval_ms);
        source_.set(ZMQ_HEARTBEAT_TIMEOUT, long_timeout_ms);
        listening_post post(context_, source_, ZMQ_EVENT_DISCONNECTED);
        source_.connect(sink_.bind_and_resolve(fresh_bind_address(GetParam())));
        source_.send("first");
        ASSERT_EQ("first", sink_.recv());
        // Until the receiver has been asked, and knows how often.
        EXPECT_FALSE(post.socket().readable(1s));
        sent_ = send_until_stuck(source_, std::string(10'000, 'x'), 100ms);
        EXPECT_FALSE(post.socket().readable(longer_than_timeout));
        ASSERT_EQ(0, zmq_socket_monitor(source_, nullptr, 0));
    }
    void expect_all()
    {
        for (int index = 0; index < sent_; ++index)
            ASSERT_EQ(10'000U, sink_.recv().size()) << index << " of " << sent_;
    }

    test_socket sink_{context_, ZMQ_PULL};
    test_socket source_{context_, ZMQ_PUSH};
    int sent_ = 0;
};

TEST_P(ZlinkOnlySlowReceiver, is_not_taken_for_dead)
{
    ASSERT_NO_FATAL_FAILURE(connect_and_fill());
    expect_all();
}

TEST_P(ZlinkOnlySlowReceiver, is_not_taken_for_dead_by_who_waits_for_it_to_close)
{
    ASSERT_NO_FATAL_FAILURE(connect_and_fill());
    source_.set(ZMQ_LINGER, -1);
    source_.close();
    test_socket nobody(context_, ZMQ_PULL);
    EXPECT_FALSE(nobody.readable(longer_than_timeout));
    expect_all();
}

// From its first message on it has more to read than it takes. Later PINGs lie behind more tiny
// messages than are read in any time-out.
TEST_P(ZlinkOnlySlowReceiver, is_not_taken_for_dead_that_never_catches_up)
{
    sink_.set(ZMQ_RCVHWM, 1);
    sink_.set(ZMQ_RCVBUF, 4096);
    source_.set(ZMQ_HEARTBEAT_IVL, interval_ms);
    source_.set(ZMQ_HEARTBEAT_TIMEOUT, long_timeout_ms);
    source_.set(ZMQ_SNDTIMEO, 100);
    listening_post post(context_, source_, ZMQ_EVENT_DISCONNECTED);
    std::atomic<bool> stop{false};
    const std::string address = fresh_bind_address(GetParam());
    int sent = 0;
    std::thread flooding([&] {
        source_.connect(sink_.bind_and_resolve(address));
        while (!stop)
            sent += source_.try_send("") ? 1 : 0;
    });
    EXPECT_FALSE(post.socket().readable(longer_than_timeout));
    int received = 0;
    bool lost = false;
    for (; received < 500 && !lost; ++received) { // with pauses, all shorter than the time-out
        EXPECT_EQ("", sink_.recv());
        lost = post.socket().readable(1ms);
    }
    stop = true;
    flooding.join();
    ASSERT_FALSE(lost);
    for (; received < sent; ++received)
        ASSERT_EQ("", sink_.recv());
    EXPECT_FALSE(post.socket().readable(0ms));
}

ZLINK_WIRE_TRANSPORTS(ZlinkOnlySlowReceiver);

// --- connections that are slow

/// A large message on its way over a slow link, most of it in the sender's kernel. That says seldom
/// that it has room again: several times the time-out passes between one time and the next.
class ZlinkOnlySlowLink : public transport_test {
protected:
    static constexpr double bytes_per_second = 250'000;
    static constexpr std::size_t large_bytes = 1'000'000;

    void connect()
    {
        source_.set(ZMQ_HEARTBEAT_IVL, 100);
        source_.set(ZMQ_HEARTBEAT_TIMEOUT, long_timeout_ms);
        source_.set(ZMQ_SNDBUF, 400'000);
        link_.emplace(GetParam(), sink_.bind_and_resolve(fresh_bind_address(GetParam())),
                      bytes_per_second);
        source_.connect(link_->endpoint());
        source_.send("first");
        ASSERT_EQ("first", sink_.recv());
    }

    test_socket sink_{context_, ZMQ_PULL};
    test_socket source_{context_, ZMQ_PUSH};
    listening_post post_{context_, source_, ZMQ_EVENT_DISCONNECTED};
    std::optional<slow_link> link_;
};

TEST_P(ZlinkOnlySlowLink, that_never_stands_still_is_not_taken_for_dead)
{
    ASSERT_NO_FATAL_FAILURE(connect());
    const std::string large(large_bytes, 'q');
    source_.send(large);
    source_.send("after");
    EXPECT_TRUE(large == sink_.recv());
    EXPECT_EQ("after", sink_.recv());
    EXPECT_FALSE(post_.socket().readable(0ms));
}

TEST_P(ZlinkOnlySlowLink, is_not_taken_for_dead_where_both_sides_ask)
{
    sink_.set(ZMQ_HEARTBEAT_IVL, 100);
    sink_.set(ZMQ_HEARTBEAT_TIMEOUT, long_timeout_ms);
    sink_.set(ZMQ_HEARTBEAT_TTL, long_timeout_ms);
    source_.set(ZMQ_HEARTBEAT_TTL, long_timeout_ms);
    ASSERT_NO_FATAL_FAILURE(connect());
    const std::string large(large_bytes, 'q');
    source_.send(large);
    EXPECT_TRUE(large == sink_.recv());
    EXPECT_FALSE(post_.socket().readable(0ms));
}

TEST_P(ZlinkOnlySlowLink, is_not_taken_for_dead_by_who_waits_to_close)
{
    ASSERT_NO_FATAL_FAILURE(connect());
    const std::string large(large_bytes, 'q');
    source_.set(ZMQ_LINGER, -1);
    source_.send(large);
    ASSERT_EQ(0, zmq_socket_monitor(source_, nullptr, 0));
    source_.close();
    EXPECT_TRUE(large == sink_.recv());
}

TEST_P(ZlinkOnlySlowLink, is_found_dead_as_soon_as_it_stands_still)
{
    ASSERT_NO_FATAL_FAILURE(connect());
    source_.send(std::string(large_bytes, 'q'));
    ASSERT_TRUE(wait_until([&] { return link_->passed() > large_bytes / 4; }));
    link_->freeze();
    EXPECT_TRUE(post_.socket().readable(5s));
}

ZLINK_LINKS_WITH(ZlinkOnlySlowLink, has_plain_zmtp);

// The kernel of a process that hangs takes the little that it is sent.
class HangingPeer : public transport_test {};

TEST_P(HangingPeer, is_found_dead_while_it_is_sent_a_little)
{
    test_socket socket(context_, ZMQ_PUSH);
    socket.set(ZMQ_HEARTBEAT_IVL, 50);
    const raw_peer peer(socket.bind_and_resolve(fresh_bind_address(GetParam())));
    zmtp::shake_hands(peer, "PULL");
    listening_post post(context_, socket, ZMQ_EVENT_DISCONNECTED);
    EXPECT_TRUE(wait_until([&] {
        socket.try_send("little");
        return post.socket().readable(5ms);
    }));
}

ZLINK_LINKS_WITH(HangingPeer, has_plain_zmtp);

TEST(HeartbeatOverInproc, is_not_needed)
{
    test_context context;
    test_socket sink(context, ZMQ_PULL);
    test_socket source(context, ZMQ_PUSH);
    for (test_socket* const socket : {&sink, &source}) {
        socket->set(ZMQ_HEARTBEAT_IVL, 1);
        socket->set(ZMQ_HEARTBEAT_TIMEOUT, 1);
        socket->set(ZMQ_HEARTBEAT_TTL, 100);
    }
    source.connect(sink.bind_and_resolve(known_address(transport::inproc)));
    EXPECT_FALSE(sink.readable(quiet_window));
    source.send("still there");
    EXPECT_EQ("still there", sink.recv());
}

} // namespace
} // namespace zlink::test
