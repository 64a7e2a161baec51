// SPDX-License-Identifier: Apache-2.0
// zmq_proxy, zmq_proxy_steerable and zmq_device.
#include "support/running_proxy.hpp"

#include <array>
#include <future>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class Proxy : public transport_test {};

TEST_P(Proxy, carries_requests_and_replies_of_many_clients)
{
    running_proxy proxy(context_, GetParam(), {ZMQ_ROUTER, ZMQ_DEALER});
    std::vector<test_socket> servers;
    std::vector<test_socket> clients;
    for (int index = 0; index < 2; ++index)
        servers.push_back(connected(context_, ZMQ_REP, proxy.back_address));
    for (int index = 0; index < 4; ++index)
        clients.push_back(connected(context_, ZMQ_REQ, proxy.front_address));
    std::vector<std::thread> serving;
    for (auto& server : servers)
        serving.emplace_back([&server] {
            for (;;) {
                parts request = server.recv_parts();
                server.send_parts({"re", request[0]});
                if (request[0] == "end")
                    return;
            }
        });
    for (int round = 0; round < 200; ++round) {
        for (std::size_t index = 0; index < clients.size(); ++index)
            clients[index].send_parts({std::to_string(round) + ":" + std::to_string(index), ""});
        for (std::size_t index = 0; index < clients.size(); ++index)
            ASSERT_EQ((parts{"re", std::to_string(round) + ":" + std::to_string(index)}),
                      clients[index].recv_parts());
    }
    for (int index = 0; index < 2; ++index) { // in turn to each of the servers
        clients[index].send("end");
        clients[index].recv_parts();
    }
    for (auto& thread : serving)
        thread.join();
    EXPECT_EQ(0, proxy.end());
}

