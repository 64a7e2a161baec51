// SPDX-License-Identifier: Apache-2.0
// Endpoints of ws:// that share a port and are told apart by their paths.
#define ZMQ_BUILD_DRAFT_API
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/websocket.hpp"

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::string_literals;

class WebsocketPaths : public ::testing::Test {
protected:
    /// The first of the endpoints: chooses the port.
    std::string bind_first(test_socket& socket, const std::string& path)
    {
        const std::string endpoint = socket.bind_and_resolve("ws://127.0.0.1:*" + path);
        base_ = endpoint.substr(0, endpoint.size() - path.size());
        return endpoint;
    }
    std::string at(const std::string& path) const { return base_ + path; }
    std::string answer_to(const std::string& path, const std::string& after = "")
    {
        peer_ = raw_peer(tcp_of(base_ + "/"));
        peer_.send(request_of("ZWS2.0", path) + after);
        return recv_head(peer_);
    }

    test_context context_;
    std::string base_;
    raw_peer peer_;
};

TEST_F(WebsocketPaths, choose_the_socket)
{
    test_socket prices(context_, ZMQ_PULL);
    test_socket orders(context_, ZMQ_REP);
    bind_first(prices, "/prices");
    orders.bind(at("/orders"));
    for (int i = 0; i < 20; ++i) {
        test_socket push(context_, ZMQ_PUSH);
        test_socket request(context_, ZMQ_REQ);
        request.connect(at("/orders"));
        push.connect(at("/prices"));
        request.send("buy");
        push.send("13");
        EXPECT_EQ("buy", orders.recv());
        orders.send("done");
        EXPECT_EQ("done", request.recv());
        EXPECT_EQ("13", prices.recv());
    }
}

TEST_F(WebsocketPaths, of_one_socket_are_endpoints_of_their_own)
{
    test_socket pull(context_, ZMQ_PULL);
    bind_first(pull, "/a");
    pull.bind(at("/b"));
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(pull, at("/a").c_str())));
    pull.unbind(at("/a"));
    test_socket push(context_, ZMQ_PUSH);
    push.connect(at("/b"));
    push.send("still there");
    EXPECT_EQ("still there", pull.recv());
    pull.unbind(at("/b"));
    pull.bind(at("/a"));
}

TEST_F(WebsocketPaths, that_nobody_has_are_404)
{
    test_socket one(context_, ZMQ_PULL);
    test_socket other(context_, ZMQ_PULL);
    bind_first(one, "/one");
    EXPECT_TRUE(answer_to("/else").starts_with("HTTP/1.1 101 ")); // a single one takes any
    other.bind(at("/other"));
    listening_post here(context_, one, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    listening_post there(context_, other, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    EXPECT_TRUE(answer_to("/else").starts_with("HTTP/1.1 404 "));
    EXPECT_TRUE(answer_to("/oneself").starts_with("HTTP/1.1 404 "));
    EXPECT_TRUE(answer_to("/one?x=/other").starts_with("HTTP/1.1 101 "));
    EXPECT_TRUE(answer_to("/other").starts_with("HTTP/1.1 101 "));
    other.unbind(at("/other"));
    EXPECT_TRUE(answer_to("/other").starts_with("HTTP/1.1 101 "));
}

TEST_F(WebsocketPaths, lose_nothing_that_came_with_the_request)
{
    test_socket one(context_, ZMQ_PULL);
    test_socket other(context_, ZMQ_PULL);
    bind_first(one, "/one");
    other.bind(at("/other"));
    const std::string frames = from_client("\0"s) + from_client("\0early"s);
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(answer_to("/one", frames).starts_with("HTTP/1.1 101 "));
        EXPECT_EQ("early", one.recv());
        EXPECT_TRUE(answer_to("/other", frames).starts_with("HTTP/1.1 101 "));
        EXPECT_EQ("early", other.recv());
    }
}

TEST_F(WebsocketPaths, wait_for_a_listener_that_comes_later)
{
    test_socket one(context_, ZMQ_PULL);
    test_socket two(context_, ZMQ_PULL);
    bind_first(one, "/one");
    two.bind(at("/two"));
    test_socket push(context_, ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 10);
    listening_post there(context_, push, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    push.connect(at("/later"));
    EXPECT_EQ(static_cast<std::uint64_t>(EAGAIN),
              there.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).values.at(0));
    push.send("at last");
    test_socket later(context_, ZMQ_PULL);
    later.bind(at("/later"));
    EXPECT_EQ("at last", later.recv());
}

TEST_F(WebsocketPaths, are_shared_within_a_context_by_sockets_that_ask_for_the_same)
{
    test_socket one(context_, ZMQ_PULL);
    bind_first(one, "/one");
    test_context another;
    test_socket stranger(another, ZMQ_PULL);
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(stranger, at("/two").c_str())));
    test_socket choosy(context_, ZMQ_PULL);
    choosy.set(ZMQ_TCP_ACCEPT_FILTER, "192.0.2.0/24");
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(choosy, at("/two").c_str())));
    test_socket plain(context_, ZMQ_PULL);
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(plain, tcp_of(at("/")).c_str())));
}

TEST_F(WebsocketPaths, have_a_mechanism_each)
{
    test_socket open(context_, ZMQ_PULL);
    test_socket closed(context_, ZMQ_PULL);
    closed.set(ZMQ_PLAIN_SERVER, 1);
    bind_first(open, "/open");
    closed.bind(at("/closed"));
    EXPECT_TRUE(answer_to("/open").starts_with("HTTP/1.1 101 "));
    EXPECT_TRUE(answer_to("/closed").starts_with("HTTP/1.1 400 "));
}

// Which of the sockets has accepted a connection shows in its events; it ends there.
TEST_F(WebsocketPaths, tell_of_connections_that_are_passed_on)
{
    test_socket one(context_, ZMQ_PULL);
    test_socket other(context_, ZMQ_PULL);
    bind_first(one, "/one");
    other.bind(at("/other"));
    listening_post at_one(context_, one, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED);
    listening_post at_other(context_, other, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED);
    std::vector<raw_peer> peers; // none of them leaves
    bool passed_on = false;
    for (int i = 0; i < 1000 && !passed_on; ++i) {
        for (const char* path : {"/other", "/one"}) {
            answer_to(path);
            peers.push_back(std::move(peer_));
        }
        // Each has at least one event for its own path.
        for (listening_post* const post : {&at_one, &at_other})
            passed_on |= post->next().event == ZMQ_EVENT_DISCONNECTED;
    }
    EXPECT_TRUE(passed_on);
}

TEST_F(WebsocketPaths, come_and_go_while_others_are_connected_to)
{
    test_socket stays(context_, ZMQ_PULL);
    bind_first(stays, "/stays");
    std::atomic<bool> done{false};
    std::thread changes([&] {
        test_socket changing(context_, ZMQ_PULL);
        while (!done.load()) {
            changing.bind(at("/changing"));
            changing.unbind(at("/changing"));
        }
    });
    for (int i = 0; i < 200; ++i) {
        test_socket push(context_, ZMQ_PUSH);
        push.connect(at("/stays"));
        push.send("x");
        EXPECT_EQ("x", stays.recv());
    }
    done = true;
    changes.join();
}

} // namespace
} // namespace zlink::test
