// SPDX-License-Identifier: Apache-2.0
// What one thread sends to many peers in quick succession is written in batches: all of it arrives,
// in order, whatever the thread does next.
#include "support/fixture.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

class Burst : public transport_test {
protected:
    static constexpr const char* name = "burst";
    static constexpr int rounds = 20;

    /// A ROUTER, and DEALERs that it knows, each in a context of its own side.
    void meet(std::size_t peers)
    {
        router_ = test_socket(context_, ZMQ_ROUTER);
        router_.set(ZMQ_ROUTER_MANDATORY, 1);
        const std::string address = router_.bind_and_resolve(fresh_bind_address(GetParam()));
        for (std::size_t i = 0; i < peers; ++i) {
            dealers_.emplace_back(far_context_, ZMQ_DEALER);
            dealers_.back().set(ZMQ_ROUTING_ID, id_of(i));
            dealers_.back().connect(address);
            dealers_.back().send("hello");
            EXPECT_EQ("hello", router_.recv_parts().back());
        }
    }
    static std::string id_of(std::size_t peer) { return "peer" + std::to_string(peer); }

    /// To each peer in turn, numbered from `first` on.
    void send(int first, int count)
    {
        for (int number = first; number < first + count; ++number)
            for (std::size_t i = 0; i < dealers_.size(); ++i) {
                router_.send(id_of(i), ZMQ_SNDMORE);
                router_.send(std::to_string(number));
            }
    }
    void expect_all(int first, int count)
    {
        for (int number = first; number < first + count; ++number)
            for (test_socket& dealer : dealers_)
                ASSERT_EQ(std::to_string(number), dealer.recv());
    }

    test_context far_context_;
    test_socket router_;
    std::vector<test_socket> dealers_;
};

