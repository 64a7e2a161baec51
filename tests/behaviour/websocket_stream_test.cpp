// SPDX-License-Identifier: Apache-2.0
// STREAM and ZMQ_ROUTER_RAW over ws://: a chunk for each binary message, with peers that ask for no
// protocol.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"
#include "support/websocket.hpp"

#include <cerrno>
#include <string>

namespace zlink::test {
namespace {

using namespace std::string_literals;

/// A STREAM that is bound, and a client by hand.
class WebsocketStream : public ::testing::Test {
protected:
    void open(const std::string& protocols = "")
    {
        peer_ = raw_peer(tcp_of(endpoint_));
        peer_.send(request_of(protocols));
        head_ = recv_head(peer_);
    }
    /// The client is told of: returns its routing id.
    std::string come()
    {
        open();
        const parts notice = socket_.recv_parts();
        EXPECT_EQ(2u, notice.size());
        EXPECT_EQ("", notice.back());
        return notice.front();
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_STREAM};
    const std::string endpoint_ = socket_.bind_and_resolve("ws://127.0.0.1:*/bytes");
    raw_peer peer_;
    std::string head_;
};

TEST_F(WebsocketStream, a_binary_message_is_a_chunk)
{
    const std::string id = come();
    EXPECT_TRUE(head_.starts_with("HTTP/1.1 101 ")) << head_;
    EXPECT_EQ("none", field_of(head_, "Sec-WebSocket-Protocol"));
    const std::string large(200'000, 'x');
    for (const std::string& chunk : {"a"s, "two"s, large}) {
        peer_.send(from_client(chunk));
        EXPECT_EQ((parts{id, chunk}), socket_.recv_parts());
        socket_.send_parts({id, chunk});
        EXPECT_EQ("\x82" + chunk, recv_ws_frame(peer_));
    }
}

TEST_F(WebsocketStream, fragments_are_one_chunk)
{
    const std::string id = come();
    peer_.send(from_client("", 0x02) + from_client("on", 0x00) + from_client("?", 0x89) +
               from_client("e", 0x80));
    EXPECT_EQ((parts{id, "one"}), socket_.recv_parts());
    EXPECT_EQ("8a013f", hex_of(peer_.recv(3)));
}

// An empty chunk would say that the peer has gone.
TEST_F(WebsocketStream, an_empty_message_is_left_out)
{
    const std::string id = come();
    peer_.send(from_client("") + from_client("next"));
    EXPECT_EQ((parts{id, "next"}), socket_.recv_parts());
}

TEST_F(WebsocketStream, an_empty_chunk_closes_the_websocket)
{
    const std::string id = come();
    socket_.send_parts({id, "last"});
    socket_.send_parts({id, ""});
    EXPECT_EQ("\x82last", recv_ws_frame(peer_));
    EXPECT_EQ("880203e8", hex_of(peer_.recv_to_end()));
}

TEST_F(WebsocketStream, a_closed_websocket_is_an_empty_chunk)
{
    const std::string id = come();
    peer_.send(from_client("last") + from_client("\x03\xe8", 0x88));
    EXPECT_EQ("880203e8", hex_of(peer_.recv_to_end()));
    EXPECT_EQ((parts{id, "last"}), socket_.recv_parts());
    EXPECT_EQ((parts{id, ""}), socket_.recv_parts());
}

TEST_F(WebsocketStream, who_asks_for_a_protocol_is_refused)
{
    open("ZWS2.0");
    EXPECT_TRUE(head_.starts_with("HTTP/1.1 400 ")) << head_;
}

TEST_F(WebsocketStream, heartbeats_are_pings)
{
    test_socket socket(context_, ZMQ_STREAM);
    socket.set(ZMQ_HEARTBEAT_IVL, 30);
    socket.set(ZMQ_HEARTBEAT_TIMEOUT, 5000);
    raw_peer peer(tcp_of(socket.bind_and_resolve("ws://127.0.0.1:*")));
    peer.send(request_of(""));
    recv_head(peer);
    EXPECT_EQ("8900", hex_of(peer.recv(2)));
}

TEST_F(WebsocketStream, a_message_beyond_the_limit_ends_the_connection)
{
    test_socket socket(context_, ZMQ_STREAM);
    const std::int64_t most_bytes = 10;
    ASSERT_EQ(0, zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most_bytes, sizeof most_bytes));
    raw_peer peer(tcp_of(socket.bind_and_resolve("ws://127.0.0.1:*")));
    peer.send(request_of("") + from_client("0123456789") + from_client("0123456789A"));
    recv_head(peer);
    EXPECT_EQ("880203f1", hex_of(peer.recv_to_end()));
    const std::string id = socket.recv_parts().front();
    EXPECT_EQ((parts{id, "0123456789"}), socket.recv_parts());
    EXPECT_EQ((parts{id, ""}), socket.recv_parts());
}

TEST_F(WebsocketStream, connects_without_a_protocol)
{
    test_socket client(context_, ZMQ_STREAM);
    client.connect(endpoint_);
    const std::string server = client.recv_parts().front();
    const std::string peer = socket_.recv_parts().front();
    client.send_parts({server, "question"});
    EXPECT_EQ((parts{peer, "question"}), socket_.recv_parts());
    socket_.send_parts({peer, "answer"});
    EXPECT_EQ((parts{server, "answer"}), client.recv_parts());
}

TEST_F(WebsocketStream, a_raw_router_has_chunks_as_well)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_RAW, 1);
    raw_peer peer(tcp_of(router.bind_and_resolve("ws://127.0.0.1:*")));
    peer.send(request_of("") + from_client("chunk"));
    recv_head(peer);
    const std::string id = router.recv_parts().front(); // it has come
    EXPECT_EQ((parts{id, "chunk"}), router.recv_parts());
    router.send_parts({id, "answer"});
    EXPECT_EQ("\x82"
              "answer",
              recv_ws_frame(peer));
}

} // namespace
} // namespace zlink::test
