// SPDX-License-Identifier: Apache-2.0
// Receivers hear senders that all have messages waiting in turn.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"

#include <algorithm>

namespace zlink::test {
namespace {

struct fair_row {
    const char* name;
    int receiver;
    int sender;
};

class FairQueue : public ::testing::TestWithParam<fair_row> {};

TEST_P(FairQueue, takes_a_message_of_each_sender_in_turn)
{
    constexpr int rounds = 4;
    test_context context;
    test_socket receiver(context, GetParam().receiver);
    if (GetParam().receiver == ZMQ_SUB)
        receiver.set(ZMQ_SUBSCRIBE, "");
    if (GetParam().receiver == ZMQ_DISH) {
        ASSERT_EQ(0, zmq_join(receiver, "")); // as messages without a group have it
    }
    const std::string address = receiver.bind_and_resolve(fresh_bind_address(transport::inproc));
    std::vector<test_socket> senders;
    for (int index = 0; index < 3; ++index) {
        senders.emplace_back(context, GetParam().sender);
        senders.back().connect(address);
    }
    receiver.events(); // knows of them, and has told them what it wants
    for (int index = 0; index < 3; ++index)
        for (int round = 0; round < rounds; ++round) {
            if (GetParam().receiver == ZMQ_REP)
                senders[index].send("", ZMQ_SNDMORE);
            senders[index].send(std::to_string(index));
        }
    for (int round = 0; round < rounds; ++round) {
        std::string seen;
        for (int index = 0; index < 3; ++index) {
            seen += receiver.recv_parts().back();
            if (GetParam().receiver == ZMQ_REP)
                receiver.send("reply");
        }
        std::ranges::sort(seen);
        EXPECT_EQ("012", seen) << round;
    }
}

std::string name_of_row(const ::testing::TestParamInfo<fair_row>& info)
{
    return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Of, FairQueue,
                         ::testing::Values(fair_row{"pull", ZMQ_PULL, ZMQ_PUSH},
                                           fair_row{"dealer", ZMQ_DEALER, ZMQ_DEALER},
                                           fair_row{"router", ZMQ_ROUTER, ZMQ_DEALER},
                                           fair_row{"rep", ZMQ_REP, ZMQ_DEALER},
                                           fair_row{"sub", ZMQ_SUB, ZMQ_PUB}),
                         name_of_row);
INSTANTIATE_TEST_SUITE_P(ZlinkOnlyOf, FairQueue,
                         ::testing::Values(fair_row{"gather", ZMQ_GATHER, ZMQ_SCATTER},
                                           fair_row{"server", ZMQ_SERVER, ZMQ_CLIENT},
                                           fair_row{"dish", ZMQ_DISH, ZMQ_RADIO}),
                         name_of_row);

} // namespace
} // namespace zlink::test
