// SPDX-License-Identifier: Apache-2.0
// Large bodies that a waiting receiver reads straight into the memory given to zmq_recv: whatever
// comes in between, nothing is lost, and nothing is written there once the call has returned.
#include "support/fixture.hpp"
#include "support/numbered_body.hpp"
#include "support/zmtp.hpp"

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

constexpr int rounds_to_settle = 40; ///< until a receiver has taken over its connection, or again

/// zmq_recv into memory that is gone afterwards, so that a sanitizer sees who uses it still.
/// Nothing for EAGAIN.
std::optional<std::string> recv_into_passing_memory(test_socket& from, std::size_t room)
{
    const std::unique_ptr<char[]> memory(new char[room]);
    const int bytes = zmq_recv(from, memory.get(), room, 0);
    if (bytes < 0) {
        EXPECT_EQ(EAGAIN, zmq_errno());
        return std::nullopt;
    }
    std::string got(memory.get(), std::min(room, static_cast<std::size_t>(bytes)));
    got.resize(static_cast<std::size_t>(bytes), '?');
    return got;
}

/// A DEALER under test and a peer that is played by hand, in a thread of its own.
class ReadThrough : public ::testing::Test {
protected:
    /// Question and answer, until the socket reads its connection by itself.
    void settle_with_peer()
    {
        for (int round = 0; round < rounds_to_settle; ++round) {
            link_.socket.send("?");
            ASSERT_EQ("!", link_.socket.recv());
        }
    }
    void settle_with_socket()
    {
        for (int round = 0; round < rounds_to_settle; ++round) {
            zmtp::recv_frame(link_.peer);
            link_.peer.send(zmtp::frame("!"));
        }
    }
    void wait_for(const std::atomic<int>& what, int value) const
    {
        while (what < value && !stop_)
            std::this_thread::yield();
    }

    test_context context_;
    raw_link link_{context_, ZMQ_DEALER};
    std::atomic<bool> stop_{false};
};

TEST_F(ReadThrough, goes_on_with_a_body_whose_receiver_has_given_up)
{
    constexpr int count = 60;
    constexpr std::size_t bytes = 100'000;
    std::atomic<int> given_up{0};
    std::jthread playing([&] {
        zmtp::shake_hands(link_.peer, "DEALER");
        for (int number = 0; number < count; ++number) {
            settle_with_socket();
            const std::string frame = zmtp::frame(body_of(static_cast<unsigned>(number), bytes));
            const std::size_t first = 1'000 + static_cast<std::size_t>(number) * 1'600;
            link_.peer.send(frame.substr(0, first));
            wait_for(given_up, number + 1);
            link_.peer.send(frame.substr(first));
        }
    });
    for (int number = 0; number < count && !HasFatalFailure(); ++number) {
        settle_with_peer();
        link_.socket.set(ZMQ_RCVTIMEO, 1 + number % 4 * 8); // also longer than reading is leased
        EXPECT_EQ(std::nullopt, recv_into_passing_memory(link_.socket, bytes));
        given_up = number + 1;
        link_.socket.set(ZMQ_RCVTIMEO, static_cast<int>(patience.count()));
        EXPECT_TRUE(body_of(static_cast<unsigned>(number), bytes) ==
                    recv_into_passing_memory(link_.socket, bytes + 1));
    }
    stop_ = HasFatalFailure();
}

