// SPDX-License-Identifier: Apache-2.0
// Sockets that many threads use at once.
#include "support/draft.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <thread>

namespace zlink::test {
namespace {

constexpr int crew = 4;

/// Threads that are joined.
class team {
public:
    ~team() { join(); }
    template <class Work>
    void add(Work work)
    {
        threads_.emplace_back(std::move(work));
    }
    void join()
    {
        for (auto& thread : threads_)
            thread.join();
        threads_.clear();
    }

private:
    std::list<std::thread> threads_;
};

/// Counts threads on their way into a call.
class starting_line {
public:
    void cross() { ++crossed_; }
    /// All have crossed, and had time to fall asleep.
    void wait(int threads)
    {
        wait_until([&] { return crossed_ == threads; });
        wait_until([] { return false; }, std::chrono::milliseconds(20));
    }

private:
    std::atomic<int> crossed_{0};
};

/// Sender and number of the messages one thread got.
using log = std::vector<std::pair<int, int>>;

class ThreadSafe : public transport_test {
protected:
    static void send_numbered(void* socket, int sender, int count)
    {
        for (int index = 0; index < count; ++index) {
            const std::array<int, 2> body{sender, index};
            ASSERT_EQ(static_cast<int>(sizeof body), zmq_send(socket, &body, sizeof body, 0))
                << zmq_strerror(zmq_errno());
        }
    }

    /// Receives until `left` messages are gone, over all threads.
    static log receive_numbered(void* socket, std::atomic<int>& left)
    {
        log got;
        while (left > 0) {
            std::array<int, 2> body{};
            if (zmq_recv(socket, &body, sizeof body, 0) < 0) {
                EXPECT_EQ(EAGAIN, zmq_errno());
                continue;
            }
            --left;
            got.emplace_back(body[0], body[1]);
        }
        return got;
    }

    /// Each message once, and each receiver saw those of one sender in order.
    static void check(const std::vector<log>& logs, int count)
    {
        log all;
        for (const log& got : logs) {
            std::array<int, crew> last;
            last.fill(-1);
            for (const auto& [sender, index] : got) {
                EXPECT_LT(last.at(sender), index);
                last.at(sender) = index;
            }
            all.insert(all.end(), got.begin(), got.end());
        }
        std::ranges::sort(all);
        ASSERT_EQ(static_cast<std::size_t>(crew * count), all.size());
        for (int sender = 0; sender < crew; ++sender)
            for (int index = 0; index < count; ++index)
                ASSERT_EQ(std::pair(sender, index), all[sender * count + index]);
    }

