// SPDX-License-Identifier: Apache-2.0
// Sockets for one thread at a time, which threads hand to each other in the middle of traffic.
#include "support/fixture.hpp"

#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace zlink::test {
namespace {

/// Threads that take turns, one after the other.
class round_of_threads {
public:
    /// Runs `turn` in each of the threads in turn until it returns false or throws. Its argument is
    /// the number of the thread.
    round_of_threads(int count, const std::function<bool(int)>& turn)
    {
        for (int number = 0; number < count; ++number)
            threads_.emplace_back([this, count, number, turn] {
                while (take_turn(count, number, turn)) {
                }
            });
    }
    ~round_of_threads()
    {
        for (std::thread& thread : threads_)
            thread.join();
    }
    round_of_threads(const round_of_threads&) = delete;
    round_of_threads& operator=(const round_of_threads&) = delete;

private:
    bool take_turn(int count, int number, const std::function<bool(int)>& turn)
    {
        std::unique_lock lock(mutex_);
        handed_over_.wait(lock, [&] { return ended_ || next_ == number; });
        if (!ended_) {
            try {
                ended_ = !turn(number);
            } catch (const std::exception& failure) {
                ADD_FAILURE() << failure.what();
                ended_ = true;
            }
        }
        next_ = (number + 1) % count;
        handed_over_.notify_all();
        return !ended_;
    }

    std::mutex mutex_;
    std::condition_variable handed_over_;
    int next_ = 0;
    bool ended_ = false;
    std::vector<std::thread> threads_;
};

constexpr int count = 6'000;
constexpr int threads = 3;

std::string body_of(int index)
{
    const int padding = index % 97 == 0 ? 70'000 : index % 13 == 0 ? 3'000 : 40 * (index % 2);
    return std::to_string(index) + std::string(static_cast<std::size_t>(padding), ' ');
}

/// Receives one message in one of three ways.
std::string receive(test_socket& socket, int way)
{
    switch (way % 3) {
    case 0:
        return socket.recv();
    case 1:
        if (!socket.readable())
            throw call_failed("zmq_poll");
        return socket.recv(ZMQ_DONTWAIT);
    default:
        const bool there = wait_until([&] { return (socket.events() & ZMQ_POLLIN) != 0; });
        return there ? socket.recv(ZMQ_DONTWAIT) : "nothing";
    }
}

class HandedOver : public transport_test {
protected:
    /// So that threads wait with the socket in their hands.
    static void small(test_socket& socket)
    {
        socket.set(ZMQ_SNDHWM, 20);
        socket.set(ZMQ_RCVHWM, 20);
    }
};

TEST_P(HandedOver, sockets_carry_everything_in_order)
{
    auto [sink, source, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, small, small);
    int sent = 0;
    const round_of_threads sending(threads, [&, &socket = source](int) {
        for (int left = 1 + sent % 5; left > 0 && sent < count; --left)
            socket.send(body_of(sent++));
        return sent < count;
    });
    int received = 0;
    const round_of_threads receiving(threads, [&, &socket = sink](int number) {
        for (int left = 1 + received % 7; left > 0 && received < count; --left) {
            EXPECT_TRUE(body_of(received) == receive(socket, number)) << received;
            ++received;
        }
        return received < count && !HasFailure();
    });
}

TEST_P(HandedOver, a_socket_keeps_the_messages_of_each_sender_in_order)
{
    constexpr int senders = 4;
    test_socket sink(context_, ZMQ_ROUTER);
    small(sink);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> sources;
    std::vector<std::future<void>> sending;
    for (int number = 0; number < senders; ++number) {
        test_socket& source = sources.emplace_back(context_, ZMQ_DEALER);
        small(source);
        source.set(ZMQ_ROUTING_ID, std::to_string(number));
        source.connect(address);
    }
    for (test_socket& source : sources)
        sending.push_back(std::async(std::launch::async, [&source] {
            for (int index = 0; index < count / senders; ++index)
                source.send_parts({"", body_of(index)});
        }));
    std::vector<int> next(senders, 0);
    int received = 0;
    {
        const round_of_threads receiving(threads, [&](int) {
            for (int left = 1 + received % 7; left > 0 && received < count; --left) {
                const parts message = sink.recv_parts();
                if (message.size() != 3)
                    throw std::runtime_error("a message in pieces");
                int& index = next.at(std::stoul(message[0]));
                EXPECT_TRUE(body_of(index) == message[2]) << message[0] << " " << index;
                ++index;
                ++received;
            }
            return received < count && !HasFailure();
        });
    }
    for (auto& sender : sending)
        sender.get();
    EXPECT_EQ(std::vector<int>(senders, count / senders), next);
}

TEST_P(HandedOver, both_ends_of_a_dialogue)
{
    auto [server, client, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    constexpr int rounds = 1'000;
    int asked = 0;
    int answered = 0;
    // The turn ends between a question and its answer, on both sides.
    const round_of_threads asking(threads, [&, &socket = client](int) {
        if (asked > 0) {
            EXPECT_EQ("re " + std::to_string(asked - 1), socket.recv());
        }
        if (asked < rounds)
            socket.send(std::to_string(asked));
        return asked++ < rounds && !HasFailure();
    });
    std::string question;
    const round_of_threads answering(threads, [&, &socket = server](int) {
        if (!question.empty()) {
            socket.send("re " + question);
            ++answered;
        }
        question = answered < rounds ? socket.recv() : "";
        return answered < rounds && !HasFailure();
    });
}

ZLINK_ALL_TRANSPORTS(HandedOver);

} // namespace
} // namespace zlink::test
