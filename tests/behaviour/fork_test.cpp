// SPDX-License-Identifier: Apache-2.0
// What a forked child does with the contexts, sockets and pollers of its parent returns at once and
// leaves the parent alone.
#include "support/draft.hpp"
#include "support/fixture.hpp"
#include "support/sanitizers.hpp"

#include <zlink.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace zlink::test {
namespace {

// The thread sanitizer ends a child that starts threads, and waits for those of the parent; the
// leak check that comes with the address sanitizer misses the threads that a child does not have.
const bool child_is_checked = is_sanitized();

/// A process that is forked off and does `work`, which returns 0 if all went well. It is killed if
/// it hangs.
class child_process {
public:
    explicit child_process(const std::function<int()>& work)
    {
        std::fflush(nullptr);
        pid_ = ::fork();
        if (pid_ != 0)
            return;
        ::alarm(10);
        int status = 100;
        try {
            status = work();
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "in the child: %s\n", failure.what());
        }
        ::_exit(status);
    }
    ~child_process() { status(); }
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    /// What `work` returned, or the number of the signal that killed it, negative.
    int status()
    {
        int ended = 0;
        if (!status_ && ::waitpid(pid_, &ended, 0) == pid_)
            status_ = WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended);
        return status_.value_or(-1000);
    }

private:
    pid_t pid_;
    std::optional<int> status_;
};

/// Lets a child stay until the parent says so.
class pause_of_child {
public:
    pause_of_child()
    {
        if (::pipe(ends_) != 0)
            throw std::runtime_error("cannot make a pipe");
    }
    ~pause_of_child()
    {
        for (const int end : ends_)
            if (end >= 0)
                ::close(end);
    }
    pause_of_child(const pause_of_child&) = delete;
    pause_of_child& operator=(const pause_of_child&) = delete;

    /// In the child.
    int wait()
    {
        ::close(std::exchange(ends_[1], -1));
        char byte = 0;
        return ::read(ends_[0], &byte, 1) == 0 ? 0 : 1;
    }
    void end() { ::close(std::exchange(ends_[1], -1)); }

private:
    int ends_[2];
};

enum class situation {
    bound,
    connecting,
    in_traffic,
    monitored,
    polled,
    shared,
    blocked,
    datagrams
};

const char* name_of(situation which)
{
    switch (which) {
    case situation::bound:
        return "bound";
    case situation::connecting:
        return "connecting";
    case situation::in_traffic:
        return "in_traffic";
    case situation::monitored:
        return "monitored";
    case situation::polled:
        return "polled";
    case situation::shared:
        return "shared";
    case situation::blocked:
        return "blocked";
    case situation::datagrams:
        return "datagrams";
    }
    return "?";
}

void PrintTo(situation which, std::ostream* out)
{
    *out << name_of(which);
}

/// What there is when the process forks, with messages on their way. Members are destroyed in the
/// order of a program that cleans up: sockets first.
struct scene {
    test_context context;
    std::vector<test_socket> sockets; ///< the first receives what the second sends
    std::string address;
    void* poller = nullptr;
    int sent = 0;
    int received = 0;

    ~scene()
    {
        if (poller)
            zmq_poller_destroy(&poller);
    }

    void send(int count)
    {
        for (; count != 0; --count, ++sent) {
            draft_message message("message " + std::to_string(sent));
            if (sockets[1].get(ZMQ_TYPE) == ZMQ_RADIO)
                zmq_msg_set_group(message, "group");
            if (zmq_msg_send(message, sockets[1], 0) < 0)
                throw call_failed("zmq_msg_send");
        }
    }
    void receive_all()
    {
        for (; received != sent; ++received) {
            draft_message message;
            receive(sockets[0], message);
            ASSERT_EQ("message " + std::to_string(received), message.body());
        }
    }
};

constexpr int some_messages = 50;

