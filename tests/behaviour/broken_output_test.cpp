// SPDX-License-Identifier: Apache-2.0
// A connection that cannot be written to any more, but still has something to read.
#define ZMQ_BUILD_DRAFT_API
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

constexpr int messages = 150;
constexpr std::size_t body_bytes = 1'000;

class ZlinkOnlyBrokenOutput : public transport_test {
protected:
    // A peer that has sent more than the socket has read, and then gone.
    void leave_unread(test_socket& socket, const std::string& peer_type, bool abruptly)
    {
        socket.set(ZMQ_RCVHWM, 1);
        socket.set(ZMQ_RCVBUF, 500'000); // all of it lies in the kernel at this side
        raw_peer peer(socket.bind_and_resolve(fresh_bind_address(GetParam())));
        zmtp::shake_hands(peer, peer_type);
        std::string all;
        for (int index = 0; index < messages; ++index)
            all += zmtp::frame(body(index));
        peer.send(all);
        ASSERT_TRUE(socket.readable());
        peer.wait_until_sent();
        if (abruptly)
            peer.abort();
        else
            peer.close();
    }
    static std::string body(int index)
    {
        std::string text = std::to_string(index);
        return text.append(body_bytes - text.size(), 'x');
    }

    test_context context_;
};

// libzmq loses most of it.
TEST_P(ZlinkOnlyBrokenOutput, does_not_lose_what_has_come)
{
    for (const bool abruptly : {false, true}) {
        test_socket socket(context_, ZMQ_PAIR);
        listening_post post(context_, socket, ZMQ_EVENT_DISCONNECTED);
        ASSERT_NO_FATAL_FAILURE(leave_unread(socket, "PAIR", abruptly));
        EXPECT_TRUE(wait_until([&] {
            socket.try_send("for nobody");
            return post.socket().readable(0ms);
        }));
        for (int index = 0; index < messages; ++index)
            ASSERT_EQ(body(index), socket.recv()) << index;
        ASSERT_EQ(0, zmq_socket_monitor(socket, nullptr, 0));
    }
}

ZLINK_LINKS_WITH(ZlinkOnlyBrokenOutput, has_plain_zmtp);

} // namespace
} // namespace zlink::test
