// SPDX-License-Identifier: Apache-2.0
// zlink_arm: event loops on a condition variable. They wait for nothing else, so one lost wake-up
// is the end of the test.
#include "support/descriptors.hpp"
#include "support/draft.hpp"
#include "support/fixture.hpp"
#include "support/much_traffic.hpp"
#include "support/sanitizers.hpp"
#include "support/wake_up.hpp"

#include <zlink.h>

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <thread>

namespace zlink::test {
namespace {

class Arm : public transport_test {
protected:
    /// Two PAIR sockets, of which one is at rest.
    void meet(const configuration& configure = {})
    {
        pair_ = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR, configure, configure);
        rest();
    }
    /// All that has happened so far has been told, and the wake-up is armed.
    void rest()
    {
        wake_.arm_at_rest(bound());
        wake_.wait(std::chrono::milliseconds(0));
    }
    test_socket& bound() { return pair_.bound; }
    test_socket& peer() { return pair_.peer; }

    wake_up wake_; // outlives what it is armed for
    connected_pair pair_;
};

TEST_P(Arm, tells_of_a_message_once)
{
    meet();
    const int before = wake_.calls();
    peer().send("1");
    EXPECT_TRUE(wake_.wait());
    EXPECT_EQ("1", bound().recv());
    peer().send("2");
    EXPECT_EQ("2", bound().recv());
    EXPECT_GE(before + 1, wake_.calls());
}

TEST_P(Arm, does_not_arm_what_may_be_ready_already)
{
    meet();
    ASSERT_EQ(0, zlink_arm(bound(), nullptr, nullptr));
    const int before = wake_.calls();
    peer().send("1");
    ASSERT_TRUE(bound().readable()); // the library knows of it
    EXPECT_FALSE(wake_.arm(bound()));
    EXPECT_EQ("1", bound().recv());
    EXPECT_EQ(before, wake_.calls());
}

TEST_P(Arm, tells_of_more_messages_after_each_that_was_received)
{
    meet();
    constexpr int count = 100;
    for (int i = 0; i < count; ++i)
        peer().send(std::to_string(i));
    for (int i = 0; i < count;) { // no more than one at a time
        char text[8]{};
        if (zmq_recv(bound(), text, sizeof text, ZMQ_DONTWAIT) > 0) {
            ASSERT_EQ(std::to_string(i++), text);
        }
        if (i < count && wake_.arm(bound())) {
            ASSERT_TRUE(wake_.wait()) << i;
        }
    }
}

TEST_P(Arm, tells_of_room)
{
    meet([](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 5);
        socket.set(ZMQ_RCVHWM, 5);
    });
    const std::string body(20'000, 'x'); // soon too much for the system's buffers
    const auto is_full = [&, this] {
        while (bound().try_send(body)) {
        }
        return wake_.arm(bound());
    };
    while (!is_full()) {
    }
    std::atomic<bool> over{false};
    std::thread reader([&, this] {
        while (!over)
            peer().try_recv_parts(std::chrono::milliseconds(10));
    });
    EXPECT_TRUE(wake_.wait());
    EXPECT_TRUE(bound().writable());
    over = true;
    reader.join();
}

TEST_P(Arm, tells_nothing_that_was_disarmed)
{
    meet();
    EXPECT_EQ(0, zlink_arm(bound(), nullptr, nullptr));
    EXPECT_EQ(0, zlink_arm(bound(), nullptr, nullptr));
    const int before = wake_.calls();
    peer().send("1");
    EXPECT_EQ("1", bound().recv());
    EXPECT_EQ(before, wake_.calls());
}

TEST_P(Arm, takes_the_place_of_what_was_armed)
{
    meet();
    wake_up other;
    other.arm_at_rest(bound());
    const int before = wake_.calls();
    peer().send("1");
    EXPECT_TRUE(other.wait());
    EXPECT_EQ("1", bound().recv());
    EXPECT_EQ(before, wake_.calls());
    bound().close(); // before what is armed is gone
}

TEST_P(Arm, tells_of_the_end_of_the_socket_before_zmq_close_returns)
{
    meet();
    bound().close();
    const int at_close = wake_.calls();
    EXPECT_LE(1, at_close);
    peer().try_send("nothing is told any more");
    peer().close();
    EXPECT_EQ(at_close, wake_.calls());
}

TEST_P(Arm, tells_of_the_end_of_the_context)
{
    meet();
    std::thread(zmq_ctx_shutdown, static_cast<void*>(context_)).join();
    EXPECT_TRUE(wake_.wait());
    EXPECT_TRUE(fails_with(ETERM, zlink_arm(bound(), wake_up::call, &wake_)));
    EXPECT_EQ(0, zlink_arm(bound(), nullptr, nullptr));
}

TEST_P(Arm, tells_of_what_a_call_of_the_own_thread_has_changed)
{
    test_socket receiver(context_, ZMQ_PULL);
    const std::string address = receiver.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket sender(context_, ZMQ_PUSH);
    EXPECT_FALSE(sender.try_send("nobody is there"));
    wake_.arm_at_rest(sender);
    sender.connect(address);
    EXPECT_EQ(1, wake_.calls());
    wake_.wait();
    const auto has_sent = [&, this] { return sender.try_send("1") || (wake_.arm(sender), false); };
    EXPECT_TRUE(wait_until(has_sent));
    EXPECT_EQ("1", receiver.recv());
}

TEST_P(Arm, leaves_other_ways_to_wait_as_they_are)
{
    meet();
    const readable_watch descriptor(bound().get(ZMQ_FD), trigger::level);
    for (int round = 0; round < 50; ++round) {
        rest();
        peer().send("received");
        EXPECT_EQ("received", bound().recv());
        EXPECT_TRUE(wake_.wait());
        rest();
        peer().send("polled");
        EXPECT_TRUE(bound().readable());
        EXPECT_TRUE(wake_.wait());
        EXPECT_EQ("polled", bound().recv());
        rest();
        peer().send("by descriptor");
        EXPECT_TRUE(descriptor.wait());
        EXPECT_TRUE(wake_.wait());
        EXPECT_EQ("by descriptor", bound().recv());
    }
}

// A thread that waits in calls again and again reads its connections by itself, and must not go on
// with that when it waits elsewhere.
TEST_P(Arm, tells_of_messages_after_a_dialogue_in_calls_that_wait)
{
    meet();
    std::thread other([this] {
        for (int i = 0; i < 300; ++i)
            peer().send(peer().recv());
        for (int i = 0; i < 50; ++i) {
            peer().recv();
            peer().send("answer");
        }
    });
    for (int i = 0; i < 300; ++i) {
        bound().send(std::to_string(i));
        ASSERT_EQ(std::to_string(i), bound().recv());
    }
    for (int i = 0; i < 50; ++i) {
        bound().send("question");
        while (!bound().try_recv_parts(std::chrono::milliseconds(0)))
            if (wake_.arm(bound())) {
                ASSERT_TRUE(wake_.wait()) << i;
            }
    }
    other.join();
}

ZLINK_ALL_TRANSPORTS(Arm);

TEST(ArmErrors, are_those_of_other_calls)
{
    wake_up wake;
    test_context context;
    EXPECT_TRUE(fails_with(ENOTSOCK, zlink_arm(nullptr, wake_up::call, &wake)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zlink_arm(context, wake_up::call, &wake)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zlink_arm(nullptr, nullptr, nullptr)));
    test_socket shared(context, ZMQ_SERVER);
    EXPECT_TRUE(fails_with(ENOTSUP, zlink_arm(shared, wake_up::call, &wake)));
    EXPECT_TRUE(fails_with(ENOTSUP, zlink_arm(shared, nullptr, nullptr)));
}

/// A loop for one socket, in a thread of its own or not, that sends and receives numbered messages
/// and waits for nothing but the wake-up.
class loop {
public:
    /// @param echoes sends one message for each that it has received, and for none else
    loop(test_socket& socket, int to_send, int to_receive, bool echoes)
        : socket_(socket), to_send_(to_send), to_receive_(to_receive), echoes_(echoes)
    {}