    void move_between_crews(int sending_type, int receiving_type)
    {
        constexpr int count = 5'000;
        auto [receiver, sender, address] =
            link(context_, GetParam(), receiving_type, sending_type,
                 [](test_socket& socket) { socket.set(ZMQ_RCVTIMEO, 100); });
        std::atomic<int> left{crew * count};
        std::vector<log> logs(crew);
        team threads;
        for (int index = 0; index < crew; ++index) {
            threads.add([index, &to = sender] { send_numbered(to, index, count); });
            threads.add(
                [&, index, &from = receiver] { logs[index] = receive_numbered(from, left); });
        }
        threads.join();
        check(logs, count);
    }
};

TEST_P(ThreadSafe, client_and_server_lose_nothing_between_crews)
{
    move_between_crews(ZMQ_CLIENT, ZMQ_SERVER);
}

TEST_P(ThreadSafe, scatter_and_gather_lose_nothing_between_crews)
{
    move_between_crews(ZMQ_SCATTER, ZMQ_GATHER);
}

TEST_P(ThreadSafe, channel_loses_nothing_between_crews)
{
    move_between_crews(ZMQ_CHANNEL, ZMQ_CHANNEL);
}

TEST_P(ThreadSafe, requests_of_a_crew_are_answered_by_a_crew)
{
    constexpr int count = 500;
    auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT);
    std::atomic<int> left{crew * count};
    std::atomic<int> answered{0};
    team threads;
    for (int index = 0; index < crew; ++index) {
        threads.add([&, &s = server] {
            while (left-- > 0) {
                draft_message message;
                receive(s, message);
                EXPECT_LE(0, zmq_msg_send(message, s, 0));
            }
        });
        threads.add([&, &c = client] {
            for (int number = 0; number < count; ++number) {
                c.send("ping");
                EXPECT_EQ("ping", c.recv());
                ++answered;
            }
        });
    }
    threads.join();
    EXPECT_EQ(crew * count, answered);
}

TEST_P(ThreadSafe, peers_answer_each_other_from_both_crews)
{
    constexpr int count = 1000;
    test_socket one(context_, ZMQ_PEER);
    test_socket two(context_, ZMQ_PEER);
    const std::string address = one.bind_and_resolve(fresh_bind_address(GetParam()));
    const std::uint32_t to_one = connect_peer(two, address);
    send_to(two, to_one, "hello");
    draft_message hello;
    receive(one, hello);
    const std::uint32_t to_two = hello.routing_id();
    team threads;
    for (int index = 0; index < crew / 2; ++index) {
        for (const auto& [socket, to] : {std::pair(&one, to_two), std::pair(&two, to_one)}) {
            threads.add([socket = socket, to = to] {
                for (int number = 0; number < count; ++number)
                    EXPECT_EQ(1, send_to(*socket, to, "x"));
            });
            threads.add([socket = socket, to = to] {
                for (int number = 0; number < count; ++number) {
                    draft_message message;
                    receive(*socket, message);
                    EXPECT_EQ(to, message.routing_id());
                }
            });
        }
    }
}

TEST_P(ThreadSafe, radio_sends_from_a_crew_and_dish_receives_in_one)
{
    constexpr int count = 2000;
    test_socket radio(context_, ZMQ_RADIO);
    radio.set(ZMQ_XPUB_NODROP, 1); // waits for the dish
    const std::string address = radio.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket dish(context_, ZMQ_DISH);
    dish.set(ZMQ_RCVTIMEO, 100);
    for (int index = 0; index < crew; ++index)
        ASSERT_EQ(0, zmq_join(dish, std::to_string(index).c_str()));
    dish.connect(address);
    for (int index = 0; index < crew; ++index) {
        ASSERT_TRUE(wait_until([&] {
            send_in(radio, std::to_string(index), "marker");
            return dish.readable(std::chrono::milliseconds(5));
        }));
        while (dish.readable(std::chrono::milliseconds(5)))
            dish.recv();
    }
    std::atomic<int> left{crew * count};
    std::atomic<int> wrong{0};
    team threads;
    for (int index = 0; index < crew; ++index) {
        threads.add([&, group = std::to_string(index)] {
            for (int number = 0; number < count; ++number)
                EXPECT_LE(0, send_in(radio, group, group));
        });
        threads.add([&] {
            while (left > 0) {
                draft_message message;
                if (zmq_msg_recv(message, dish, 0) < 0)
                    continue;
                if (message.body() == "marker")
                    continue;
                --left;
                wrong += message.body() != message.group();
            }
        });
    }
    threads.join();
    EXPECT_EQ(0, wrong);
    EXPECT_EQ(0, left);
}

TEST_P(ThreadSafe, a_waiting_receiver_does_not_keep_others_from_sending)
{
    auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT);
    starting_line line;
    team threads;
    for (int index = 0; index < crew; ++index)
        threads.add([&, &c = client] {
            line.cross();
            EXPECT_EQ("answer", c.recv());
        });
    line.wait(crew);
    for (int index = 0; index < crew; ++index) {
        client.send("question");
        EXPECT_NE(0, client.events() & ZMQ_POLLOUT);
        draft_message question;
        receive(server, question);
        send_to(server, question.routing_id(), "answer");
    }
}

TEST_P(ThreadSafe, a_waiting_sender_goes_on_when_another_thread_connects)
{
    test_socket client(context_, ZMQ_CLIENT);
    test_socket server(context_, ZMQ_SERVER);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    starting_line line;
    team threads;
    for (int index = 0; index < crew; ++index)
        threads.add([&] {
            line.cross();
            client.send("x");
        });
    line.wait(crew);
    client.connect(address);
    for (int index = 0; index < crew; ++index)
        EXPECT_EQ("x", server.recv());
}

