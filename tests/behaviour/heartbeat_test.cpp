// SPDX-License-Identifier: Apache-2.0
// Heartbeats between sockets. What is on the wire is the interop suite's subject.
#include "support/fixture.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class Heartbeat : public transport_test {};

TEST_P(Heartbeat, an_idle_connection_of_living_peers_stays)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    test_socket dealer(context_, ZMQ_DEALER);
    for (auto* socket : {&router, &dealer}) {
        socket->set(ZMQ_HEARTBEAT_IVL, 20);
        socket->set(ZMQ_HEARTBEAT_TIMEOUT, 200);
        socket->set(ZMQ_HEARTBEAT_TTL, 200);
    }
    dealer.connect(router.bind_and_resolve(fresh_bind_address(GetParam())));
    dealer.send("hello");
    const parts first = router.recv_parts();
    ASSERT_EQ(2u, first.size());
    // A connection made anew would have another routing id.
    EXPECT_FALSE(router.readable(500ms));
    router.send_parts({first[0], "still there"});
    EXPECT_EQ("still there", dealer.recv());
}

TEST_P(Heartbeat, heartbeats_between_the_parts_of_traffic_disturb_nothing)
{
    test_socket sink(context_, ZMQ_PULL);
    test_socket source(context_, ZMQ_PUSH);
    for (auto* socket : {&sink, &source})
        socket->set(ZMQ_HEARTBEAT_IVL, 1);
    sink.set(ZMQ_HEARTBEAT_TIMEOUT, 5000);
    source.set(ZMQ_HEARTBEAT_TIMEOUT, 5000);
    source.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
    const std::string large(200'000, 'b');
    const auto end = std::chrono::steady_clock::now() + 200ms;
    for (int index = 0; std::chrono::steady_clock::now() < end; ++index) {
        const parts message{std::to_string(index), large, ""};
        source.send_parts(message);
        ASSERT_EQ(message, sink.recv_parts()) << index;
    }
}

INSTANTIATE_TEST_SUITE_P(Transports, Heartbeat, ::testing::Values(transport::tcp, transport::ipc),
                         [](const auto& info) { return std::string(name_of(info.param)); });

} // namespace
} // namespace zlink::test