    bool over() const { return sent_ == to_send_ && received_ == to_receive_; }
    /// All that can be done now. @return false if it has to be woken first.
    bool turn(wake_up& wake)
    {
        while (receive() || send()) {
        }
        zlink_flush();
        return over() || !wake.arm(socket_);
    }
    /// @return empty, or where it got stuck.
    std::string run()
    {
        wake_up wake;
        std::string trouble;
        while (trouble.empty() && !over())
            if (!turn(wake) && !wake.wait())
                trouble = "stuck at " + std::to_string(sent_) + " sent, " +
                          std::to_string(received_) + " received";
        zlink_arm(socket_, nullptr, nullptr);
        return trouble;
    }

private:
    bool receive()
    {
        char text[16]{};
        if (received_ == to_receive_ || zmq_recv(socket_, text, sizeof text, ZMQ_DONTWAIT) < 0)
            return false;
        EXPECT_EQ(std::to_string(received_), text);
        ++received_;
        return true;
    }
    bool send()
    {
        if (sent_ == to_send_ || (echoes_ && sent_ == received_) ||
            !socket_.try_send(std::to_string(sent_)))
            return false;
        ++sent_;
        return true;
    }

    test_socket& socket_;
    const int to_send_;
    const int to_receive_;
    const bool echoes_;
    int sent_ = 0;
    int received_ = 0;
};

class ArmedLoop : public transport_test {};

TEST_P(ArmedLoop, drives_two_sockets_that_play_ping_pong_in_one_thread)
{
    const int count = is_sanitized() ? 300 : 2'000;
    wake_up wake;
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    loop server(bound, count, count, true);
    // A REQ socket refuses to send twice: EFSM is no EAGAIN.
    int sent = 0;
    int received = 0;
    while (received < count) {
        if (sent == received)
            peer.send(std::to_string(sent++));
        char text[16]{};
        if (zmq_recv(peer, text, sizeof text, ZMQ_DONTWAIT) >= 0) {
            ASSERT_EQ(std::to_string(received++), text);
        }
        zlink_flush();
        const bool server_waits = !server.turn(wake);
        const bool client_waits = sent != received && wake.arm(peer);
        if (server_waits && client_waits) {
            ASSERT_TRUE(wake.wait()) << received;
        }
    }
    EXPECT_TRUE(server.over());
    peer.close();
    bound.close();
}

TEST_P(ArmedLoop, moves_messages_both_ways_at_once)
{
    const int count = is_sanitized() ? 2'000 : 20'000;
    const configuration small = [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 50);
        socket.set(ZMQ_RCVHWM, 50);
    };
    auto [bound, peer, address] =
        connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR, small, small);
    std::string other_failed;
    std::thread other(
        [&, &socket = peer] { other_failed = loop(socket, count, count, false).run(); });
    EXPECT_EQ("", loop(bound, count, count, false).run());
    other.join();
    EXPECT_EQ("", other_failed);
}