class ForkIn : public ::testing::TestWithParam<std::tuple<transport, situation>> {
protected:
    ForkIn() : scene_(std::make_unique<scene>())
    {
        const transport over = std::get<0>(GetParam());
        const situation which = std::get<1>(GetParam());
        switch (which) {
        case situation::bound:
            bind(over, ZMQ_PULL);
            break;
        case situation::connecting:
            scene_->address = known_address(over);
            scene_->sockets.emplace_back();
            scene_->sockets.emplace_back(scene_->context, ZMQ_PUSH);
            scene_->sockets[1].connect(scene_->address);
            scene_->send(some_messages);
            break;
        case situation::shared:
            link(over, ZMQ_GATHER, ZMQ_SCATTER);
            break;
        case situation::datagrams:
            scene_->sockets.emplace_back(scene_->context, ZMQ_DISH);
            zmq_join(scene_->sockets[0], "group");
            scene_->address = scene_->sockets[0].bind_and_resolve("udp://127.0.0.1:*");
            scene_->sockets.emplace_back(scene_->context, ZMQ_RADIO);
            scene_->sockets[1].connect(scene_->address);
            break;
        case situation::monitored:
            bind(over, ZMQ_PULL);
            zmq_socket_monitor(scene_->sockets[0], "inproc://monitor", ZMQ_EVENT_ALL);
            connect(ZMQ_PUSH);
            scene_->sockets.emplace_back(scene_->context, ZMQ_PAIR);
            scene_->sockets.back().connect("inproc://monitor");
            break;
        case situation::polled:
            link(over, ZMQ_PULL, ZMQ_PUSH);
            scene_->poller = zmq_poller_new();
            zmq_poller_add(scene_->poller, scene_->sockets[0], nullptr, ZMQ_POLLIN);
            break;
        case situation::in_traffic:
        case situation::blocked:
            link(over, ZMQ_PULL, ZMQ_PUSH);
        }
        if (scene_->sent == 0 && scene_->sockets.size() > 1) {
            scene_->send(1);
            scene_->receive_all();
            scene_->send(some_messages);
        }
        if (which == situation::blocked)
            block(over);
    }
    ~ForkIn() override
    {
        if (waiting_.joinable()) {
            release_.send("end");
            waiting_.join();
        }
    }