TEST_P(ThreadSafe, a_waiting_sender_goes_on_when_its_peer_has_gone)
{
    test_socket server(context_, ZMQ_SERVER);
    server.set(ZMQ_SNDHWM, 2);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket client(context_, ZMQ_CLIENT);
    client.set(ZMQ_RCVHWM, 2);
    client.connect(address);
    client.send("hello");
    draft_message hello;
    receive(server, hello);
    const std::uint32_t id = hello.routing_id();
    starting_line line;
    team threads;
    for (int index = 0; index < crew; ++index)
        threads.add([&] {
            line.cross();
            while (send_to(server, id, std::string(100'000, 'x')) >= 0) {
            }
            EXPECT_EQ(EHOSTUNREACH, zmq_errno());
        });
    line.wait(crew);
    client.close();
}

// A thread that waits alone may look for mail that others take out of the box.
TEST_P(ThreadSafe, waits_end_though_other_threads_take_the_news)
{
    constexpr int count = 5'000;
    auto [bound, peer, address] = connect_pair(
        context_, GetParam(), ZMQ_CHANNEL, ZMQ_CHANNEL,
        [](test_socket& socket) { socket.set(ZMQ_RCVHWM, 1); },
        [](test_socket& socket) { socket.set(ZMQ_SNDHWM, 1); });
    std::atomic<bool> ended{false};
    team all;
    for (test_socket* const socket : {&bound, &peer})
        all.add([&ended, handle = static_cast<void*>(*socket)] {
            while (!ended) {
                int events = 0;
                std::size_t bytes = sizeof events;
                zmq_getsockopt(handle, ZMQ_EVENTS, &events, &bytes);
            }
        });
    all.add([handle = static_cast<void*>(peer)] {
        for (int number = 0; number < count; ++number)
            if (zmq_send(handle, &number, sizeof number, 0) == -1)
                return;
    });
    int received = 0;
    for (int number = -1; received < count; ++received) {
        ASSERT_EQ(4, zmq_recv(bound, &number, sizeof number, 0)) << received;
        ASSERT_EQ(received, number);
    }
    ended = true;
    all.join();
}

TEST_P(ThreadSafe, time_outs_of_waiting_threads_are_their_own)
{
    auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT,
                                          [](test_socket& s) { s.set(ZMQ_RCVTIMEO, 50); });
    team threads;
    for (int index = 0; index < crew; ++index)
        threads.add([&s = server] {
            const stopwatch clock;
            char byte = 0;
            EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(s, &byte, 1, 0)));
            EXPECT_LE(49, clock.elapsed_ms());
            EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(s, &byte, 1, ZMQ_DONTWAIT)));
        });
    threads.join();
    client.send("x");
    EXPECT_TRUE(server.readable());
    EXPECT_EQ("x", server.recv());
}

TEST_P(ThreadSafe, closing_ends_the_calls_of_other_threads)
{
    for (int round = 0; round < 20; ++round) {
        test_socket server(context_, ZMQ_SERVER);
        test_socket client(context_, ZMQ_CLIENT);
        const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
        starting_line line;
        team threads;
        for (int index = 0; index < crew; ++index) {
            threads.add([&, handle = static_cast<void*>(server)] {
                line.cross();
                char byte = 0;
                while (zmq_recv(handle, &byte, 1, 0) >= 0) {
                }
                EXPECT_EQ(ENOTSOCK, zmq_errno());
            });
            threads.add([&, handle = static_cast<void*>(client)] {
                line.cross();
                EXPECT_TRUE(fails_with(ENOTSOCK, zmq_send(handle, "x", 1, 0)));
            });
            threads.add([&, handle = static_cast<void*>(server)] {
                line.cross();
                zmq_pollitem_t item{handle, 0, ZMQ_POLLIN, 0};
                EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poll(&item, 1, patience.count())));
            });
        }
        if (round % 2)
            line.wait(3 * crew);
        server.close();
        client.close();
    }
}

