// SPDX-License-Identifier: Apache-2.0
// Proxies between sockets that other threads use meanwhile.
#include "support/draft.hpp"
#include "support/running_proxy.hpp"

#include <atomic>
#include <thread>
#include <utility>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

void send_numbered(test_socket& from, char sender, int count)
{
    for (int index = 0; index < count; ++index)
        from.send(sender + std::to_string(index));
}

/// Receives so many messages of senders a and b, and checks that those of each are in order.
void receive_numbered(test_socket& at, int of_a, int of_b)
{
    int next_a = 0;
    int next_b = 0;
    while (next_a + next_b < of_a + of_b) {
        const std::string message = at.recv();
        int& next = message[0] == 'a' ? next_a : next_b;
        ASSERT_EQ(message.substr(1), std::to_string(next));
        ++next;
    }
    EXPECT_EQ(of_a, next_a);
}

class ThreadSafeProxy : public transport_test {};

TEST_P(ThreadSafeProxy, passes_on_while_others_send_on_its_socket)
{
    constexpr int count = 5'000;
    for (const int front : {int{ZMQ_GATHER}, int{ZMQ_PULL}}) {
        running_proxy proxy(context_, GetParam(), {front, ZMQ_SCATTER, -1, ZMQ_PAIR, 10});
        test_socket source = connected(context_, front == ZMQ_PULL ? ZMQ_PUSH : ZMQ_SCATTER,
                                       proxy.front_address, 10);
        test_socket sink = connected(context_, ZMQ_GATHER, proxy.back_address, 10);
        std::thread through([&] { send_numbered(source, 'a', count); });
        std::thread beside([&] { send_numbered(proxy.back(), 'b', count); });
        receive_numbered(sink, count, count);
        through.join();
        beside.join();
        const auto numbers = proxy.statistics();
        EXPECT_EQ(std::uint64_t{count}, numbers[0]);
        EXPECT_EQ(numbers[1], numbers[7]);
        EXPECT_EQ(std::uint64_t{count}, numbers[6]);
        EXPECT_EQ(0u, numbers[2] + numbers[4]);
        EXPECT_EQ(0, proxy.end());
    }
}

TEST_P(ThreadSafeProxy, loses_nothing_while_others_receive_from_its_socket)
{
    constexpr int count = 10'000;
    for (const auto& [back, sink_type] :
         {std::pair{int{ZMQ_SCATTER}, int{ZMQ_GATHER}}, std::pair{ZMQ_PUSH, ZMQ_PULL}}) {
        running_proxy proxy(context_, GetParam(), {ZMQ_GATHER, back, -1, ZMQ_PAIR, 10});
        test_socket source = connected(context_, ZMQ_SCATTER, proxy.front_address, 10);
        test_socket sink = connected(context_, sink_type, proxy.back_address, 10);
        std::atomic<int> left{count};
        std::thread sending([&] { send_numbered(source, 'a', count); });
        proxy.front().set(ZMQ_RCVTIMEO, 1);
        std::thread beside([&] {
            char body[16];
            while (left > 0)
                if (zmq_recv(proxy.front(), body, sizeof body, 0) >= 0)
                    --left;
        });
        while (left > 0)
            if (sink.try_recv_parts(1ms))
                --left;
        sending.join();
        beside.join();
        EXPECT_EQ(0, left);
        EXPECT_FALSE(sink.readable(0ms));
        EXPECT_EQ(0, proxy.end());
    }
}

TEST_P(ThreadSafeProxy, carries_both_ways_under_back_pressure)
{
    constexpr int count = 5'000;
    for (const int back : {int{ZMQ_CHANNEL}, int{ZMQ_PAIR}}) {
        running_proxy proxy(context_, GetParam(), {ZMQ_CHANNEL, back, -1, ZMQ_PAIR, 10});
        test_socket left = connected(context_, ZMQ_CHANNEL, proxy.front_address, 10);
        test_socket right = connected(context_, back, proxy.back_address, 10);
        std::thread sending_left([&] { send_numbered(left, 'a', count); });
        std::thread receiving_left([&] { receive_numbered(left, 0, count); });
        if (back == ZMQ_PAIR) { // one thread only
            for (int index = 0; index < count; ++index) {
                right.send("b" + std::to_string(index));
                ASSERT_EQ("a" + std::to_string(index), right.recv());
            }
        } else {
            std::thread sending_right([&] { send_numbered(right, 'b', count); });
            receive_numbered(right, count, 0);
            sending_right.join();
        }
        sending_left.join();
        receiving_left.join();
        EXPECT_EQ(0, proxy.end());
    }
}

