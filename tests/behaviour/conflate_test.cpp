// SPDX-License-Identifier: Apache-2.0
// CONFLATE: only the newest message is kept.
#include "support/fixture.hpp"

#include <thread>

namespace zlink::test {
namespace {

void keep_only_the_last(test_socket& socket) {
    socket.set(ZMQ_CONFLATE, 1);
}

class Conflate : public transport_test {};

TEST_P(Conflate, a_receiver_sees_the_newest_message) {
    auto [bound, peer, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, keep_only_the_last, keep_only_the_last);
    for (int index = 0; index < 1000; ++index)
        peer.send(std::to_string(index));
    // The numbers only grow, and the last one is never replaced.
    int last = -1;
    while (last != 999) {
        const int number = std::stoi(bound.recv());
        ASSERT_LT(last, number);
        last = number;
    }
    EXPECT_FALSE(bound.readable(std::chrono::milliseconds(5)));
}

TEST_P(Conflate, never_blocks_the_sender) {
    auto [bound, peer, address] =
        link(context_, GetParam(), ZMQ_DEALER, ZMQ_DEALER, keep_only_the_last, keep_only_the_last);
    for (int index = 0; index < 10'000; ++index)
        ASSERT_TRUE(peer.try_send("x"));
    EXPECT_EQ("x", bound.recv());
}

TEST_P(Conflate, a_subscriber_gets_the_latest_state) {
    test_socket publisher(context_, ZMQ_PUB);
    test_socket subscriber(context_, ZMQ_SUB);
    subscriber.set(ZMQ_CONFLATE, 1);
    subscriber.set(ZMQ_SUBSCRIBE, "");
    subscriber.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    ASSERT_TRUE(wait_until([&] {
        publisher.send("first");
        return subscriber.readable(std::chrono::milliseconds(2));
    }));
    for (int index = 0; index < 500; ++index)
        publisher.send(std::to_string(index));
    ASSERT_TRUE(wait_until([&] { return subscriber.recv() == "499"; }));
}

TEST_P(Conflate, the_newest_large_message_arrives_undamaged) {
    auto [bound, peer, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, keep_only_the_last, keep_only_the_last);
    std::thread sending([&socket = peer] {
        for (int index = 0; index < 200; ++index)
            socket.send(std::string(20'000, static_cast<char>(index)));
    });
    std::string body;
    do {
        body = bound.recv();
        ASSERT_EQ(20'000u, body.size());
        ASSERT_EQ(std::string(20'000, body[0]), body);
    } while (body[0] != static_cast<char>(199));
    sending.join();
}

ZLINK_ALL_TRANSPORTS(Conflate);

/// Sends to nobody, then binds a receiver: only the newest message must come.
void expect_newest_after_late_bind(test_context& context, transport kind) {
    test_socket source(context, ZMQ_PUSH);
    source.set(ZMQ_CONFLATE, 1);
    source.set(ZMQ_SNDHWM, 1);
    const std::string address = known_address(kind);
    source.connect(address);
    for (int index = 0; index < 100; ++index)
        source.send(std::to_string(index));
    test_socket sink(context, ZMQ_PULL);
    sink.set(ZMQ_CONFLATE, 1);
    sink.bind(address);
    EXPECT_EQ("99", sink.recv());
    EXPECT_FALSE(sink.readable(std::chrono::milliseconds(5)));
}

class ConflateLateBind : public transport_test {};

TEST_P(ConflateLateBind, a_sender_without_peer_keeps_the_newest_message) {
    expect_newest_after_late_bind(context_, GetParam());
}

ZLINK_WIRE_TRANSPORTS(ConflateLateBind);

TEST(ZlinkOnlyConflate, an_inproc_sender_without_peer_keeps_the_newest_message) {
    test_context context;
    expect_newest_after_late_bind(context, transport::inproc);
}

}  // namespace
}  // namespace zlink::test
