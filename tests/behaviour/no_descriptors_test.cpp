// SPDX-License-Identifier: Apache-2.0
// Waiting in a process that cannot open another descriptor.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/descriptors.hpp"
#include "support/draft.hpp"
#include "support/sanitizers.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

constexpr int rounds = 50;

/// One message has been received: nothing more has to be opened.
connected_pair connect(test_context& context, transport kind, int bound_type, int peer_type)
{
    connected_pair pair = link(context, kind, bound_type, peer_type);
    pair.peer.send("first");
    EXPECT_EQ("first", pair.bound.recv());
    return pair;
}

void read_byte(const descriptor_pair& pair)
{
    char byte = 0;
    ASSERT_EQ(1, ::read(pair.reader(), &byte, 1));
}

/// Some sockets and a descriptor, which one thread waits for while another one sends.
class waited_for {
public:
    explicit waited_for(test_context& context, transport kind,
                        const std::vector<std::array<int, 2>>& types = {
                            {ZMQ_PULL, ZMQ_PUSH}, {ZMQ_DEALER, ZMQ_DEALER}, {ZMQ_PULL, ZMQ_PUSH}})
    {
        for (const auto& [bound, peer] : types)
            sockets_.push_back(connect(context, kind, bound, peer));
    }

    std::size_t count() const { return sockets_.size() + 1; }
    /// Causes news of one of them; the last one is the descriptor.
    void cause(std::size_t which)
    {
        if (which < sockets_.size())
            sockets_[which].peer.send("x");
        else
            descriptors_.write();
    }
    void take(std::size_t which)
    {
        if (which < sockets_.size())
            EXPECT_EQ("x", sockets_[which].bound.recv());
        else
            read_byte(descriptors_);
    }
    std::vector<zmq_pollitem_t> items()
    {
        std::vector<zmq_pollitem_t> all;
        for (connected_pair& each : sockets_)
            all.push_back({each.bound, 0, ZMQ_POLLIN, 0});
        all.push_back({nullptr, descriptors_.reader(), ZMQ_POLLIN, 0});
        return all;
    }
    /// Waits with zmq_poll. Which one has news; count() if none has in time.
    std::size_t poll(std::chrono::milliseconds window = patience)
    {
        auto all = items();
        const int ready = zmq_poll(all.data(), static_cast<int>(all.size()), window.count());
        EXPECT_LE(0, ready) << zmq_strerror(zmq_errno());
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].revents)
                return i;
        return count();
    }

    /// Another thread waits by `wait` for what this one causes, again and again.
    void exchange(const std::function<std::size_t()>& wait)
    {
        std::atomic<int> seen{0};
        auto waiting = std::async(std::launch::async, [&] {
            for (int round = 0; round < rounds; ++round) {
                const std::size_t which = wait();
                EXPECT_EQ(static_cast<std::size_t>(round) % count(), which);
                if (which == count())
                    return;
                take(which);
                ++seen;
            }
        });
        for (int round = 0; round < rounds; ++round) {
            cause(static_cast<std::size_t>(round) % count());
            ASSERT_TRUE(wait_until([&] { return seen > round; })) << "round " << round;
        }
        waiting.get();
    }

private:
    std::vector<connected_pair> sockets_;
    descriptor_pair descriptors_;
};

class NoDescriptorLeft : public transport_test {
protected:
    void SetUp() override
    {
        if (has_address_sanitizer())
            GTEST_SKIP() << "see no_descriptors";
    }
};

TEST_P(NoDescriptorLeft, poll_hears_of_sockets_and_descriptors)
{
    waited_for all(context_, GetParam());
    const no_descriptors none;
    all.exchange([&] { return all.poll(); });
}

TEST_P(NoDescriptorLeft, poll_keeps_its_limit)
{
    waited_for all(context_, GetParam());
    const no_descriptors none;
    for (const auto limit : {0ms, 1ms, 30ms}) {
        const stopwatch clock;
        EXPECT_EQ(all.count(), all.poll(limit));
        EXPECT_LE(limit.count() - 1, clock.elapsed_ms());
    }
    all.cause(0);
    EXPECT_EQ(0u, all.poll());
}

TEST_P(NoDescriptorLeft, many_threads_poll_at_the_same_time)
{
    constexpr int threads = 4;
    std::vector<std::unique_ptr<waited_for>> own;
    for (int i = 0; i < threads; ++i)
        own.push_back(std::make_unique<waited_for>(context_, GetParam()));
    const no_descriptors none;
    std::vector<std::future<void>> running;
    for (const auto& each : own)
        running.push_back(std::async(std::launch::async, [all = each.get()] {
            all->exchange([all] { return all->poll(); });
        }));
    for (auto& each : running)
        each.get();
}

