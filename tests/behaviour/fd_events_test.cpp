// SPDX-License-Identifier: Apache-2.0
// ZMQ_FD and ZMQ_EVENTS as event loops use them: wait on the descriptor, then ask for the events.
#include "support/descriptors.hpp"
#include "support/fixture.hpp"

#include <poll.h>

#include <atomic>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

bool descriptor_readable(int fd, int timeout_ms)
{
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, timeout_ms) == 1;
}

/// An event loop in miniature: never waits on anything but the descriptor.
class loop_socket {
public:
    explicit loop_socket(test_socket& socket) : socket_(socket), fd_(socket.get(ZMQ_FD)) {}

    /// Waits until one of the events is reported. @return false if the descriptor stays quiet for
    /// too long.
    bool wait_for(int events)
    {
        while ((socket_.events() & events) == 0)
            if (!descriptor_readable(fd_, static_cast<int>(patience.count())))
                return false;
        return true;
    }

private:
    test_socket& socket_;
    int fd_;
};

/// A thread that sends a burst of messages each time it is asked to.
class burst_sender {
public:
    burst_sender(test_socket& socket, int burst)
        : thread_([this, &socket, burst] {
              for (int sent = 0; wanted_.wait(sent), wanted_ > sent; ++sent)
                  for (int index = 0; index < burst; ++index)
                      socket.send("x");
          })
    {}
    ~burst_sender()
    {
        wanted_ = -1;
        wanted_.notify_one();
        thread_.join();
    }
    void next()
    {
        ++wanted_;
        wanted_.notify_one();
    }

private:
    std::atomic<int> wanted_{0};
    std::thread thread_;
};

class FdEvents : public transport_test {};

TEST_P(FdEvents, the_descriptor_never_changes)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    const int before = bound.get(ZMQ_FD);
    peer.send("x");
    bound.recv();
    EXPECT_EQ(before, bound.get(ZMQ_FD));
}

TEST_P(FdEvents, the_descriptor_fires_for_a_message_and_rests_after_the_events_were_read)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    const int fd = bound.get(ZMQ_FD);
    bound.events();
    peer.send("x");
    EXPECT_TRUE(descriptor_readable(fd, 10'000));
    EXPECT_TRUE(wait_until([&socket = bound] { return (socket.events() & ZMQ_POLLIN) != 0; }));
    EXPECT_EQ("x", bound.recv());
    EXPECT_TRUE(wait_until([&socket = bound, fd] {
        socket.events();
        return !descriptor_readable(fd, 0);
    }));
    EXPECT_EQ(0, bound.events() & ZMQ_POLLIN);
}

TEST_P(FdEvents, the_descriptor_signals_once_and_stays_readable_until_the_events_are_read)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.send("all that goes with a new connection has been told");
    bound.recv();
    const int fd = bound.get(ZMQ_FD);
    const readable_watch watch(fd);
    const auto rests = [fd, &socket = bound] {
        socket.events();
        return !descriptor_readable(fd, 0);
    };
    ASSERT_TRUE(wait_until(rests));
    while (watch.wait(0ms)) { // of the time before
    }
    peer.send("1");
    EXPECT_TRUE(watch.wait());
    peer.send("2");
    EXPECT_FALSE(watch.wait(quiet_window));
    EXPECT_TRUE(descriptor_readable(fd, 0));
    EXPECT_TRUE(descriptor_readable(fd, 0));
    EXPECT_NE(0, bound.events() & ZMQ_POLLIN);
    EXPECT_EQ("1", bound.recv());
    EXPECT_EQ("2", bound.recv());
    EXPECT_TRUE(wait_until(rests));
}

TEST_P(FdEvents, the_descriptor_rests_while_messages_are_sent_for_which_there_is_room)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.send("all that goes with a new connection has been told");
    bound.recv();
    const int fd = bound.get(ZMQ_FD);
    const readable_watch watch(fd);
    ASSERT_TRUE(wait_until([fd, &socket = bound] {
        socket.events();
        return !descriptor_readable(fd, 0);
    }));
    while (watch.wait(0ms)) { // of the time before
    }
    for (int index = 0; index < 100; ++index) {
        bound.send(std::to_string(index));
        EXPECT_FALSE(descriptor_readable(fd, 0)) << index;
        EXPECT_EQ(std::to_string(index), peer.recv());
    }
    EXPECT_FALSE(watch.wait(quiet_window));
    EXPECT_FALSE(descriptor_readable(fd, 0));
    EXPECT_EQ(ZMQ_POLLOUT, bound.events());
    peer.send("and wakes as ever");
    EXPECT_TRUE(watch.wait());
}

TEST_P(FdEvents, carry_ten_thousand_messages_without_a_stall)
{
    constexpr int count = 10'000;
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    std::thread sending([&from = peer] {
        for (int index = 0; index < count; ++index)
            from.send(std::to_string(index));
    });
    loop_socket loop(bound);
    int next = 0;
    while (next < count && loop.wait_for(ZMQ_POLLIN))
        while (next < count && (bound.events() & ZMQ_POLLIN) != 0)
            ASSERT_EQ(std::to_string(next++), bound.recv(ZMQ_DONTWAIT));
    EXPECT_EQ(count, next);
    sending.join();
}

