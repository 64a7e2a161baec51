// SPDX-License-Identifier: Apache-2.0
// Event loops on ZMQ_FD with epoll, edge-triggered and level-triggered: many messages, both ways at
// once, without a stall. Loops wait on nothing else, so one lost signal is the end of the test.
#include "support/descriptors.hpp"
#include "support/fixture.hpp"
#include "support/much_traffic.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <thread>
#include <tuple>

namespace zlink::test {
namespace {

/// How a loop learns that there is nothing to receive.
enum class habit {
    asks_each_time,     ///< reads ZMQ_EVENTS before each message
    asks_before_waiting ///< receives until EAGAIN, then reads ZMQ_EVENTS once more
};

/// What one side of an exchange does; numbered messages both ways.
struct task {
    int to_send = 0;
    int to_receive = 0;
    parts envelope;       ///< goes before each message sent
    std::size_t skip = 0; ///< parts before each message received
};

/// Runs one side. @return empty, or what went wrong.
std::string run_loop(test_socket& socket, trigger how, habit asks, task work)
{
    const readable_watch descriptor(socket.get(ZMQ_FD), how);
    int sent = 0;
    int received = 0;
    const auto receive = [&] { // false: nothing there
        zmq_msg_t part;
        zmq_msg_init(&part);
        parts message;
        bool more = false;
        do {
            if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0)
                return false;
            message.emplace_back(static_cast<const char*>(zmq_msg_data(&part)),
                                 zmq_msg_size(&part));
            more = zmq_msg_more(&part) != 0;
        } while (more);
        zmq_msg_close(&part);
        if (message.size() != work.skip + 1 || message.back() != std::to_string(received))
            throw std::runtime_error("wrong message " + message.back() + " instead of " +
                                     std::to_string(received));
        ++received;
        return true;
    };
    const auto send = [&] {
        for (const std::string& part : work.envelope) // full: EAGAIN for the first part
            if (zmq_send(socket, part.data(), part.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0)
                return false;
        const std::string body = std::to_string(sent);
        if (zmq_send(socket, body.data(), body.size(), ZMQ_DONTWAIT) < 0)
            return false;
        ++sent;
        return true;
    };
    try {
        while (sent < work.to_send || received < work.to_receive) {
            // All of what is read here has to be looked at before waiting.
            const int ready = socket.events();
            bool progress = false;
            if ((ready & ZMQ_POLLIN) != 0) {
                progress = receive();
                if (asks == habit::asks_before_waiting)
                    while (received < work.to_receive && receive()) {
                    }
            }
            if (sent < work.to_send && (ready & ZMQ_POLLOUT) != 0) {
                progress |= send();
                if (asks == habit::asks_before_waiting)
                    for (int burst = 0; burst < 100 && sent < work.to_send && send(); ++burst) {
                    }
            }
            if (!progress && !descriptor.wait())
                return "stalled at " + std::to_string(sent) + " sent, " + std::to_string(received) +
                       " received, events: " + std::to_string(socket.events());
        }
    } catch (const std::exception& failure) {
        return failure.what();
    }
    return {};
}

class EventLoop : public ::testing::TestWithParam<std::tuple<transport, trigger, habit>> {
protected:
    /// Runs both sides at once.
    void exchange(test_socket& left, const task& left_work, test_socket& right,
                  const task& right_work)
    {
        const auto [kind, how, asks] = GetParam();
        std::string right_failed;
        std::thread other(
            [&, how = how, asks = asks] { right_failed = run_loop(right, how, asks, right_work); });
        EXPECT_EQ("", run_loop(left, how, asks, left_work));
        other.join();
        EXPECT_EQ("", right_failed);
    }
    transport kind() const { return std::get<0>(GetParam()); }

