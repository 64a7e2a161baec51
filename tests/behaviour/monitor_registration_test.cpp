// SPDX-License-Identifier: Apache-2.0
// Monitors that come and go, and those that nobody listens to.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/listening_post.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace zlink::test {
namespace {

class MonitorRegistration : public ::testing::Test {
protected:
    test_context context_;
    test_socket socket_{context_, ZMQ_ROUTER};
};

TEST_F(MonitorRegistration, tells_only_what_was_asked_for)
{
    listening_post post(context_, socket_, ZMQ_EVENT_CLOSED);
    const std::string address = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    socket_.unbind(address);
    post.expect(ZMQ_EVENT_CLOSED);
    socket_.close();
    EXPECT_TRUE(post.quiet());
}

TEST_F(MonitorRegistration, ends_by_an_empty_address)
{
    listening_post post(context_, socket_);
    EXPECT_EQ(0, zmq_socket_monitor(socket_, nullptr, 0));
    post.expect(ZMQ_EVENT_MONITOR_STOPPED);
    socket_.bind("tcp://127.0.0.1:*");
    EXPECT_TRUE(post.quiet());
    EXPECT_EQ(0, zmq_socket_monitor(socket_, nullptr, 0));
    // The name is free again.
    test_socket other(context_, ZMQ_PAIR);
    other.bind(post.address());
}

TEST_F(MonitorRegistration, is_replaced_by_the_next)
{
    listening_post first(context_, socket_);
    listening_post second(context_, socket_);
    first.expect(ZMQ_EVENT_MONITOR_STOPPED);
    socket_.bind("tcp://127.0.0.1:*");
    second.expect(ZMQ_EVENT_LISTENING);
    EXPECT_TRUE(first.quiet());
    // Even under its own name.
    ASSERT_EQ(0, zmq_socket_monitor(socket_, second.address().c_str(), ZMQ_EVENT_ALL));
    second.expect(ZMQ_EVENT_MONITOR_STOPPED);
    test_socket third(context_, ZMQ_PAIR);
    third.connect(second.address());
    socket_.bind("tcp://127.0.0.1:*");
    EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_EVENT_LISTENING), decode_1(third.recv_parts()).event);
}

TEST_F(MonitorRegistration, refuses_what_makes_no_sense)
{
    listening_post post(context_, socket_);
    const std::string taken = known_address(transport::inproc);
    test_socket other(context_, ZMQ_PAIR);
    other.bind(taken);
    EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_socket_monitor(socket_, "tcp://127.0.0.1:*", 1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_socket_monitor(socket_, "nothing", 1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_socket_monitor(socket_, "inproc://", 1)));
    const char* const address = "inproc://refused";
    for (const int events : {0x10000, 0x20000, -1})
        EXPECT_TRUE(fails_with(EINVAL, zmq_socket_monitor(socket_, address, events))) << events;
    for (const int version : {0, 3, -1})
        EXPECT_TRUE(fails_with(
            EINVAL, zmq_socket_monitor_versioned(socket_, address, 1, version, ZMQ_PAIR)));
    for (const int type : {ZMQ_DEALER, ZMQ_SUB, ZMQ_PULL, -1, 99})
        EXPECT_TRUE(fails_with(EINVAL, zmq_socket_monitor_versioned(socket_, address, 1, 1, type)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_socket_monitor_versioned(
                                       socket_, address, std::uint64_t{1} << 20, 2, ZMQ_PAIR)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_socket_monitor(nullptr, address, 1)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_socket_monitor(context_, address, 1)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_socket_monitor_pipes_stats(nullptr)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_socket_monitor_pipes_stats(socket_)));
    EXPECT_TRUE(post.quiet()); // it goes on
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_socket_monitor(socket_, taken.c_str(), 1)));
    post.expect(ZMQ_EVENT_MONITOR_STOPPED);
    zmq_ctx_shutdown(context_);
    EXPECT_TRUE(fails_with(ETERM, zmq_socket_monitor(socket_, address, 1)));
    EXPECT_TRUE(fails_with(ETERM, zmq_socket_monitor(socket_, nullptr, 0)));
    EXPECT_TRUE(fails_with(ETERM, zmq_socket_monitor_pipes_stats(socket_)));
}

TEST_F(MonitorRegistration, says_nothing_of_inproc)
{
    listening_post post(context_, socket_);
    const std::string address = known_address(transport::inproc);
    socket_.bind(address);
    test_socket peer(context_, ZMQ_DEALER);
    peer.connect(address);
    peer.send("x");
    socket_.recv_parts();
    EXPECT_TRUE(post.quiet());
}

