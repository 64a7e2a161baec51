// SPDX-License-Identifier: Apache-2.0
// pthread_cancel() of a thread in a call: calls that wait are cancellation
// points, others are done as a whole; what the thread has used can be used and
// closed by another one.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/fixture.hpp"

#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>

namespace zlink::test {
namespace {

/// A thread that can be cancelled. Its body calls the C API only: helpers may
/// have destructors that do more than a cancelled thread should.
class victim {
public:
    explicit victim(std::function<void()> body) : body_(std::move(body))
    {
        if (pthread_create(&thread_, nullptr, run, this) != 0)
            throw std::runtime_error("cannot start a thread");
    }
    victim(const victim&) = delete;
    victim& operator=(const victim&) = delete;

    void await_sleep() const
    {
        while (!asleep())
            std::this_thread::yield();
    }
    void cancel() { pthread_cancel(thread_); }
    /// Waits for its end. Was it cancelled?
    bool was_cancelled()
    {
        void* result = nullptr;
        pthread_join(thread_, &result);
        return result == PTHREAD_CANCELED;
    }

private:
    static void* run(void* argument)
    {
        auto& self = *static_cast<victim*>(argument);
        self.id_ = ::gettid();
        self.body_();
        return nullptr;
    }
    bool asleep() const
    {
        if (id_ == 0)
            return false;
        std::ifstream stat("/proc/self/task/" + std::to_string(id_) + "/stat");
        std::string text;
        std::getline(stat, text);
        const auto name_end = text.rfind(')');
        return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
    }

