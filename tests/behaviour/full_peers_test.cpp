// SPDX-License-Identifier: Apache-2.0
// ROUTER and STREAM while one of the peers that messages are for takes nothing more.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

#include <future>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class FullPeer : public transport_test {
protected:
    static constexpr const char* name = "full";

    /// Bound, to be reached at address_.
    test_socket bound(int type)
    {
        test_socket socket(context_, type);
        socket.set(ZMQ_SNDHWM, 2);
        if (type == ZMQ_ROUTER)
            socket.set(ZMQ_ROUTER_MANDATORY, 1);
        address_ = socket.bind_and_resolve(fresh_bind_address(GetParam()));
        return socket;
    }
    /// One that the router knows.
    test_socket dealer(test_socket& router, const std::string& id)
    {
        test_socket peer(context_, ZMQ_DEALER);
        peer.set(ZMQ_RCVHWM, 2);
        peer.set(ZMQ_ROUTING_ID, id);
        peer.connect(address_);
        peer.send("hello");
        EXPECT_EQ((parts{id, "hello"}), router.recv_parts());
        return peer;
    }
    /// Sends to a peer until there has been no room for a while: the kernel may take a little more
    /// now and then though nobody reads.
    static int fill(test_socket& socket, const std::string& id)
    {
        socket.set(ZMQ_SNDTIMEO, 400);
        int sent = 0;
        for (; zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE) >= 0; ++sent)
            socket.send(body);
        EXPECT_EQ(EAGAIN, zmq_errno());
        socket.set(ZMQ_SNDTIMEO, static_cast<int>(patience.count()));
        return sent;
    }
    /// Calls `leave` while another thread waits for room at the peer, as often as there is some
    /// again: a peer that ends may take a little more.
    static void expect_the_wait_to_end(test_socket& socket, const std::string& id,
                                       const std::function<void()>& leave)
    {
        std::promise<void> begun;
        std::future<int> waiting = std::async(std::launch::async, [&] {
            begun.set_value();
            while (zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE) != -1)
                zmq_send(socket, body.data(), body.size(), 0);
            return zmq_errno();
        });
        begun.get_future().wait();
        EXPECT_EQ(std::future_status::timeout, waiting.wait_for(quiet_window));
        const stopwatch clock;
        leave();
        EXPECT_EQ(EHOSTUNREACH, waiting.get());
        EXPECT_GT(patience.count() / 2, clock.elapsed_ms()); // the time-out comes later
    }
    static bool refuses(test_socket& socket, const std::string& id)
    {
        return zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) == -1;
    }

    static inline const std::string body = std::string(1'000'000, 'x');
    std::string address_;
};

TEST_P(FullPeer, leaves_a_mandatory_router_writable_for_the_others)
{
    test_socket router = bound(ZMQ_ROUTER);
    const test_socket full = dealer(router, name);
    fill(router, name);
    EXPECT_EQ(0, router.events() & ZMQ_POLLOUT);
    test_socket roomy = dealer(router, "roomy");
    EXPECT_TRUE(router.writable());
    ASSERT_TRUE(refuses(router, name));
    EXPECT_EQ(EAGAIN, zmq_errno());
    router.send_parts({"roomy", "arrives"});
    EXPECT_EQ(parts{"arrives"}, roomy.recv_parts());
    ASSERT_TRUE(refuses(router, "unknown"));
    EXPECT_EQ(EHOSTUNREACH, zmq_errno());
}

ZLINK_ALL_TRANSPORTS(FullPeer);

class ZlinkOnlyFullPeer : public FullPeer {};

// libzmq goes on waiting within a process, and says that a router is writable whose peers are full.
TEST_P(ZlinkOnlyFullPeer, that_leaves_ends_the_wait_of_a_mandatory_router)
{
    test_socket router = bound(ZMQ_ROUTER);
    test_socket full = dealer(router, name);
    fill(router, name);
    expect_the_wait_to_end(router, name, [&] { full.close(); });
    test_socket next = dealer(router, name);
    router.send_parts({name, "arrives"});
    EXPECT_EQ(parts{"arrives"}, next.recv_parts());
}

TEST_P(ZlinkOnlyFullPeer, makes_a_mandatory_router_unwritable_when_the_others_have_left)
{
    test_socket router = bound(ZMQ_ROUTER);
    test_socket full = dealer(router, name);
    const int sent = fill(router, name);
    for (int round = 0; round < 2; ++round) {
        test_socket roomy = dealer(router, "roomy");
        EXPECT_TRUE(router.writable());
        roomy.close();
        EXPECT_TRUE(wait_until([&] { return (router.events() & ZMQ_POLLOUT) == 0; }));
        EXPECT_FALSE(router.writable(1ms));
    }
    for (int index = 0; index < sent; ++index)
        ASSERT_TRUE(body == full.recv()) << index;
    EXPECT_TRUE(router.writable());
    full.close();
    EXPECT_TRUE(wait_until([&] { return (router.events() & ZMQ_POLLOUT) == 0; }));
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyFullPeer);

class ZlinkOnlyFullStreamPeer : public FullPeer {};

// libzmq waits until the caller, who is waiting, has read what the peer sent.
TEST_P(ZlinkOnlyFullStreamPeer, that_leaves_ends_the_wait_of_the_sender)
{
    for (const bool with_bytes_unread : {false, true}) {
        test_socket stream = bound(ZMQ_STREAM);
        raw_peer full(address_);
        const std::string id = stream.recv_parts().front();
        fill(stream, id);
        raw_peer roomy(address_);
        const std::string other = stream.recv_parts().front();
        if (with_bytes_unread) {
            full.send("unread");
            ASSERT_TRUE(stream.readable());
        }
        expect_the_wait_to_end(stream, id, [&] { full.close(); });
        stream.send_parts({other, "arrives"});
        EXPECT_EQ("arrives", roomy.recv(7));
        if (with_bytes_unread) {
            EXPECT_EQ((parts{id, "unread"}), stream.recv_parts());
        }
        EXPECT_EQ((parts{id, ""}), stream.recv_parts());
    }
}

ZLINK_LINKS_WITH(ZlinkOnlyFullStreamPeer, has_plain_zmtp);

} // namespace
} // namespace zlink::test
