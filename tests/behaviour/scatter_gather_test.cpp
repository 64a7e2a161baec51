// SPDX-License-Identifier: Apache-2.0
// SCATTER and GATHER: a pipeline of messages of one part.
#include "support/draft.hpp"

namespace zlink::test {
namespace {

class ScatterGather : public transport_test {};

TEST_P(ScatterGather, deals_messages_out_in_turn)
{
    test_socket scatter(context_, ZMQ_SCATTER);
    std::vector<test_socket> gathers;
    for (int index = 0; index < 3; ++index) {
        gathers.emplace_back(context_, ZMQ_GATHER);
        scatter.connect(gathers.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    for (int index = 0; index < 9; ++index)
        scatter.send(std::to_string(index));
    for (int round = 0; round < 3; ++round)
        for (int index = 0; index < 3; ++index)
            EXPECT_EQ(std::to_string(round * 3 + index), gathers[index].recv());
}

TEST_P(ScatterGather, gathers_fairly)
{
    test_socket gather(context_, ZMQ_GATHER);
    const std::string address = gather.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> scatters;
    for (int index = 0; index < 3; ++index) {
        scatters.emplace_back(context_, ZMQ_SCATTER);
        scatters.back().connect(address);
        for (int count = 0; count < 10; ++count)
            scatters.back().send(std::to_string(index));
    }
    std::vector<int> got(3);
    for (int count = 0; count < 30; ++count)
        ++got[std::stoul(gather.recv())];
    EXPECT_EQ((std::vector<int>{10, 10, 10}), got);
}

TEST_P(ScatterGather, waits_without_a_peer_and_with_a_full_one)
{
    test_socket scatter(context_, ZMQ_SCATTER);
    scatter.set(ZMQ_SNDHWM, 3);
    EXPECT_FALSE(scatter.try_send("nobody"));
    EXPECT_EQ(0, scatter.events());
    scatter.connect(known_address(GetParam()));
    EXPECT_EQ(ZMQ_POLLOUT, scatter.events());
    EXPECT_EQ(3, scatter.send_until_full("x", 100));
    EXPECT_EQ(0, scatter.events());
}

TEST_P(ScatterGather, only_sends_and_only_receives)
{
    auto [gather, scatter, address] = link(context_, GetParam(), ZMQ_GATHER, ZMQ_SCATTER);
    char byte = 0;
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_send(gather, "x", 1, 0)));
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_recv(scatter, &byte, 1, ZMQ_DONTWAIT)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_send(scatter, "x", 1, ZMQ_SNDMORE)));
    scatter.send(std::string(200'000, 'x'));
    EXPECT_EQ(std::string(200'000, 'x'), gather.recv());
}

ZLINK_ALL_TRANSPORTS(ScatterGather);

} // namespace
} // namespace zlink::test