    test_context context_;
};

TEST_P(EventLoop, pairs_both_ways)
{
    constexpr int count = 25'000;
    const configuration small = [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 50);
        socket.set(ZMQ_RCVHWM, 50);
    };
    auto [bound, peer, address] = connect_pair(context_, kind(), ZMQ_PAIR, ZMQ_PAIR, small, small);
    exchange(bound, {count, count, {}, 0}, peer, {count, count, {}, 0});
}

TEST_P(EventLoop, dealer_and_router_both_ways)
{
    constexpr int count = 15'000;
    const configuration router = [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 20);
        socket.set(ZMQ_RCVHWM, 20);
        socket.set(ZMQ_ROUTER_MANDATORY, 1); // full means not now, instead of lost
    };
    const configuration dealer = [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 20);
        socket.set(ZMQ_RCVHWM, 20);
        socket.set(ZMQ_ROUTING_ID, "dealer");
    };
    auto [bound, peer, address] =
        connect_pair(context_, kind(), ZMQ_ROUTER, ZMQ_DEALER, router, dealer);
    exchange(bound, {count, count, {"dealer"}, 1}, peer, {count, count, {}, 0});
}

TEST_P(EventLoop, requests_and_replies)
{
    constexpr int count = 3'000;
    auto [bound, peer, address] = connect_pair(context_, kind(), ZMQ_REP, ZMQ_REQ);
    exchange(bound, {count, count, {}, 0}, peer, {count, count, {}, 0});
}

TEST_P(EventLoop, publisher_and_subscriber)
{
    constexpr int count = 20'000;
    const configuration endless = [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 0);
        socket.set(ZMQ_RCVHWM, 0);
    };
    auto [bound, peer, address] =
        connect_pair(context_, kind(), ZMQ_PUB, ZMQ_SUB, endless, endless);
    exchange(bound, {count, 0, {}, 0}, peer, {0, count, {}, 0});
}

std::string name_of_loop(const ::testing::TestParamInfo<EventLoop::ParamType>& info)
{
    const auto [kind, how, asks] = info.param;
    return std::string(name_of(kind)) + (how == trigger::edge ? "_edge" : "_level") +
           (asks == habit::asks_each_time ? "_each" : "_bursts");
}

INSTANTIATE_TEST_SUITE_P(Over, EventLoop,
                         ::testing::Combine(::testing::ValuesIn(links_for_much_traffic()),
                                            ::testing::Values(trigger::edge, trigger::level),
                                            ::testing::Values(habit::asks_each_time,
                                                              habit::asks_before_waiting)),
                         name_of_loop);

/// A loop that never reads ZMQ_EVENTS and relies on receiving until EAGAIN works as well, and does
/// not turn for nothing.
TEST(EventLoopHabits, receiving_until_nothing_is_left_quiets_the_descriptor)
{
    test_context context;
    auto [bound, peer, address] = connect_pair(context, transport::tcp, ZMQ_PAIR, ZMQ_PAIR);
    constexpr int count = 20'000;
    std::thread sending([&from = peer] {
        for (int index = 0; index < count; ++index)
            from.send(std::to_string(index));
    });
    const readable_watch descriptor(bound.get(ZMQ_FD), trigger::level);
    int received = 0;
    int idle_turns = 0;
    while (received < count) {
        ASSERT_TRUE(descriptor.wait()) << received;
        const int before = received;
        char body[16];
        for (int bytes = 0; (bytes = zmq_recv(bound, body, sizeof body, ZMQ_DONTWAIT)) >= 0;)
            ASSERT_EQ(std::to_string(received++),
                      std::string(body, static_cast<std::size_t>(bytes)));
        idle_turns += received == before;
    }
    sending.join();
    EXPECT_GT(1000, idle_turns);
    char body[16];
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(bound, body, sizeof body, ZMQ_DONTWAIT)));
    EXPECT_TRUE(wait_until([&, &socket = bound] {
        zmq_recv(socket, body, sizeof body, ZMQ_DONTWAIT);
        epoll_event none{};
        const int fd = socket.get(ZMQ_FD);
        const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
        epoll_event event{};
        event.events = EPOLLIN;
        ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
        const bool quiet = ::epoll_wait(epoll, &none, 1, 0) == 0;
        ::close(epoll);
        return quiet;
    }));
}

} // namespace
} // namespace zlink::test
