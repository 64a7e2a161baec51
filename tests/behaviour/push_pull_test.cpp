// SPDX-License-Identifier: Apache-2.0
// PUSH and PULL: round robin over the receivers, all senders are heard.
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

namespace zlink::test {
namespace {

class PushPull : public transport_test {};

TEST_P(PushPull, deals_messages_out_in_turn)
{
    test_socket source(context_, ZMQ_PUSH);
    std::vector<test_socket> sinks;
    for (int index = 0; index < 3; ++index) {
        sinks.emplace_back(context_, ZMQ_PULL);
        source.connect(sinks.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    for (int index = 0; index < 7; ++index)
        source.send(std::to_string(index));
    const std::vector<parts> expected{{"0", "3", "6"}, {"1", "4"}, {"2", "5"}};
    for (std::size_t sink = 0; sink < sinks.size(); ++sink)
        for (const std::string& body : expected[sink])
            EXPECT_EQ(body, sinks[sink].recv());
}

TEST_P(PushPull, deals_whole_multipart_messages_out)
{
    test_socket source(context_, ZMQ_PUSH);
    std::vector<test_socket> sinks;
    for (int index = 0; index < 2; ++index) {
        sinks.emplace_back(context_, ZMQ_PULL);
        source.connect(sinks.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    for (int index = 0; index < 4; ++index)
        source.send_parts({std::to_string(index), "second part"});
    for (int index = 0; index < 4; ++index)
        EXPECT_EQ((parts{std::to_string(index), "second part"}), sinks[index % 2].recv_parts());
}

TEST_P(PushPull, reads_from_all_senders_in_turn)
{
    constexpr int senders = 3;
    constexpr int each = 5;
    test_socket sink(context_, ZMQ_PULL);
    std::vector<test_socket> sources;
    for (int index = 0; index < senders; ++index) {
        sources.emplace_back(context_, ZMQ_PUSH);
        sink.connect(sources.back().bind_and_resolve(fresh_bind_address(GetParam())));
        ASSERT_TRUE(sources.back().writable());
    }
    // The first round makes every pipe active, so that the turns of the second one are settled.
    for (test_socket& source : sources)
        source.send("activate");
    for (int index = 0; index < senders; ++index)
        EXPECT_EQ("activate", sink.recv());
    for (int number = 0; number < each; ++number)
        for (int index = 0; index < senders; ++index)
            sources[index].send(std::to_string(index) + ":" + std::to_string(number));
    std::vector<int> next(senders, 0);
    for (int count = 0; count < senders * each; ++count) {
        const std::string body = sink.recv();
        int& number = next[body[0] - '0'];
        EXPECT_EQ(std::to_string(number++), body.substr(2));
    }
    EXPECT_EQ(std::vector<int>(senders, each), next);
}

TEST_P(PushPull, skips_a_receiver_that_is_full)
{
    test_socket source(context_, ZMQ_PUSH);
    source.set(ZMQ_SNDHWM, 2);
    source.connect(known_address(GetParam()));
    test_socket sink(context_, ZMQ_PULL);
    source.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
    for (int index = 0; index < 102; ++index)
        source.send("x");
    for (int index = 0; index < 100; ++index)
        EXPECT_EQ("x", sink.recv());
    EXPECT_FALSE(sink.readable(quiet_window));
}

TEST_P(PushPull, delivers_to_a_bound_receiver_from_many_senders)
{
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> sources;
    for (int index = 0; index < 20; ++index) {
        sources.emplace_back(context_, ZMQ_PUSH);
        sources.back().connect(address);
        for (int number = 0; number < 10; ++number)
            sources.back().send("x");
    }
    for (int index = 0; index < 200; ++index)
        EXPECT_EQ("x", sink.recv());
    EXPECT_FALSE(sink.readable(std::chrono::milliseconds(5)));
}

TEST_P(PushPull, goes_on_with_the_others_when_a_receiver_leaves)
{
    test_socket source(context_, ZMQ_PUSH);
    const std::string address = source.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket stays(context_, ZMQ_PULL);
    stays.connect(address);
    {
        test_socket leaves(context_, ZMQ_PULL);
        leaves.connect(address);
        ASSERT_TRUE(wait_until([&] {
            source.send("x");
            return leaves.readable(std::chrono::milliseconds(1));
        }));
    }
    ASSERT_TRUE(wait_until([&] {
        source.send("marker");
        const auto first = stays.try_recv_parts(std::chrono::milliseconds(5));
        return first && first->front() == "marker";
    }));
}

ZLINK_ALL_TRANSPORTS(PushPull);

TEST(PushPullTcp, what_was_queued_for_a_receiver_that_left_goes_to_nobody_else)
{
    test_context context;
    test_socket source(context, ZMQ_PUSH);
    source.set(ZMQ_SNDHWM, 10);
    listening_post post(context, source, ZMQ_EVENT_DISCONNECTED);
    const std::string address = source.bind_and_resolve("tcp://127.0.0.1:*");
    raw_peer leaves(address); // reads nothing
    zmtp::shake_hands(leaves, "PULL");
    ASSERT_TRUE(source.writable());
    send_until_stuck(source, std::string(100'000, 'x'), std::chrono::milliseconds(300));
    leaves.abort();
    post.expect(ZMQ_EVENT_DISCONNECTED); // until then there may be room for one more
    test_socket stays(context, ZMQ_PULL);
    stays.connect(address);
    source.send("fresh");
    EXPECT_EQ("fresh", stays.recv());
    EXPECT_FALSE(stays.readable(quiet_window));
}

} // namespace
} // namespace zlink::test
