// SPDX-License-Identifier: Apache-2.0
// Monitors: which events come, in which order, with which values and texts.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "support/raw_peer.hpp"

namespace zlink::test {
namespace {

/// One event, of either version.
struct told {
    std::uint64_t event = 0;
    std::vector<std::uint64_t> values;
    std::string local;  ///< version 1: the only endpoint
    std::string remote; ///< version 2 only
};

template <class Value>
Value value_at(const std::string& bytes, std::size_t offset = 0)
{
    Value value{};
    if (bytes.size() < offset + sizeof value)
        throw std::runtime_error("frame of an event is too short");
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

told decode_1(const parts& frames)
{
    if (frames.size() != 2 || frames[0].size() != 6)
        throw std::runtime_error("not an event of version 1");
    return {
        value_at<std::uint16_t>(frames[0]), {value_at<std::uint32_t>(frames[0], 2)}, frames[1], {}};
}

told decode_2(const parts& frames)
{
    if (frames.size() < 4)
        throw std::runtime_error("not an event of version 2");
    const auto count = value_at<std::uint64_t>(frames[1]);
    if (frames.size() != count + 4)
        throw std::runtime_error("event with a wrong number of values");
    told result{value_at<std::uint64_t>(frames[0]), {}, frames[count + 2], frames[count + 3]};
    for (std::size_t i = 0; i < count; ++i)
        result.values.push_back(value_at<std::uint64_t>(frames[i + 2]));
    return result;
}

/// Hears what is told about a socket.
class listening_post {
public:
    listening_post(test_context& context, void* monitored, std::uint64_t events = ZMQ_EVENT_ALL,
                   int version = 1, int type = ZMQ_PAIR)
        : version_(version), address_(known_address(transport::inproc))
    {
        if (zmq_socket_monitor_versioned(monitored, address_.c_str(), events, version, type) != 0)
            throw call_failed("zmq_socket_monitor_versioned");
        const int own_type = type == ZMQ_PUB ? ZMQ_SUB : type == ZMQ_PUSH ? ZMQ_PULL : ZMQ_PAIR;
        socket_ = test_socket(context, own_type);
        if (own_type == ZMQ_SUB)
            socket_.set(ZMQ_SUBSCRIBE, "");
        socket_.connect(address_);
    }

    told next()
    {
        const parts frames = socket_.recv_parts();
        return version_ == 1 ? decode_1(frames) : decode_2(frames);
    }
    /// The next event, which must be of this kind.
    told expect(std::uint64_t event)
    {
        told result = next();
        EXPECT_EQ(event, result.event);
        return result;
    }
    bool quiet() { return !socket_.readable(quiet_window); }
    test_socket& socket() { return socket_; }
    const std::string& address() const { return address_; }

private:
    int version_;
    std::string address_;
    test_socket socket_;
};

std::string greeting(const std::string& mechanism)
{
    std::string bytes(64, '\0');
    bytes[0] = '\xff';
    bytes[9] = '\x7f';
    bytes[10] = 3;
    bytes[11] = 1;
    bytes.replace(12, mechanism.size(), mechanism);
    return bytes;
}

class Monitor : public transport_test {
protected:
    bool tcp() const { return GetParam() == transport::tcp; }
    void expect_connecting(listening_post& post, const std::string& endpoint)
    {
        if (!tcp())
            return;
        const told delayed = post.expect(ZMQ_EVENT_CONNECT_DELAYED);
        EXPECT_EQ(std::vector<std::uint64_t>{EINPROGRESS}, delayed.values);
        EXPECT_EQ(endpoint, delayed.local);
    }
};

TEST_P(Monitor, tells_both_sides_of_a_connection_from_beginning_to_end)
{
    test_socket server(context_, ZMQ_ROUTER);
    test_socket client(context_, ZMQ_DEALER);
    client.set(ZMQ_RECONNECT_IVL, 37);
    client.set(ZMQ_RECONNECT_IVL_MAX, 37);
    listening_post at_server(context_, server);
    listening_post at_client(context_, client);

    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    const told listening = at_server.expect(ZMQ_EVENT_LISTENING);
    EXPECT_EQ(address, listening.local);

    client.connect(address);
    expect_connecting(at_client, address);
    const told connected = at_client.expect(ZMQ_EVENT_CONNECTED);
    EXPECT_EQ(address, connected.local);
    const told client_ready = at_client.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(address, client_ready.local);
    EXPECT_EQ(0u, client_ready.values.at(0));
    const told accepted = at_server.expect(ZMQ_EVENT_ACCEPTED);
    EXPECT_EQ(address, accepted.local);
    EXPECT_NE(accepted.values.at(0), connected.values.at(0));
    const told server_ready = at_server.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(address, server_ready.local);
    EXPECT_EQ(0u, server_ready.values.at(0));

    server.close();
    const told closed = at_server.expect(ZMQ_EVENT_CLOSED);
    EXPECT_EQ(address, closed.local);
    EXPECT_EQ(listening.values, closed.values);
    const told stopped = at_server.expect(ZMQ_EVENT_MONITOR_STOPPED);
    EXPECT_EQ("", stopped.local);
    EXPECT_EQ(0u, stopped.values.at(0));

    const told lost = at_client.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(connected.values, lost.values);
    EXPECT_EQ(address, lost.local);
    const told retried = at_client.expect(ZMQ_EVENT_CONNECT_RETRIED);
    EXPECT_EQ(37u, retried.values.at(0));
    EXPECT_EQ(address, retried.local);
    expect_connecting(at_client, address);
    at_client.expect(ZMQ_EVENT_CLOSED);
    at_client.expect(ZMQ_EVENT_CONNECT_RETRIED);
}

TEST_P(Monitor, tells_the_bound_side_when_a_peer_leaves)
{
    test_socket server(context_, ZMQ_ROUTER);
    listening_post post(context_, server, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int round = 0; round < 3; ++round) {
        test_socket client(context_, ZMQ_DEALER);
        client.connect(address);
        const told accepted = post.expect(ZMQ_EVENT_ACCEPTED);
        client.send("x");
        server.recv_parts();
        client.close();
        const told lost = post.expect(ZMQ_EVENT_DISCONNECTED);
        EXPECT_EQ(accepted.values, lost.values);
        EXPECT_EQ(address, lost.local);
    }
    EXPECT_TRUE(post.quiet());
}

TEST_P(Monitor, tells_of_every_try_at_an_address_where_nobody_listens)
{
    test_socket client(context_, ZMQ_DEALER);
    client.set(ZMQ_RECONNECT_IVL, 10);
    client.set(ZMQ_RECONNECT_IVL_MAX, 40);
    listening_post post(context_, client);
    const std::string address = known_address(GetParam());
    client.connect(address);
    for (const std::uint64_t interval : {10u, 20u, 40u, 40u}) {
        expect_connecting(post, address);
        EXPECT_EQ(address, post.expect(ZMQ_EVENT_CLOSED).local);
        EXPECT_EQ(interval, post.expect(ZMQ_EVENT_CONNECT_RETRIED).values.at(0));
    }
}

TEST_P(Monitor, tells_nothing_more_when_reconnecting_is_off)
{
    test_socket client(context_, ZMQ_DEALER);
    client.set(ZMQ_RECONNECT_IVL, -1);
    listening_post post(context_, client);
    const std::string address = known_address(GetParam());
    client.connect(address);
    expect_connecting(post, address);
    post.expect(ZMQ_EVENT_CLOSED);
    EXPECT_TRUE(post.quiet());
}

TEST_P(Monitor, says_nothing_of_connections_that_the_socket_ends_itself)
{
    test_socket server(context_, ZMQ_ROUTER);
    test_socket client(context_, ZMQ_DEALER);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    listening_post post(context_, client);
    client.connect(address);
    expect_connecting(post, address);
    post.expect(ZMQ_EVENT_CONNECTED);
    post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    client.disconnect(address);
    EXPECT_TRUE(post.quiet());
    client.close();
    post.expect(ZMQ_EVENT_MONITOR_STOPPED);
}

TEST_P(Monitor, tells_the_end_of_listening_at_unbind)
{
    test_socket server(context_, ZMQ_ROUTER);
    listening_post post(context_, server);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    const told listening = post.expect(ZMQ_EVENT_LISTENING);
    server.unbind(address);
    const told closed = post.expect(ZMQ_EVENT_CLOSED);
    EXPECT_EQ(listening.values, closed.values);
    EXPECT_EQ(address, closed.local);
    EXPECT_TRUE(post.quiet());
}

TEST_P(Monitor, names_both_ends_in_version_2)
{
    test_socket server(context_, ZMQ_ROUTER);
    test_socket client(context_, ZMQ_DEALER);
    listening_post at_server(context_, server, ZMQ_EVENT_ALL_V2, 2);
    listening_post at_client(context_, client, ZMQ_EVENT_ALL_V2, 2);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    const told listening = at_server.expect(ZMQ_EVENT_LISTENING);
    EXPECT_EQ(address, listening.local);
    EXPECT_EQ("", listening.remote);
    client.connect(address);
    if (tcp()) {
        const told delayed = at_client.expect(ZMQ_EVENT_CONNECT_DELAYED);
        EXPECT_EQ("", delayed.local);
        EXPECT_EQ(address, delayed.remote);
    }
    const told connected = at_client.expect(ZMQ_EVENT_CONNECTED);
    EXPECT_EQ(address, connected.remote);
    const told accepted = at_server.expect(ZMQ_EVENT_ACCEPTED);
    EXPECT_EQ(address, accepted.local);
    // The ends see each other; a client of ipc has no address of its own.
    EXPECT_EQ(connected.local, accepted.remote);
    EXPECT_EQ(tcp() ? "tcp://127.0.0.1:" : "ipc://",
              connected.local.substr(0, tcp() ? 16 : std::string::npos));
    at_client.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    at_server.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    client.close();
    const told stopped = [&] {
        told last = at_client.next();
        while (last.event != ZMQ_EVENT_MONITOR_STOPPED)
            last = at_client.next();
        return last;
    }();
    EXPECT_EQ(std::vector<std::uint64_t>{0}, stopped.values);
    EXPECT_EQ("", stopped.local + stopped.remote);
    const told lost = at_server.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(accepted.local, lost.local);
    EXPECT_EQ(accepted.remote, lost.remote);
    EXPECT_EQ(accepted.values, lost.values);
}

TEST_P(Monitor, names_both_ends_of_a_connection_that_broke)
{
    test_socket server(context_, ZMQ_ROUTER);
    test_socket client(context_, ZMQ_DEALER);
    listening_post all(context_, client, ZMQ_EVENT_ALL_V2, 2);
    listening_post ends(context_, server, ZMQ_EVENT_DISCONNECTED, 2);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    client.connect(address);
    told connected = all.next();
    while (connected.event != ZMQ_EVENT_CONNECTED)
        connected = all.next();
    all.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    client.send("x");
    server.recv_parts();
    client.disconnect(address);
    const told lost = ends.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(address, lost.local);
    EXPECT_EQ(connected.local, lost.remote);
    client.connect(address);
    all.expect(tcp() ? ZMQ_EVENT_CONNECT_DELAYED : ZMQ_EVENT_CONNECTED);
    while (all.next().event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
    }
    server.close();
    EXPECT_EQ(address, all.expect(ZMQ_EVENT_DISCONNECTED).remote);
    const told retried = all.expect(ZMQ_EVENT_CONNECT_RETRIED);
    EXPECT_EQ("", retried.local);
    EXPECT_EQ(address, retried.remote);
}

TEST_P(Monitor, reports_the_lengths_of_queues)
{
    test_socket source(context_, ZMQ_PUSH);
    listening_post post(context_, source, ZMQ_EVENT_PIPES_STATS, 2);
    EXPECT_TRUE(fails_with(EAGAIN, zmq_socket_monitor_pipes_stats(source)));
    const std::string address = known_address(GetParam());
    source.connect(address);
    for (int count : {0, 3}) {
        for (int index = 0; index < count; ++index)
            source.send("x");
        ASSERT_EQ(0, zmq_socket_monitor_pipes_stats(source));
        const told stats = post.expect(ZMQ_EVENT_PIPES_STATS);
        EXPECT_EQ((std::vector<std::uint64_t>{static_cast<std::uint64_t>(count), 0}), stats.values);
        EXPECT_EQ(address, stats.remote);
    }
    test_socket sink(context_, ZMQ_PULL);
    listening_post at_sink(context_, sink, ZMQ_EVENT_PIPES_STATS, 2);
    sink.bind(address);
    EXPECT_EQ("x", sink.recv());
    ASSERT_EQ(0, zmq_socket_monitor_pipes_stats(sink));
    EXPECT_EQ((std::vector<std::uint64_t>{0, 2}), at_sink.expect(ZMQ_EVENT_PIPES_STATS).values);
    EXPECT_TRUE(wait_until([&] {
        zmq_socket_monitor_pipes_stats(source);
        return post.next().values.at(0) == 0;
    }));
}

INSTANTIATE_TEST_SUITE_P(Over, Monitor, ::testing::Values(transport::tcp, transport::ipc),
                         [](const auto& info) { return std::string(name_of(info.param)); });

class MonitorHandshake : public ::testing::Test {
protected:
    /// A socket that a raw peer connects to, and its events from then on.
    void accept_raw(const configuration& configure = {})
    {
        if (configure)
            configure(socket_);
        post_.emplace(context_, socket_);
        peer_ = raw_peer(socket_.bind_and_resolve("tcp://127.0.0.1:*"));
        post_->expect(ZMQ_EVENT_LISTENING);
        begun_ = post_->expect(ZMQ_EVENT_ACCEPTED);
    }
    void connect_raw(const configuration& configure = {})
    {
        socket_.set(ZMQ_RECONNECT_IVL, 10);
        if (configure)
            configure(socket_);
        post_.emplace(context_, socket_);
        socket_.connect(listener_.endpoint());
        peer_ = listener_.accept();
        post_->expect(ZMQ_EVENT_CONNECT_DELAYED);
        begun_ = post_->expect(ZMQ_EVENT_CONNECTED);
    }
    void expect_failure(std::uint64_t event, std::uint64_t value)
    {
        const told failed = post_->expect(event);
        EXPECT_EQ(value, failed.values.at(0));
        EXPECT_EQ(begun_.local, failed.local);
        EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_DEALER};
    raw_listener listener_;
    raw_peer peer_;
    std::optional<listening_post> post_;
    told begun_;
};

TEST_F(MonitorHandshake, that_the_peer_leaves_is_told_and_tried_again)
{
    connect_raw();
    peer_.send(greeting("NULL").substr(0, 20));
    wait_until([] { return false; }, std::chrono::milliseconds(20)); // both ends of the exchange
    peer_.close();
    const told failed = post_->expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    EXPECT_TRUE(failed.values.at(0) == EPIPE || failed.values.at(0) == ECONNRESET)
        << failed.values.at(0);
    EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
    post_->expect(ZMQ_EVENT_CONNECT_RETRIED);
    post_->expect(ZMQ_EVENT_CONNECT_DELAYED);
    post_->expect(ZMQ_EVENT_CONNECTED);
}

TEST_F(MonitorHandshake, that_the_peer_leaves_is_told_at_the_bound_side)
{
    accept_raw();
    peer_.close();
    const told failed = post_->expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    EXPECT_TRUE(failed.values.at(0) == EPIPE || failed.values.at(0) == ECONNRESET)
        << failed.values.at(0);
    EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
    EXPECT_TRUE(post_->quiet());
}

TEST_F(MonitorHandshake, time_running_out_is_told_and_tried_again)
{
    connect_raw([](test_socket& socket) { socket.set(ZMQ_HANDSHAKE_IVL, 30); });
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EAGAIN);
    post_->expect(ZMQ_EVENT_CONNECT_RETRIED);
}

TEST_F(MonitorHandshake, another_mechanism_is_told_and_not_tried_again)
{
    connect_raw();
    peer_.send(greeting("PLAIN"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
    EXPECT_TRUE(post_->quiet());
}

TEST_F(MonitorHandshake, another_mechanism_is_told_at_the_bound_side)
{
    accept_raw();
    peer_.send(greeting("PLAIN"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
    EXPECT_TRUE(post_->quiet());
}

TEST_F(MonitorHandshake, a_command_out_of_place_is_told)
{
    accept_raw();
    peer_.send(greeting("NULL") + std::string("\x04\x06\x05HELLO", 8));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND);
}

TEST_F(MonitorHandshake, a_malformed_error_command_is_told)
{
    accept_raw();
    peer_.send(greeting("NULL") + std::string("\x04\x06\x05"
                                              "ERROR",
                                              8));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                   ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR);
}

TEST_F(MonitorHandshake, a_socket_type_that_does_not_fit_only_disconnects)
{
    accept_raw();
    peer_.send(greeting("NULL") + std::string("\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB", 27));
    EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
}

TEST_F(MonitorHandshake, of_an_older_protocol_is_not_told)
{
    accept_raw();
    const std::string greeting_2_0("\xff\0\0\0\0\0\0\0\x01\x7f\x01\x05", 12);
    peer_.send(greeting_2_0 + std::string("\0\0"
                                          "\0\x01x",
                                          5)); // no identity, a message
    EXPECT_EQ("x", socket_.recv());
    peer_.close();
    EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
}

class MonitorFailures : public ::testing::Test {
protected:
    test_context context_;
};

TEST_F(MonitorFailures, a_bind_that_fails_is_told)
{
    test_socket taken(context_, ZMQ_ROUTER);
    const std::string address = taken.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket socket(context_, ZMQ_ROUTER);
    listening_post post(context_, socket);
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket, address.c_str())));
    EXPECT_EQ("", post.expect(ZMQ_EVENT_CLOSED).local);
    const told failed = post.expect(ZMQ_EVENT_BIND_FAILED);
    EXPECT_EQ(static_cast<std::uint64_t>(EADDRINUSE), failed.values.at(0));
    EXPECT_EQ(address, failed.local);
    EXPECT_TRUE(fails_with(ENODEV, zmq_bind(socket, "tcp://nosuchinterface:*")));
    EXPECT_EQ(static_cast<std::uint64_t>(ENODEV), post.expect(ZMQ_EVENT_BIND_FAILED).values.at(0));
    EXPECT_TRUE(fails_with(ENOENT, zmq_bind(socket, "ipc:///nosuchdirectory/socket")));
    post.expect(ZMQ_EVENT_CLOSED);
    EXPECT_EQ(static_cast<std::uint64_t>(ENOENT), post.expect(ZMQ_EVENT_BIND_FAILED).values.at(0));
    // What is wrong by its text never came so far.
    EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_bind(socket, "foo://bar")));
    EXPECT_TRUE(post.quiet());
}

