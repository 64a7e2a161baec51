// SPDX-License-Identifier: Apache-2.0
// Where ZMQ_HELLO_MSG, ZMQ_DISCONNECT_MSG and ZMQ_HICCUP_MSG do nothing: on types that do not use
// them, and after the endpoint was made.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/draft.hpp"
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <optional>
#include <ostream>
#include <utility>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// --- ZMQ_HELLO_MSG ---------------------------------------------------------------------------

/// A socket type, and the type of a peer.
struct type_and_peer {
    const char* name;
    int type;
    const char* peer_name; ///< in READY
    int peer;
};

void PrintTo(const type_and_peer& types, std::ostream* out)
{
    *out << types.name;
}

class HelloNotUsed : public ::testing::TestWithParam<type_and_peer> {
protected:
    test_socket socket()
    {
        test_socket socket(context_, GetParam().type);
        socket.set(ZMQ_HELLO_MSG, "HELLO");
        return socket;
    }
    /// Anything but the answer to PING.
    static void expect_no_greeting(const raw_peer& peer)
    {
        zmtp::play(peer, {zmtp::greeting(), zmtp::ready(GetParam().peer_name) + zmtp::ping(), ""});
        EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(peer));
    }

    test_context context_;
};

TEST_P(HelloNotUsed, is_not_sent_to_whoever_comes)
{
    for (const transport kind : {transport::tcp, transport::ipc}) {
        test_socket bound = socket();
        expect_no_greeting(raw_peer(bound.bind_and_resolve(fresh_bind_address(kind))));
    }
}

TEST_P(HelloNotUsed, is_not_sent_where_it_connects)
{
    const raw_listener listener;
    test_socket connecting = socket();
    connecting.connect(listener.endpoint());
    expect_no_greeting(listener.accept());
}

const type_and_peer not_greeting[] = {
    {"pair", ZMQ_PAIR, "PAIR", ZMQ_PAIR},
    {"pub", ZMQ_PUB, "SUB", ZMQ_SUB},
    {"sub", ZMQ_SUB, "PUB", ZMQ_PUB},
    {"xpub", ZMQ_XPUB, "SUB", ZMQ_SUB},
    {"xsub", ZMQ_XSUB, "PUB", ZMQ_PUB},
    {"pull", ZMQ_PULL, "PUSH", ZMQ_PUSH},
    {"push", ZMQ_PUSH, "PULL", ZMQ_PULL},
    {"channel", ZMQ_CHANNEL, "CHANNEL", ZMQ_CHANNEL},
    {"gather", ZMQ_GATHER, "SCATTER", ZMQ_SCATTER},
    {"scatter", ZMQ_SCATTER, "GATHER", ZMQ_GATHER},
    {"radio", ZMQ_RADIO, "DISH", ZMQ_DISH},
    {"dish", ZMQ_DISH, "RADIO", ZMQ_RADIO},
};