TEST_P(ThreadSafeProxy, two_between_the_same_sockets_do_not_lock_each_other_out)
{
    constexpr int count = 5'000;
    running_proxy proxy(context_, GetParam(), {ZMQ_GATHER, ZMQ_SCATTER, -1, ZMQ_PAIR, 10});
    proxy_reins others_reins(context_);
    auto other = std::async(std::launch::async, [&] {
        return zmq_proxy_steerable(proxy.back(), proxy.front(), nullptr, others_reins.control());
    });
    test_socket source = connected(context_, ZMQ_SCATTER, proxy.front_address, 10);
    test_socket sink = connected(context_, ZMQ_GATHER, proxy.back_address, 10);
    std::thread sending([&] { send_numbered(source, 'a', count); });
    receive_numbered(sink, count, 0);
    sending.join();
    others_reins.tell("TERMINATE");
    EXPECT_EQ(0, other.get());
    EXPECT_EQ(0, proxy.end());
}

TEST_P(ThreadSafeProxy, keeps_groups)
{
    running_proxy proxy(context_, GetParam(), {ZMQ_DISH, ZMQ_RADIO});
    ASSERT_EQ(0, zmq_join(proxy.front(), "g"));
    test_socket radio = connected(context_, ZMQ_RADIO, proxy.front_address);
    test_socket dish = connected(context_, ZMQ_DISH, proxy.back_address);
    ASSERT_EQ(0, zmq_join(dish, "g"));
    ASSERT_TRUE(wait_until([&] {
        send_in(radio, "g", "body");
        return dish.readable(5ms);
    }));
    draft_message message;
    receive(dish, message);
    EXPECT_EQ("body", message.body());
    EXPECT_EQ("g", message.group());
    EXPECT_EQ(0, proxy.end());
}

