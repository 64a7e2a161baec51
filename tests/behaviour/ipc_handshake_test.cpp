// SPDX-License-Identifier: Apache-2.0
// Handshakes over ipc that fail, and where reconnecting stops: as over tcp.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <optional>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

/// A socket of the operating system at an address of ipc.
class raw_ipc_listener {
public:
    enum class listens { yes, no };

    explicit raw_ipc_listener(listens does = listens::yes)
        : endpoint_(known_address(transport::ipc)),
          socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        endpoint_.copy(address.sun_path, sizeof address.sun_path - 1, 6);
        if (::bind(socket_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ||
            (does == listens::yes && ::listen(socket_.fd(), 100)))
            throw std::runtime_error("cannot listen");
    }

    const std::string& endpoint() const { return endpoint_; }
    std::optional<raw_peer> try_accept(std::chrono::milliseconds window = patience) const
    {
        pollfd entry{socket_.fd(), POLLIN, 0};
        if (::poll(&entry, 1, static_cast<int>(window.count())) != 1)
            return std::nullopt;
        return raw_peer(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    }

private:
    std::string endpoint_;
    raw_peer socket_; // only owns it
};

class IpcHandshake : public ::testing::Test {
protected:
    void accept_raw(const configuration& configure = {})
    {
        if (configure)
            configure(socket_);
        post_.emplace(context_, socket_);
        peer_ = raw_peer(socket_.bind_and_resolve(fresh_bind_address(transport::ipc)));
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
        auto accepted = listener_.try_accept();
        ASSERT_TRUE(accepted);
        peer_ = std::move(*accepted);
        begun_ = post_->expect(ZMQ_EVENT_CONNECTED);
    }
    void expect_failure(std::uint64_t event, const std::vector<std::uint64_t>& possible)
    {
        const told failed = post_->expect(event);
        EXPECT_NE(possible.end(), std::ranges::find(possible, failed.values.at(0)))
            << failed.values.at(0);
        EXPECT_EQ(begun_.local, failed.local);
        EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
    }
    void expect_another_try()
    {
        EXPECT_EQ(listener_.endpoint(), post_->expect(ZMQ_EVENT_CONNECT_RETRIED).local);
        post_->expect(ZMQ_EVENT_CONNECTED);
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_DEALER};
    raw_ipc_listener listener_;
    raw_peer peer_;
    std::optional<listening_post> post_;
    told begun_;
};

TEST_F(IpcHandshake, that_the_peer_leaves_is_told_and_tried_again)
{
    connect_raw();
    peer_.send(zmtp::greeting().substr(0, 20));
    peer_.recv(10);
    peer_.close();
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, {EPIPE, ECONNRESET});
    expect_another_try();
}

TEST_F(IpcHandshake, that_the_peer_leaves_is_told_at_the_bound_side)
{
    accept_raw();
    peer_.close();
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, {EPIPE, ECONNRESET});
    EXPECT_TRUE(post_->quiet());
}

TEST_F(IpcHandshake, time_running_out_is_told_and_tried_again)
{
    connect_raw([](test_socket& socket) { socket.set(ZMQ_HANDSHAKE_IVL, 30); });
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, {EAGAIN});
    expect_another_try();
}

TEST_F(IpcHandshake, time_running_out_is_told_at_the_bound_side)
{
    accept_raw([](test_socket& socket) { socket.set(ZMQ_HANDSHAKE_IVL, 30); });
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, {EAGAIN});
    EXPECT_TRUE(post_->quiet());
}

