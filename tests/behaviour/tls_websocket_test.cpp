// SPDX-License-Identifier: Apache-2.0
// WebSockets in TLS.
#define ZMQ_BUILD_DRAFT_API
#include "support/certificates.hpp"
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"

#include <cerrno>

namespace zlink::test {
namespace {

const certificate& authority()
{
    static const certificate made = certificate::authority();
    return made;
}

class ZlinkOnlyWss : public ::testing::Test {
protected:
    test_socket server(int type)
    {
        const certificate own = authority().sign();
        test_socket socket(context_, type);
        socket.set(ZMQ_TLS_CERT, own.text());
        socket.set(ZMQ_TLS_KEY, own.key());
        return socket;
    }
    test_socket client(int type)
    {
        test_socket socket(context_, type);
        socket.set(ZMQ_TLS_CA, authority().text());
        return socket;
    }

    test_context context_;
};

TEST_F(ZlinkOnlyWss, shows_new_connections_the_certificate_that_is_set_again)
{
    test_socket pull = server(ZMQ_PULL);
    const std::string address = pull.bind_and_resolve("wss://127.0.0.1:*/");
    const certificate other = certificate::authority("another authority");
    const certificate renewed = other.sign();
    pull.set(ZMQ_TLS_CERT, renewed.text());
    pull.set(ZMQ_TLS_KEY, renewed.key());
    test_socket push = client(ZMQ_PUSH);
    push.set(ZMQ_TLS_CA, other.text());
    push.connect(address);
    push.send("x");
    EXPECT_EQ("x", pull.recv());
}

TEST_F(ZlinkOnlyWss, carries_requests_and_replies)
{
    test_socket rep = server(ZMQ_REP);
    test_socket req = client(ZMQ_REQ);
    const std::string address = rep.bind_and_resolve("wss://127.0.0.1:*/a/path");
    EXPECT_EQ(0U, address.find("wss://127.0.0.1:"));
    EXPECT_TRUE(address.ends_with("/a/path"));
    req.connect(address);
    for (int i = 0; i < 100; ++i) {
        req.send_parts({"question", std::to_string(i)});
        ASSERT_EQ((parts{"question", std::to_string(i)}), rep.recv_parts());
        rep.send_parts({"answer", std::to_string(i)});
        ASSERT_EQ((parts{"answer", std::to_string(i)}), req.recv_parts());
    }
}

TEST_F(ZlinkOnlyWss, carries_bodies_of_all_sizes_both_ways)
{
    test_socket bound = server(ZMQ_PAIR);
    test_socket peer = client(ZMQ_PAIR);
    peer.connect(bound.bind_and_resolve("wss://127.0.0.1:*"));
    for (const std::size_t bytes :
         {0, 1, 124, 125, 16'383, 65'535, 65'536, 1'000'000, 10'000'000}) {
        std::string body(bytes, '\0');
        for (std::size_t i = 0; i < bytes; ++i)
            body[i] = static_cast<char>(i * 31 + i / 251);
        peer.send(body);
        bound.send(body);
        ASSERT_TRUE(body == bound.recv()) << bytes;
        ASSERT_TRUE(body == peer.recv()) << bytes;
    }
}

TEST_F(ZlinkOnlyWss, carries_subscriptions)
{
    test_socket pub = server(ZMQ_XPUB);
    test_socket sub = client(ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "topic");
    sub.connect(pub.bind_and_resolve("wss://127.0.0.1:*"));
    EXPECT_EQ("\1topic", pub.recv());
    pub.send("other");
    pub.send("topic and more");
    EXPECT_EQ("topic and more", sub.recv());
}

TEST_F(ZlinkOnlyWss, needs_what_tls_needs)
{
    test_socket bound(context_, ZMQ_PAIR);
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(bound, "wss://127.0.0.1:*"))); // no certificate
    test_socket peer(context_, ZMQ_PAIR);
    peer.set(ZMQ_TLS_TRUST_SYSTEM, 0); // trusts nobody
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(peer, "wss://127.0.0.1:1/")));
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(peer, "wss://127.0.0.1")));
}

TEST_F(ZlinkOnlyWss, refuses_servers_that_are_not_trusted)
{
    test_socket bound = server(ZMQ_PULL);
    test_socket peer(context_, ZMQ_PUSH);
    peer.set(ZMQ_TLS_CA, certificate::authority("another").text());
    peer.set(ZMQ_RECONNECT_IVL, -1);
    listening_post there(context_, peer, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    peer.connect(bound.bind_and_resolve("wss://127.0.0.1:*"));
    EXPECT_EQ(std::uint64_t{EKEYREJECTED},
              there.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).values.at(0));
}

TEST_F(ZlinkOnlyWss, admits_the_origins_that_are_allowed)
{
    test_socket pull = server(ZMQ_PULL);
    pull.set(ZMQ_WS_ALLOWED_ORIGINS, "https://page.example");
    const std::string address = pull.bind_and_resolve("wss://127.0.0.1:*");
    test_socket stranger = client(ZMQ_PUSH);
    listening_post there(context_, stranger, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    stranger.connect(address);
    EXPECT_EQ(std::uint64_t{ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED},
              there.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
    test_socket push = client(ZMQ_PUSH);
    push.set(ZMQ_WS_ORIGIN, "https://page.example:443");
    push.connect(address);
    push.send("from the page");
    EXPECT_EQ("from the page", pull.recv());
}

TEST_F(ZlinkOnlyWss, is_not_ws)
{
    test_socket bound = server(ZMQ_PULL);
    const std::string address = bound.bind_and_resolve("wss://127.0.0.1:*");
    listening_post here(context_, bound, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    test_socket plain(context_, ZMQ_PUSH);
    plain.set(ZMQ_RECONNECT_IVL, -1);
    plain.connect("ws" + address.substr(3));
    EXPECT_EQ(std::uint64_t{EPROTO},
              here.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).values.at(0));
}

TEST_F(ZlinkOnlyWss, is_told_of_by_zmq_has)
{
    for (const char* name : {"ws", "WS", "wss", "WSS", "tls"})
        EXPECT_EQ(1, zmq_has(name)) << name;
}

} // namespace
} // namespace zlink::test
