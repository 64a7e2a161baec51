// SPDX-License-Identifier: Apache-2.0
// Connections over ws://: what goes over the wire, and messages between two sockets.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/key_pair.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/websocket.hpp"
#include "support/zmtp.hpp"

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string any_port = "ws://127.0.0.1:*";

/// A socket that is bound, and a client of it that speaks by hand.
struct ws_link {
    ws_link(test_context& context, int type, const configuration& configure = {})
        : socket(context, type)
    {
        if (configure)
            configure(socket);
        endpoint = socket.bind_and_resolve(any_port);
        peer = raw_peer(tcp_of(endpoint));
    }
    /// Asks for a protocol; returns the one that is agreed on.
    std::string upgrade(const std::string& protocols)
    {
        peer.send(request_of(protocols));
        return field_of(recv_head(peer), "Sec-WebSocket-Protocol");
    }
    void shake_hands(const std::string& type)
    {
        EXPECT_EQ("ZWS2.0/NULL", upgrade("ZWS2.0/NULL"));
        peer.send(from_client(ready(type)));
        EXPECT_EQ("\x82\2\5READY", recv_ws_frame(peer).substr(0, 8));
    }

    test_socket socket;
    std::string endpoint;
    raw_peer peer;
};

class Websocket : public ::testing::Test {
protected:
    /// Two sockets, one bound and one connected.
    connected_pair link(int bound_type, int peer_type, const configuration& configure_bound = {},
                        const configuration& configure_peer = {},
                        const std::string& path = "/zeromq")
    {
        connected_pair made{{context_, bound_type}, {context_, peer_type}, {}};
        if (configure_bound)
            configure_bound(made.bound);
        if (configure_peer)
            configure_peer(made.peer);
        made.address = made.bound.bind_and_resolve(any_port + path);
        made.peer.connect(made.address);
        return made;
    }

    test_context context_;
};

// --- addresses

TEST_F(Websocket, endpoints_have_a_path)
{
    test_socket socket(context_, ZMQ_PULL);
    const std::string root = socket.bind_and_resolve(any_port);
    EXPECT_TRUE(root.starts_with("ws://127.0.0.1:")) << root;
    EXPECT_TRUE(root.ends_with("/")) << root;
    const std::string deep = socket.bind_and_resolve(any_port + "/a/b?c=d");
    EXPECT_TRUE(deep.ends_with("/a/b?c=d")) << deep;
    socket.unbind(root);
    socket.unbind(deep);
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket, deep.c_str())));
}

TEST_F(Websocket, endpoints_that_are_none_are_refused)
{
    test_socket socket(context_, ZMQ_PULL);
    for (const char* bad : {"ws://127.0.0.1", "ws://127.0.0.1/path", "ws://127.0.0.1:x/",
                            "ws://127.0.0.1:1/a b", "ws://127.0.0.1:1/a\r\nX: y"}) {
        EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, bad))) << bad;
        EXPECT_TRUE(fails_with(EINVAL, zmq_connect(socket, bad))) << bad;
    }
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(socket, "ws://127.0.0.1:0/")));
    EXPECT_TRUE(fails_with(ENODEV, zmq_bind(socket, "ws://nosuchinterface:*/")));
}

// --- the opening, by hand

TEST_F(Websocket, without_a_mechanism_routing_ids_come_first)
{
    ws_link link(context_, ZMQ_PULL);
    EXPECT_EQ("ZWS2.0", link.upgrade("ZWS2.0"));
    EXPECT_EQ("820100", hex_of(link.peer.recv(3)));
    link.peer.send(from_client("\0id"s) + from_client("\0hi"s));
    EXPECT_EQ("hi", link.socket.recv());
}

TEST_F(Websocket, without_a_mechanism_a_router_knows_the_peer)
{
    ws_link link(context_, ZMQ_ROUTER,
                 [](test_socket& socket) { socket.set(ZMQ_ROUTING_ID, "me"); });
    EXPECT_EQ("ZWS2.0", link.upgrade("ZWS2.0"));
    EXPECT_EQ("8203006d65", hex_of(link.peer.recv(5)));
    link.peer.send(from_client("\0id"s) + from_client("\1a"s) + from_client("\0b"s));
    EXPECT_EQ((parts{"id", "a", "b"}), link.socket.recv_parts());
    link.socket.send_parts({"id", "a", "bc"});
    EXPECT_EQ("820201618203006263", hex_of(link.peer.recv(9)));
}

