// SPDX-License-Identifier: Apache-2.0
// Options of publishers: the welcome message, the count of topics, and how much of a message asks.
#define ZMQ_BUILD_DRAFT_API
#include "support/xpub.hpp"

#include <string>
#include <tuple>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

// --- the welcome message ------------------------------------------------------------------------

class WelcomeMessage : public xpub_test {
protected:
    /// Subscribed before it connects.
    test_socket connected(const std::string& topic, const std::string& address)
    {
        test_socket socket(context_, ZMQ_SUB);
        socket.set(ZMQ_SUBSCRIBE, topic);
        socket.connect(address);
        return socket;
    }
};

TEST_P(WelcomeMessage, is_not_for_peers_that_are_there_already)
{
    test_socket early = connected("", address_);
    EXPECT_EQ(subscribe(""), publisher_.recv());
    publisher_.set(ZMQ_XPUB_WELCOME_MSG, "welcome");
    test_socket late = connected("w", address_);
    EXPECT_EQ(subscribe("w"), publisher_.recv());
    EXPECT_EQ("welcome", late.recv());
    early.set(ZMQ_SUBSCRIBE, "more");
    EXPECT_EQ(subscribe("more"), publisher_.recv());
    publisher_.send("who gets this");
    EXPECT_EQ("who gets this", early.recv());
    EXPECT_EQ("who gets this", late.recv());
}

TEST_P(WelcomeMessage, is_sent_by_a_plain_publisher_too)
{
    test_socket publisher(context_, ZMQ_PUB);
    publisher.set(ZMQ_XPUB_WELCOME_MSG, "welcome");
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int index = 0; index < 2; ++index) {
        test_socket subscriber = connected("w", address);
        ASSERT_TRUE(wait_until([&] { return publisher.events() && subscriber.readable(2ms); }));
        EXPECT_EQ("welcome", subscriber.recv());
        ASSERT_TRUE(wait_until([&] {
            publisher.send("w: not again");
            return subscriber.readable(2ms);
        }));
        EXPECT_EQ("w: not again", subscriber.recv());
    }
}

TEST_P(WelcomeMessage, has_any_length)
{
    for (const std::size_t size : {1, 255, 256, 8'192, 100'000, 1'000'000}) {
        std::string text(size, 'w');
        text.back() = '!';
        publisher_.set(ZMQ_XPUB_WELCOME_MSG, text);
        const std::string topic = text.substr(0, 1);
        test_socket subscriber = connected(topic, address_);
        EXPECT_EQ(subscribe(topic), publisher_.recv()) << size;
        EXPECT_TRUE(text == subscriber.recv()) << size;
        publisher_.send(topic + "hat follows");
        EXPECT_EQ(topic + "hat follows", subscriber.recv()) << size;
        subscriber.close();
        EXPECT_EQ(cancel(topic), publisher_.recv()) << size;
    }
}

