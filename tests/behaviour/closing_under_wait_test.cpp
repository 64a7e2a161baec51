// SPDX-License-Identifier: Apache-2.0
// Sockets that are closed by one thread while another one waits for them.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/draft.hpp"
#include "support/fixture.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <thread>

namespace zlink::test {
namespace {

/// A call in a thread of its own.
class waiting_call {
public:
    /// `call` returns what the C API returns.
    explicit waiting_call(std::function<int()> call)
        : ended_(std::async(std::launch::async, [this, call = std::move(call)] {
              thread_ = static_cast<int>(::syscall(SYS_gettid));
              return call() < 0 ? zmq_errno() : 0;
          }))
    {}

    /// Waits until the thread sleeps.
    bool sleeps() const
    {
        int seen = 0;
        return wait_until([&] {
            seen = thread_ != 0 && state() == 'S' ? seen + 1 : 0;
            return seen == looks;
        });
    }
    /// The error the call ended with, 0 for none; -1 if it does not end.
    int error()
    {
        return ended_.wait_for(patience) == std::future_status::ready ? ended_.get() : -1;
    }

private:
    // A thread may be kept for a moment by others before it waits.
    static constexpr int looks = 3;

    char state() const
    {
        std::ifstream file("/proc/self/task/" + std::to_string(thread_) + "/stat");
        std::string text;
        std::getline(file, text);
        const auto at = text.rfind(") ");
        return at == std::string::npos ? '?' : text[at + 2];
    }

    std::atomic<int> thread_{0};
    std::future<int> ended_;
};

int poll_one(void* socket, short events)
{
    zmq_pollitem_t item{socket, 0, events, 0};
    return zmq_poll(&item, 1, -1);
}

class ClosingUnderWait : public transport_test {
protected:
    static constexpr int rounds = 40;