TEST_F(Websocket, with_a_mechanism_commands_come_first)
{
    ws_link link(context_, ZMQ_DEALER);
    EXPECT_EQ("ZWS2.0/NULL", link.upgrade("ZWS2.0/NULL,ZWS2.0"));
    EXPECT_EQ("822a0205" + hex_of("READY" + zmtp::property("Socket-Type", "DEALER") +
                                  zmtp::property("Identity", "")),
              hex_of(link.peer.recv(44)));
    link.peer.send(from_client(ready("DEALER")) + from_client("\1a"s) + from_client("\0bc"s));
    EXPECT_EQ((parts{"a", "bc"}), link.socket.recv_parts());
    link.socket.send("hello");
    EXPECT_EQ("82060068656c6c6f", hex_of(link.peer.recv(8)));
}

TEST_F(Websocket, takes_frames_that_come_with_the_request_in_any_pieces)
{
    const std::string all = request_of("ZWS2.0/NULL") + from_client(ready("PUSH")) +
                            from_client("\0first"s) + from_client("\0second"s);
    for (std::size_t split = 1; split < all.size(); split += 7) {
        ws_link link(context_, ZMQ_PULL);
        link.peer.send(all.substr(0, split));
        link.peer.send(all.substr(split));
        ASSERT_EQ("first", link.socket.recv()) << split;
        ASSERT_EQ("second", link.socket.recv()) << split;
    }
}

TEST_F(Websocket, a_type_that_does_not_fit_ends_the_connection)
{
    ws_link link(context_, ZMQ_PULL);
    EXPECT_EQ("ZWS2.0/NULL", link.upgrade("ZWS2.0/NULL"));
    link.peer.send(from_client(ready("SUB")));
    recv_ws_frame(link.peer);
    EXPECT_TRUE(link.peer.ended());
}

TEST_F(Websocket, a_ping_during_the_handshake_is_answered)
{
    ws_link link(context_, ZMQ_PULL);
    EXPECT_EQ("ZWS2.0/NULL", link.upgrade("ZWS2.0/NULL"));
    recv_ws_frame(link.peer);
    link.peer.send(from_client("abc", 0x89));
    EXPECT_EQ("8a03616263", hex_of(link.peer.recv(5)));
    link.peer.send(from_client(ready("PUSH")) + from_client("\0x"s));
    EXPECT_EQ("x", link.socket.recv());
}

TEST_F(Websocket, a_protocol_that_is_not_spoken_is_refused)
{
    test_socket socket(context_, ZMQ_PULL);
    const std::string endpoint = socket.bind_and_resolve(any_port);
    listening_post post(context_, socket);
    raw_peer peer(tcp_of(endpoint));
    const told accepted = post.expect(ZMQ_EVENT_ACCEPTED);
    EXPECT_EQ(endpoint, accepted.local);
    peer.send(request_of("ZWS2.0/CURVE"));
    EXPECT_TRUE(peer.recv_to_end().starts_with("HTTP/1.1 400 "));
    EXPECT_EQ(std::uint64_t{ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED},
              post.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
    EXPECT_EQ(accepted.values, post.expect(ZMQ_EVENT_DISCONNECTED).values);
    EXPECT_TRUE(post.quiet());
}

TEST_F(Websocket, tells_once_that_the_handshake_has_succeeded)
{
    test_socket socket(context_, ZMQ_PULL);
    listening_post post(context_, socket);
    const std::string endpoint = socket.bind_and_resolve(any_port + "/a");
    EXPECT_EQ(endpoint, post.expect(ZMQ_EVENT_LISTENING).local);
    test_socket peer(context_, ZMQ_PUSH);
    peer.connect(endpoint);
    EXPECT_EQ(endpoint, post.expect(ZMQ_EVENT_ACCEPTED).local);
    EXPECT_EQ(endpoint, post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED).local);
    EXPECT_TRUE(post.quiet());
}