TEST_P(ThreadSafe, closing_in_the_middle_of_traffic_is_safe)
{
    for (int round = 0; round < 20; ++round) {
        auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT);
        std::atomic<int> received{0};
        team threads;
        for (int index = 0; index < crew; ++index) {
            threads.add([handle = static_cast<void*>(client)] {
                while (zmq_send(handle, "message", 7, 0) >= 0) {
                }
                EXPECT_EQ(ENOTSOCK, zmq_errno());
            });
            threads.add([&, handle = static_cast<void*>(server)] {
                for (;;) {
                    draft_message message;
                    if (zmq_msg_recv(message, handle, 0) < 0)
                        break;
                    ++received;
                    if (zmq_msg_send(message, handle, ZMQ_DONTWAIT) < 0 && zmq_errno() == ENOTSOCK)
                        break;
                }
                EXPECT_EQ(ENOTSOCK, zmq_errno());
            });
        }
        EXPECT_TRUE(wait_until([&] { return received > 100; }));
        (round % 2 ? client : server).close();
        (round % 2 ? server : client).close();
    }
}

TEST_P(ThreadSafe, one_of_several_closes_wins)
{
    for (int round = 0; round < 50; ++round) {
        test_socket socket(context_, ZMQ_SERVER);
        socket.bind(fresh_bind_address(GetParam()));
        std::atomic<int> closed{0};
        team threads;
        for (int index = 0; index < crew; ++index)
            threads.add(
                [&, handle = static_cast<void*>(socket)] { closed += zmq_close(handle) == 0; });
        threads.join();
        EXPECT_EQ(1, closed);
        socket.release();
    }
}

TEST_P(ThreadSafe, the_end_of_the_context_ends_the_calls_of_all_threads)
{
    void* const context = zmq_ctx_new();
    test_socket bound = test_socket::with_defaults(context, ZMQ_SERVER);
    bound.bind(fresh_bind_address(GetParam()));
    void* const server = bound.release();
    void* const client = zmq_socket(context, ZMQ_CLIENT);
    starting_line line;
    std::atomic<int> ended{0};
    team threads;
    for (int index = 0; index < crew; ++index) {
        threads.add([&] {
            line.cross();
            char byte = 0;
            EXPECT_TRUE(fails_with(ETERM, zmq_recv(server, &byte, 1, 0)));
            ++ended;
        });
        threads.add([&] {
            line.cross();
            EXPECT_TRUE(fails_with(ETERM, zmq_send(client, "x", 1, 0)));
            ++ended;
        });
        threads.add([&] {
            line.cross();
            zmq_pollitem_t item{server, 0, ZMQ_POLLIN, 0};
            EXPECT_TRUE(fails_with(ETERM, zmq_poll(&item, 1, -1)));
            ++ended;
        });
    }
    line.wait(3 * crew);
    threads.add([&] { EXPECT_EQ(0, zmq_ctx_term(context)); });
    EXPECT_TRUE(wait_until([&] { return ended == 3 * crew; }));
    EXPECT_EQ(0, zmq_close(server));
    EXPECT_EQ(0, zmq_close(client));
}

TEST_P(ThreadSafe, several_threads_poll_one_socket)
{
    auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT);
    starting_line line;
    std::atomic<int> seen{0};
    team threads;
    for (int index = 0; index < crew; ++index)
        threads.add([&, &s = server] {
            line.cross();
            EXPECT_TRUE(s.readable());
            ++seen;
        });
    line.wait(crew);
    EXPECT_EQ(0, seen);
    client.send("x");
    threads.join();
    EXPECT_EQ("x", server.recv());
}

TEST_P(ThreadSafe, polling_and_receiving_threads_share_the_messages)
{
    constexpr int count = 3000;
    auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT,
                                          [](test_socket& s) { s.set(ZMQ_RCVTIMEO, 100); });
    std::atomic<int> left{crew * count};
    std::vector<log> logs(crew);
    team threads;
    for (int index = 0; index < crew; ++index) {
        threads.add([&, index, &to = client] { send_numbered(to, index, count); });
        threads.add([&, index, &from = server] {
            if (index % 2) {
                logs[index] = receive_numbered(from, left);
                return;
            }
            while (left > 0) {
                zmq_pollitem_t item{from, 0, ZMQ_POLLIN, 0};
                ASSERT_LE(0, zmq_poll(&item, 1, 100));
                std::array<int, 2> body{};
                if (zmq_recv(from, &body, sizeof body, ZMQ_DONTWAIT) < 0)
                    continue;
                --left;
                logs[index].emplace_back(body[0], body[1]);
            }
        });
    }
    threads.join();
    check(logs, count);
}