TEST_F(MonitorRegistration, reaches_any_number_of_subscribers)
{
    const std::string address = known_address(transport::inproc);
    ASSERT_EQ(0, zmq_socket_monitor_versioned(socket_, address.c_str(), ZMQ_EVENT_ALL, 1, ZMQ_PUB));
    std::vector<test_socket> subscribers;
    const std::uint16_t topic = ZMQ_EVENT_LISTENING;
    for (int index = 0; index < 3; ++index) {
        subscribers.emplace_back(context_, ZMQ_SUB);
        subscribers.back().set(ZMQ_SUBSCRIBE,
                               {reinterpret_cast<const char*>(&topic), sizeof topic});
        subscribers.back().connect(address);
    }
    const std::string bound = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    for (auto& subscriber : subscribers)
        EXPECT_EQ(bound, decode_1(subscriber.recv_parts()).local);
}

TEST_F(MonitorRegistration, shares_events_among_pullers)
{
    listening_post post(context_, socket_, ZMQ_EVENT_ALL, 1, ZMQ_PUSH);
    const std::string bound = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    EXPECT_EQ(bound, post.expect(ZMQ_EVENT_LISTENING).local);
}

TEST_F(MonitorRegistration, a_publisher_drops_what_a_subscriber_does_not_read)
{
    test_socket taken(context_, ZMQ_ROUTER);
    const std::string address = taken.bind_and_resolve("tcp://127.0.0.1:*");
    listening_post post(context_, socket_, ZMQ_EVENT_BIND_FAILED | ZMQ_EVENT_LISTENING, 1, ZMQ_PUB);
    constexpr int rounds = 4000;
    for (int round = 0; round < rounds; ++round)
        ASSERT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket_, address.c_str())));
    int heard = 0;
    while (post.socket().try_recv_parts())
        ++heard;
    EXPECT_LT(0, heard);
    EXPECT_GT(rounds, heard);
    socket_.bind("tcp://127.0.0.1:*");
    post.expect(ZMQ_EVENT_LISTENING);
}

class ZlinkOnlyMonitorRegistration : public MonitorRegistration {};

TEST_F(ZlinkOnlyMonitorRegistration, goes_on_without_its_listener_and_takes_another)
{
    const std::string name = known_address(transport::inproc);
    ASSERT_EQ(0, zmq_socket_monitor(socket_, name.c_str(), ZMQ_EVENT_ALL));
    test_socket first(context_, ZMQ_PAIR);
    first.connect(name);
    const std::string address = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_EVENT_LISTENING), decode_1(first.recv_parts()).event);
    first.close();
    const auto cause_event = [&] {
        EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket_, address.c_str())));
    };
    for (int round = 0; round < 4000; ++round)
        cause_event();
    test_socket client(context_, ZMQ_DEALER);
    client.connect(address);
    client.send("x");
    socket_.recv_parts(); // the I/O thread goes on
    test_socket second;
    ASSERT_TRUE(wait_until([&] { // refused as long as the first is known
        second = test_socket(context_, ZMQ_PAIR);
        second.connect(name);
        cause_event();
        return second.readable(std::chrono::milliseconds(20));
    }));
    const std::string later = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    told last = decode_1(second.recv_parts());
    while (last.event != ZMQ_EVENT_LISTENING)
        last = decode_1(second.recv_parts());
    EXPECT_EQ(later, last.local);
    socket_.close();
    while (last.event != ZMQ_EVENT_MONITOR_STOPPED)
        last = decode_1(second.recv_parts());
}

class UnheardMonitor : public MonitorRegistration, public ::testing::WithParamInterface<int> {};

// Events that nobody takes wait for a while, and never hold up whoever causes them.
TEST_P(UnheardMonitor, blocks_nobody_and_loses_nothing_soon)
{
    const std::string name = known_address(transport::inproc);
    ASSERT_EQ(0, zmq_socket_monitor_versioned(socket_, name.c_str(), ZMQ_EVENT_ALL, 1, GetParam()));
    const std::string address = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket client(context_, ZMQ_DEALER);
    client.connect(address);
    client.send("x");
    socket_.recv_parts(); // the I/O thread goes on
    test_socket late(context_, GetParam() == ZMQ_PUSH ? ZMQ_PULL : ZMQ_PAIR);
    late.connect(name);
    for (const std::uint64_t event :
         {ZMQ_EVENT_LISTENING, ZMQ_EVENT_ACCEPTED, ZMQ_EVENT_HANDSHAKE_SUCCEEDED})
        EXPECT_EQ(event, decode_1(late.recv_parts()).event);
}

