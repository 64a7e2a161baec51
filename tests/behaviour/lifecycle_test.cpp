// SPDX-License-Identifier: Apache-2.0
// The life of contexts and sockets next to signals, other threads and other processes.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"
#include "support/sanitizers.hpp"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

std::atomic<int> signals_handled{0};

/// A handler for SIGUSR1 that does nothing but interrupt calls.
class interrupting_signal {
public:
    interrupting_signal()
    {
        struct sigaction action {};
        action.sa_handler = [](int) { ++signals_handled; };
        ::sigaction(SIGUSR1, &action, &before_);
    }
    ~interrupting_signal() { ::sigaction(SIGUSR1, &before_, nullptr); }
    interrupting_signal(const interrupting_signal&) = delete;
    interrupting_signal& operator=(const interrupting_signal&) = delete;

    /// Runs `call` in a thread that gets signals until it returns.
    /// @return the error of the call, 0 if it succeeded.
    static int error_of(const std::function<int()>& call)
    {
        std::atomic<bool> begun{false};
        std::atomic<bool> ended{false};
        int error = 0;
        std::thread calling([&] {
            begun = true;
            error = call() < 0 ? zmq_errno() : 0;
            ended = true;
        });
        while (!begun)
            std::this_thread::yield();
        EXPECT_TRUE(wait_until([&] {
            if (!ended)
                ::pthread_kill(calling.native_handle(), SIGUSR1);
            return ended.load();
        }));
        calling.join();
        return error;
    }

private:
    struct sigaction before_ {};
};

class Interrupted : public transport_test {
protected:
    Interrupted() { socket_.bind(fresh_bind_address(GetParam())); }

    interrupting_signal signal_;
    test_socket socket_ = test_socket::with_defaults(context_, ZMQ_DEALER);
};

TEST_P(Interrupted, receiving_says_so)
{
    char byte = 0;
    EXPECT_EQ(EINTR, signal_.error_of([&] { return zmq_recv(socket_, &byte, 1, 0); }));
}

TEST_P(Interrupted, sending_says_so)
{
    EXPECT_EQ(EINTR, signal_.error_of([&] { return zmq_send(socket_, "x", 1, 0); }));
}

TEST_P(Interrupted, polling_says_so)
{
    zmq_pollitem_t items[] = {{socket_, 0, ZMQ_POLLIN, 0}, {nullptr, 0, 0, 0}};
    int pipe_ends[2];
    ASSERT_EQ(0, ::pipe(pipe_ends));
    items[1] = {nullptr, pipe_ends[0], ZMQ_POLLIN, 0};
    for (const int count : {0, 1, 2})
        EXPECT_EQ(EINTR, signal_.error_of([&] { return zmq_poll(items, count, -1); })) << count;
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
}

TEST_P(Interrupted, waiting_with_a_poller_says_so)
{
    void* poller = zmq_poller_new();
    zmq_poller_add(poller, socket_, nullptr, ZMQ_POLLIN);
    zmq_poller_event_t event{};
    EXPECT_EQ(EINTR, signal_.error_of([&] { return zmq_poller_wait(poller, &event, -1); }));
    zmq_poller_destroy(&poller);
}

TEST_P(Interrupted, a_proxy_says_so_and_can_go_on)
{
    test_socket front(context_, ZMQ_PULL);
    test_socket source(context_, ZMQ_PUSH);
    source.connect(front.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ(EINTR, signal_.error_of([&] { return zmq_proxy(front, socket_, nullptr); }));
    source.send_parts({"a", "b"}); // waits, as nobody is behind the proxy
    EXPECT_EQ(EINTR, signal_.error_of([&] { return zmq_proxy(front, socket_, nullptr); }));
    EXPECT_EQ((parts{"a", "b"}), front.recv_parts());
}

TEST_P(Interrupted, terminating_says_so_and_is_called_again)
{
    void* context = zmq_ctx_new();
    test_socket bound(context, ZMQ_PAIR);
    bound.bind(fresh_bind_address(GetParam()));
    void* const open = bound.release();
    for (int round = 0; round < 3; ++round)
        EXPECT_EQ(EINTR, signal_.error_of([&] { return zmq_ctx_term(context); }));
    EXPECT_TRUE(fails_with(ETERM, zmq_send(open, "x", 1, 0)));
    EXPECT_EQ(0, zmq_close(open));
    EXPECT_EQ(0, zmq_ctx_term(context));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_term(context)));
}

ZLINK_ALL_TRANSPORTS(Interrupted);