TEST_P(ThreadSafe, is_polled_beside_other_sockets_and_descriptors)
{
    auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT);
    auto [pull, push, other] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    std::array<int, 2> ends{};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()));
    std::array<zmq_pollitem_t, 4> items{
        zmq_pollitem_t{server, 0, ZMQ_POLLIN, 0}, zmq_pollitem_t{pull, 0, ZMQ_POLLIN, 0},
        zmq_pollitem_t{nullptr, ends[0], ZMQ_POLLIN, 0}, zmq_pollitem_t{server, 0, ZMQ_POLLIN, 0}};
    for (int round = 0; round < 20; ++round) {
        for (const int count : {2, 3, 4}) { // with and without a descriptor
            const stopwatch clock;
            EXPECT_EQ(0, zmq_poll(items.data(), count, 3));
            EXPECT_LE(2, clock.elapsed_ms());
            {
                std::thread sending([&c = client] { c.send("late"); });
                EXPECT_LE(1, zmq_poll(items.data(), count, patience.count()));
                sending.join();
            }
            // The message may have come between the two looks at a socket that is listed twice.
            EXPECT_EQ(count == 4 ? 2 : 1, zmq_poll(items.data(), count, 0));
            EXPECT_EQ(ZMQ_POLLIN, items[0].revents);
            EXPECT_EQ(0, items[1].revents);
            EXPECT_EQ("late", server.recv());
            {
                std::thread sending([&p = push] { p.send("late"); });
                EXPECT_EQ(1, zmq_poll(items.data(), count, patience.count()));
                sending.join();
            }
            EXPECT_EQ(0, items[0].revents);
            EXPECT_EQ(ZMQ_POLLIN, items[1].revents);
            EXPECT_EQ("late", pull.recv());
        }
        ASSERT_EQ(1, ::write(ends[1], "x", 1));
        EXPECT_EQ(1, zmq_poll(items.data(), 4, patience.count()));
        EXPECT_EQ(ZMQ_POLLIN, items[2].revents);
        char byte = 0;
        ASSERT_EQ(1, ::read(ends[0], &byte, 1));
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_P(ThreadSafe, options_and_endpoints_change_under_traffic)
{
    auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT);
    std::atomic<bool> stop{false};
    team threads;
    threads.add([&, &c = client] {
        while (!stop)
            c.try_send("x");
    });
    threads.add([&, &s = server] {
        while (!stop)
            s.try_recv_parts(std::chrono::milliseconds(1));
    });
    threads.add([&, &c = client] {
        for (int index = 0; index < 200; ++index) {
            c.set(ZMQ_SNDHWM, 10 + index % 7);
            EXPECT_NE("", c.last_endpoint());
            test_socket extra(context_, ZMQ_SERVER);
            const std::string where = extra.bind_and_resolve(fresh_bind_address(GetParam()));
            c.connect(where);
            c.disconnect(where);
        }
        stop = true;
    });
}

ZLINK_ALL_TRANSPORTS(ThreadSafe);

TEST(ThreadSafeHandles, of_closed_sockets_are_refused_though_their_place_is_used_again)
{
    test_context context;
    test_socket first(context, ZMQ_CLIENT);
    void* const stale = first;
    first.close();
    for (const int type : {ZMQ_SERVER, ZMQ_PULL, ZMQ_GATHER}) {
        test_socket next(context, type);
        EXPECT_NE(stale, static_cast<void*>(next));
        EXPECT_TRUE(fails_with(ENOTSOCK, zmq_send(stale, "x", 1, 0)));
        EXPECT_TRUE(fails_with(ENOTSOCK, zmq_close(stale)));
        zmq_pollitem_t item{stale, 0, ZMQ_POLLIN, 0};
        EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poll(&item, 1, 0)));
    }
}

} // namespace
} // namespace zlink::test