INSTANTIATE_TEST_SUITE_P(Of, HelloNotUsed, ::testing::ValuesIn(not_greeting),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(HelloOfAStream, is_not_sent)
{
    test_context context;
    test_socket socket(context, ZMQ_STREAM);
    socket.set(ZMQ_HELLO_MSG, "HELLO");
    const raw_peer peer(socket.bind_and_resolve("tcp://127.0.0.1:*"));
    socket.send_parts({socket.recv_parts().at(0), "first"});
    EXPECT_EQ("first", peer.recv(5));
}

/// Types whose peers would see a greeting within the process as well.
TEST(HelloWithinAProcess, is_not_sent_by_types_that_do_not_greet)
{
    test_context context;
    for (const auto& [type, peer_type] : {std::pair{ZMQ_PAIR, ZMQ_PAIR},
                                          {ZMQ_PUSH, ZMQ_PULL},
                                          {ZMQ_PUB, ZMQ_XSUB},
                                          {ZMQ_XPUB, ZMQ_XSUB},
                                          {ZMQ_XSUB, ZMQ_XPUB},
                                          {ZMQ_CHANNEL, ZMQ_CHANNEL},
                                          {ZMQ_SCATTER, ZMQ_GATHER},
                                          {ZMQ_RADIO, ZMQ_DISH}}) {
        SCOPED_TRACE(type);
        for (const bool binds : {true, false}) {
            const auto greeting = [](test_socket& socket) { socket.set(ZMQ_HELLO_MSG, "HELLO"); };
            connected_pair pair =
                binds ? link(context, transport::inproc, type, peer_type, greeting)
                      : link(context, transport::inproc, peer_type, type, {}, greeting);
            test_socket& socket = binds ? pair.bound : pair.peer;
            test_socket& peer = binds ? pair.peer : pair.bound;
            if (peer_type == ZMQ_XSUB)
                peer.send("\1"s);
            if (peer_type == ZMQ_DISH) {
                ASSERT_EQ(0, zmq_join(peer, ""));
            }
            ASSERT_TRUE(wait_until([&] {
                socket.send("first");
                return peer.readable(2ms);
            }));
            EXPECT_EQ("first", peer.recv());
        }
    }
}

// --- ZMQ_DISCONNECT_MSG ----------------------------------------------------------------------

class DisconnectNotUsed : public transport_test {};

const type_and_peer not_told_of_departures[] = {
    {"pair", ZMQ_PAIR, "PAIR", ZMQ_PAIR},
    {"dealer", ZMQ_DEALER, "DEALER", ZMQ_DEALER},
    {"req", ZMQ_REQ, "REP", ZMQ_REP},
    {"pull", ZMQ_PULL, "PUSH", ZMQ_PUSH},
    {"sub", ZMQ_SUB, "PUB", ZMQ_PUB},
    {"xsub", ZMQ_XSUB, "PUB", ZMQ_PUB},
    {"xpub", ZMQ_XPUB, "XSUB", ZMQ_XSUB},
    {"client", ZMQ_CLIENT, "SERVER", ZMQ_SERVER},
    {"gather", ZMQ_GATHER, "SCATTER", ZMQ_SCATTER},
    {"dish", ZMQ_DISH, "RADIO", ZMQ_RADIO},
    {"channel", ZMQ_CHANNEL, "CHANNEL", ZMQ_CHANNEL},
};

TEST_P(DisconnectNotUsed, no_message_comes_from_a_peer_that_has_gone)
{
    struct left_socket {
        const char* name;
        test_socket socket;
    };
    std::vector<left_socket> left;
    for (const type_and_peer& types : not_told_of_departures) {
        left.push_back({types.name, test_socket(context_, types.type)});
        test_socket& socket = left.back().socket;
        socket.set(ZMQ_DISCONNECT_MSG, "gone");
        if (types.type == ZMQ_SUB)
            socket.set(ZMQ_SUBSCRIBE, "");
        if (types.type == ZMQ_DISH) {
            ASSERT_EQ(0, zmq_join(socket, ""));
        }
        std::optional<listening_post> post;
        if (GetParam() != transport::inproc)
            post.emplace(context_, socket, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
        test_socket peer(context_, types.peer);
        peer.connect(socket.bind_and_resolve(fresh_bind_address(GetParam())));
        if (post)
            post->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        if (types.type == ZMQ_REQ) {
            socket.send("question"); // otherwise it would not listen
            EXPECT_EQ("question", peer.recv());
        }
        peer.close();
        if (post)
            post->expect(ZMQ_EVENT_DISCONNECTED);
    }
    auto window = quiet_window; // one for all of them
    for (const left_socket& each : left) {
        EXPECT_FALSE(each.socket.readable(window)) << each.name;
        window = 0ms;
    }
}

ZLINK_ALL_TRANSPORTS(DisconnectNotUsed);

// --- ZMQ_HICCUP_MSG --------------------------------------------------------------------------

const type_and_peer not_told_of_hiccups[] = {
    {"pair", ZMQ_PAIR, "PAIR", ZMQ_PAIR},
    {"router", ZMQ_ROUTER, "DEALER", ZMQ_DEALER},
    {"rep", ZMQ_REP, "REQ", ZMQ_REQ},
    {"pull", ZMQ_PULL, "PUSH", ZMQ_PUSH},
    {"sub", ZMQ_SUB, "PUB", ZMQ_PUB},
    {"xsub", ZMQ_XSUB, "PUB", ZMQ_PUB},
    {"xpub", ZMQ_XPUB, "SUB", ZMQ_SUB},
    {"server", ZMQ_SERVER, "CLIENT", ZMQ_CLIENT},
    {"gather", ZMQ_GATHER, "SCATTER", ZMQ_SCATTER},
    {"dish", ZMQ_DISH, "RADIO", ZMQ_RADIO},
    {"channel", ZMQ_CHANNEL, "CHANNEL", ZMQ_CHANNEL},
};

/// A connection that ends before the next one comes.
void connect_and_break(const raw_listener& listener, const std::string& peer_name)
{
    zmtp::shake_hands(listener.accept(), peer_name);
}

/// One that stays.
/// @param words what the peer says first
raw_peer connect_for_good(const raw_listener& listener, const std::string& peer_name,
                          const std::string& words = "")
{
    raw_peer peer = listener.accept();
    zmtp::play(peer, {zmtp::greeting(), zmtp::ready(peer_name) + words, ""});
    return peer;
}

TEST(HiccupNotUsed, no_message_comes_when_a_connection_is_made_again)
{
    test_context context;
    std::vector<test_socket> sockets;
    std::vector<raw_peer> peers;
    for (const type_and_peer& types : not_told_of_hiccups) {
        sockets.emplace_back(context, types.type);
        test_socket& socket = sockets.back();
        socket.set(ZMQ_RECONNECT_IVL, 5);
        socket.set(ZMQ_HICCUP_MSG, "hiccup");
        if (types.type == ZMQ_SUB)
            socket.set(ZMQ_SUBSCRIBE, "");
        const raw_listener listener;
        socket.connect(listener.endpoint());
        connect_and_break(listener, types.peer_name);
        peers.push_back(connect_for_good(listener, types.peer_name));
    }
    auto window = quiet_window; // one for all of them
    for (std::size_t index = 0; index < sockets.size(); ++index) {
        EXPECT_FALSE(sockets[index].readable(window)) << not_told_of_hiccups[index].name;
        window = 0ms;
    }
}

class HiccupMoments : public ::testing::Test {
protected:
    /// What a dealer hears of its first connections, for which the message is set in this order.
    std::vector<std::string> heard(const parts& before_connect, const parts& afterwards)
    {
        const raw_listener listener;
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_RECONNECT_IVL, 5);
        for (const std::string& text : before_connect)
            dealer.set(ZMQ_HICCUP_MSG, text);
        dealer.connect(listener.endpoint());
        for (const std::string& text : afterwards)
            dealer.set(ZMQ_HICCUP_MSG, text);
        for (int connection = 0; connection < 2; ++connection)
            connect_and_break(listener, "DEALER");
        const raw_peer third = connect_for_good(listener, "DEALER", zmtp::frame("from the third"));
        std::vector<std::string> messages;
        do {
            messages.push_back(dealer.recv());
        } while (messages.back() != "from the third");
        return messages;
    }

    test_context context_;
};

TEST_F(HiccupMoments, it_is_that_of_the_connect_for_every_connection)
{
    const parts expected{"of the connect", "of the connect", "from the third"};
    EXPECT_EQ(expected, heard({"of the connect"}, {}));
    EXPECT_EQ(expected, heard({"of the connect"}, {"later"}));
    EXPECT_EQ(expected, heard({"of the connect"}, {""}));
    EXPECT_EQ(expected, heard({"earlier", "of the connect"}, {"later", ""}));
}

TEST_F(HiccupMoments, there_is_none_if_none_was_wanted_at_the_connect)
{
    const parts expected{"from the third"};
    EXPECT_EQ(expected, heard({}, {"later"}));
    EXPECT_EQ(expected, heard({"taken back", ""}, {}));
    EXPECT_EQ(expected, heard({"taken back", ""}, {"later"}));
}

} // namespace
} // namespace zlink::test