TEST_F(MonitorFailures, a_pending_connection_that_is_given_up_is_closed)
{
    // A listener whose backlog is full does not answer.
    raw_listener listener(0);
    std::vector<raw_peer> fillers;
    for (int index = 0; index < 4; ++index) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(listener.port()));
        ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
        fillers.emplace_back(fd);
    }
    test_socket socket(context_, ZMQ_DEALER);
    listening_post post(context_, socket);
    socket.connect(listener.endpoint());
    post.expect(ZMQ_EVENT_CONNECT_DELAYED);
    EXPECT_TRUE(post.quiet());
    socket.disconnect(listener.endpoint());
    post.expect(ZMQ_EVENT_CLOSED);
    EXPECT_TRUE(post.quiet());
    socket.set(ZMQ_CONNECT_TIMEOUT, 30);
    socket.set(ZMQ_RECONNECT_IVL, 1000);
    socket.connect(listener.endpoint());
    post.expect(ZMQ_EVENT_CONNECT_DELAYED);
    post.expect(ZMQ_EVENT_CLOSED);
    post.expect(ZMQ_EVENT_CONNECT_RETRIED);
}

TEST_F(MonitorFailures, a_source_address_that_is_not_ours_is_told_without_delay)
{
    test_socket socket(context_, ZMQ_DEALER);
    listening_post post(context_, socket);
    const std::string address = "tcp://192.0.2.1:0;127.0.0.1:5555";
    socket.connect(address);
    EXPECT_EQ(address, post.expect(ZMQ_EVENT_CLOSED).local);
    post.expect(ZMQ_EVENT_CONNECT_RETRIED);
}

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

INSTANTIATE_TEST_SUITE_P(Of, UnheardMonitor, ::testing::Values(ZMQ_PAIR, ZMQ_PUSH),
                         [](const auto& info) { return info.param == ZMQ_PAIR ? "pair" : "push"; });

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