TEST(InterruptedThreadSafe, every_wait_says_so)
{
    const interrupting_signal signal;
    test_context context;
    test_socket gather = test_socket::with_defaults(context, ZMQ_GATHER);
    test_socket scatter = test_socket::with_defaults(context, ZMQ_SCATTER);
    zmq_pollitem_t item{gather, 0, ZMQ_POLLIN, 0};
    void* poller = zmq_poller_new();
    zmq_poller_add(poller, gather, nullptr, ZMQ_POLLIN);
    zmq_poller_event_t event{};
    EXPECT_EQ(EINTR, signal.error_of([&] { return zmq_recv(gather, nullptr, 0, 0); }));
    EXPECT_EQ(EINTR, signal.error_of([&] { return zmq_send(scatter, "x", 1, 0); }));
    EXPECT_EQ(EINTR, signal.error_of([&] { return zmq_poll(&item, 1, -1); }));
    EXPECT_EQ(EINTR, signal.error_of([&] { return zmq_poller_wait(poller, &event, -1); }));
    EXPECT_EQ(EINTR, signal.error_of([&] { return zmq_poller_wait_all(poller, &event, 1, -1); }));
    EXPECT_EQ(EINTR, signal.error_of([&] { return zmq_proxy(gather, scatter, nullptr); }));
    zmq_poller_destroy(&poller);
}