TEST_P(WelcomeMessage, holds_its_bytes_for_all_who_come)
{
    const std::string text(100'000, 'w');
    publisher_.set(ZMQ_XPUB_WELCOME_MSG, text);
    std::vector<test_socket> subscribers;
    for (int index = 0; index < 5; ++index) {
        subscribers.push_back(connected("w", address_));
        subscribers.back().set(ZMQ_SUBSCRIBE, "own " + std::to_string(index));
        while (publisher_.recv() != subscribe("own " + std::to_string(index))) {
        }
    }
    publisher_.set(ZMQ_XPUB_WELCOME_MSG, std::string(100'000, 'x'));
    for (test_socket& subscriber : subscribers)
        EXPECT_TRUE(text == subscriber.recv());
}

ZLINK_ALL_TRANSPORTS(WelcomeMessage);

// --- the count of topics ------------------------------------------------------------------------

class TopicsOfAPlainPublisher : public transport_test {};

TEST_P(TopicsOfAPlainPublisher, are_counted)
{
    test_socket publisher(context_, ZMQ_PUB);
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(GetParam()));
    const auto counts = [&](int expected) {
        return wait_until(
            [&] { return publisher.events() && publisher.get(ZMQ_TOPICS_COUNT) == expected; });
    };
    EXPECT_EQ(0, publisher.get(ZMQ_TOPICS_COUNT));
    test_socket one(context_, ZMQ_SUB);
    test_socket two(context_, ZMQ_SUB);
    for (test_socket* socket : {&one, &two}) {
        socket->connect(address);
        socket->set(ZMQ_SUBSCRIBE, "a");
    }
    EXPECT_TRUE(counts(1));
    one.set(ZMQ_SUBSCRIBE, "b");
    two.set(ZMQ_SUBSCRIBE, "");
    EXPECT_TRUE(counts(3));
    one.set(ZMQ_UNSUBSCRIBE, "b");
    EXPECT_TRUE(counts(2));
}

ZLINK_ALL_TRANSPORTS(TopicsOfAPlainPublisher);

// --- messages of several parts that ask ---------------------------------------------------------

class RequestsInOneMessage : public ::testing::TestWithParam<std::tuple<transport, int, int>> {
protected:
    RequestsInOneMessage()
    {
        const link_in_use scope(std::get<0>(GetParam()));
        publisher_.set(ZMQ_ONLY_FIRST_SUBSCRIBE, std::get<1>(GetParam()));
        subscriber_.set(ZMQ_ONLY_FIRST_SUBSCRIBE, std::get<2>(GetParam()));
        subscriber_.connect(
            publisher_.bind_and_resolve(fresh_bind_address(std::get<0>(GetParam()))));
    }

    test_context context_;
    test_socket publisher_{context_, ZMQ_XPUB};
    test_socket subscriber_{context_, ZMQ_XSUB};
};

// Whatever the option says: every part that asks for something is a message of its own.
TEST_P(RequestsInOneMessage, are_all_granted_when_an_xsub_sends_them)
{
    subscriber_.send_parts({subscribe("A"), subscribe("B")});
    EXPECT_EQ(parts{subscribe("A")}, publisher_.recv_parts());
    EXPECT_EQ(parts{subscribe("B")}, publisher_.recv_parts());
    EXPECT_EQ(2, publisher_.get(ZMQ_TOPICS_COUNT));
    EXPECT_EQ(2, subscriber_.get(ZMQ_TOPICS_COUNT));
    for (const char* body : {"C", "A1", "B1"})
        publisher_.send(body);
    EXPECT_EQ("A1", subscriber_.recv());
    EXPECT_EQ("B1", subscriber_.recv());
}

TEST_P(RequestsInOneMessage, are_cancelled_in_one_message_too)
{
    for (const char* topic : {"A", "B", "C"}) {
        subscriber_.send(subscribe(topic));
        EXPECT_EQ(subscribe(topic), publisher_.recv());
    }
    subscriber_.send_parts({cancel("A"), cancel("B")});
    EXPECT_EQ(parts{cancel("A")}, publisher_.recv_parts());
    EXPECT_EQ(parts{cancel("B")}, publisher_.recv_parts());
    EXPECT_EQ(1, publisher_.get(ZMQ_TOPICS_COUNT));
    EXPECT_EQ(1, subscriber_.get(ZMQ_TOPICS_COUNT));
    for (const char* body : {"A1", "B1", "C1"})
        publisher_.send(body);
    EXPECT_EQ("C1", subscriber_.recv());
}

INSTANTIATE_TEST_SUITE_P(Over, RequestsInOneMessage,
                         ::testing::Combine(::testing::ValuesIn(all_links()),
                                            ::testing::Values(0, 1), ::testing::Values(0, 1)),
                         [](const auto& info) {
                             return std::string(name_of(std::get<0>(info.param))) + "_publisher" +
                                    std::to_string(std::get<1>(info.param)) + "_subscriber" +
                                    std::to_string(std::get<2>(info.param));
                         });

} // namespace
} // namespace zlink::test
