// SPDX-License-Identifier: Apache-2.0
// Large bodies between sockets of one context, which a receiver may copy while the sender is still
// in its call: whatever comes in between, the receiver gets what was sent, and the sender its
// memory.
#include "support/draft.hpp"
#include "support/numbered_body.hpp"
#include "support/running_proxy.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <random>
#include <sys/uio.h>
#include <thread>
#include <utility>

namespace zlink::test {
namespace {

constexpr std::size_t large_bytes = 200'000;

std::string body_of(int number, std::size_t bytes = large_bytes)
{
    return test::body_of(static_cast<unsigned>(number), bytes);
}

/// Sends out of memory that is overwritten as soon as the call has returned.
void send_and_overwrite(test_socket& sender, std::string body, int flags = 0)
{
    sender.send(body, flags);
    std::memset(body.data(), 0xee, body.size());
}

/// Lets the other thread come first now and then.
void dawdle(std::minstd_rand& random)
{
    test::dawdle(random() % 8 == 0 ? random() % 100'000 : 0);
}

enum class way { buffer, small_buffer, message, vectors, after_poll, any };

void receive_and_check(test_socket& receiver, way how, const std::string& expected)
{
    if (how == way::after_poll) {
        ASSERT_TRUE(receiver.readable());
        how = way::buffer;
    }
    switch (how) {
    case way::message: {
        zmq_msg_t message;
        zmq_msg_init(&message);
        ASSERT_EQ(static_cast<int>(expected.size()), zmq_msg_recv(&message, receiver, 0));
        ASSERT_EQ(0, std::memcmp(expected.data(), zmq_msg_data(&message), expected.size()));
        zmq_msg_close(&message);
        break;
    }
    case way::vectors: {
        iovec piece{};
        std::size_t count = 1;
        ASSERT_EQ(1, zmq_recviov(receiver, &piece, &count, 0));
        ASSERT_EQ(expected.size(), piece.iov_len);
        ASSERT_EQ(0, std::memcmp(expected.data(), piece.iov_base, piece.iov_len));
        std::free(piece.iov_base);
        break;
    }
    default: {
        std::string got(how == way::small_buffer ? expected.size() / 2 : expected.size() + 1, '\0');
        ASSERT_EQ(static_cast<int>(expected.size()), zmq_recv(receiver, got.data(), got.size(), 0));
        const std::size_t there = std::min(got.size(), expected.size());
        ASSERT_EQ(0, std::memcmp(expected.data(), got.data(), there));
    }
    }
    EXPECT_EQ(0, receiver.get(ZMQ_RCVMORE));
}

class LendingTo : public ::testing::TestWithParam<way> {};

TEST_P(LendingTo, a_receiver_loses_nothing)
{
    constexpr int count = 400;
    test_context context;
    auto [receiver, sender, address] = connect_pair(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    std::jthread sending([&sender = sender] {
        std::minstd_rand sizes(1);
        std::minstd_rand random(2);
        for (int i = 0; i < count; ++i) {
            send_and_overwrite(sender, body_of(i, 20'000 + sizes() % 200'000));
            dawdle(random);
        }
    });
    std::minstd_rand sizes(1);
    std::minstd_rand random(3);
    for (int i = 0; i < count && !HasFatalFailure(); ++i) {
        const way how = GetParam() == way::any
                            ? static_cast<way>(random() % static_cast<unsigned>(way::any))
                            : GetParam();
        dawdle(random);
        receive_and_check(receiver, how, body_of(i, 20'000 + sizes() % 200'000));
    }
    if (HasFatalFailure())
        receiver.close();
    sending.join();
}

std::string name_of_way(const ::testing::TestParamInfo<way>& info)
{
    switch (info.param) {
    case way::small_buffer:
        return "small_buffer";
    case way::message:
        return "message";
    case way::vectors:
        return "vectors";
    case way::after_poll:
        return "after_poll";
    case way::any:
        return "any";
    case way::buffer:
        break;
    }
    return "buffer";
}
INSTANTIATE_TEST_SUITE_P(By, LendingTo,
                         ::testing::Values(way::buffer, way::small_buffer, way::message,
                                           way::vectors, way::after_poll, way::any),
                         name_of_way);

TEST(Lending, lets_a_sender_go_whose_message_nobody_reads)
{
    test_context context;
    auto [receiver, sender, address] = connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
    for (int i = 0; i < 20; ++i) {
        send_and_overwrite(sender, body_of(i));
        EXPECT_TRUE(receiver.events() & ZMQ_POLLIN); // has seen it, and does not read
    }
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(body_of(i) == receiver.recv());
}

TEST(Lending, lets_a_sender_go_whose_message_is_only_seen)
{
    test_context context;
    auto [receiver, sender, address] = connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
    for (int i = 0; i < 200; ++i) {
        std::jthread sending([&sender = sender, i] { send_and_overwrite(sender, body_of(i)); });
        EXPECT_TRUE(receiver.readable());
        sending.join(); // has returned before the message is received
        EXPECT_TRUE(body_of(i) == receiver.recv());
    }
}

TEST(Lending, lets_a_sender_go_whose_receiver_closes)
{
    for (int i = 0; i < 100; ++i) {
        test_context context;
        auto [receiver, sender, address] =
            connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
        std::jthread sending([&sender = sender] {
            sender.set(ZMQ_SNDTIMEO, 1);
            for (int number = 0; number < 10; ++number) {
                std::string body = body_of(number);
                if (zmq_send(sender, body.data(), body.size(), 0) == -1)
                    break;
                std::memset(body.data(), 0xee, body.size());
            }
        });
        for (int number = 0; number < i % 5; ++number)
            EXPECT_TRUE(body_of(number) == receiver.recv());
        receiver.close();
        sending.join();
    }
}

TEST(Lending, ends_with_the_context)
{
    for (int i = 0; i < 30; ++i) {
        test_context context;
        auto [receiver, sender, address] =
            connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
        std::jthread sending([&sender = sender] {
            const std::string body = body_of(0);
            while (zmq_send(sender, body.data(), body.size(), 0) != -1) {
            }
            EXPECT_EQ(ETERM, zmq_errno());
        });
        for (int number = 0; number < i; ++number)
            EXPECT_TRUE(body_of(0) == receiver.recv());
        ASSERT_EQ(0, zmq_ctx_shutdown(context));
        sending.join();
    }
}

TEST(Lending, keeps_to_subscriptions_of_any_length)
{
    test_context context;
    test_socket publisher(context, ZMQ_PUB);
    test_socket subscriber(context, ZMQ_SUB);
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(transport::inproc));
    subscriber.connect(address);
    const std::string topic = body_of(1, 50'000);
    subscriber.set(ZMQ_SUBSCRIBE, topic);
    publish_until_received(publisher, subscriber, topic);
    std::string other = topic;
    other.back() = '!';
    std::jthread sending([&] {
        for (int i = 0; i < 100; ++i) {
            send_and_overwrite(publisher, other + body_of(i));
            send_and_overwrite(publisher, topic + body_of(i));
        }
    });
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(topic + body_of(i) == subscriber.recv());
    sending.join();
}

TEST(Lending, brings_what_a_subscriber_sends_upstream)
{
    test_context context;
    test_socket publisher(context, ZMQ_XPUB);
    test_socket subscriber(context, ZMQ_XSUB);
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(transport::inproc));
    subscriber.connect(address);
    std::jthread sending([&] {
        for (int i = 0; i < 100; ++i)
            send_and_overwrite(subscriber, "no subscription" + body_of(i));
    });
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE("no subscription" + body_of(i) == publisher.recv());
    sending.join();
}

TEST(Lending, goes_with_requests_and_replies)
{
    test_context context;
    auto [rep, req, address] = connect_pair(context, transport::inproc, ZMQ_REP, ZMQ_REQ);
    std::jthread asking([&req = req] {
        for (int i = 0; i < 200; ++i) {
            send_and_overwrite(req, body_of(i));
            EXPECT_TRUE(body_of(i + 1) == req.recv());
        }
    });
    for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(body_of(i) == rep.recv());
        send_and_overwrite(rep, body_of(i + 1));
    }
    asking.join();
}

TEST(Lending, goes_with_the_last_part_of_a_message)
{
    test_context context;
    auto [router, dealer, address] =
        connect_pair(context, transport::inproc, ZMQ_ROUTER, ZMQ_DEALER);
    std::jthread sending([&dealer = dealer] {
        for (int i = 0; i < 200; ++i) {
            send_and_overwrite(dealer, body_of(i), ZMQ_SNDMORE);
            send_and_overwrite(dealer, body_of(i + 1));
        }
    });
    for (int i = 0; i < 200; ++i) {
        const parts got = router.recv_parts();
        ASSERT_EQ(3U, got.size());
        EXPECT_TRUE(body_of(i) == got[1]);
        EXPECT_TRUE(body_of(i + 1) == got[2]);
    }
    sending.join();
}

TEST(Lending, goes_to_several_receivers)
{
    constexpr int receivers = 3;
    constexpr int count = 200;
    test_context context;
    test_socket router(context, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    const std::string address = router.bind_and_resolve("inproc://several");
    std::list<test_socket> dealers;
    for (int i = 0; i < receivers; ++i) {
        dealers.emplace_back(context, ZMQ_DEALER);
        dealers.back().set(ZMQ_ROUTING_ID, std::to_string(i));
        dealers.back().connect(address);
        dealers.back().send("hello");
        EXPECT_EQ((parts{std::to_string(i), "hello"}), router.recv_parts());
    }
    std::list<std::jthread> receiving;
    for (test_socket& dealer : dealers)
        receiving.emplace_back([&dealer] {
            std::minstd_rand random(3);
            for (int i = 0; i < count && !HasFatalFailure(); ++i) {
                dawdle(random);
                receive_and_check(dealer, static_cast<way>(i % static_cast<int>(way::any)),
                                  body_of(i, 30'000 + static_cast<std::size_t>(i) * 500));
            }
        });
    for (int i = 0; i < count; ++i)
        for (int to = 0; to < receivers; ++to) {
            router.send(std::to_string(to), ZMQ_SNDMORE);
            send_and_overwrite(router, body_of(i, 30'000 + static_cast<std::size_t>(i) * 500));
        }
}

TEST(Lending, goes_through_a_proxy)
{
    test_context context;
    running_proxy proxy(context, transport::inproc, {ZMQ_PULL, ZMQ_PUSH});
    test_socket sender(context, ZMQ_PUSH);
    test_socket receiver(context, ZMQ_PULL);
    sender.connect(proxy.front_address);
    receiver.connect(proxy.back_address);
    std::jthread sending([&sender = sender] {
        for (int i = 0; i < 200; ++i)
            send_and_overwrite(sender, body_of(i));
    });
    for (int i = 0; i < 200; ++i)
        EXPECT_TRUE(body_of(i) == receiver.recv());
    sending.join();
}

/// Sockets of a type for many threads: some send and some receive at either end, all at once.
class LendingAmongThreads : public ::testing::TestWithParam<std::pair<int, int>> {
protected:
    static constexpr unsigned senders = 2;
    static constexpr unsigned count = 150;

    void send_all(test_socket& socket)
    {
        for (unsigned first = 0; first < senders; ++first)
            threads_.emplace_back([&socket, first] {
                std::minstd_rand random(first + 1);
                for (unsigned number = first; number < senders * count; number += senders) {
                    send_and_overwrite(socket, test::body_of(number, 32'768 + random() % 100'000));
                    dawdle(random);
                }
            });
    }
    void receive_all(test_socket& socket)
    {
        const auto left = std::make_shared<std::atomic<int>>(senders * count);
        for (unsigned seed = 11; seed < 13; ++seed)
            threads_.emplace_back([&socket, seed, left] {
                std::minstd_rand random(seed);
                std::string body(200'000, ' ');
                while (left->fetch_sub(1) > 0) {
                    const int size = zmq_recv(socket, body.data(), body.size(), 0);
                    ASSERT_LT(0, size);
                    unsigned number = 0;
                    std::memcpy(&number, body.data(), sizeof number);
                    const auto bytes = static_cast<std::size_t>(size);
                    EXPECT_TRUE(test::body_of(number, bytes) == body.substr(0, bytes)) << number;
                    dawdle(random);
                }
            });
    }
    void join() { threads_.clear(); }

private:
    std::list<std::jthread> threads_;
};

TEST_P(LendingAmongThreads, loses_nothing)
{
    test_context context;
    test_socket to(context, GetParam().second);
    test_socket from(context, GetParam().first);
    from.connect(to.bind_and_resolve("inproc://lending"));
    send_all(from);
    receive_all(to);
    if (GetParam().first == ZMQ_CHANNEL) {
        send_all(to);
        receive_all(from);
    }
    join();
}

INSTANTIATE_TEST_SUITE_P(By, LendingAmongThreads,
                         ::testing::Values(std::pair(ZMQ_SCATTER, ZMQ_GATHER),
                                           std::pair(ZMQ_CLIENT, ZMQ_SERVER),
                                           std::pair(ZMQ_CHANNEL, ZMQ_CHANNEL)),
                         [](const auto& info) {
                             return info.param.first == ZMQ_SCATTER  ? "scatter_gather"
                                    : info.param.first == ZMQ_CLIENT ? "client_server"
                                                                     : "channel";
                         });

} // namespace
} // namespace zlink::test