TEST_P(ThreadSafeProxy, does_nothing_while_nothing_can_move)
{
    for (const int back : {int{ZMQ_SCATTER}, int{ZMQ_PUSH}}) {
        running_proxy proxy(context_, GetParam(), {ZMQ_GATHER, back, -1, ZMQ_PAIR, 5});
        test_socket source = connected(context_, ZMQ_SCATTER, proxy.front_address, 5);
        test_socket stuck = connected(context_, back == ZMQ_PUSH ? int{ZMQ_PULL} : int{ZMQ_GATHER},
                                      proxy.back_address, 5);
        const std::string body(100'000, 'b'); // the buffers of the kernel are full soon
        send_until_stuck(source, body, 200ms);
        const double before_ms = process_cpu_ms();
        EXPECT_GT(20, send_until_stuck(source, body, 300ms));
        EXPECT_GT(100, process_cpu_ms() - before_ms);
        for (int index = 0; index < 3; ++index)
            EXPECT_EQ(body, stuck.recv());
        EXPECT_EQ(0, proxy.end());
    }
}

TEST_P(ThreadSafeProxy, copies_all_that_passes_to_the_capture)
{
    for (const auto& [capture, listening] :
         {std::pair{ZMQ_PUSH, ZMQ_PULL}, std::pair{int{ZMQ_SCATTER}, int{ZMQ_GATHER}}}) {
        running_proxy proxy(context_, GetParam(), {ZMQ_GATHER, ZMQ_SCATTER, capture, ZMQ_PAIR, 1});
        test_socket listener = connected(context_, listening, proxy.capture_address, 1);
        test_socket source = connected(context_, ZMQ_SCATTER, proxy.front_address);
        test_socket sink = connected(context_, ZMQ_GATHER, proxy.back_address);
        constexpr int count = 20;
        for (int index = 0; index < count; ++index)
            source.send("a" + std::to_string(index));
        ASSERT_TRUE(sink.readable());
        // It may wait for the capture now, which keeps nobody from using the others.
        proxy.back().send("b0");
        std::thread hearing([&] { receive_numbered(listener, count, 0); });
        receive_numbered(sink, count, 1);
        hearing.join();
        EXPECT_EQ(0, proxy.end());
    }
}

TEST_P(ThreadSafeProxy, ends_when_one_of_its_sockets_is_closed)
{
    for (test_socket& (running_proxy::*closed)() :
         {&running_proxy::front, &running_proxy::back, &running_proxy::control}) {
        running_proxy proxy(context_, GetParam(), {ZMQ_GATHER, ZMQ_SCATTER, -1, int{ZMQ_CHANNEL}});
        test_socket source = connected(context_, ZMQ_SCATTER, proxy.front_address);
        test_socket sink = connected(context_, ZMQ_GATHER, proxy.back_address);
        source.send("x"); // it runs
        EXPECT_EQ("x", sink.recv());
        (proxy.*closed)().close();
        EXPECT_EQ(ENOTSOCK, proxy.ended().get());
    }
    running_proxy proxy(context_, GetParam(), {ZMQ_GATHER, ZMQ_SCATTER, int{ZMQ_SCATTER}});
    test_socket source = connected(context_, ZMQ_SCATTER, proxy.front_address);
    test_socket sink = connected(context_, ZMQ_GATHER, proxy.back_address);
    source.send("x"); // waits for somebody who listens
    EXPECT_EQ("x", sink.recv());
    proxy.capture().close();
    EXPECT_EQ(ENOTSOCK, proxy.ended().get());
}

TEST_P(ThreadSafeProxy, ends_with_its_context)
{
    for (const auto& [front_type, back_type] :
         {std::pair{int{ZMQ_GATHER}, int{ZMQ_SCATTER}}, std::pair{int{ZMQ_GATHER}, ZMQ_PUSH},
          std::pair{ZMQ_DEALER, int{ZMQ_CLIENT}}}) {
        test_context context;
        test_socket front(context, front_type);
        test_socket back(context, back_type);
        front.bind(fresh_bind_address(GetParam()));
        back.bind(fresh_bind_address(GetParam()));
        auto ended = proxy_that_closes(front, back);
        ended.wait_for(20ms);
        context.term();
        EXPECT_EQ(ETERM, ended.get());
    }
}

ZLINK_ALL_TRANSPORTS(ThreadSafeProxy);

class ThreadSafeProxyControl : public ::testing::Test {
protected:
    test_context context_;
};

TEST_F(ThreadSafeProxyControl, may_be_thread_safe)
{
    for (const auto& [front, back] :
         {std::pair{int{ZMQ_GATHER}, int{ZMQ_SCATTER}}, std::pair{ZMQ_PULL, ZMQ_PUSH}}) {
        running_proxy proxy(context_, transport::inproc, {front, back, -1, int{ZMQ_CHANNEL}});
        test_socket source = connected(context_, front == ZMQ_PULL ? ZMQ_PUSH : int{ZMQ_SCATTER},
                                       proxy.front_address);
        test_socket sink =
            connected(context_, front == ZMQ_PULL ? ZMQ_PULL : int{ZMQ_GATHER}, proxy.back_address);
        for (int round = 0; round < 10; ++round) {
            proxy.reins().send("PAUSE");
            proxy.reins().send("STATISTICS"); // nobody could be told: it takes several parts
            proxy.reins().send("RESUME");
            source.send("x");
            EXPECT_EQ("x", sink.recv());
        }
        EXPECT_EQ(0, proxy.end());
    }
}

TEST_F(ThreadSafeProxyControl, stops_and_goes_on_when_told)
{
    running_proxy proxy(context_, transport::tcp, {ZMQ_GATHER, ZMQ_SCATTER});
    test_socket source = connected(context_, ZMQ_SCATTER, proxy.front_address);
    test_socket sink = connected(context_, ZMQ_GATHER, proxy.back_address);
    proxy.reins().send("PAUSE");
    proxy.statistics(); // it has been told
    source.send("x");
    EXPECT_FALSE(sink.readable(quiet_window));
    proxy.back().send("beside"); // that is no business of the proxy
    EXPECT_EQ("beside", sink.recv());
    proxy.reins().send("RESUME");
    EXPECT_EQ("x", sink.recv());
    EXPECT_EQ(0, proxy.end());
}

TEST_F(ThreadSafeProxyControl, a_single_server_answers_with_the_request)
{
    test_socket middle(context_, ZMQ_SERVER);
    const std::string address = middle.bind_and_resolve("tcp://127.0.0.1:*");
    proxy_reins reins(context_);
    auto ended = std::async(std::launch::async, [&] {
        return zmq_proxy_steerable(middle, middle, nullptr, reins.control());
    });
    test_socket one = connected(context_, ZMQ_CLIENT, address);
    test_socket other = connected(context_, ZMQ_CLIENT, address);
    for (int round = 0; round < 100; ++round) {
        one.send("one" + std::to_string(round));
        other.send("other" + std::to_string(round));
        EXPECT_EQ("one" + std::to_string(round), one.recv());
        EXPECT_EQ("other" + std::to_string(round), other.recv());
    }
    reins.tell("TERMINATE");
    EXPECT_EQ(0, ended.get());
}

TEST_F(ThreadSafeProxyControl, goes_on_when_another_thread_takes_what_had_no_way)
{
    test_socket middle(context_, ZMQ_SERVER);
    middle.set(ZMQ_SNDHWM, 1);
    middle.set(ZMQ_RCVHWM, 10);
    middle.bind("inproc://middle");
    proxy_reins reins(context_);
    auto ended = std::async(std::launch::async, [&] {
        return zmq_proxy_steerable(middle, middle, nullptr, reins.control());
    });
    test_socket stuck = connected(context_, ZMQ_CLIENT, "inproc://middle", 1);
    while (stuck.writable(quiet_window))
        stuck.send("stuck"); // which cannot be answered any more
    test_socket other = connected(context_, ZMQ_CLIENT, "inproc://middle", 10);
    other.send("other");
    EXPECT_FALSE(other.readable(quiet_window));
    EXPECT_EQ("stuck", middle.recv());
    EXPECT_EQ("other", other.recv());
    reins.tell("TERMINATE");
    EXPECT_EQ(0, ended.get());
}

TEST_F(ThreadSafeProxyControl, a_message_that_cannot_be_sent_ends_it_and_is_gone)
{
    for (const auto& [type, error] :
         {std::pair{int{ZMQ_SCATTER}, EINVAL}, std::pair{int{ZMQ_SERVER}, EHOSTUNREACH}}) {
        test_socket front(context_, ZMQ_PULL);
        test_socket back(context_, type);
        const std::string address = front.bind_and_resolve("tcp://127.0.0.1:*");
        test_socket source = connected(context_, ZMQ_PUSH, address);
        if (type == ZMQ_SCATTER) // takes messages of one part
            source.send_parts({"a", "b"});
        else // knows nobody of that routing id
            source.send("a");
        EXPECT_TRUE(fails_with(error, zmq_proxy(front, back, nullptr)));
        EXPECT_FALSE(front.readable(0ms));
    }
}

TEST_F(ThreadSafeProxyControl, what_is_no_socket_is_refused)
{
    test_socket front(context_, ZMQ_GATHER);
    test_socket back(context_, ZMQ_SCATTER);
    void* const gone = zmq_socket(context_, ZMQ_GATHER);
    zmq_close(gone);
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_proxy(gone, back, nullptr)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_proxy(front, gone, nullptr)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_proxy(front, back, gone)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_proxy_steerable(front, back, nullptr, gone)));
}

} // namespace
} // namespace zlink::test
