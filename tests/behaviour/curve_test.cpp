// SPDX-License-Identifier: Apache-2.0
// Connections that CURVE encrypts.
#include "support/listening_post.hpp"

#include "support/key_pair.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

/// A server and a client with keys, over each transport that has a wire.
class Curve : public transport_test {
protected:
    void SetUp() override
    {
        if (!zmq_has("curve"))
            GTEST_SKIP() << "the library has no CURVE";
    }
    configuration server_side() const
    {
        return [this](test_socket& socket) {
            socket.set(ZMQ_CURVE_SERVER, 1);
            socket.set(ZMQ_CURVE_SECRETKEY, server_.secret_key.data());
        };
    }
    configuration client_side() const { return client_of(server_); }
    configuration client_of(const key_pair& server) const
    {
        return [this, &server](test_socket& socket) {
            socket.set(ZMQ_CURVE_SERVERKEY, server.public_key.data());
            socket.set(ZMQ_CURVE_PUBLICKEY, client_.public_key.data());
            socket.set(ZMQ_CURVE_SECRETKEY, client_.secret_key.data());
            socket.set(ZMQ_RECONNECT_IVL, 20);
        };
    }

    const key_pair server_;
    const key_pair client_;
    const key_pair stranger_;
};

ZLINK_LINKS(Curve, links_with(&link_traits::has_wire, &link_traits::has_free_mechanism));

TEST_P(Curve, carries_messages_of_all_sizes)
{
    auto [server, client, address] =
        connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR, server_side(), client_side());
    for (const std::size_t bytes : {0U, 1U, 30U, 31U, 32U, 255U, 256U, 4095U, 4096U, 24'575U,
                                    24'576U, 65'535U, 65'536U, 1'000'000U, 20'000'000U}) {
        std::string body(bytes, '\0');
        for (std::size_t i = 0; i < bytes; ++i)
            body[i] = static_cast<char>(i * 7);
        client.send(body);
        EXPECT_TRUE(server.recv() == body) << bytes;
        server.send(body);
        EXPECT_TRUE(client.recv() == body) << bytes;
    }
}