// The original has given the front's message away by then, and loses its first part.
TEST(ZlinkOnlyInterruptedProxy, with_a_full_capture_loses_nothing_and_doubles_nothing)
{
    const interrupting_signal signal;
    test_context context;
    auto [front, source, front_address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    auto [back, sink, back_address] = link(context, transport::inproc, ZMQ_PUSH, ZMQ_PULL);
    test_socket capture = test_socket::with_defaults(context, ZMQ_PUSH);
    capture.bind("inproc://capture");
    source.send_parts({"a", "b", "c"});
    source.send("d");
    for (int round = 0; round < 5; ++round)
        EXPECT_EQ(EINTR,
                  signal.error_of([&, &f = front, &b = back] { return zmq_proxy(f, b, capture); }));
    test_socket listener(context, ZMQ_PULL);
    listener.connect("inproc://capture");
    auto ended = std::async(std::launch::async, [&, &f = front, &b = back] {
        return zmq_proxy(f, b, capture) == -1 ? zmq_errno() : 0;
    });
    for (test_socket* socket : {&listener, &sink}) {
        EXPECT_EQ((parts{"a", "b", "c"}), socket->try_recv_parts(patience));
        EXPECT_EQ(parts{"d"}, socket->try_recv_parts(patience));
        EXPECT_FALSE(socket->readable(quiet_window));
    }
    zmq_ctx_shutdown(context);
    EXPECT_EQ(ETERM, ended.get());
}

/// SIGUSR1 is pending in this thread, which blocks it.
class PollWithMask : public ::testing::Test {
protected:
    PollWithMask()
    {
        ::sigemptyset(&usr1_);
        ::sigaddset(&usr1_, SIGUSR1);
        ::pthread_sigmask(SIG_BLOCK, &usr1_, &before_);
        ::sigemptyset(&none_);
        handled_ = signals_handled;
        ::pthread_kill(::pthread_self(), SIGUSR1);
    }
    ~PollWithMask() override { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    int handled() const { return signals_handled - handled_; }

    interrupting_signal signal_;
    test_context context_;
    test_socket socket_{context_, ZMQ_PAIR};
    test_socket peer_{context_, ZMQ_PAIR};
    sigset_t usr1_{};
    sigset_t none_{};
    sigset_t before_{};
    int handled_ = 0;
};

TEST_F(PollWithMask, is_interrupted_only_by_what_the_mask_lets_in)
{
    socket_.bind("inproc://mask");
    peer_.connect("inproc://mask");
    zmq_pollitem_t item{socket_, 0, ZMQ_POLLIN, 0};
    EXPECT_EQ(0, zmq_poll(&item, 1, 20));
    EXPECT_EQ(0, zmq_ppoll(&item, 1, 20, nullptr));
    EXPECT_EQ(0, zmq_ppoll(&item, 1, 20, &usr1_));
    EXPECT_EQ(0, handled());
    EXPECT_TRUE(fails_with(EINTR, zmq_ppoll(&item, 1, -1, &none_)));
    EXPECT_EQ(1, handled());
    ::pthread_kill(::pthread_self(), SIGUSR1);
    EXPECT_TRUE(fails_with(EINTR, zmq_ppoll(&item, 1, 0, &none_)));
    EXPECT_TRUE(wait_until([&] { return handled() == 2; }));
    const stopwatch clock;
    EXPECT_EQ(0, zmq_ppoll(&item, 1, 30, &none_));
    EXPECT_LE(29, clock.elapsed_ms());
    EXPECT_EQ(0, zmq_ppoll(&item, 1, 0, &none_));
    std::thread sending([&] {
        peer_.readable(20ms);
        peer_.send("x");
    });
    EXPECT_EQ(1, zmq_ppoll(&item, 1, -1, &none_));
    EXPECT_EQ(ZMQ_POLLIN, item.revents);
    sending.join();
    ::pthread_kill(::pthread_self(), SIGUSR1); // what is ready comes first
    EXPECT_EQ(1, zmq_ppoll(&item, 1, -1, &none_));
    ::sigset_t pending{};
    ::sigpending(&pending);
    EXPECT_EQ(1, ::sigismember(&pending, SIGUSR1));
    EXPECT_TRUE(fails_with(EINTR, zmq_ppoll(nullptr, 0, -1, &none_)));
}

TEST_F(PollWithMask, checks_its_arguments)
{
    zmq_pollitem_t item{};
    EXPECT_TRUE(fails_with(EINVAL, zmq_ppoll(&item, -1, 0, &usr1_)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ppoll(nullptr, 1, 0, &usr1_)));
    EXPECT_EQ(0, zmq_ppoll(nullptr, 0, 0, &usr1_));
}

TEST_F(PollWithMask, says_that_a_socket_or_its_context_has_ended)
{
    zmq_pollitem_t item{socket_, 0, ZMQ_POLLIN, 0};
    const sigset_t* const masks[] = {nullptr, &usr1_};
    const auto expect_error = [&](int code) {
        for (const sigset_t* mask : masks)
            for (const long timeout_ms : {0, -1})
                EXPECT_TRUE(fails_with(code, zmq_ppoll(&item, 1, timeout_ms, mask))) << timeout_ms;
    };
    zmq_ctx_shutdown(context_);
    expect_error(ETERM);
    socket_.close();
    expect_error(ENOTSOCK);
    EXPECT_EQ(0, handled());
}

TEST_F(PollWithMask, ends_with_the_context_while_it_waits)
{
    auto ended = std::async(std::launch::async, [&] { // inherits the mask
        zmq_pollitem_t item{socket_, 0, ZMQ_POLLIN, 0};
        return zmq_ppoll(&item, 1, -1, &none_) == -1 ? zmq_errno() : 0;
    });
    ended.wait_for(20ms);
    zmq_ctx_shutdown(context_);
    EXPECT_EQ(ETERM, ended.get());
}

TEST(ContextEnd, wakes_a_proxy_that_pauses)
{
    test_context context;
    test_socket front(context, ZMQ_PULL);
    test_socket back(context, ZMQ_PUSH);
    test_socket control(context, ZMQ_PAIR);
    test_socket reins(context, ZMQ_PAIR);
    control.bind("inproc://reins");
    reins.connect("inproc://reins");
    front.bind("tcp://127.0.0.1:*");
    auto ended = std::async(std::launch::async, [&] {
        return zmq_proxy_steerable(front, back, nullptr, control) == -1 ? zmq_errno() : 0;
    });
    reins.send("PAUSE");
    reins.send("STATISTICS");
    reins.recv_parts();
    zmq_ctx_shutdown(context);
    EXPECT_EQ(ETERM, ended.get());
}

TEST(ContextEnd, meets_threads_in_all_that_they_do)
{
    for (int round = 0; round < 10; ++round) {
        void* const context = zmq_ctx_new();
        void* sink = zmq_socket(context, ZMQ_PULL);
        ASSERT_EQ(0, zmq_bind(sink, "inproc://sink"));
        ASSERT_EQ(0, zmq_bind(sink, "tcp://127.0.0.1:*"));
        char address[64];
        std::size_t bytes = sizeof address;
        ASSERT_EQ(0, zmq_getsockopt(sink, ZMQ_LAST_ENDPOINT, address, &bytes));
        const auto churn = [&](const char* endpoint) {
            const int linger_ms = 0;
            for (;;) {
                void* socket = zmq_socket(context, ZMQ_PUSH);
                if (!socket)
                    return zmq_errno();
                zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
                zmq_socket_monitor(socket, nullptr, 0);
                zmq_connect(socket, endpoint);
                zmq_send(socket, "x", 1, ZMQ_DONTWAIT);
                zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
                zmq_poll(&item, 1, 1);
                zmq_close(socket);
            }
        };
        auto tcp = std::async(std::launch::async, churn, address);
        auto inproc = std::async(std::launch::async, churn, "inproc://sink");
        auto receiving = std::async(std::launch::async, [&] {
            char byte = 0;
            while (zmq_recv(sink, &byte, 1, 0) >= 0) {
            }
            const int code = zmq_errno();
            zmq_close(sink);
            return code;
        });
        receiving.wait_for(20ms);
        if (round % 2)
            zmq_ctx_shutdown(context);
        EXPECT_EQ(0, zmq_ctx_term(context));
        // The context may be gone altogether, if it ended while a thread had no socket open.
        const auto refused = [](int error) { return error == ETERM || error == EFAULT; };
        EXPECT_PRED1(refused, tcp.get());
        EXPECT_PRED1(refused, inproc.get());
        EXPECT_EQ(ETERM, receiving.get());
    }
}

/// A process that is forked off and does `work`; what it returns is the exit status. One that hangs
/// is killed.
class child_process {
public:
    explicit child_process(const std::function<int()>& work)
    {
        std::fflush(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::alarm(20);
            std::exit(work()); // with all destructors
        }
    }
    int status()
    {
        int status = 0;
        return ::waitpid(pid_, &status, 0) == pid_ && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t pid_;
};

/// What a child does with a context of its own. @return 0 if all went well.
int use_own_context()
{
    try {
        test_context context;
        test_socket server(context, ZMQ_REP);
        test_socket client(context, ZMQ_REQ);
        test_socket sink(context, ZMQ_PULL);
        test_socket source(context, ZMQ_PUSH);
        client.connect(server.bind_and_resolve("tcp://127.0.0.1:*"));
        source.connect(sink.bind_and_resolve("tcp://127.0.0.1:*"));
        for (int index = 0; index < 200; ++index) {
            client.send("request");
            server.recv();
            server.send("reply");
            client.recv();
        }
        std::thread sending([&] {
            for (int index = 0; index < 20'000; ++index)
                source.send(std::to_string(index));
        });
        int wrong = 0;
        for (int index = 0; index < 20'000; ++index)
            wrong += sink.recv() != std::to_string(index);
        sending.join();
        return wrong ? 1 : 0;
    } catch (...) {
        return 2;
    }
}

class Fork : public ::testing::Test {
protected:
    // The thread sanitizer ends a child that starts threads, and the leak check that comes with the
    // address sanitizer misses the threads that a child does not have.
    void SetUp() override
    {
        if (is_sanitized())
            GTEST_SKIP() << "a child would start threads";
    }
};

TEST_F(Fork, a_child_uses_a_context_of_its_own_and_the_parent_goes_on)
{
    test_context context;
    test_socket server(context, ZMQ_ROUTER);
    test_socket client(context, ZMQ_DEALER);
    client.connect(server.bind_and_resolve("tcp://127.0.0.1:*"));
    const auto exchange = [&] {
        for (int index = 0; index < 1000; ++index) {
            client.send(std::to_string(index));
            const parts request = server.recv_parts();
            server.send_parts(request);
            ASSERT_EQ(std::to_string(index), client.recv());
        }
    };
    exchange();
    child_process child(use_own_context);
    exchange();
    EXPECT_EQ(0, child.status());
    exchange();
}

TEST_F(Fork, a_child_that_does_nothing_ends)
{
    test_context context;
    test_socket server(context, ZMQ_PULL);
    test_socket client(context, ZMQ_PUSH);
    client.connect(server.bind_and_resolve("tcp://127.0.0.1:*"));
    client.send("before");
    EXPECT_EQ(0, child_process([] { return 0; }).status());
    client.send("after");
    EXPECT_EQ("before", server.recv());
    EXPECT_EQ("after", server.recv());
}

TEST_F(Fork, finds_no_lock_held_that_other_threads_were_in)
{
    std::atomic<bool> ended{false};
    std::vector<std::thread> busy;
    for (int index = 0; index < 2; ++index)
        busy.emplace_back([&] {
            while (!ended) {
                test_context context;
                test_socket socket(context, ZMQ_PAIR);
            }
        });
    for (int round = 0; round < 30; ++round)
        EXPECT_EQ(0, child_process([] {
                         test_context context;
                         test_socket left(context, ZMQ_PAIR);
                         test_socket right(context, ZMQ_PAIR);
                         left.bind("inproc://child");
                         right.connect("inproc://child");
                         right.send("x");
                         return left.recv() == "x" ? 0 : 1;
                     }).status());
    ended = true;
    for (auto& thread : busy)
        thread.join();
}

TEST_F(Fork, finds_memory_for_messages_that_other_threads_make)
{
    const auto make_message = [] {
        zmq_msg_t message;
        const int result = zmq_msg_init_size(&message, 100'000);
        zmq_msg_close(&message);
        return result;
    };
    std::atomic<bool> ended{false};
    std::vector<std::thread> busy;
    for (int index = 0; index < 2; ++index)
        busy.emplace_back([&] {
            while (!ended)
                make_message();
        });
    for (int round = 0; round < 100 && !HasFailure(); ++round)
        EXPECT_EQ(0, child_process(make_message).status());
    ended = true;
    for (auto& thread : busy)
        thread.join();
}

} // namespace
} // namespace zlink::test