TEST_F(IpcHandshake, another_mechanism_is_told_and_not_tried_again)
{
    connect_raw();
    peer_.send(zmtp::greeting(1, "PLAIN"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                   {ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH});
    EXPECT_TRUE(post_->quiet());
}

TEST_F(IpcHandshake, another_mechanism_is_told_at_the_bound_side)
{
    accept_raw();
    peer_.send(zmtp::greeting(1, "PLAIN"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                   {ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH});
    EXPECT_TRUE(post_->quiet());
}

TEST_F(IpcHandshake, a_command_out_of_place_is_told)
{
    accept_raw();
    peer_.send(zmtp::greeting() + zmtp::command("HELLO"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                   {ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND});
}

TEST_F(IpcHandshake, a_malformed_error_command_is_told)
{
    accept_raw();
    peer_.send(zmtp::greeting() + zmtp::command("ERROR"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                   {ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR});
}

TEST_F(IpcHandshake, a_socket_type_that_does_not_fit_only_disconnects)
{
    accept_raw();
    peer_.send(zmtp::greeting() + zmtp::ready("PUB"));
    EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
}

class IpcRefusedByPeer : public IpcHandshake, public ::testing::WithParamInterface<int> {};

TEST_P(IpcRefusedByPeer, is_told_with_its_code_and_not_tried_again)
{
    connect_raw();
    zmtp::play(peer_, {zmtp::greeting(), zmtp::refusal(std::to_string(GetParam()))});
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, {static_cast<std::uint64_t>(GetParam())});
    EXPECT_TRUE(post_->quiet());
}

INSTANTIATE_TEST_SUITE_P(With, IpcRefusedByPeer, ::testing::Values(300, 400, 500));

class IpcReconnectStop : public ::testing::Test {
protected:
    IpcReconnectStop()
    {
        socket_.set(ZMQ_RECONNECT_IVL, 5);
        socket_.set(ZMQ_LINGER, -1);
    }
    void stop_when(int condition) { socket_.set(ZMQ_RECONNECT_STOP, condition); }
    /// Closing does not wait for what can never be sent.
    void expect_an_end()
    {
        socket_.close();
        context_.term();
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_PUSH};
};

class ZlinkOnlyIpcReconnectStop : public IpcReconnectStop {};

TEST_F(ZlinkOnlyIpcReconnectStop, after_a_refused_connection)
{
    const raw_ipc_listener left_over(raw_ipc_listener::listens::no);
    stop_when(ZMQ_RECONNECT_STOP_CONN_REFUSED);
    {
        listening_post post(context_, socket_, ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED);
        socket_.connect(left_over.endpoint());
        post.expect(ZMQ_EVENT_CLOSED);
        EXPECT_TRUE(post.quiet());
    }
    EXPECT_TRUE(socket_.try_send("never delivered"));
    test_socket late(context_, ZMQ_PULL);
    late.bind(left_over.endpoint());
    EXPECT_FALSE(late.readable(100ms));
    late.close();
    expect_an_end();
}

TEST_F(IpcReconnectStop, not_after_other_failures_than_those_named)
{
    const raw_ipc_listener left_over(raw_ipc_listener::listens::no);
    stop_when(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED | ZMQ_RECONNECT_STOP_AFTER_DISCONNECT);
    listening_post post(context_, socket_, ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED);
    socket_.connect(left_over.endpoint());
    post.expect(ZMQ_EVENT_CLOSED);
    post.expect(ZMQ_EVENT_CONNECT_RETRIED);
    socket_.send("delivered late");
    test_socket late(context_, ZMQ_PULL);
    late.bind(left_over.endpoint());
    EXPECT_EQ("delivered late", late.recv());
}

TEST_F(IpcReconnectStop, after_a_failed_handshake)
{
    stop_when(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED);
    const raw_ipc_listener listener;
    socket_.connect(listener.endpoint());
    ASSERT_TRUE(listener.try_accept()); // and closed at once
    EXPECT_FALSE(listener.try_accept(100ms));
}

TEST_F(IpcReconnectStop, after_a_handshake_that_took_too_long)
{
    stop_when(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED);
    socket_.set(ZMQ_HANDSHAKE_IVL, 20);
    const raw_ipc_listener listener;
    socket_.connect(listener.endpoint());
    const auto silent = listener.try_accept();
    ASSERT_TRUE(silent);
    EXPECT_EQ(10u, silent->recv(10).size());
    EXPECT_TRUE(silent->ended());
    EXPECT_FALSE(listener.try_accept(100ms));
}

TEST_F(IpcReconnectStop, without_it_a_failed_handshake_is_tried_again)
{
    const raw_ipc_listener listener;
    socket_.connect(listener.endpoint());
    for (int round = 0; round < 3; ++round)
        ASSERT_TRUE(listener.try_accept());
}

TEST_F(IpcReconnectStop, a_lost_connection_is_no_failed_handshake)
{
    stop_when(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED);
    const std::string address = known_address(transport::ipc);
    socket_.connect(address);
    for (int round = 0; round < 2; ++round) {
        test_socket sink(context_, ZMQ_PULL);
        sink.bind(address);
        ASSERT_TRUE(wait_until([&] {
            socket_.try_send("again");
            return sink.readable(2ms);
        }));
    }
    socket_.set(ZMQ_LINGER, 0);
}

TEST_F(ZlinkOnlyIpcReconnectStop, after_zmq_disconnect)
{
    stop_when(ZMQ_RECONNECT_STOP_AFTER_DISCONNECT);
    const std::string address = known_address(transport::ipc);
    socket_.connect(address);
    socket_.send("given up with the endpoint");
    socket_.disconnect(address);
    expect_an_end();
}

TEST_F(IpcReconnectStop, without_it_zmq_disconnect_lingers)
{
    const std::string address = known_address(transport::ipc);
    socket_.connect(address);
    socket_.send("still delivered");
    socket_.disconnect(address);
    test_socket late(context_, ZMQ_PULL);
    late.bind(address);
    EXPECT_EQ("still delivered", late.recv());
}

} // namespace
} // namespace zlink::test