TEST_P(FdEvents, carry_both_directions_when_each_waits_for_the_other)
{
    constexpr int count = 10'000;
    const configuration small = [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 10);
        socket.set(ZMQ_RCVHWM, 10);
    };
    auto [bound, peer, address] =
        connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR, small, small);
    const auto exchange = [](test_socket& socket) {
        loop_socket loop(socket);
        int sent = 0;
        int received = 0;
        while (sent < count || received < count) {
            const int wanted = ZMQ_POLLIN | (sent < count ? ZMQ_POLLOUT : 0);
            if (!loop.wait_for(wanted))
                return received;
            if ((socket.events() & ZMQ_POLLIN) != 0) {
                if (socket.recv(ZMQ_DONTWAIT) != std::to_string(received))
                    return -1;
                ++received;
            }
            if (sent < count && (socket.events() & ZMQ_POLLOUT) != 0 &&
                socket.try_send(std::to_string(sent)))
                ++sent;
        }
        return received;
    };
    int peer_received = 0;
    std::thread other([&, &from = peer] { peer_received = exchange(from); });
    EXPECT_EQ(count, exchange(bound));
    other.join();
    EXPECT_EQ(count, peer_received);
}

TEST_P(FdEvents, tell_a_blocked_sender_when_it_may_go_on)
{
    auto [bound, peer, address] = connect_pair(
        context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR,
        [](test_socket& socket) { socket.set(ZMQ_RCVHWM, 2); },
        [](test_socket& socket) { socket.set(ZMQ_SNDHWM, 2); });
    const std::string body(20'000, 'f');
    peer.set(ZMQ_SNDTIMEO, 50);
    int accepted = 0;
    while (zmq_send(peer, body.data(), body.size(), 0) > 0)
        ASSERT_GT(100'000, ++accepted);
    EXPECT_EQ(0, peer.events() & ZMQ_POLLOUT);
    for (int index = 0; index < accepted; ++index)
        bound.recv();
    EXPECT_TRUE(loop_socket(peer).wait_for(ZMQ_POLLOUT));
}

TEST_P(FdEvents, the_descriptor_fires_when_the_first_peer_connects)
{
    test_socket bound(context_, ZMQ_PUSH);
    const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
    EXPECT_EQ(0, bound.events());
    test_socket peer(context_, ZMQ_PULL);
    peer.connect(address);
    EXPECT_TRUE(loop_socket(bound).wait_for(ZMQ_POLLOUT));
}

TEST_P(FdEvents, work_when_the_descriptor_is_asked_for_after_traffic_began)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    for (int index = 0; index < 100; ++index)
        peer.send("x");
    bound.recv();
    loop_socket loop(bound);
    for (int index = 1; index < 100; ++index) {
        ASSERT_TRUE(loop.wait_for(ZMQ_POLLIN));
        bound.recv(ZMQ_DONTWAIT);
    }
}

TEST_P(FdEvents, the_descriptor_rests_after_every_burst)
{
    constexpr int burst = 2;
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    const int fd = bound.get(ZMQ_FD);
    burst_sender sender(peer, burst);
    for (int round = 0; round < 3000; ++round) {
        sender.next();
        // Without waiting on the descriptor: the news shall be taken while it is being announced.
        for (int received = 0; received < burst; ++received) {
            const stopwatch clock;
            while ((bound.events() & ZMQ_POLLIN) == 0) {
                ASSERT_GT(patience.count(), clock.elapsed_ms());
                std::this_thread::yield();
            }
            bound.recv(ZMQ_DONTWAIT);
        }
        ASSERT_TRUE(wait_until([&socket = bound, fd] {
            return (socket.events() & ZMQ_POLLIN) == 0 && !descriptor_readable(fd, 0);
        })) << round;
    }
}

TEST_P(FdEvents, the_descriptor_becomes_readable_anew_whenever_there_was_nothing_to_read)
{
    constexpr int burst = 3;
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    const readable_watch watch(bound.get(ZMQ_FD));
    burst_sender sender(peer, burst);
    for (int round = 0; round < 1000; ++round) {
        sender.next();
        for (int received = 0; received < burst;) {
            if ((bound.events() & ZMQ_POLLIN) == 0) {
                ASSERT_TRUE(watch.wait()) << round;
                continue;
            }
            bound.recv(ZMQ_DONTWAIT);
            ++received;
        }
    }
}

ZLINK_ALL_TRANSPORTS(FdEvents);

TEST(FdEventsShutdown, the_descriptor_fires_when_the_context_ends)
{
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    const int fd = socket.get(ZMQ_FD);
    socket.events();
    zmq_ctx_shutdown(context);
    EXPECT_TRUE(descriptor_readable(fd, 10'000));
    int value = 0;
    std::size_t size = sizeof value;
    EXPECT_TRUE(fails_with(ETERM, zmq_getsockopt(socket, ZMQ_EVENTS, &value, &size)));
}

} // namespace
} // namespace zlink::test