TEST_P(Proxy, keeps_messages_whole_and_in_order_under_back_pressure)
{
    constexpr int count = 20'000;
    running_proxy proxy(context_, GetParam(), {ZMQ_PULL, ZMQ_PUSH, -1, ZMQ_PAIR, 10});
    test_socket sink = connected(context_, ZMQ_PULL, proxy.back_address, 10);
    std::thread sending([&] {
        test_socket source = connected(context_, ZMQ_PUSH, proxy.front_address, 10);
        source.set(ZMQ_LINGER, -1);
        const std::string large(20'000, 'l');
        for (int index = 0; index < count; ++index) {
            if (index % 1000 == 7)
                source.send_parts({std::to_string(index), large, ""});
            else
                source.send_parts({std::to_string(index), "body"});
        }
    });
    for (int index = 0; index < count; ++index) {
        const parts message = sink.recv_parts();
        ASSERT_EQ(index % 1000 == 7 ? 3u : 2u, message.size());
        ASSERT_EQ(std::to_string(index), message[0]);
        ASSERT_EQ(index % 1000 == 7 ? 20'000u : 4u, message[1].size());
    }
    sending.join();
    EXPECT_EQ(0, proxy.end());
}

TEST_P(Proxy, passes_subscriptions_one_way_and_messages_the_other)
{
    running_proxy proxy(context_, GetParam(), {ZMQ_XSUB, ZMQ_XPUB});
    test_socket publisher = connected(context_, ZMQ_PUB, proxy.front_address);
    test_socket subscriber = connected(context_, ZMQ_SUB, proxy.back_address);
    subscriber.set(ZMQ_SUBSCRIBE, "a");
    publish_until_received(publisher, subscriber, "a-sync");
    publisher.send("b");
    publisher.send_parts({"a", "body"});
    EXPECT_EQ((parts{"a", "body"}), subscriber.recv_parts());
    EXPECT_EQ(0, proxy.end());
}

TEST_P(Proxy, does_nothing_while_nothing_can_move)
{
    running_proxy proxy(context_, GetParam(), {ZMQ_PULL, ZMQ_PUSH, -1, ZMQ_PAIR, 5});
    test_socket source = connected(context_, ZMQ_PUSH, proxy.front_address, 5);
    test_socket stuck = connected(context_, ZMQ_PULL, proxy.back_address, 5);
    const std::string body(100'000, 'b'); // the buffers of the kernel are full soon
    send_until_stuck(source, body, 200ms);
    const double before_ms = process_cpu_ms();
    EXPECT_GT(20, send_until_stuck(source, body, 300ms));
    EXPECT_GT(100, process_cpu_ms() - before_ms);
    // and it goes on when it can
    for (int index = 0; index < 3; ++index)
        EXPECT_EQ(body, stuck.recv());
    EXPECT_EQ(0, proxy.end());
}

TEST_P(Proxy, copies_all_that_passes_to_the_capture)
{
    for (const int type : {ZMQ_PUSH, ZMQ_PAIR, ZMQ_DEALER, ZMQ_PUB}) {
        running_proxy proxy(context_, GetParam(), {ZMQ_PAIR, ZMQ_PAIR, type});
        test_socket listener(context_, type == ZMQ_PUB    ? ZMQ_SUB
                                       : type == ZMQ_PUSH ? ZMQ_PULL
                                                          : type);
        if (type == ZMQ_PUB)
            listener.set(ZMQ_SUBSCRIBE, "");
        listener.connect(proxy.capture_address);
        test_socket left = connected(context_, ZMQ_PAIR, proxy.front_address);
        test_socket right = connected(context_, ZMQ_PAIR, proxy.back_address);
        if (type == ZMQ_PUB) {
            ASSERT_TRUE(wait_until([&] {
                left.send("sync");
                right.recv();
                return listener.try_recv_parts(5ms).has_value();
            }));
        }
        while (listener.try_recv_parts(5ms)) {
        }
        left.send_parts({"a", "b"});
        EXPECT_EQ((parts{"a", "b"}), right.recv_parts());
        right.send("c");
        EXPECT_EQ("c", left.recv());
        EXPECT_EQ((parts{"a", "b"}), listener.recv_parts());
        EXPECT_EQ(parts{"c"}, listener.recv_parts());
        EXPECT_EQ(0, proxy.end());
    }
}

TEST_P(Proxy, stops_and_goes_on_when_told)
{
    running_proxy proxy(context_, GetParam(), {ZMQ_PULL, ZMQ_PUSH});
    test_socket source = connected(context_, ZMQ_PUSH, proxy.front_address);
    test_socket sink = connected(context_, ZMQ_PULL, proxy.back_address);
    source.send("1");
    EXPECT_EQ("1", sink.recv());
    proxy.reins().send("PAUSE");
    proxy.statistics(); // it has been told
    source.send("2");
    EXPECT_FALSE(sink.readable(quiet_window));
    proxy.reins().send("RESUME");
    EXPECT_EQ("2", sink.recv());
    for (const char* unknown : {"pause", "PAUSE ", "", "STATISTICS\n"})
        proxy.reins().send(unknown);
    proxy.reins().send_parts({"PAUSE", "more"});
    proxy.statistics();
    source.send("3");
    EXPECT_EQ("3", sink.recv());
    EXPECT_FALSE(proxy.reins().readable(0ms)); // no replies but to REP
    EXPECT_EQ(0, proxy.end());
}

TEST_P(Proxy, counts)
{
    running_proxy proxy(context_, GetParam(), {ZMQ_PAIR, ZMQ_PAIR});
    test_socket left = connected(context_, ZMQ_PAIR, proxy.front_address);
    test_socket right = connected(context_, ZMQ_PAIR, proxy.back_address);
    EXPECT_EQ((std::array<std::uint64_t, 8>{}), proxy.statistics());
    left.send_parts({"ab", "c", ""});
    left.send("d");
    right.recv_parts();
    right.recv_parts();
    right.send("12345");
    left.recv();
    // Each part counts.
    EXPECT_EQ((std::array<std::uint64_t, 8>{4, 4, 1, 5, 1, 5, 4, 4}), proxy.statistics());
    EXPECT_EQ(0, proxy.end());
}

TEST_P(Proxy, ends_with_its_context)
{
    for (const bool by_term : {false, true}) {
        test_context context;
        test_socket front(context, ZMQ_ROUTER);
        test_socket back(context, ZMQ_DEALER);
        front.bind(fresh_bind_address(GetParam()));
        back.bind(fresh_bind_address(GetParam()));
        auto ended = proxy_that_closes(front, back);
        ended.wait_for(20ms);
        if (by_term)
            context.term();
        else
            zmq_ctx_shutdown(context);
        EXPECT_EQ(ETERM, ended.get());
    }
}

ZLINK_ALL_TRANSPORTS(Proxy);

class ZlinkOnlyProxy : public transport_test {};

// Over wires the original does nothing else meanwhile, and it has PAUSE and RESUME swapped.
TEST_P(ZlinkOnlyProxy, moves_the_other_direction_and_obeys_while_one_is_full)
{
    running_proxy proxy(context_, GetParam(), {ZMQ_PAIR, ZMQ_PAIR, -1, ZMQ_REP, 5});
    test_socket left = connected(context_, ZMQ_PAIR, proxy.front_address, 5);
    test_socket right = connected(context_, ZMQ_PAIR, proxy.back_address, 5);
    right.send("ready");
    EXPECT_EQ("ready", left.recv());
    constexpr std::size_t bytes = 100'000; // the buffers of the kernel are full soon
    const int sent = send_until_stuck(left, std::string(bytes, 'b'), 200ms);
    for (int round = 0; round < 50; ++round) { // more than there is room for on the way
        right.send(std::to_string(round));
        ASSERT_EQ(std::to_string(round), left.recv());
    }
    const auto numbers = proxy.statistics();
    EXPECT_EQ(51u, numbers[2]);
    EXPECT_EQ(51u, numbers[4]);
    for (const char* command : {"PAUSE", "RESUME"}) {
        proxy.reins().send(command);
        EXPECT_EQ(parts{""}, proxy.reins().recv_parts()) << command;
    }
    for (int index = 0; index < sent; ++index)
        ASSERT_EQ(bytes, right.recv().size()) << index;
    proxy.reins().send("TERMINATE");
    EXPECT_EQ(parts{""}, proxy.reins().recv_parts());
    EXPECT_EQ(0, proxy.ended().get());
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyProxy);

class ProxyControl : public ::testing::Test {
protected:
    test_context context_;
};

TEST_F(ProxyControl, answers_each_command_of_a_requester)
{
    running_proxy proxy(context_, transport::inproc, {ZMQ_PULL, ZMQ_PUSH, -1, ZMQ_REP});
    for (const char* command : {"PAUSE", "RESUME", "nonsense"}) {
        proxy.reins().send(command);
        EXPECT_EQ(parts{""}, proxy.reins().recv_parts()) << command;
    }
    EXPECT_EQ(0u, proxy.statistics()[0]);
    proxy.reins().send("TERMINATE");
    EXPECT_EQ(parts{""}, proxy.reins().recv_parts());
    EXPECT_EQ(0, proxy.ended().get());
}

TEST_F(ProxyControl, may_be_one_that_cannot_answer)
{
    for (const int type : {ZMQ_PULL, ZMQ_SUB}) {
        running_proxy proxy(context_, transport::inproc, {ZMQ_PULL, ZMQ_PUSH, -1, type});
        ASSERT_TRUE(wait_until([&] {
            for (const char* command : {"STATISTICS", "PAUSE", "RESUME", "TERMINATE"})
                proxy.reins().try_send(command);
            return proxy.ended().wait_for(5ms) == std::future_status::ready;
        }));
        EXPECT_EQ(0, proxy.ended().get());
    }
}

TEST_F(ProxyControl, pauses_while_much_waits)
{
    running_proxy proxy(context_, transport::tcp, {ZMQ_PULL, ZMQ_PUSH});
    test_socket source = connected(context_, ZMQ_PUSH, proxy.front_address);
    test_socket sink = connected(context_, ZMQ_PULL, proxy.back_address);
    constexpr int count = 3'000;
    std::thread sending([&] {
        for (int index = 0; index < count; ++index)
            source.send(std::to_string(index));
    });
    int received = 0;
    for (int round = 0; round < 10; ++round) {
        proxy.reins().send("PAUSE");
        proxy.reins().send("RESUME");
        for (int index = 0; index < count / 10; ++index)
            ASSERT_EQ(std::to_string(received++), sink.recv());
    }
    sending.join();
    EXPECT_EQ(static_cast<std::uint64_t>(count), proxy.statistics()[0]);
    EXPECT_EQ(0, proxy.end());
}

TEST_F(ProxyControl, a_single_socket_is_both_ends)
{
    test_socket middle(context_, ZMQ_DEALER);
    const std::string address = middle.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket echo(context_, ZMQ_DEALER);
    echo.connect(address);
    proxy_reins reins(context_);
    auto ended = std::async(std::launch::async, [&] {
        return zmq_proxy_steerable(middle, middle, nullptr, reins.control());
    });
    const std::string large(50'000, 'x');
    for (int round = 0; round < 100; ++round) {
        echo.send_parts({std::to_string(round), large});
        EXPECT_EQ((parts{std::to_string(round), large}), echo.recv_parts());
    }
    reins.tell("TERMINATE");
    EXPECT_EQ(0, ended.get());
}

TEST_F(ProxyControl, a_single_rep_socket_answers_with_the_request)
{
    test_socket middle(context_, ZMQ_REP);
    const std::string address = middle.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket client(context_, ZMQ_REQ);
    client.connect(address);
    proxy_reins reins(context_);
    auto ended = std::async(std::launch::async, [&] {
        return zmq_proxy_steerable(middle, middle, nullptr, reins.control());
    });
    for (int round = 0; round < 100; ++round) {
        client.send_parts({std::to_string(round), "tail"});
        EXPECT_EQ((parts{std::to_string(round), "tail"}), client.recv_parts());
    }
    reins.tell("TERMINATE");
    EXPECT_EQ(0, ended.get());
}

TEST_F(ProxyControl, a_message_that_cannot_be_routed_ends_it_and_is_gone)
{
    test_socket front(context_, ZMQ_PULL);
    test_socket back(context_, ZMQ_ROUTER);
    back.set(ZMQ_ROUTER_MANDATORY, 1);
    front.bind("inproc://unroutable");
    test_socket source(context_, ZMQ_PUSH);
    source.connect("inproc://unroutable");
    source.send_parts({"nobody", "body", "more"});
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_proxy(front, back, nullptr)));
    EXPECT_FALSE(front.readable(0ms));
}

TEST_F(ProxyControl, devices_are_proxies)
{
    for (const int kind : {ZMQ_QUEUE, ZMQ_FORWARDER, ZMQ_STREAMER, 99}) {
        test_context context;
        test_socket front(context, ZMQ_PULL);
        test_socket back(context, ZMQ_PUSH);
        test_socket source(context, ZMQ_PUSH);
        test_socket sink(context, ZMQ_PULL);
        front.bind("inproc://front");
        back.bind("inproc://back");
        source.connect("inproc://front");
        sink.connect("inproc://back");
        auto ended = std::async(std::launch::async, [&] {
            const int result = zmq_device(kind, front, back);
            return result == -1 ? zmq_errno() : 0;
        });
        source.send("x");
        EXPECT_EQ("x", sink.recv());
        zmq_ctx_shutdown(context);
        EXPECT_EQ(ETERM, ended.get());
    }
}

TEST_F(ProxyControl, a_full_direction_lets_the_other_have_its_turn)
{
    const configuration unlimited = [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 0);
        socket.set(ZMQ_RCVHWM, 0);
    };
    const auto linked = [&](int bound, int peer) {
        return link(context_, transport::inproc, bound, peer, unlimited, unlimited);
    };
    auto [front, left, front_address] = linked(ZMQ_PAIR, ZMQ_PAIR);
    auto [back, right, back_address] = linked(ZMQ_PAIR, ZMQ_PAIR);
    auto [capture, listener, capture_address] = linked(ZMQ_PUSH, ZMQ_PULL);
    constexpr int most_in_a_row = 1000;
    constexpr int count = 3 * most_in_a_row;
    for (test_socket* sender : {&left, &right})
        for (int index = 0; index < count; ++index)
            sender->send(sender == &left ? "left" : "right");
    proxy_reins reins(context_);
    auto ended = std::async(std::launch::async, [&, &f = front, &b = back, &c = capture] {
        return zmq_proxy_steerable(f, b, c, reins.control());
    });
    int in_a_row = 0;
    std::string before;
    for (int index = 0; index < 2 * count; ++index) {
        const std::string message = listener.recv();
        in_a_row = message == before ? in_a_row + 1 : 1;
        before = message;
        if (in_a_row > most_in_a_row)
            break;
    }
    EXPECT_GE(most_in_a_row, in_a_row);
    reins.tell("TERMINATE");
    EXPECT_EQ(0, ended.get());
}

TEST_F(ProxyControl, a_full_capture_is_waited_for)
{
    constexpr int count = 10;
    running_proxy proxy(context_, transport::inproc, {ZMQ_PULL, ZMQ_PUSH, ZMQ_PUSH, ZMQ_PAIR, 1});
    test_socket source = connected(context_, ZMQ_PUSH, proxy.front_address);
    test_socket sink = connected(context_, ZMQ_PULL, proxy.back_address);
    for (int index = 0; index < count; ++index)
        source.send(std::to_string(index));
    int passed = 0;
    while (sink.readable(quiet_window))
        EXPECT_EQ(std::to_string(passed++), sink.recv());
    EXPECT_GE(1, passed);
    test_socket listener = connected(context_, ZMQ_PULL, proxy.capture_address);
    for (int index = 0; index < count; ++index)
        EXPECT_EQ(std::to_string(index), listener.recv());
    for (int index = passed; index < count; ++index)
        EXPECT_EQ(std::to_string(index), sink.recv());
    EXPECT_EQ(0, proxy.end());
}

TEST(ZlinkOnlyProxyCapture, that_is_full_when_its_context_ends_leaves_the_message_at_the_front)
{
    test_context context;
    test_context of_the_capture;
    auto [front, source, front_address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    auto [back, sink, back_address] = link(context, transport::inproc, ZMQ_PUSH, ZMQ_PULL);
    test_socket capture(of_the_capture, ZMQ_PUSH);
    source.send_parts({"a", "b"});
    source.send("c");
    auto ended = std::async(std::launch::async, [&, &f = front, &b = back] {
        return zmq_proxy(f, b, capture) == -1 ? zmq_errno() : 0;
    });
    EXPECT_FALSE(sink.readable(quiet_window));
    zmq_ctx_shutdown(of_the_capture);
    EXPECT_EQ(ETERM, ended.get());
    EXPECT_EQ((parts{"a", "b"}), front.recv_parts());
    EXPECT_EQ("c", front.recv());
    EXPECT_FALSE(sink.readable(0ms));
}

TEST_F(ProxyControl, ends_with_its_context_while_its_capture_is_full)
{
    test_socket front(context_, ZMQ_PULL);
    test_socket back(context_, ZMQ_PUSH);
    test_socket capture(context_, ZMQ_PUSH);
    test_socket source(context_, ZMQ_PUSH);
    front.bind("inproc://front");
    back.bind("inproc://back");
    test_socket sink(context_, ZMQ_PULL);
    sink.connect("inproc://back");
    source.connect("inproc://front");
    source.send("x");
    auto ended = std::async(std::launch::async, [&] {
        return zmq_proxy(front, back, capture) == -1 ? zmq_errno() : 0;
    });
    EXPECT_FALSE(sink.readable(quiet_window));
    zmq_ctx_shutdown(context_);
    EXPECT_EQ(ETERM, ended.get());
}

TEST_F(ProxyControl, may_be_missing)
{
    auto [front, source, front_address] = link(context_, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    auto [back, sink, back_address] = link(context_, transport::inproc, ZMQ_PUSH, ZMQ_PULL);
    auto ended = std::async(std::launch::async, [&f = front, &b = back] {
        return zmq_proxy_steerable(f, b, nullptr, nullptr) == -1 ? zmq_errno() : 0;
    });
    source.send("x");
    EXPECT_EQ("x", sink.recv());
    zmq_ctx_shutdown(context_);
    EXPECT_EQ(ETERM, ended.get());
}

TEST_F(ProxyControl, a_proxy_that_pauses_can_be_ended_and_leaves_what_it_has_not_moved)
{
    running_proxy proxy(context_, transport::inproc, {ZMQ_PULL, ZMQ_PUSH});
    test_socket source = connected(context_, ZMQ_PUSH, proxy.front_address);
    test_socket sink = connected(context_, ZMQ_PULL, proxy.back_address);
    proxy.reins().send("PAUSE");
    proxy.statistics(); // it has been told
    source.send("x");
    EXPECT_EQ(0, proxy.end());
    EXPECT_EQ("x", proxy.front().recv());
    EXPECT_FALSE(sink.readable(0ms));
}

} // namespace
} // namespace zlink::test