TEST_P(UnheardMonitor, drops_what_is_too_much)
{
    const std::string name = known_address(transport::inproc);
    test_socket taken(context_, ZMQ_ROUTER);
    const std::string address = taken.bind_and_resolve("tcp://127.0.0.1:*");
    ASSERT_EQ(0, zmq_socket_monitor_versioned(socket_, name.c_str(),
                                              ZMQ_EVENT_BIND_FAILED | ZMQ_EVENT_LISTENING, 1,
                                              GetParam()));
    constexpr int rounds = 4000;
    for (int round = 0; round < rounds; ++round)
        ASSERT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket_, address.c_str())));
    test_socket late(context_, GetParam() == ZMQ_PUSH ? ZMQ_PULL : ZMQ_PAIR);
    late.connect(name);
    int heard = 0;
    while (late.try_recv_parts())
        ++heard;
    EXPECT_LT(0, heard);
    EXPECT_GT(rounds, heard);
    // and what comes then is told again
    socket_.bind("tcp://127.0.0.1:*");
    EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_EVENT_LISTENING), decode_1(late.recv_parts()).event);
}

/// Causes events of which BIND_FAILED tells.
class many_events {
public:
    explicit many_events(test_context& context) : taken_(context, ZMQ_ROUTER)
    {
        address_ = taken_.bind_and_resolve("tcp://127.0.0.1:*");
    }
    void cause(int events, test_socket& socket) const
    {
        for (int event = 0; event < events; ++event)
            EXPECT_EQ(-1, zmq_bind(socket, address_.c_str()));
    }

private:
    test_socket taken_;
    std::string address_;
};

void expect_messages(int expected, test_socket& reader)
{
    for (int heard = 0; heard < expected; ++heard)
        ASSERT_NO_THROW(reader.recv_parts()) << heard;
    EXPECT_FALSE(reader.readable(quiet_window));
}

TEST_F(MonitorRegistration, keeps_the_usual_number_of_events_for_a_slow_reader)
{
    socket_.set(ZMQ_SNDHWM, 5);
    const many_events events(context_);
    const std::string name = known_address(transport::inproc);
    ASSERT_EQ(0, zmq_socket_monitor(socket_, name.c_str(), ZMQ_EVENT_BIND_FAILED));
    test_socket reader(context_, ZMQ_PAIR);
    reader.set(ZMQ_RCVHWM, 1);
    reader.connect(name);
    events.cause(1000 + 1, socket_);
    expect_messages(1000 + 1, reader);
}

// The genuine library waits for somebody who takes them.
class ZlinkOnlyUnheardMonitor : public UnheardMonitor {
protected:
    /// Somebody who comes after all of so many events.
    test_socket reader_after(int events, test_socket& socket)
    {
        const std::string name = known_address(transport::inproc);
        EXPECT_EQ(0, zmq_socket_monitor_versioned(socket, name.c_str(), ZMQ_EVENT_BIND_FAILED, 1,
                                                  GetParam()));
        events_.cause(events, socket);
        test_socket late(context_, GetParam() == ZMQ_PUSH ? ZMQ_PULL : ZMQ_PAIR);
        late.connect(name);
        return late;
    }

    const many_events events_{context_};
};

TEST_P(ZlinkOnlyUnheardMonitor, keeps_as_many_events_as_the_usual_mark)
{
    for (const int events : {999, 1000, 1001}) {
        test_socket socket(context_, ZMQ_ROUTER);
        test_socket reader = reader_after(events, socket);
        expect_messages(std::min(events, 1000), reader);
    }
}

TEST_P(ZlinkOnlyUnheardMonitor, has_nothing_to_do_with_the_marks_of_the_socket)
{
    socket_.set(ZMQ_SNDHWM, 5);
    socket_.set(ZMQ_RCVHWM, 5);
    test_socket reader = reader_after(1001, socket_);
    expect_messages(1000, reader);
}

const auto monitor_type_name = [](const auto& info) {
    return info.param == ZMQ_PAIR ? "pair" : "push";
};
INSTANTIATE_TEST_SUITE_P(Of, UnheardMonitor, ::testing::Values(ZMQ_PAIR, ZMQ_PUSH),
                         monitor_type_name);
INSTANTIATE_TEST_SUITE_P(Of, ZlinkOnlyUnheardMonitor, ::testing::Values(ZMQ_PAIR, ZMQ_PUSH),
                         monitor_type_name);

TEST(MonitorStress, registrations_come_and_go_while_connections_do)
{
    test_context context;
    zmq_ctx_set(context, ZMQ_IO_THREADS, 2);
    test_socket server(context, ZMQ_ROUTER);
    const std::string address = server.bind_and_resolve("tcp://127.0.0.1:*");
    std::atomic<bool> ended{false};
    std::thread clients([&] {
        while (!ended) {
            test_socket client(context, ZMQ_DEALER);
            client.set(ZMQ_IMMEDIATE, 1);
            client.connect(address);
            client.writable(); // connected
        }
    });
    for (int round = 0; round < 300; ++round) {
        listening_post post(context, server, ZMQ_EVENT_ALL_V2, 2);
        for (int heard = 0; heard < round % 5; ++heard)
            post.next();
    }
    ended = true;
    clients.join();
}

} // namespace
} // namespace zlink::test