TEST_F(Websocket, wrong_requests_are_told_what_is_wrong)
{
    const std::pair<std::string, std::string> rows[] = {
        {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "426"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody", "405"},
        {"GET / HTTP/1.0\r\n\r\n", "505"},
        {"\xff\0\0\0\0\0\0\0\1\x7f"s, "400"},
        {"GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x'), "431"},
    };
    ws_link link(context_, ZMQ_PULL);
    for (const auto& [request, status] : rows) {
        raw_peer peer(tcp_of(link.endpoint));
        peer.send(request);
        EXPECT_EQ("HTTP/1.1 " + status, peer.recv_to_end().substr(0, 12));
    }
}

TEST_F(Websocket, who_says_nothing_is_given_up)
{
    ws_link link(context_, ZMQ_PULL,
                 [](test_socket& socket) { socket.set(ZMQ_HANDSHAKE_IVL, 50); });
    EXPECT_TRUE(link.peer.ended());
    raw_peer half(tcp_of(link.endpoint));
    half.send("GET / HT");
    EXPECT_TRUE(half.ended());
}

TEST_F(Websocket, peers_to_be_authenticated_need_a_mechanism)
{
    ws_link link(context_, ZMQ_PULL,
                 [](test_socket& socket) { socket.set(ZMQ_ZAP_DOMAIN, "global"); });
    EXPECT_EQ("none", link.upgrade("ZWS2.0"));
}

// --- a server by hand

class WebsocketClient : public Websocket {
protected:
    std::string endpoint() const { return "ws://" + listener_.host_port() + "/a/b?c"; }
    void accept()
    {
        peer_ = listener_.accept();
        request_ = recv_head(peer_);
    }
    void answer(const std::string& protocol, const std::string& accept_value)
    {
        peer_.send("HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                   "Sec-WebSocket-Accept: " +
                   accept_value + "\r\nSec-WebSocket-Protocol: " + protocol + "\r\n\r\n");
    }

    raw_listener listener_;
    raw_peer peer_;
    std::string request_;
};

TEST_F(WebsocketClient, asks_for_its_path)
{
    test_socket socket(context_, ZMQ_PUSH);
    socket.connect(endpoint());
    accept();
    EXPECT_EQ("GET /a/b?c HTTP/1.1", request_.substr(0, request_.find("\r\n")));
    EXPECT_EQ(listener_.host_port(), field_of(request_, "Host"));
    EXPECT_EQ("websocket", field_of(request_, "Upgrade"));
    EXPECT_EQ("Upgrade", field_of(request_, "Connection"));
    EXPECT_EQ("13", field_of(request_, "Sec-WebSocket-Version"));
    EXPECT_EQ("ZWS2.0/NULL,ZWS2.0", field_of(request_, "Sec-WebSocket-Protocol"));
    EXPECT_EQ(24u, field_of(request_, "Sec-WebSocket-Key").size());
}

TEST_F(WebsocketClient, checks_the_answer_to_its_key)
{
    test_socket socket(context_, ZMQ_PUSH);
    socket.set(ZMQ_RECONNECT_IVL, 10);
    listening_post post(context_, socket);
    socket.connect(endpoint());
    accept();
    post.expect(ZMQ_EVENT_CONNECT_DELAYED);
    EXPECT_EQ(endpoint(), post.expect(ZMQ_EVENT_CONNECTED).local);
    answer("ZWS2.0", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    EXPECT_EQ(std::uint64_t{ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED},
              post.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
    post.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_TRUE(peer_.ended());
    EXPECT_TRUE(post.quiet());
}

TEST_F(WebsocketClient, comes_back_to_a_server_that_cannot_serve_now)
{
    test_socket socket(context_, ZMQ_PUSH);
    socket.set(ZMQ_RECONNECT_IVL, 10);
    socket.connect(endpoint());
    accept();
    peer_.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(peer_.ended());
    accept();
    EXPECT_TRUE(request_.starts_with("GET "));
}

// --- frames

TEST_F(Websocket, a_ping_is_answered_with_what_it_carries)
{
    ws_link link(context_, ZMQ_PULL);
    link.shake_hands("PUSH");
    link.peer.send(from_client("abc", 0x89));
    EXPECT_EQ("8a03616263", hex_of(link.peer.recv(5)));
    link.peer.send(from_client(std::string(125, 'p'), 0x89));
    EXPECT_EQ("\x8a" + std::string(125, 'p'), recv_ws_frame(link.peer));
    link.peer.send(from_client("", 0x8a) + from_client("\0x"s)); // a pong that nobody asked for
    EXPECT_EQ("x", link.socket.recv());
}

TEST_F(Websocket, a_close_is_answered_and_ends_the_connection)
{
    for (const std::string& payload : {"\x03\xe8"s, "\x03\xe9 bye"s, ""s}) {
        ws_link link(context_, ZMQ_PULL);
        link.shake_hands("PUSH");
        link.peer.send(from_client("\0last"s) + from_client(payload, 0x88));
        EXPECT_EQ(ws_frame(0x88, payload.substr(0, 2), false), link.peer.recv_to_end());
        EXPECT_EQ("last", link.socket.recv());
    }
}

TEST_F(Websocket, fragments_become_one_part)
{
    ws_link link(context_, ZMQ_PULL);
    link.shake_hands("PUSH");
    link.peer.send(from_client("\1on"s, 0x02) + from_client("?", 0x89) + from_client("e", 0x80) +
                   from_client("\0tw"s, 0x02) + from_client("", 0x00) + from_client("o", 0x80));
    EXPECT_EQ((parts{"one", "two"}), link.socket.recv_parts());
    EXPECT_EQ("8a013f", hex_of(link.peer.recv(3)));
}

TEST_F(Websocket, what_breaks_the_rules_is_told_by_a_close_code)
{
    const std::pair<std::string, std::string> rows[] = {
        {from_client("text", 0x81), "880203eb"},
        {from_client("", 0x82), "880203ea"},
        {from_client("\0x"s, 0xc2), "880203ea"},
        {from_client("x", 0x83), "880203ea"},
        {from_client("x", 0x80), "880203ea"},
        {ws_frame(0x82, "\0x"s, false), "880203ea"},
        {from_client("\0"s + std::string(101, 'x')), "880203f1"},
        {from_client("\0"s + std::string(100'000, 'x')), "880203f1"},
    };
    ws_link link(context_, ZMQ_PULL, [](test_socket& socket) { limit_messages(socket, 100); });
    for (const auto& [bytes, farewell] : rows) {
        link.peer = raw_peer(tcp_of(link.endpoint));
        link.shake_hands("PUSH");
        link.peer.send(from_client("\0good"s) + bytes);
        EXPECT_EQ("good", link.socket.recv());
        EXPECT_EQ(farewell, hex_of(link.peer.recv_to_end()));
    }
    link.peer = raw_peer(tcp_of(link.endpoint));
    link.shake_hands("PUSH");
    link.peer.send(from_client("\0"s + std::string(100, 'x')));
    EXPECT_EQ(std::string(100, 'x'), link.socket.recv());
}

TEST_F(Websocket, what_is_no_frame_during_the_handshake_is_told_as_well)
{
    ws_link link(context_, ZMQ_PULL);
    EXPECT_EQ("ZWS2.0/NULL", link.upgrade("ZWS2.0/NULL"));
    recv_ws_frame(link.peer);
    link.peer.send(from_client("text", 0x81));
    EXPECT_EQ("880203eb", hex_of(link.peer.recv_to_end()));
}

TEST_F(Websocket, heartbeats_are_pings)
{
    ws_link link(context_, ZMQ_PULL, [](test_socket& socket) {
        socket.set(ZMQ_HEARTBEAT_IVL, 30);
        socket.set(ZMQ_HEARTBEAT_TIMEOUT, 5000);
    });
    link.shake_hands("PUSH");
    EXPECT_EQ("8900", hex_of(link.peer.recv(2)));
    link.peer.send(from_client("", 0x8a));
    EXPECT_EQ("8900", hex_of(link.peer.recv(2)));
}

TEST_F(Websocket, a_peer_that_answers_no_ping_is_given_up)
{
    ws_link link(context_, ZMQ_PULL,
                 [](test_socket& socket) { socket.set(ZMQ_HEARTBEAT_IVL, 30); });
    link.shake_hands("PUSH");
    EXPECT_TRUE(link.peer.recv_to_end().starts_with("\x89"));
}

TEST_F(Websocket, subscriptions_are_messages)
{
    ws_link link(context_, ZMQ_SUB);
    link.socket.set(ZMQ_SUBSCRIBE, "top");
    link.shake_hands("PUB");
    EXPECT_EQ("82050001746f70", hex_of(link.peer.recv(7)));
    link.socket.set(ZMQ_UNSUBSCRIBE, "top");
    EXPECT_EQ("82050000746f70", hex_of(link.peer.recv(7)));
}

TEST_F(Websocket, subscriptions_are_understood_in_both_forms)
{
    ws_link link(context_, ZMQ_XPUB);
    link.shake_hands("SUB");
    link.peer.send(from_client("\0\1one"s) + from_client("\2\tSUBSCRIBEtwo"s));
    EXPECT_EQ("\1one", link.socket.recv());
    EXPECT_EQ("\1two", link.socket.recv());
}

// --- two sockets

TEST_F(Websocket, carries_parts_of_all_sizes_both_ways)
{
    auto made = link(ZMQ_PAIR, ZMQ_PAIR);
    for (const std::size_t bytes :
         {0, 1, 124, 125, 126, 255, 4096, 24'576, 65'534, 65'535, 65'536, 1'000'000, 5'000'000}) {
        std::string body(bytes, '\0');
        for (std::size_t i = 0; i < bytes; ++i)
            body[i] = static_cast<char>(i * 7 + i / 256);
        made.peer.send_parts({body, "end"});
        ASSERT_EQ((parts{body, "end"}), made.bound.recv_parts()) << bytes;
        made.bound.send_parts({"begin", body});
        ASSERT_EQ((parts{"begin", body}), made.peer.recv_parts()) << bytes;
    }
}

TEST_F(Websocket, carries_requests_and_replies)
{
    auto made = link(ZMQ_REP, ZMQ_REQ);
    for (int i = 0; i < 1000; ++i) {
        made.peer.send(std::to_string(i));
        ASSERT_EQ(std::to_string(i), made.bound.recv());
        made.bound.send("re" + std::to_string(i));
        ASSERT_EQ("re" + std::to_string(i), made.peer.recv());
    }
}

TEST_F(Websocket, carries_what_is_subscribed)
{
    auto made = link(ZMQ_XPUB, ZMQ_SUB);
    made.peer.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ("\1a", made.bound.recv());
    made.bound.send("b1");
    made.bound.send("a1");
    EXPECT_EQ("a1", made.peer.recv());
    made.peer.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ("\0a"s, made.bound.recv());
}

TEST_F(Websocket, carries_many_messages_in_order)
{
    auto made = link(ZMQ_PULL, ZMQ_PUSH);
    for (int i = 0; i < 20'000; ++i) {
        made.peer.send(std::to_string(i));
        for (int j = i - 499; i % 500 == 499 && j <= i; ++j)
            ASSERT_EQ(std::to_string(j), made.bound.recv());
    }
}

TEST_F(Websocket, carries_groups)
{
    auto made = link(ZMQ_DISH, ZMQ_RADIO);
    ASSERT_EQ(0, zmq_join(made.bound, "g"));
    zmq_msg_t message;
    ASSERT_TRUE(wait_until([&] {
        zmq_msg_init_size(&message, 1);
        zmq_msg_set_group(&message, "g");
        zmq_msg_send(&message, made.peer, 0);
        return made.bound.readable(quiet_window);
    }));
}

TEST_F(Websocket, shows_who_the_peer_is)
{
    auto made = link(ZMQ_PULL, ZMQ_PUSH);
    made.peer.send("x");
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_EQ(1, zmq_msg_recv(&message, made.bound, 0));
    EXPECT_STREQ("127.0.0.1", zmq_msg_gets(&message, "Peer-Address"));
    EXPECT_STREQ("PUSH", zmq_msg_gets(&message, "Socket-Type"));
    zmq_msg_close(&message);
}

TEST_F(Websocket, connects_again)
{
    auto made = link(ZMQ_PULL, ZMQ_PUSH, {},
                     [](test_socket& socket) { socket.set(ZMQ_RECONNECT_IVL, 10); });
    made.peer.send("before");
    EXPECT_EQ("before", made.bound.recv());
    made.bound.close();
    made.bound = test_socket(context_, ZMQ_PULL);
    ASSERT_TRUE(wait_until([&] { return zmq_bind(made.bound, made.address.c_str()) == 0; }));
    made.peer.send("after");
    EXPECT_EQ("after", made.bound.recv());
}

TEST_F(Websocket, works_over_ipv6)
{
    test_socket bound(context_, ZMQ_PULL);
    test_socket peer(context_, ZMQ_PUSH);
    bound.set(ZMQ_IPV6, 1);
    peer.set(ZMQ_IPV6, 1);
    const std::string endpoint = bound.bind_and_resolve("ws://[::1]:*/six");
    EXPECT_TRUE(endpoint.starts_with("ws://[::1]:")) << endpoint;
    peer.connect(endpoint);
    peer.send("x");
    EXPECT_EQ("x", bound.recv());
}

TEST_F(Websocket, works_with_plain)
{
    test_socket handler(context_, ZMQ_REP);
    handler.bind("inproc://zeromq.zap.01");
    auto made = link(
        ZMQ_PAIR, ZMQ_PAIR, [](test_socket& socket) { socket.set(ZMQ_PLAIN_SERVER, 1); },
        [](test_socket& socket) {
            socket.set(ZMQ_PLAIN_USERNAME, "me");
            socket.set(ZMQ_PLAIN_PASSWORD, "secret");
        });
    made.peer.send("x");
    const parts asked = handler.recv_parts();
    ASSERT_EQ(8u, asked.size());
    EXPECT_EQ((parts{"127.0.0.1", "", "PLAIN", "me", "secret"}),
              (parts{asked[3], asked[4], asked[5], asked[6], asked[7]}));
    handler.send_parts({"1.0", asked[1], "200", "OK", "user", ""});
    EXPECT_EQ("x", made.bound.recv());
    made.bound.send("y");
    EXPECT_EQ("y", made.peer.recv());
}

TEST_F(Websocket, works_with_curve)
{
    if (!zmq_has("curve"))
        GTEST_SKIP() << "the library has no CURVE";
    const key_pair server;
    const key_pair client;
    auto made = link(
        ZMQ_XPUB, ZMQ_SUB,
        [&](test_socket& socket) {
            socket.set(ZMQ_CURVE_SERVER, 1);
            socket.set(ZMQ_CURVE_SECRETKEY, server.secret_key.data());
        },
        [&](test_socket& socket) {
            socket.set(ZMQ_CURVE_SERVERKEY, server.public_key.data());
            socket.set(ZMQ_CURVE_PUBLICKEY, client.public_key.data());
            socket.set(ZMQ_CURVE_SECRETKEY, client.secret_key.data());
        });
    made.peer.set(ZMQ_SUBSCRIBE, "");
    EXPECT_EQ("\1", made.bound.recv());
    for (const std::size_t bytes : {1, 200, 70'000, 3'000'000}) {
        made.bound.send_parts({std::string(bytes, 'c'), "end"});
        EXPECT_EQ((parts{std::string(bytes, 'c'), "end"}), made.peer.recv_parts());
    }
}

TEST_F(Websocket, another_mechanism_is_a_protocol_that_is_not_spoken)
{
    test_socket bound(context_, ZMQ_PULL);
    const std::string endpoint = bound.bind_and_resolve(any_port);
    test_socket peer(context_, ZMQ_PUSH);
    peer.set(ZMQ_PLAIN_USERNAME, "me");
    listening_post post(context_, peer);
    peer.connect(endpoint);
    post.expect(ZMQ_EVENT_CONNECT_DELAYED);
    post.expect(ZMQ_EVENT_CONNECTED);
    EXPECT_EQ(std::uint64_t{ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED},
              post.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
    post.expect(ZMQ_EVENT_DISCONNECTED);
}

} // namespace
} // namespace zlink::test