    /// What the child has done is over: does the parent find everything as it was?
    void expect_unharmed()
    {
        const std::string& address = scene_->address;
        if (address.starts_with("ipc:") && scene_->sockets[0]) {
            EXPECT_TRUE(std::filesystem::exists(address.substr(6)));
        }
        if (!scene_->sockets[0]) { // where it connects to is there now
            scene_->sockets[0] = test_socket(scene_->context, ZMQ_PULL);
            scene_->sockets[0].bind(address);
        }
        if (scene_->sockets.size() == 1)
            connect(ZMQ_PUSH);
        if (scene_->poller) {
            zmq_poller_event_t event;
            EXPECT_EQ(0, zmq_poller_wait(scene_->poller, &event, 10'000));
        }
        scene_->send(some_messages);
        scene_->receive_all();
        if (std::get<1>(GetParam()) == situation::monitored) {
            zmq_socket_monitor(scene_->sockets[0], nullptr, 0);
            std::uint16_t event = 0;
            while (event != ZMQ_EVENT_MONITOR_STOPPED)
                std::memcpy(&event, scene_->sockets[2].recv_parts().at(0).data(), sizeof event);
        }
        // Whoever comes now is heard as well.
        if (!scene_->address.starts_with("udp:") && scene_->sockets[0].get(ZMQ_TYPE) == ZMQ_PULL) {
            scene_->sockets[1].close();
            scene_->sockets[1] = test_socket(scene_->context, ZMQ_PUSH);
            scene_->sockets[1].connect(address);
            scene_->send(1);
            scene_->receive_all();
        }
    }

    std::unique_ptr<scene> scene_;

private:
    void bind(transport over, int type)
    {
        scene_->sockets.emplace_back(scene_->context, type);
        scene_->address = scene_->sockets[0].bind_and_resolve(fresh_bind_address(over));
    }
    void connect(int type)
    {
        scene_->sockets.emplace_back(scene_->context, type);
        scene_->sockets.back().connect(scene_->address);
    }
    void link(transport over, int bound_type, int peer_type)
    {
        bind(over, bound_type);
        connect(peer_type);
    }
    // Another thread waits in a call, inside of what the child inherits.
    void block(transport over)
    {
        test_socket idle(scene_->context, ZMQ_PAIR);
        const std::string address = idle.bind_and_resolve(fresh_bind_address(over));
        release_ = test_socket(scene_->context, ZMQ_PAIR);
        release_.connect(address);
        release_.send("begin");
        std::atomic<bool> there{false};
        waiting_ = std::thread([idle = std::move(idle), &there]() mutable {
            idle.recv();
            there = true;
            idle.recv();
        });
        if (!wait_until([&] { return there.load(); }))
            throw std::runtime_error("the thread does not begin");
    }

    test_socket release_;
    std::thread waiting_;
};

/// Collects which call of a child answered something else than expected.
class answers {
public:
    void expect(const char* call, bool as_expected)
    {
        if (as_expected)
            return;
        std::fprintf(stderr, "in the child: %s: %s\n", call, zmq_strerror(zmq_errno()));
        wrong_ = 1;
    }
    int wrong() const { return wrong_; }

private:
    int wrong_ = 0;
};

#define ANSWERS_0(call) said.expect(#call, (call) == 0)
#define FAILS(code, call) said.expect(#call, (call) == -1 && zmq_errno() == (code))

TEST_P(ForkIn, a_child_closes_everything)
{
    EXPECT_EQ(0, child_process([&] {
                     answers said;
                     if (scene_->poller) {
                         void* poller = scene_->poller;
                         ANSWERS_0(zmq_poller_destroy(&poller));
                         said.expect("poller", poller == nullptr);
                     }
                     for (test_socket& each : scene_->sockets) {
                         if (void* const handle = each.release()) {
                             ANSWERS_0(zmq_close(handle));
                             FAILS(ENOTSOCK, zmq_close(handle));
                         }
                     }
                     ANSWERS_0(zmq_ctx_term(scene_->context));
                     FAILS(EFAULT, zmq_ctx_term(scene_->context));
                     return said.wrong();
                 }).status());
    expect_unharmed();
}

TEST_P(ForkIn, a_child_ends_endpoints_and_monitors)
{
    EXPECT_EQ(0, child_process([&] {
                     answers said;
                     const int linger_ms = -1;
                     for (test_socket& each : scene_->sockets)
                         if (each) {
                             ANSWERS_0(zmq_unbind(each, scene_->address.c_str()));
                             ANSWERS_0(zmq_disconnect(each, scene_->address.c_str()));
                             ANSWERS_0(zmq_disconnect_peer(each, 1));
                             ANSWERS_0(zmq_socket_monitor(each, nullptr, 0));
                             ANSWERS_0(zmq_setsockopt(each, ZMQ_LINGER, &linger_ms, sizeof(int)));
                         }
                     if (scene_->poller) {
                         ANSWERS_0(zmq_poller_remove(scene_->poller, scene_->sockets[0]));
                         ANSWERS_0(zmq_poller_remove_fd(scene_->poller, STDIN_FILENO));
                     }
                     return said.wrong();
                 }).status());
    expect_unharmed();
}

TEST_P(ForkIn, a_child_ends_the_context_before_the_sockets)
{
    EXPECT_EQ(0, child_process([&] {
                     answers said;
                     ANSWERS_0(zmq_ctx_shutdown(scene_->context));
                     ANSWERS_0(zmq_ctx_term(scene_->context));
                     for (test_socket& each : scene_->sockets)
                         if (each) {
                             FAILS(ETERM, zmq_send(each, "x", 1, 0));
                             ANSWERS_0(zmq_close(each.release()));
                         }
                     return said.wrong();
                 }).status());
    expect_unharmed();
}

TEST_P(ForkIn, a_child_unwinds)
{
    EXPECT_EQ(0, child_process([&] {
                     try {
                         const std::unique_ptr<scene> unwound = std::move(scene_);
                         throw std::runtime_error("unwind");
                     } catch (const std::runtime_error&) {
                         return 0;
                     }
                 }).status());
    expect_unharmed();
}

TEST_P(ForkIn, a_child_exits_with_static_objects)
{
    if (child_is_checked)
        GTEST_SKIP() << "the leak check counts what a child leaves";
    EXPECT_EQ(7, child_process([&] {
                     static std::unique_ptr<scene> destroyed_late;
                     destroyed_late = std::move(scene_);
                     std::exit(7);
                     return 0;
                 }).status());
    expect_unharmed();
}

TEST_P(ForkIn, a_child_is_refused_what_needs_the_connection)
{
    EXPECT_EQ(0, child_process([&] {
                     answers said;
                     char buffer[64];
                     int value = 0;
                     std::size_t bytes = sizeof value;
                     void* const poller = zmq_poller_new();
                     for (test_socket& each : scene_->sockets) {
                         if (!each)
                             continue;
                         draft_message message;
                         zmq_pollitem_t item{each, 0, ZMQ_POLLIN, 0};
                         FAILS(ETERM, zmq_send(each, "x", 1, 0));
                         FAILS(ETERM, zmq_send(each, "x", 1, ZMQ_DONTWAIT));
                         FAILS(ETERM, zmq_msg_send(message, each, 0));
                         FAILS(ETERM, zmq_recv(each, buffer, sizeof buffer, 0));
                         FAILS(ETERM, zmq_recv(each, buffer, sizeof buffer, ZMQ_DONTWAIT));
                         FAILS(ETERM, zmq_msg_recv(message, each, 0));
                         FAILS(ETERM, zmq_poll(&item, 1, -1));
                         FAILS(ETERM, zmq_poll(&item, 1, 0));
                         FAILS(ETERM, zmq_proxy(each, each, nullptr));
                         FAILS(ETERM, zmq_bind(each, "tcp://127.0.0.1:*"));
                         FAILS(ETERM, zmq_connect(each, "tcp://127.0.0.1:1"));
                         FAILS(ETERM, zmq_getsockopt(each, ZMQ_EVENTS, &value, &bytes));
                         FAILS(ETERM, zmq_getsockopt(each, ZMQ_FD, &value, &bytes));
                         FAILS(ETERM, zlink_arm(
                                          each, [](void*) {}, nullptr));
                         ANSWERS_0(zlink_arm(each, nullptr, nullptr));
                         FAILS(ETERM, zmq_setsockopt(each, ZMQ_SNDHWM, &value, sizeof value));
                         FAILS(ETERM, zmq_join(each, "group"));
                         FAILS(ETERM, zmq_socket_monitor(each, "inproc://other", ZMQ_EVENT_ALL));
                         FAILS(ETERM, zmq_poller_add(poller, each, nullptr, ZMQ_POLLIN));
                     }
                     if (scene_->poller) {
                         zmq_poller_event_t event;
                         FAILS(ETERM, zmq_poller_wait(scene_->poller, &event, -1));
                         FAILS(ETERM, zmq_poller_size(scene_->poller));
                         FAILS(ETERM, zmq_poller_fd(scene_->poller, &value));
                     }
                     FAILS(ETERM, zmq_ctx_get(scene_->context, ZMQ_IO_THREADS));
                     FAILS(ETERM, zmq_ctx_set(scene_->context, ZMQ_IO_THREADS, 2));
                     said.expect("zmq_socket", zmq_socket(scene_->context, ZMQ_PAIR) == nullptr &&
                                                   zmq_errno() == ETERM);
                     return said.wrong();
                 }).status());
    expect_unharmed();
}

/// Messages over a context made in this process. @return 0 if all went well.
int exchange()
{
    test_context context;
    test_socket bound(context, ZMQ_PAIR);
    test_socket peer(context, ZMQ_PAIR);
    peer.connect(bound.bind_and_resolve("tcp://127.0.0.1:*"));
    for (int index = 0; index < 2 * some_messages; ++index)
        peer.send(std::to_string(index));
    for (int index = 0; index < 2 * some_messages; ++index)
        if (bound.recv() != std::to_string(index))
            return 1;
    return 0;
}

TEST_P(ForkIn, a_child_and_its_child_use_contexts_of_their_own)
{
    if (child_is_checked)
        GTEST_SKIP() << "a child would start threads";
    EXPECT_EQ(0, child_process([&] {
                     test_context context;
                     test_socket mine(context, ZMQ_PAIR);
                     const std::string address = mine.bind_and_resolve("tcp://127.0.0.1:*");
                     test_socket peer(context, ZMQ_PAIR);
                     peer.connect(address);
                     peer.send("before");
                     child_process grandchild([&] {
                         scene_.reset();
                         answers said;
                         ANSWERS_0(zmq_close(mine));
                         FAILS(ETERM, zmq_send(peer, "x", 1, 0));
                         ANSWERS_0(zmq_ctx_term(context));
                         return said.wrong() ? 1 : exchange();
                     });
                     if (exchange() != 0)
                         return 2;
                     scene_.reset();
                     peer.send("after");
                     if (mine.recv() != "before" || mine.recv() != "after")
                         return 3;
                     return grandchild.status() == 0 ? 0 : 4;
                 }).status());
    expect_unharmed();
}

const auto scene_name = [](const auto& info) {
    return std::string(name_of(std::get<1>(info.param))) + "_over_" +
           (std::get<1>(info.param) == situation::datagrams
                ? "udp"
                : ::zlink::test::name_of(std::get<0>(info.param)));
};
INSTANTIATE_TEST_SUITE_P(
    Over, ForkIn,
    ::testing::Combine(::testing::Values(transport::tcp, transport::ipc, transport::inproc),
                       ::testing::Values(situation::bound, situation::connecting,
                                         situation::in_traffic, situation::monitored,
                                         situation::polled, situation::shared, situation::blocked)),
    scene_name);
INSTANTIATE_TEST_SUITE_P(Datagrams, ForkIn,
                         ::testing::Combine(::testing::Values(transport::tcp),
                                            ::testing::Values(situation::datagrams)),
                         scene_name);

TEST(Forked, while_other_threads_open_and_close_sockets_a_child_ends_everything)
{
    test_context context;
    test_socket idle(context, ZMQ_PULL);
    idle.bind("tcp://127.0.0.1:*");
    std::atomic<bool> ended{false};
    std::vector<std::thread> busy;
    for (const int type : {ZMQ_PAIR, ZMQ_CLIENT})
        busy.emplace_back([&, type] {
            while (!ended) {
                test_socket bound(context, type);
                bound.bind("inproc://busy-" + std::to_string(type));
            }
        });
    for (int round = 0; round < 50 && !::testing::Test::HasFailure(); ++round)
        EXPECT_EQ(0, child_process([&] {
                         answers said;
                         ANSWERS_0(zmq_close(idle));
                         ANSWERS_0(zmq_ctx_term(context));
                         return said.wrong();
                     }).status());
    ended = true;
    for (auto& thread : busy)
        thread.join();
}

TEST(Forked, from_a_thread_that_gathers_messages_a_child_sends_none_of_them)
{
    if (child_is_checked)
        GTEST_SKIP() << "a child would start threads";
    test_context context;
    auto [bound, peer, address] = connect_pair(context, transport::tcp, ZMQ_PAIR, ZMQ_PAIR);
    for (int round = 0; round < 100; ++round) {
        for (int index = 0; index < 500; ++index)
            peer.send(std::to_string(index));
        child_process child([] { return exchange(); });
        for (int index = 0; index < 500; ++index)
            ASSERT_EQ(std::to_string(index), bound.recv());
        ASSERT_EQ(0, child.status());
    }
    EXPECT_FALSE(bound.readable(quiet_window));
}

TEST(Forked, a_child_that_lives_on_does_not_keep_an_address)
{
    test_context context;
    for (const char* any : {"tcp://127.0.0.1:*", "udp://127.0.0.1:*"}) {
        const int type = any[0] == 'u' ? ZMQ_DGRAM : ZMQ_PULL;
        pause_of_child pause;
        test_socket first(context, type);
        const std::string address = first.bind_and_resolve(any);
        child_process child([&] { return pause.wait(); });
        first.unbind(address);
        first.close();
        test_socket second(context, type);
        // The child may still be about to close its copy.
        EXPECT_TRUE(wait_until([&] { return second.try_bind(address); }, patience)) << address;
        pause.end();
        EXPECT_EQ(0, child.status());
    }
}

TEST(Forked, a_child_that_outlives_its_parent_does_not_keep_connections)
{
    if (child_is_checked)
        GTEST_SKIP() << "a child would start threads";
    test_context context;
    test_socket bound(context, ZMQ_PAIR);
    const std::string address = bound.bind_and_resolve("tcp://127.0.0.1:*");
    zmq_socket_monitor(bound, "inproc://ends", ZMQ_EVENT_DISCONNECTED);
    test_socket ends(context, ZMQ_PAIR);
    ends.connect("inproc://ends");
    pause_of_child pause;
    child_process parent([&] {
        test_context own;
        test_socket peer(own, ZMQ_PAIR);
        peer.connect(address);
        peer.send("x");
        if (peer.recv() != "y")
            return 1;
        if (::fork() == 0)
            ::_exit(pause.wait());
        ::_exit(0); // closes nothing
    });
    EXPECT_EQ("x", bound.recv());
    bound.send("y");
    EXPECT_EQ(0, parent.status());
    EXPECT_EQ(2u, ends.recv_parts().size());
}

TEST(Forked, a_child_reads_messages_runs_timers_and_ends_threads_of_its_parent)
{
    test_context context;
    auto [bound, peer, address] = connect_pair(context, transport::tcp, ZMQ_PAIR, ZMQ_PAIR);
    peer.send(std::string(100'000, 'x'));
    draft_message message;
    receive(bound, message);
    void* timers = zmq_timers_new();
    int fired = 0;
    zmq_timers_add(
        timers, 1, [](int, void* count) { ++*static_cast<int*>(count); }, &fired);
    std::atomic<bool> ended{false};
    void* const thread = zmq_threadstart(
        [](void* flag) {
            wait_until([&] { return static_cast<std::atomic<bool>*>(flag)->load(); });
        },
        &ended);
    EXPECT_EQ(0, child_process([&] {
                     if (!child_is_checked)
                         zmq_threadclose(thread);
                     if (message.body() != std::string(100'000, 'x'))
                         return 1;
                     if (zmq_msg_close(message) != 0 || zmq_msg_init(message) != 0)
                         return 2;
                     const bool ran = wait_until([&] {
                         zmq_timers_execute(timers);
                         return fired != 0;
                     });
                     return ran && zmq_timers_destroy(&timers) == 0 ? 0 : 3;
                 }).status());
    ended = true;
    zmq_threadclose(thread);
    zmq_timers_destroy(&timers);
    EXPECT_EQ(std::string(100'000, 'x'), message.body());
}

} // namespace
} // namespace zlink::test