TEST_P(ArmedLoop, meets_the_end_of_its_context)
{
    for (int round = 0; round < 50; ++round) {
        test_context context;
        auto [bound, peer, address] = connect_pair(context, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
        std::thread other(zmq_ctx_shutdown, static_cast<void*>(context));
        wake_up wake;
        for (int answer = 1; answer >= 0;) {
            answer = zlink_arm(bound, wake_up::call, &wake);
            if (answer == 0) {
                ASSERT_TRUE(wake.wait());
            }
        }
        EXPECT_EQ(ETERM, zmq_errno());
        other.join();
    }
}

TEST_P(ArmedLoop, meets_the_end_of_a_socket_that_messages_come_to)
{
    for (int round = 0; round < 50; ++round) {
        auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
        std::atomic<bool> over{false};
        std::thread other([&, &socket = peer] {
            while (!over)
                socket.try_send("x");
        });
        {
            wake_up wake;
            for (int armed = 0; armed < 20; ++armed) {
                wake.arm(bound);
                bound.try_recv_parts(std::chrono::milliseconds(0));
                if (armed % 3 == 0)
                    zlink_arm(bound, nullptr, nullptr);
            }
            wake.arm(bound);
            if (round % 2 == 0)
                bound.close();
            else
                zlink_arm(bound, nullptr, nullptr);
        } // what is called from now on is gone
        over = true;
        other.join();
    }
}

ZLINK_LINKS(ArmedLoop, links_for_much_traffic());

} // namespace
} // namespace zlink::test
