// SPDX-License-Identifier: Apache-2.0
// Which origins may open a WebSocket.
#define ZMQ_BUILD_DRAFT_API
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/websocket.hpp"

#include <string>

namespace zlink::test {
namespace {

using namespace std::string_literals;

const std::string page = "https://page.example:8443";

class ZlinkOnlyOrigins : public ::testing::Test {
protected:
    /// The status of the answer to a request with these fields.
    static std::string status(const std::string& endpoint, const std::string& fields,
                              const std::string& path = "/", const std::string& protocol = "ZWS2.0")
    {
        raw_peer peer(tcp_of(endpoint));
        const std::string request = request_of(protocol, path);
        const auto first_line_end = request.find("\r\n") + 2;
        peer.send(request.substr(0, first_line_end) + fields + request.substr(first_line_end));
        const std::string head = recv_head(peer);
        EXPECT_EQ("HTTP/1.1 ", head.substr(0, 9));
        return head.substr(9, 3);
    }
    static std::string origin(const std::string& value) { return "Origin: " + value + "\r\n"; }

    test_context context_;
};

TEST_F(ZlinkOnlyOrigins, are_all_admitted_by_default)
{
    test_socket pull(context_, ZMQ_PULL);
    const std::string endpoint = pull.bind_and_resolve("ws://127.0.0.1:*");
    for (const std::string& fields : {""s, origin(page), origin("null"), origin("nonsense")})
        EXPECT_EQ("101", status(endpoint, fields)) << fields;
}

TEST_F(ZlinkOnlyOrigins, that_are_listed_are_admitted_and_no_others)
{
    test_socket pull(context_, ZMQ_PULL);
    pull.set(ZMQ_WS_ALLOWED_ORIGINS, page + ", http://localhost");
    const std::string endpoint = pull.bind_and_resolve("ws://127.0.0.1:*");
    for (const std::string& fields :
         {origin(page), origin("HTTPS://Page.Example:8443"), origin("http://localhost:80"),
          "ORIGIN:  http://LOCALHOST \r\n"s})
        EXPECT_EQ("101", status(endpoint, fields)) << fields;
    for (const std::string& fields :
         {""s, origin(""), origin("null"), origin("https://page.example"),
          origin("http://page.example:8443"), origin("https://page.example:8443/"),
          origin("https://evil.example"), origin("http://localhost.evil.example"),
          origin(page) + origin(page), origin(page) + origin("https://evil.example"),
          origin(page + ", https://evil.example"), origin("*")})
        EXPECT_EQ("403", status(endpoint, fields)) << fields;
}

TEST_F(ZlinkOnlyOrigins, may_be_null)
{
    test_socket pull(context_, ZMQ_PULL);
    pull.set(ZMQ_WS_ALLOWED_ORIGINS, "null");
    const std::string endpoint = pull.bind_and_resolve("ws://127.0.0.1:*");
    EXPECT_EQ("101", status(endpoint, origin("null")));
    EXPECT_EQ("403", status(endpoint, origin(page)));
    EXPECT_EQ("403", status(endpoint, ""));
}

TEST_F(ZlinkOnlyOrigins, are_those_of_the_time_of_the_bind)
{
    test_socket pull(context_, ZMQ_PULL);
    const std::string open = pull.bind_and_resolve("ws://127.0.0.1:*");
    pull.set(ZMQ_WS_ALLOWED_ORIGINS, page);
    const std::string choosy = pull.bind_and_resolve("ws://127.0.0.1:*");
    pull.set(ZMQ_WS_ALLOWED_ORIGINS, "");
    EXPECT_EQ("101", status(open, ""));
    EXPECT_EQ("403", status(choosy, ""));
    EXPECT_EQ("101", status(choosy, origin(page)));
}

// Whichever socket accepts the connection, the list is that of the path.
TEST_F(ZlinkOnlyOrigins, are_those_of_the_path_where_sockets_share_a_port)
{
    test_socket open(context_, ZMQ_PULL);
    test_socket choosy(context_, ZMQ_PULL);
    choosy.set(ZMQ_WS_ALLOWED_ORIGINS, page);
    const std::string endpoint = choosy.bind_and_resolve("ws://127.0.0.1:*/choosy");
    open.bind(endpoint.substr(0, endpoint.rfind('/')) + "/open");
    listening_post here(context_, choosy, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    listening_post there(context_, open, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ("101", status(endpoint, "", "/open"));
        EXPECT_EQ("403", status(endpoint, "", "/choosy"));
        here.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
        EXPECT_EQ("101", status(endpoint, origin(page), "/choosy"));
        EXPECT_EQ("404", status(endpoint, origin(page), "/else"));
    }
}

TEST_F(ZlinkOnlyOrigins, are_checked_for_plain_websockets_too)
{
    test_socket stream(context_, ZMQ_STREAM);
    stream.set(ZMQ_WS_ALLOWED_ORIGINS, page);
    const std::string endpoint = stream.bind_and_resolve("ws://127.0.0.1:*");
    EXPECT_EQ("403", status(endpoint, "", "/", ""));
    EXPECT_EQ("101", status(endpoint, origin(page), "/", ""));
}

TEST_F(ZlinkOnlyOrigins, that_are_refused_are_told_at_both_ends_and_not_tried_again)
{
    test_socket pull(context_, ZMQ_PULL);
    pull.set(ZMQ_WS_ALLOWED_ORIGINS, page);
    const std::string endpoint = pull.bind_and_resolve("ws://127.0.0.1:*");
    for (const char* named : {"", "https://evil.example"}) {
        test_socket push(context_, ZMQ_PUSH);
        push.set(ZMQ_WS_ORIGIN, named);
        push.set(ZMQ_RECONNECT_IVL, 1);
        constexpr int events = ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_DISCONNECTED |
                               ZMQ_EVENT_CONNECT_RETRIED;
        listening_post here(context_, pull, events);
        listening_post there(context_, push, events);
        push.connect(endpoint);
        for (listening_post* post : {&here, &there}) {
            EXPECT_EQ(std::uint64_t{ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED},
                      post->expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
            post->expect(ZMQ_EVENT_DISCONNECTED);
        }
        EXPECT_TRUE(there.quiet());
    }
}

TEST_F(ZlinkOnlyOrigins, are_named_by_clients_that_are_no_browsers)
{
    test_socket rep(context_, ZMQ_REP);
    rep.set(ZMQ_WS_ALLOWED_ORIGINS, page);
    test_socket req(context_, ZMQ_REQ);
    req.set(ZMQ_WS_ORIGIN, page);
    req.connect(rep.bind_and_resolve("ws://127.0.0.1:*/path"));
    req.send("question");
    EXPECT_EQ("question", rep.recv());
    rep.send("answer");
    EXPECT_EQ("answer", req.recv());
}

} // namespace
} // namespace zlink::test