    std::function<void()> body_;
    std::atomic<pid_t> id_{0};
    pthread_t thread_{};
};

const configuration waits_for_ever = [](test_socket& socket) {
    socket.set(ZMQ_SNDTIMEO, -1);
    socket.set(ZMQ_RCVTIMEO, -1);
    socket.set(ZMQ_SNDHWM, 2);
    socket.set(ZMQ_RCVHWM, 2);
};
const configuration waits_for_ever_in_time = [](test_socket& socket) {
    waits_for_ever(socket);
    socket.set(ZMQ_RCVTIMEO, static_cast<int>(patience.count()));
};

void expect_exchange(test_socket& from, test_socket& to, const std::string& text)
{
    while (!from.try_send(text)) // until what the cancelled thread has sent makes room
        to.try_recv_parts(std::chrono::milliseconds(1));
    while (to.recv() != text) { // behind what was sent before
    }
}

class Cancellation : public transport_test {};
ZLINK_ALL_TRANSPORTS(Cancellation);

TEST_P(Cancellation, ends_a_thread_that_waits_for_input)
{
    auto pair = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, waits_for_ever);
    void* const socket = pair.bound;
    int descriptors[2];
    ASSERT_EQ(::pipe(descriptors), 0);
    const int idle = descriptors[0];
    const std::array<std::function<void()>, 7> waits{
        [=] {
            char text[8];
            zmq_recv(socket, text, sizeof text, 0);
        },
        [=] {
            zmq_msg_t message;
            zmq_msg_init(&message);
            zmq_msg_recv(&message, socket, 0);
        },
        [=] {
            iovec parts[2];
            std::size_t count = 2;
            zmq_recviov(socket, parts, &count, 0);
        },
        [=] {
            zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
            zmq_poll(&item, 1, -1);
        },
        [=] {
            zmq_pollitem_t items[]{{socket, 0, ZMQ_POLLIN, 0}, {nullptr, idle, ZMQ_POLLIN, 0}};
            zmq_poll(items, 2, -1);
        },
        [=] {
            zmq_pollitem_t item{nullptr, idle, ZMQ_POLLIN, 0};
            zmq_poll(&item, 1, -1);
        },
        [=] {
            sigset_t none;
            sigemptyset(&none);
            zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
            zmq_ppoll(&item, 1, -1, &none);
        },
    };
    for (std::size_t i = 0; i < waits.size(); ++i) {
        for (int round = 0; round < 3; ++round) {
            victim thread(waits[i]);
            thread.await_sleep();
            thread.cancel();
            EXPECT_TRUE(thread.was_cancelled()) << i;
            expect_exchange(pair.peer, pair.bound, "after " + std::to_string(i));
        }
    }
    ::close(descriptors[0]);
    ::close(descriptors[1]);
}

TEST_P(Cancellation, ends_a_thread_that_waits_for_room)
{
    static const std::string large(100'000, 'x');
    auto pair = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, waits_for_ever_in_time,
                             waits_for_ever);
    void* const socket = pair.peer;
    zmq_msg_t message; // stays the caller's if its thread is cancelled
    zmq_msg_init(&message);
    const std::array<std::function<void()>, 3> waits{
        [=] {
            for (;;)
                zmq_send(socket, large.data(), large.size(), 0);
        },
        [=] {
            for (;;)
                zmq_send_const(socket, large.data(), large.size(), 0);
        },
        [=, &message] {
            for (;;) {
                zmq_msg_init_size(&message, large.size());
                zmq_msg_send(&message, socket, 0);
            }
        },
    };
    for (std::size_t i = 0; i < waits.size(); ++i) {
        victim thread(waits[i]);
        thread.await_sleep();
        thread.cancel();
        EXPECT_TRUE(thread.was_cancelled()) << i;
        victim sender([=] { zmq_send(socket, "after", 5, 0); });
        while (pair.bound.recv() != "after") {
        }
        EXPECT_FALSE(sender.was_cancelled());
    }
    EXPECT_EQ(large.size(), zmq_msg_size(&message));
    EXPECT_EQ(0, zmq_msg_close(&message));
}

TEST_P(Cancellation, ends_pollers_and_proxies)
{
    auto pair = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, waits_for_ever);
    auto onward = connect_pair(context_, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    void* const front = pair.bound;
    void* const back = onward.peer;
    void* poller = zmq_poller_new();
    ASSERT_EQ(zmq_poller_add(poller, front, nullptr, ZMQ_POLLIN), 0);
    {
        victim thread([=] {
            zmq_poller_event_t event;
            zmq_poller_wait(poller, &event, -1);
        });
        thread.await_sleep();
        thread.cancel();
        EXPECT_TRUE(thread.was_cancelled());
    }
    expect_exchange(pair.peer, pair.bound, "one");
    EXPECT_EQ(zmq_poller_destroy(&poller), 0);
    {
        victim thread([=] { zmq_proxy(front, back, nullptr); });
        thread.await_sleep();
        expect_exchange(pair.peer, onward.bound, "two");
        thread.await_sleep();
        thread.cancel();
        EXPECT_TRUE(thread.was_cancelled());
    }
    expect_exchange(pair.peer, pair.bound, "three");
}

// Others get their turns, and see what they wait for.
TEST_P(Cancellation, lets_go_of_sockets_that_many_threads_use)
{
    auto pair =
        connect_pair(context_, GetParam(), ZMQ_GATHER, ZMQ_SCATTER, waits_for_ever, waits_for_ever);
    void* const receiver = pair.bound;
    void* const sender = pair.peer;
    const auto receive = [=] {
        char text[8];
        zmq_recv(receiver, text, sizeof text, 0);
    };
    for (int round = 0; round < 3; ++round) {
        victim first(receive);
        victim second(receive);
        victim polling([=] {
            zmq_pollitem_t item{receiver, 0, ZMQ_POLLIN, 0};
            zmq_poll(&item, 1, -1);
        });
        first.await_sleep();
        second.await_sleep();
        polling.await_sleep();
        first.cancel();
        EXPECT_TRUE(first.was_cancelled());
        polling.cancel();
        EXPECT_TRUE(polling.was_cancelled());
        pair.peer.send("news");
        EXPECT_FALSE(second.was_cancelled());
    }
    victim full([=] {
        static const std::string large(100'000, 'x');
        for (;;)
            zmq_send(sender, large.data(), large.size(), 0);
    });
    full.await_sleep();
    full.cancel();
    EXPECT_TRUE(full.was_cancelled());
    EXPECT_FALSE(pair.bound.recv().empty());
}

// Wherever it is when it is asked to end.
TEST_P(Cancellation, is_safe_while_nothing_waits)
{
    for (int round = 0; round < 20; ++round) {
        auto pair = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, waits_for_ever);
        void* const receiver = pair.bound;
        void* const sender = pair.peer;
        std::atomic<int> sent{0};
        victim thread([=, &sent] {
            char text[100]{};
            for (;;) {
                zmq_send(sender, text, sizeof text, ZMQ_DONTWAIT);
                zmq_recv(receiver, text, sizeof text, ZMQ_DONTWAIT);
                zmq_recv(receiver, text, sizeof text, ZMQ_DONTWAIT); // finds nothing in the end
                ++sent;
            }
        });
        while (sent < 50 * round)
            std::this_thread::yield();
        thread.cancel();
        EXPECT_TRUE(thread.was_cancelled());
        expect_exchange(pair.peer, pair.bound, "after");
    }
}

TEST_P(Cancellation, is_put_off_in_calls_that_do_not_wait)
{
    const std::string address = known_address(GetParam());
    void* const context = context_;
    for (int round = 0; round < 5; ++round) {
        std::atomic<int> made{0};
        victim thread([&] {
            for (;;) {
                void* const bound = zmq_socket(context, ZMQ_PULL);
                void* const peer = zmq_socket(context, ZMQ_PUSH);
                const int none = 0;
                zmq_setsockopt(peer, ZMQ_LINGER, &none, sizeof none);
                zmq_bind(bound, address.c_str());
                zmq_connect(peer, address.c_str());
                zmq_send(peer, "x", 1, ZMQ_SNDMORE);
                zmq_disconnect(peer, address.c_str());
                zmq_close(peer);
                zmq_close(bound);
                ++made;
                pthread_testcancel();
            }
        });
        while (made <= 3 * round)
            std::this_thread::yield();
        thread.cancel();
        EXPECT_TRUE(thread.was_cancelled());
    }
}

TEST_P(Cancellation, does_nothing_to_a_thread_that_forbids_it)
{
    auto pair = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, waits_for_ever);
    void* const socket = pair.bound;
    victim thread([=] {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        char text[8];
        zmq_recv(socket, text, sizeof text, 0);
    });
    thread.await_sleep();
    thread.cancel();
    pair.peer.send("x");
    EXPECT_FALSE(thread.was_cancelled());
}

TEST(CancelledTermination, can_be_repeated)
{
    test_context context;
    test_socket open(context, ZMQ_PAIR);
    void* const handle = context;
    victim thread([=] { zmq_ctx_term(handle); });
    thread.await_sleep();
    thread.cancel();
    EXPECT_TRUE(thread.was_cancelled());
    EXPECT_TRUE(fails_with(ETERM, zmq_send(open, "x", 1, 0)));
    open.close();
    context.term();
}

// By another thread, which leaves it to the one that waits.
TEST(CancelledWait, ends_a_socket_that_was_closed_meanwhile)
{
    test_context context;
    for (int round = 0; round < 50; ++round) {
        test_socket socket(context, ZMQ_PULL);
        socket.set(ZMQ_RCVTIMEO, -1);
        void* const handle = socket;
        victim thread([=] {
            char text[8];
            zmq_recv(handle, text, sizeof text, 0);
        });
        thread.await_sleep();
        if (round % 2)
            thread.cancel();
        socket.close();
        if (round % 2 == 0)
            thread.cancel();
        thread.was_cancelled();
    }
    context.term();
}

} // namespace
} // namespace zlink::test
