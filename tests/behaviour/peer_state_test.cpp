// SPDX-License-Identifier: Apache-2.0
// zmq_socket_get_peer_state, a draft function, and what can be seen with it.
#define ZMQ_BUILD_DRAFT_API
#include "support/fixture.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class PeerState : public transport_test {
protected:
    test_socket named_dealer(const std::string& address, const std::string& id)
    {
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_ROUTING_ID, id);
        dealer.connect(address);
        return dealer;
    }
};

TEST_P(PeerState, tells_whether_a_peer_can_be_sent_to)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_SNDHWM, 1);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_socket_get_peer_state(router, "peer", 4)));
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_socket_get_peer_state(router, "", 0)));
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_RCVHWM, 1);
    dealer.set(ZMQ_ROUTING_ID, "peer");
    dealer.connect(address);
    ASSERT_TRUE(
        wait_until([&] { return zmq_socket_get_peer_state(router, "peer", 4) == ZMQ_POLLOUT; }));
    const std::string big(100'000, 'x');
    int sent = 0;
    for (; zmq_socket_get_peer_state(router, "peer", 4) == ZMQ_POLLOUT && sent < 1000; ++sent)
        router.send_parts({"peer", big});
    EXPECT_EQ(0, zmq_socket_get_peer_state(router, "peer", 4));
    for (; sent > 0; --sent)
        EXPECT_EQ(big, dealer.recv());
    EXPECT_TRUE(
        wait_until([&] { return zmq_socket_get_peer_state(router, "peer", 4) == ZMQ_POLLOUT; }));
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_socket_get_peer_state(dealer, "peer", 4)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_socket_get_peer_state(nullptr, "peer", 4)));
    dealer.close();
    EXPECT_TRUE(wait_until([&] { return zmq_socket_get_peer_state(router, "peer", 4) == -1; }));
    EXPECT_EQ(EHOSTUNREACH, zmq_errno());
}

TEST_P(PeerState, a_message_to_a_peer_that_leaves_in_the_middle_is_dropped)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket leaves = named_dealer(address, "leaves");
    leaves.send("x");
    EXPECT_EQ((parts{"leaves", "x"}), router.recv_parts());
    test_socket stays = named_dealer(address, "stays");
    stays.send("x");
    EXPECT_EQ((parts{"stays", "x"}), router.recv_parts());
    router.send("leaves", ZMQ_SNDMORE);
    router.send("one", ZMQ_SNDMORE);
    leaves.close();
    ASSERT_TRUE(wait_until([&] {
        router.events();
        return zmq_socket_get_peer_state(router, "leaves", 6) == -1;
    }));
    router.send("two", ZMQ_SNDMORE);
    router.send("three");
    router.send_parts({"stays", "whole"});
    EXPECT_EQ(parts{"whole"}, stays.recv_parts());
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(router, "leaves", 6, ZMQ_SNDMORE)));
}

ZLINK_ALL_TRANSPORTS(PeerState);

TEST(PeerStateTypes, are_routers_only)
{
    test_context context;
    for (int type = ZMQ_PAIR; type <= ZMQ_CHANNEL; ++type) {
        test_socket socket(context, type);
        EXPECT_TRUE(fails_with(type == ZMQ_ROUTER ? EHOSTUNREACH : ENOTSUP,
                               zmq_socket_get_peer_state(socket, "peer", 4)))
            << type;
    }
}

} // namespace
} // namespace zlink::test