    test_socket bound(int type)
    {
        test_socket socket = test_socket::with_defaults(context_, type);
        socket.set(ZMQ_LINGER, 0);
        socket.bind(fresh_bind_address(GetParam()));
        return socket;
    }
    /// `call` waits for `socket`, which is closed then.
    void expect_end(test_socket& socket, const std::function<int(void*)>& call)
    {
        void* const handle = socket;
        waiting_call waits([&] { return call(handle); });
        ASSERT_TRUE(waits.sleeps());
        ASSERT_EQ(0, zmq_close(socket.release()));
        ASSERT_EQ(ENOTSOCK, waits.error());
        EXPECT_TRUE(fails_with(ENOTSOCK, call(handle)));
    }
};

TEST_P(ClosingUnderWait, ends_a_poll)
{
    for (int round = 0; round < rounds; ++round) {
        test_socket socket = bound(ZMQ_PULL);
        expect_end(socket, [](void* handle) { return poll_one(handle, ZMQ_POLLIN); });
        test_socket sender = bound(ZMQ_PUSH);
        expect_end(sender, [](void* handle) { return poll_one(handle, ZMQ_POLLOUT); });
    }
}

TEST_P(ClosingUnderWait, ends_a_poll_of_several_sockets_and_files)
{
    for (int round = 0; round < rounds; ++round)
        for (const bool with_file : {false, true}) {
            test_socket other = bound(ZMQ_PULL);
            test_socket socket = bound(ZMQ_PULL);
            int ends[2];
            ASSERT_EQ(0, ::pipe(ends));
            expect_end(socket, [&](void* handle) {
                zmq_pollitem_t items[] = {{other, 0, ZMQ_POLLIN, 0},
                                          {handle, 0, ZMQ_POLLIN, 0},
                                          {handle, 0, ZMQ_POLLIN, 0}, // twice
                                          {nullptr, ends[0], ZMQ_POLLIN, 0}};
                return zmq_poll(items, with_file ? 4 : 3, -1);
            });
            ::close(ends[0]);
            ::close(ends[1]);
        }
}

TEST_P(ClosingUnderWait, ends_a_poll_beside_a_thread_safe_socket)
{
    for (int round = 0; round < rounds; ++round)
        for (const int first : {0, 1}) {
            test_socket sockets[] = {bound(ZMQ_PULL), bound(ZMQ_SERVER)};
            void* const other = sockets[1 - first];
            expect_end(sockets[first], [&](void* handle) {
                zmq_pollitem_t items[] = {{other, 0, ZMQ_POLLIN, 0}, {handle, 0, ZMQ_POLLIN, 0}};
                return zmq_poll(items, 2, -1);
            });
        }
}

TEST_P(ClosingUnderWait, ends_a_poller)
{
    for (const int type : {int{ZMQ_PULL}, int{ZMQ_SERVER}})
        for (int round = 0; round < rounds; ++round) {
            test_socket socket = bound(type);
            void* poller = zmq_poller_new();
            ASSERT_EQ(0, zmq_poller_add(poller, socket, nullptr, ZMQ_POLLIN));
            expect_end(socket, [&](void*) {
                zmq_poller_event_t event;
                return zmq_poller_wait(poller, &event, -1);
            });
            EXPECT_EQ(0, zmq_poller_destroy(&poller));
        }
}

TEST_P(ClosingUnderWait, ends_a_receive_call)
{
    for (const int type : {int{ZMQ_PULL}, int{ZMQ_ROUTER}, int{ZMQ_REP}, int{ZMQ_SERVER}})
        for (int round = 0; round < rounds; ++round) {
            test_socket socket = bound(type);
            expect_end(socket, [](void* handle) {
                char body[10];
                return zmq_recv(handle, body, sizeof body, 0);
            });
            test_socket other = bound(type);
            expect_end(other, [](void* handle) {
                zmq_msg_t message;
                zmq_msg_init(&message);
                return zmq_msg_recv(&message, handle, 0);
            });
        }
}

TEST_P(ClosingUnderWait, ends_a_send_call)
{
    for (const int type : {int{ZMQ_PUSH}, int{ZMQ_DEALER}, int{ZMQ_CLIENT}})
        for (int round = 0; round < rounds; ++round) {
            test_socket socket = bound(type);
            expect_end(socket, [](void* handle) { return zmq_send(handle, "x", 1, 0); });
        }
}

// Whichever of its sockets is closed.
TEST_P(ClosingUnderWait, ends_a_proxy)
{
    for (const int type : {int{ZMQ_DEALER}, int{ZMQ_SERVER}})
        for (int round = 0; round < rounds; ++round) {
            test_socket ends[] = {bound(type), bound(type)};
            void* const other = ends[(round + 1) % 2];
            expect_end(ends[round % 2], [&](void* handle) {
                return round % 4 < 2 ? zmq_proxy(handle, other, nullptr)
                                     : zmq_proxy(other, handle, nullptr);
            });
        }
}

TEST_P(ClosingUnderWait, ends_a_steered_proxy)
{
    for (int round = 0; round < rounds; ++round)
        for (const int closed : {0, 1, 2}) {
            test_socket sockets[] = {bound(ZMQ_DEALER), bound(ZMQ_DEALER), bound(ZMQ_PAIR)};
            void* handles[] = {sockets[0], sockets[1], sockets[2]};
            expect_end(sockets[closed], [&](void*) {
                return zmq_proxy_steerable(handles[0], handles[1], nullptr, handles[2]);
            });
        }
}

// While messages go through it, so that the proxy is at work as often as it waits.
TEST_P(ClosingUnderWait, ends_a_proxy_at_work)
{
    for (int round = 0; round < rounds; ++round) {
        test_socket front = test_socket(context_, ZMQ_PULL);
        test_socket back = test_socket(context_, ZMQ_PUSH);
        test_socket source(context_, ZMQ_PUSH);
        test_socket sink(context_, ZMQ_PULL);
        source.connect(front.bind_and_resolve(fresh_bind_address(GetParam())));
        sink.connect(back.bind_and_resolve(fresh_bind_address(GetParam())));
        void* const ends[] = {front, back};
        waiting_call runs([&] { return zmq_proxy(ends[0], ends[1], nullptr); });
        std::atomic<bool> stop{false};
        std::thread sender([&] {
            while (!stop)
                source.try_send("x");
        });
        for (int count = 0; count < 10 + round; ++count)
            EXPECT_EQ("x", sink.recv());
        EXPECT_EQ(0, zmq_close(round % 2 ? front.release() : back.release()));
        EXPECT_EQ(ENOTSOCK, runs.error());
        stop = true;
        sender.join();
    }
}

// What was sent before still goes out.
TEST_P(ClosingUnderWait, lingers_as_closing_does)
{
    for (int round = 0; round < rounds; ++round) {
        test_socket sink(context_, ZMQ_DEALER);
        test_socket socket = test_socket::with_defaults(context_, ZMQ_DEALER);
        socket.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
        socket.send("last words");
        expect_end(socket, [](void* handle) { return poll_one(handle, ZMQ_POLLIN); });
        EXPECT_EQ("last words", sink.recv());
    }
}

// The end of the context waits for the call that has yet to close the socket.
TEST_P(ClosingUnderWait, lets_the_context_end)
{
    for (int round = 0; round < rounds; ++round) {
        test_context context;
        test_socket socket = test_socket::with_defaults(context, ZMQ_PULL);
        socket.bind(fresh_bind_address(GetParam()));
        void* const handle = socket;
        waiting_call waits([&] { return poll_one(handle, ZMQ_POLLIN); });
        ASSERT_TRUE(waits.sleeps());
        ASSERT_EQ(0, zmq_close(socket.release()));
        context.term();
        EXPECT_EQ(ENOTSOCK, waits.error());
    }
}

ZLINK_ALL_TRANSPORTS(ClosingUnderWait);

} // namespace
} // namespace zlink::test