TEST_P(NoDescriptorLeft, ppoll_lets_a_signal_in)
{
    static volatile std::sig_atomic_t handled;
    handled = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { handled = 1; };
    struct sigaction before {};
    ASSERT_EQ(0, ::sigaction(SIGUSR1, &action, &before));
    waited_for all(context_, GetParam());
    sigset_t blocked;
    sigset_t mask;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ASSERT_EQ(0, ::pthread_sigmask(SIG_BLOCK, &blocked, &mask));
    const no_descriptors none;
    auto items = all.items();
    const int count = static_cast<int>(items.size());
    EXPECT_EQ(0, zmq_ppoll(items.data(), count, 10, &mask));
    EXPECT_EQ(0, handled);
    ASSERT_EQ(0, ::raise(SIGUSR1));
    EXPECT_EQ(0, zmq_poll(items.data(), count, 10));
    EXPECT_EQ(0, handled);
    EXPECT_TRUE(fails_with(EINTR, zmq_ppoll(items.data(), count, patience.count(), &mask)));
    EXPECT_EQ(1, handled);
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(NoDescriptorLeft, poll_hears_of_thread_safe_sockets_too)
{
    waited_for all(context_, GetParam(),
                   {{ZMQ_SERVER, ZMQ_CLIENT}, {ZMQ_PULL, ZMQ_PUSH}, {ZMQ_GATHER, ZMQ_SCATTER}});
    waited_for others(context_, GetParam(), {{ZMQ_SERVER, ZMQ_CLIENT}, {ZMQ_PULL, ZMQ_PUSH}});
    const no_descriptors none;
    auto beside =
        std::async(std::launch::async, [&] { others.exchange([&] { return others.poll(); }); });
    all.exchange([&] { return all.poll(); });
    beside.get();
}

TEST_P(NoDescriptorLeft, a_poller_hears_of_thread_safe_sockets_too)
{
    waited_for all(context_, GetParam(),
                   {{ZMQ_SERVER, ZMQ_CLIENT}, {ZMQ_PULL, ZMQ_PUSH}, {ZMQ_GATHER, ZMQ_SCATTER}});
    void* poller = zmq_poller_new();
    const no_descriptors none;
    auto items = all.items();
    for (zmq_pollitem_t& each : items)
        EXPECT_EQ(0, each.socket ? zmq_poller_add(poller, each.socket, &each, ZMQ_POLLIN)
                                 : zmq_poller_add_fd(poller, each.fd, &each, ZMQ_POLLIN));
    const auto wait = [&] {
        zmq_poller_event_t event{};
        if (zmq_poller_wait(poller, &event, patience.count()) != 0)
            return all.count();
        const auto* const item = static_cast<const zmq_pollitem_t*>(event.user_data);
        return static_cast<std::size_t>(item - items.data());
    };
    all.exchange(wait);
    EXPECT_EQ(0, zmq_poller_destroy(&poller));
}

TEST_P(NoDescriptorLeft, a_proxy_joins_sockets_of_both_kinds)
{
    connected_pair front = connect(context_, GetParam(), ZMQ_GATHER, ZMQ_SCATTER);
    connected_pair back = link(context_, GetParam(), ZMQ_PUSH, ZMQ_PULL);
    back.bound.send("first");
    EXPECT_EQ("first", back.peer.recv());
    {
        const no_descriptors none;
        auto proxy = std::async(std::launch::async, [&] {
            zmq_proxy(front.bound, back.bound, nullptr);
            return zmq_errno();
        });
        for (int round = 0; round < rounds; ++round) {
            front.peer.send("x");
            EXPECT_EQ("x", back.peer.recv());
        }
        zmq_ctx_shutdown(context_);
        EXPECT_EQ(ETERM, proxy.get());
    }
}

/// A dialogue in which either side waits so often that it asks to read its connection by itself,
/// and so long now and then that it falls asleep. The answers must not be late as a rule then: the
/// I/O thread takes a connection that nobody reads back before long.
void converse(connected_pair& pair, const std::function<void(test_socket&)>& wait)
{
    constexpr int questions = 2000;
    constexpr int questions_in_a_row = 20;
    constexpr long late_ms = 15;
    const no_descriptors none;
    auto answering = std::async(std::launch::async, [&] {
        for (int i = 0; i < questions; ++i) {
            wait(pair.bound);
            pair.bound.send(pair.bound.recv());
        }
    });
    int breaks = 0;
    int late = 0;
    for (int i = 1; i <= questions; ++i) {
        const bool after_break = i % questions_in_a_row == 0;
        if (after_break)
            wait_until([] { return false; },
                       2ms); // what the other one does meanwhile cannot be seen
        const std::string question = std::to_string(i);
        const stopwatch clock;
        pair.peer.send(question);
        wait(pair.peer);
        ASSERT_EQ(question, pair.peer.recv()) << "question " << i;
        breaks += after_break;
        late += after_break && clock.elapsed_ms() >= late_ms;
    }
    EXPECT_GT(breaks, 4 * late);
    answering.get();
}

TEST_P(NoDescriptorLeft, a_receive_call_waits_for_answers)
{
    connected_pair pair = connect(context_, GetParam(), ZMQ_DEALER, ZMQ_DEALER);
    converse(pair, [](test_socket&) {});
}

TEST_P(NoDescriptorLeft, poll_waits_for_answers)
{
    connected_pair pair = connect(context_, GetParam(), ZMQ_DEALER, ZMQ_DEALER);
    converse(pair, [](test_socket& socket) { EXPECT_TRUE(socket.readable()); });
}

ZLINK_ALL_TRANSPORTS(NoDescriptorLeft);

} // namespace
} // namespace zlink::test