/// A thread that does something and then makes no call until it is to end.
class silent_thread {
public:
    explicit silent_thread(std::function<void()> work)
        : thread_([this, work = std::move(work)] {
              work();
              std::unique_lock lock(mutex_);
              silent_ = true;
              changed_.notify_all();
              changed_.wait(lock, [this] { return ended_; });
          })
    {}
    ~silent_thread()
    {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    /// Returns when it has done what it does. Then its sockets may be used by another thread.
    void wait_for_silence()
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return silent_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool silent_ = false;
    bool ended_ = false;
    std::thread thread_; // last: it uses the others
};

TEST_P(Burst, arrives_though_its_thread_makes_no_further_call)
{
    for (const std::size_t peers : {2, 8, 40}) {
        dealers_.clear();
        meet(peers);
        for (int first = 0; first < 10 * rounds; first += rounds) {
            const silent_thread sender([&] { send(first, rounds); });
            expect_all(first, rounds);
        }
    }
}

TEST_P(Burst, arrives_though_its_thread_ends)
{
    meet(8);
    for (int first = 0; first < 10 * rounds; first += rounds) {
        std::thread([&] { send(first, rounds); }).join();
        expect_all(first, rounds);
    }
}

TEST_P(Burst, goes_on_in_another_thread)
{
    meet(8);
    int first = 0;
    for (int turn = 0; turn < 10; ++turn, first += 2 * rounds) {
        silent_thread sender([&] { send(first, rounds); });
        sender.wait_for_silence();
        const silent_thread other([&] { send(first + rounds, rounds); });
        expect_all(first, 2 * rounds);
    }
}

TEST_P(Burst, is_delivered_after_its_socket_is_closed)
{
    for (const std::size_t peers : {3, 40}) {
        dealers_.clear();
        meet(peers);
        router_.set(ZMQ_LINGER, -1);
        const silent_thread sender([&] {
            send(0, rounds);
            router_.close();
        });
        expect_all(0, rounds);
    }
}

TEST_P(Burst, of_a_push_socket_arrives_though_its_thread_makes_no_further_call)
{
    for (const std::size_t peers : {2, 8, 40}) {
        test_socket source(context_, ZMQ_PUSH);
        std::vector<test_socket> sinks;
        for (std::size_t i = 0; i < peers; ++i) {
            sinks.emplace_back(far_context_, ZMQ_PULL);
            source.connect(sinks.back().bind_and_resolve(fresh_bind_address(GetParam())));
        }
        for (std::size_t i = 0; i < peers; ++i)
            source.send("hello");
        for (test_socket& sink : sinks)
            ASSERT_EQ("hello", sink.recv());
        for (int turn = 0; turn < 10; ++turn) {
            const silent_thread sender([&] {
                for (int number = 0; number < rounds; ++number)
                    for (std::size_t i = 0; i < peers; ++i)
                        source.send(std::to_string(number));
            });
            for (int number = 0; number < rounds; ++number)
                for (test_socket& sink : sinks)
                    ASSERT_EQ(std::to_string(number), sink.recv());
        }
    }
}

TEST_P(Burst, of_a_publisher_arrives_though_its_thread_makes_no_further_call)
{
    for (const std::size_t peers : {1, 2, 8, 40}) {
        test_socket source(context_, ZMQ_PUB);
        const std::string address = source.bind_and_resolve(fresh_bind_address(GetParam()));
        std::vector<test_socket> sinks;
        for (std::size_t i = 0; i < peers; ++i) {
            sinks.emplace_back(far_context_, ZMQ_SUB);
            sinks.back().set(ZMQ_SUBSCRIBE, "");
            sinks.back().connect(address);
        }
        for (test_socket& sink : sinks)
            ASSERT_TRUE(wait_until([&] {
                source.send("hello");
                return sink.readable(std::chrono::milliseconds(1));
            }));
        source.send("begin");
        for (test_socket& sink : sinks)
            while (sink.recv() != "begin") {
            }
        for (int turn = 0; turn < 10; ++turn) {
            const silent_thread sender([&] {
                for (int number = 0; number < rounds; ++number)
                    source.send(std::to_string(number));
            });
            for (int number = 0; number < rounds; ++number)
                for (test_socket& sink : sinks)
                    ASSERT_EQ(std::to_string(number), sink.recv());
        }
    }
}

class BurstThroughSockets : public Burst {
protected:
    void expect_all_through(std::size_t sockets);
};

void BurstThroughSockets::expect_all_through(std::size_t sockets)
{
    test_socket sink(far_context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> sources;
    for (std::size_t i = 0; i < sockets; ++i) {
        sources.emplace_back(context_, ZMQ_PUSH);
        sources.back().connect(address);
        sources.back().send("hello");
        EXPECT_EQ("hello", sink.recv());
    }
    const silent_thread sender([&] {
        for (int number = 0; number < rounds; ++number)
            for (std::size_t i = 0; i < sockets; ++i) {
                sources[i].send(std::to_string(i), ZMQ_SNDMORE);
                sources[i].send(std::to_string(number));
            }
    });
    std::vector<int> next(sockets, 0);
    for (std::size_t i = 0; i < sockets * rounds; ++i) {
        const parts message = sink.recv_parts();
        ASSERT_EQ(2U, message.size());
        EXPECT_EQ(std::to_string(next[std::stoul(message[0])]++), message[1]);
    }
}

TEST_P(BurstThroughSockets, arrives)
{
    for (const std::size_t sockets : {2, 8, 50})
        expect_all_through(sockets);
}

TEST_P(Burst, outlives_a_context_that_it_began_in)
{
    meet(8);
    const silent_thread sender([&] {
        test_context other;
        test_socket sink(other, ZMQ_PULL);
        test_socket source(other, ZMQ_PUSH);
        source.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
        source.send("hello");
        EXPECT_EQ("hello", sink.recv());
        for (int i = 0; i < rounds; ++i)
            source.send("first"); // the guard lives in an I/O thread of this context
        send(0, rounds);
        sink.close();
        source.close();
        other.term();
        send(rounds, rounds);
    });
    expect_all(0, 2 * rounds);
}

ZLINK_WIRE_TRANSPORTS(Burst);
ZLINK_WIRE_TRANSPORTS(BurstThroughSockets);

} // namespace
} // namespace zlink::test