TEST_P(Curve, carries_parts)
{
    auto [server, client, address] =
        connect_pair(context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER, server_side(), client_side());
    const parts message{"", "second", std::string(70'000, 'x'), "", "last"};
    for (int i = 0; i < 100; ++i) {
        client.send_parts(message);
        parts got = server.recv_parts();
        server.send_parts(got);
        got.erase(got.begin());
        EXPECT_EQ(message, got);
        EXPECT_EQ(message, client.recv_parts());
    }
}

TEST_P(Curve, carries_many_messages_in_order)
{
    auto [server, client, address] =
        connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, server_side(), client_side());
    constexpr int messages = 20'000;
    int received = 0;
    for (int sent = 0; received < messages;) {
        while (sent < messages && client.try_send(std::to_string(sent)))
            ++sent;
        EXPECT_EQ(std::to_string(received), server.recv());
        ++received;
    }
}

TEST_P(Curve, carries_subscriptions)
{
    auto [publisher, subscriber, address] =
        link(context_, GetParam(), ZMQ_XPUB, ZMQ_SUB, server_side(), [this](test_socket& socket) {
            client_side()(socket);
            socket.set(ZMQ_SUBSCRIBE, "topic");
        });
    EXPECT_EQ("\1topic", publisher.recv());
    publisher.send("other");
    publisher.send("topic and more");
    EXPECT_EQ("topic and more", subscriber.recv());
    subscriber.set(ZMQ_UNSUBSCRIBE, "topic");
    EXPECT_EQ(std::string("\0topic", 6), publisher.recv());
}

TEST_P(Curve, carries_heartbeats)
{
    const auto beating = [](const configuration& configure) {
        return [configure](test_socket& socket) {
            configure(socket);
            socket.set(ZMQ_HEARTBEAT_IVL, 10);
            socket.set(ZMQ_HEARTBEAT_TIMEOUT, 5'000);
        };
    };
    auto [server, client, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH,
                                                  beating(server_side()), beating(client_side()));
    listening_post post(context_, client, ZMQ_EVENT_DISCONNECTED);
    EXPECT_TRUE(post.quiet());
    client.send("still there");
    EXPECT_EQ("still there", server.recv());
}

TEST_P(Curve, a_handler_is_told_the_key_of_the_client)
{
    test_socket handler(context_, ZMQ_REP);
    handler.bind("inproc://zeromq.zap.01");
    auto [server, client, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, server_side(), client_side());
    const parts request = handler.recv_parts();
    ASSERT_EQ(7u, request.size());
    EXPECT_EQ("CURVE", request[5]);
    ASSERT_EQ(32u, request[6].size());
    std::array<char, 41> text{};
    zmq_z85_encode(text.data(), reinterpret_cast<const uint8_t*>(request[6].data()), 32);
    EXPECT_STREQ(client_.public_key.data(), text.data());
    handler.send_parts({"1.0", "1", "200", "OK", "carol", ""});
    client.send("hello");
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_EQ(5, zmq_msg_recv(&message, server, 0));
    EXPECT_STREQ("carol", zmq_msg_gets(&message, "User-Id"));
    EXPECT_STREQ("PUSH", zmq_msg_gets(&message, "Socket-Type"));
    zmq_msg_close(&message);
}

// What is wanted then is the encryption.
TEST_P(Curve, without_an_enforced_domain_and_a_handler_all_are_admitted)
{
    for (const bool has_domain : {false, true}) {
        auto [server, client, address] = connect_pair(
            context_, GetParam(), ZMQ_PULL, ZMQ_PUSH,
            [&](test_socket& socket) {
                server_side()(socket);
                if (has_domain)
                    socket.set(ZMQ_ZAP_DOMAIN, "global");
            },
            client_side());
        client.send("admitted");
        EXPECT_EQ("admitted", server.recv());
    }
}

TEST_P(Curve, an_enforced_domain_that_is_not_set_asks_nobody)
{
    test_socket handler(context_, ZMQ_REP);
    handler.bind("inproc://zeromq.zap.01");
    auto [server, client, address] = connect_pair(
        context_, GetParam(), ZMQ_PULL, ZMQ_PUSH,
        [&](test_socket& socket) {
            server_side()(socket);
            socket.set(ZMQ_ZAP_ENFORCE_DOMAIN, 1);
        },
        client_side());
    client.send("admitted");
    EXPECT_EQ("admitted", server.recv());
    EXPECT_FALSE(handler.readable(std::chrono::milliseconds(0)));
}

TEST_P(Curve, an_enforced_domain_without_a_handler_admits_nobody)
{
    test_socket server(context_, ZMQ_PULL);
    server_side()(server);
    server.set(ZMQ_ZAP_DOMAIN, "global");
    server.set(ZMQ_ZAP_ENFORCE_DOMAIN, 1);
    listening_post post(context_, server, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    test_socket client(context_, ZMQ_PUSH);
    client_side()(client);
    client.connect(server.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ(static_cast<std::uint64_t>(EFAULT),
              post.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).values.at(0));
}

TEST_P(Curve, a_client_that_wants_another_server_is_refused_and_tries_again)
{
    test_socket server(context_, ZMQ_PULL);
    server_side()(server);
    test_socket client(context_, ZMQ_PUSH);
    client_of(stranger_)(client);
    listening_post at_server(context_, server,
                             ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_DISCONNECTED);
    listening_post at_client(context_, client,
                             ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_CONNECT_RETRIED);
    client.connect(server.bind_and_resolve(fresh_bind_address(GetParam())));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC),
                  at_server.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
        at_server.expect(ZMQ_EVENT_DISCONNECTED);
        at_client.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        at_client.expect(ZMQ_EVENT_CONNECT_RETRIED);
    }
}

TEST_P(Curve, a_client_whose_keys_do_not_fit_is_refused)
{
    test_socket server(context_, ZMQ_PULL);
    server_side()(server);
    test_socket client(context_, ZMQ_PUSH);
    client_side()(client);
    client.set(ZMQ_CURVE_PUBLICKEY, stranger_.public_key.data());
    listening_post at_server(context_, server, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    client.connect(server.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC),
              at_server.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
}

class CurveOnTheWire : public Curve {};
ZLINK_LINKS_WITH(CurveOnTheWire, has_plain_zmtp);

// Where there is an upgrade before, it finds that the mechanisms differ.
TEST_P(CurveOnTheWire, a_client_without_encryption_is_refused)
{
    test_socket server(context_, ZMQ_PULL);
    server_side()(server);
    test_socket client(context_, ZMQ_PUSH);
    listening_post at_server(context_, server, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    client.connect(server.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH),
              at_server.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
    client.try_send("secret");
    EXPECT_FALSE(server.readable(quiet_window));
}

TEST_P(Curve, goes_on_after_the_server_was_restarted)
{
    const std::string address = known_address(GetParam());
    test_socket client(context_, ZMQ_PUSH);
    client_side()(client);
    client.connect(address);
    for (int round = 0; round < 3; ++round) {
        test_socket server(context_, ZMQ_PULL);
        server_side()(server);
        ASSERT_TRUE(wait_until([&] { return server.try_bind(address); }));
        listening_post post(context_, client, ZMQ_EVENT_DISCONNECTED);
        client.send("round " + std::to_string(round));
        EXPECT_EQ("round " + std::to_string(round), server.recv());
        server.close();
        post.expect(ZMQ_EVENT_DISCONNECTED);
    }
}

} // namespace
} // namespace zlink::test