TEST_F(ReadThrough, forgets_a_body_whose_connection_breaks)
{
    std::jthread playing([&] {
        zmtp::shake_hands(link_.peer, "DEALER");
        settle_with_socket();
        link_.peer.send(zmtp::frame(body_of(1, 100'000)).substr(0, 60'000));
        link_.peer.abort();
    });
    settle_with_peer();
    link_.socket.set(ZMQ_RCVTIMEO, 50);
    EXPECT_EQ(std::nullopt, recv_into_passing_memory(link_.socket, 100'000));
    playing.join();
    const raw_peer next(link_.socket.last_endpoint());
    zmtp::shake_hands(next, "DEALER");
    const std::string body = body_of(2, 100'000);
    next.send(zmtp::frame(body));
    link_.socket.set(ZMQ_RCVTIMEO, static_cast<int>(patience.count()));
    EXPECT_TRUE(body == recv_into_passing_memory(link_.socket, 100'000));
}

TEST_F(ReadThrough, ends_with_the_context)
{
    std::atomic<int> waits{0};
    std::jthread playing([&] {
        zmtp::shake_hands(link_.peer, "DEALER");
        settle_with_socket();
        link_.peer.send(zmtp::frame(body_of(1, 100'000)).substr(0, 60'000));
        wait_for(waits, 1);
        zmq_ctx_shutdown(context_);
    });
    settle_with_peer();
    waits = 1;
    const std::unique_ptr<char[]> memory(new char[100'000]);
    EXPECT_TRUE(fails_with(ETERM, zmq_recv(link_.socket, memory.get(), 100'000, 0)));
    playing.join();
}

TEST_F(ReadThrough, reads_bodies_of_each_of_two_connections_into_the_memory_given)
{
    constexpr std::size_t bytes = 100'000;
    const raw_peer second(link_.socket.last_endpoint());
    std::atomic<int> given_up{0};
    const auto play = [&](const raw_peer& peer) {
        zmtp::shake_hands(peer, "DEALER");
        peer.send(zmtp::frame("!"));
        for (;;) {
            const std::string asked = zmtp::recv_frame(peer);
            if (asked == zmtp::frame("end"))
                return;
            if (asked == zmtp::frame("?")) {
                peer.send(zmtp::frame("!"));
                continue;
            }
            const int round = given_up;
            const std::string frame = zmtp::frame(body_of(1, bytes));
            peer.send(frame.substr(0, 60'000));
            wait_for(given_up, round + 1);
            peer.send(frame.substr(60'000));
        }
    };
    std::jthread playing_first([&] { play(link_.peer); });
    std::jthread playing_second([&] { play(second); });
    for (int peers = 0; peers < 2; ++peers)
        ASSERT_EQ("!", link_.socket.recv());
    // They are asked in turn, and an odd number of times in each round.
    static_assert(rounds_to_settle % 2 == 0);
    bool was_written[2] = {false, false};
    const std::unique_ptr<char[]> memory(new char[bytes]);
    for (int round = 0; round < 400 && !(was_written[0] && was_written[1]); ++round) {
        settle_with_peer();
        memory[100] = '#';
        link_.socket.send("body");
        link_.socket.set(ZMQ_RCVTIMEO, 4);
        EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(link_.socket, memory.get(), bytes, 0)));
        was_written[round % 2] |= memory[100] != '#';
        ++given_up;
        link_.socket.set(ZMQ_RCVTIMEO, static_cast<int>(patience.count()));
        EXPECT_TRUE(body_of(1, bytes) == recv_into_passing_memory(link_.socket, bytes));
    }
    EXPECT_TRUE(was_written[0]);
    EXPECT_TRUE(was_written[1]);
    stop_ = true;
    link_.socket.send("end");
    link_.socket.send("end");
}

/// Messages of one and of several parts, large and small, from one or several peers.
class ReadThroughOver : public transport_test {
protected:
    static parts message(unsigned number)
    {
        std::minstd_rand random(number + 1);
        random.discard(5);
        const auto size = [&] {
            return random() % 3 == 0 ? random() % 300 : 8'000 + random() % 120'000;
        };
        parts all{std::to_string(number)};
        if (random() % 2)
            all.front() = body_of(number, size() + sizeof number);
        while (random() % 3 == 0)
            all.push_back(body_of(number, size()));
        return all;
    }

    /// Receives a message part by part, in ways that change, and gives up waiting now and then.
    static parts receive(test_socket& from, std::minstd_rand& random, const parts& expected)
    {
        parts got;
        do {
            const std::size_t size = got.size() < expected.size() ? expected[got.size()].size() : 0;
            std::optional<std::string> part;
            while (!part) {
                from.set(ZMQ_RCVTIMEO, random() % 3 == 0 ? static_cast<int>(random() % 2)
                                                         : static_cast<int>(patience.count()));
                if (random() % 8 == 0)
                    from.readable(std::chrono::milliseconds(1));
                part = recv_into_passing_memory(from, size + random() % 2 * 100'000);
            }
            got.push_back(std::move(*part));
        } while (from.get(ZMQ_RCVMORE));
        return got;
    }

    static void send_all(test_socket& sender)
    {
        std::minstd_rand random(7);
        for (unsigned number = 0; number < count; ++number) {
            sender.send_parts(message(number));
            // The receiver is ahead now and then.
            dawdle(random() % 4 == 0 ? 0 : random() % 100'000);
        }
    }

    void exchange(int receiving_type, int sending_type)
    {
        test_context other;
        test_socket receiver(context_, receiving_type);
        receiver.bind(fresh_bind_address(GetParam()));
        test_socket sender(other, sending_type);
        if (receiving_type == ZMQ_SUB) {
            receiver.set(ZMQ_SUBSCRIBE, "");
            sender.set(ZMQ_XPUB_NODROP, 1);
        }
        sender.connect(receiver.last_endpoint());
        if (receiving_type == ZMQ_SUB)
            publish_until_received(sender, receiver, "marker");
        const std::jthread sending([&] { send_all(sender); });
        std::minstd_rand random(11);
        for (unsigned number = 0; number < count; ++number)
            ASSERT_TRUE(message(number) == receive(receiver, random, message(number))) << number;
    }

    /// From so many peers that send_all().
    static void receive_all_of(std::size_t peers, test_socket& receiver)
    {
        std::minstd_rand random(11);
        std::vector<unsigned> next(peers, 0); // whose it is, the content tells
        for (unsigned number = 0; number < peers * count; ++number) {
            const parts got = receive(receiver, random, parts(9, std::string(140'000, ' ')));
            const auto from = std::ranges::find_if(
                next, [&](unsigned expected) { return message(expected) == got; });
            ASSERT_TRUE(from != next.end()) << number;
            ++*from;
        }
    }

    static constexpr unsigned count = 500;
};

TEST_P(ReadThroughOver, a_pair_loses_nothing)
{
    exchange(ZMQ_PAIR, ZMQ_PAIR);
}

TEST_P(ReadThroughOver, a_dealer_loses_nothing)
{
    exchange(ZMQ_DEALER, ZMQ_DEALER);
}

TEST_P(ReadThroughOver, a_subscriber_loses_nothing)
{
    exchange(ZMQ_SUB, ZMQ_PUB);
}

TEST_P(ReadThroughOver, requests_and_replies_arrive_as_they_were)
{
    test_context other;
    test_socket replier(context_, ZMQ_REP);
    replier.bind(fresh_bind_address(GetParam()));
    test_socket asker(other, ZMQ_REQ);
    asker.set(ZMQ_REQ_CORRELATE, 1);
    asker.connect(replier.last_endpoint());
    const std::jthread replying([&] {
        std::minstd_rand random(7);
        for (unsigned number = 0; number < count; ++number) {
            const parts request = receive(replier, random, message(number));
            EXPECT_TRUE(message(number) == request) << number;
            replier.send_parts(message(number + 1));
        }
    });
    std::minstd_rand random(11);
    for (unsigned number = 0; number < count; ++number) {
        asker.send_parts(message(number));
        EXPECT_TRUE(message(number + 1) == receive(asker, random, message(number + 1))) << number;
    }
}

// The second one's messages come another way, perhaps first.
TEST_P(ReadThroughOver, a_pull_with_two_peers_loses_nothing)
{
    test_context other;
    test_socket receiver(context_, ZMQ_PULL);
    receiver.bind(fresh_bind_address(GetParam()));
    test_socket far(other, ZMQ_PUSH);
    far.connect(receiver.last_endpoint());
    receiver.bind("inproc://near");
    test_socket near(context_, ZMQ_PUSH);
    near.connect("inproc://near");
    const std::jthread sending_far([&] { send_all(far); });
    const std::jthread sending_near([&] { send_all(near); });
    receive_all_of(2, receiver);
}

// Each of their bodies may come first, and any of them may be the one that is read to the memory.
TEST_P(ReadThroughOver, a_pull_that_reads_three_connections_loses_nothing)
{
    test_context other;
    test_socket receiver(context_, ZMQ_PULL);
    receiver.bind(fresh_bind_address(GetParam()));
    std::list<test_socket> senders;
    std::list<std::jthread> sending;
    for (int i = 0; i < 3; ++i) {
        senders.emplace_back(other, ZMQ_PUSH);
        senders.back().connect(receiver.last_endpoint());
        sending.emplace_back([&sender = senders.back()] { send_all(sender); });
    }
    receive_all_of(3, receiver);
}

ZLINK_WIRE_TRANSPORTS(ReadThroughOver);

} // namespace
} // namespace zlink::test
