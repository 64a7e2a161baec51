// SPDX-License-Identifier: Apache-2.0
// What a context has to give: places for sockets and I/O threads, many of them or none.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/listening_post.hpp"
#include "support/sanitizers.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

// --- places for sockets --------------------------------------------------------------------------

class MonitorPlace : public ::testing::Test {
protected:
    MonitorPlace() { zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, 3); }

    /// Opens a socket as soon as there is a place for it.
    test_socket opened()
    {
        test_socket socket;
        wait_until([&] {
            try {
                socket = test_socket(context_, ZMQ_PULL);
                return true;
            } catch (const call_failed& failure) {
                return failure.code() != EMFILE;
            }
        });
        return socket;
    }

    test_context context_;
};

TEST_F(MonitorPlace, is_that_of_a_socket)
{
    test_socket socket(context_, ZMQ_PULL);
    const listening_post post(context_, socket);
    EXPECT_TRUE(fails_with(EMFILE, zmq_socket(context_, ZMQ_PAIR)));
}

TEST_F(MonitorPlace, is_free_again_when_the_monitor_has_stopped)
{
    test_socket socket(context_, ZMQ_PULL);
    listening_post post(context_, socket);
    ASSERT_EQ(0, zmq_socket_monitor(socket, nullptr, 0));
    post.expect(ZMQ_EVENT_MONITOR_STOPPED);
    EXPECT_TRUE(post.quiet()); // a library may want the listener to take notice of the end
    EXPECT_TRUE(opened());
}

TEST_F(MonitorPlace, is_free_again_when_the_socket_is_closed)
{
    test_socket socket(context_, ZMQ_PULL);
    listening_post post(context_, socket);
    socket.close();
    post.expect(ZMQ_EVENT_MONITOR_STOPPED);
    EXPECT_TRUE(post.quiet());
    const test_socket one = opened();
    const test_socket two = opened();
    EXPECT_TRUE(one && two); // at the places of the socket and of its monitor
}

TEST_F(MonitorPlace, must_be_there)
{
    test_socket socket(context_, ZMQ_PULL);
    test_socket second(context_, ZMQ_PULL);
    test_socket third(context_, ZMQ_PULL);
    EXPECT_TRUE(fails_with(EMFILE, zmq_socket_monitor(socket, "inproc://monitor", ZMQ_EVENT_ALL)));
    third.close();
    EXPECT_TRUE(wait_until(
        [&] { return zmq_socket_monitor(socket, "inproc://monitor", ZMQ_EVENT_ALL) == 0; }));
}

// --- no I/O threads ------------------------------------------------------------------------------

class WithoutIoThreads : public ::testing::Test {
protected:
    WithoutIoThreads() { zmq_ctx_set(context_, ZMQ_IO_THREADS, 0); }

    test_context context_;
};

TEST_F(WithoutIoThreads, there_is_no_udp)
{
    test_socket radio(context_, ZMQ_RADIO);
    test_socket dish(context_, ZMQ_DISH);
    test_socket dgram(context_, ZMQ_DGRAM);
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_connect(radio, "udp://127.0.0.1:5555")));
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_bind(dish, "udp://127.0.0.1:*")));
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_bind(dgram, "udp://127.0.0.1:*")));
}

TEST_F(WithoutIoThreads, sockets_can_be_monitored)
{
    test_socket socket(context_, ZMQ_PULL);
    listening_post post(context_, socket);
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_bind(socket, "tcp://127.0.0.1:*")));
    EXPECT_TRUE(post.quiet());
    EXPECT_EQ(0, zmq_socket_monitor(socket, nullptr, 0));
    post.expect(ZMQ_EVENT_MONITOR_STOPPED);
}

TEST_F(WithoutIoThreads, a_waiting_receiver_hears_of_the_end_of_the_context)
{
    test_socket socket = test_socket::with_defaults(context_, ZMQ_PULL);
    std::promise<void> started;
    auto code = std::async(std::launch::async, [&] {
        started.set_value();
        return zmq_recv(socket, nullptr, 0, 0) == -1 ? zmq_errno() : 0;
    });
    started.get_future().wait();
    code.wait_for(20ms); // lets it wait in the call, most likely
    EXPECT_EQ(0, zmq_ctx_shutdown(context_));
    EXPECT_EQ(ETERM, code.get());
}

TEST_F(WithoutIoThreads, a_waiting_receiver_is_woken_over_inproc)
{
    auto [pull, push, address] = link(context_, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    auto received = std::async(std::launch::async, [&from = pull] { return from.recv_parts(); });
    received.wait_for(20ms);
    push.send_parts({"a", std::string(100'000, 'b')});
    EXPECT_EQ((parts{"a", std::string(100'000, 'b')}), received.get());
}

TEST_F(WithoutIoThreads, closed_sockets_make_room)
{
    zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, 2);
    for (int round = 0; round < 10; ++round)
        ASSERT_TRUE(wait_until([&] {
            void* const handle = zmq_socket(context_, ZMQ_PAIR);
            return handle && zmq_close(handle) == 0;
        }));
}

// --- signals -------------------------------------------------------------------------------------

std::set<std::string> own_threads()
{
    std::set<std::string> ids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
        ids.insert(entry.path().filename().string());
    return ids;
}

/// The signals that a thread blocks, bit 0 for number 1.
std::uint64_t blocked_signals(const std::string& thread)
{
    std::ifstream file("/proc/self/task/" + thread + "/status");
    const std::string label = "SigBlk:";
    for (std::string line; std::getline(file, line);)
        if (line.compare(0, label.size(), label) == 0)
            return std::stoull(line.substr(label.size()), nullptr, 16);
    return 0;
}

/// All signals that a program can block: not those two that the system lets through always, nor
/// those that the C library keeps for itself, before SIGRTMIN.
std::uint64_t all_signals()
{
    std::uint64_t set = 0;
    for (int number = 1; number <= SIGRTMAX; ++number)
        if (number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN))
            set |= std::uint64_t{1} << (number - 1);
    return set;
}

TEST(IoThreads, leave_all_signals_to_the_threads_of_the_application)
{
    test_context context;
    zmq_ctx_set(context, ZMQ_IO_THREADS, 2);
    const auto before = own_threads();
    test_socket socket(context, ZMQ_PULL);
    socket.bind("tcp://127.0.0.1:*");
    std::vector<std::string> news;
    for (const std::string& id : own_threads())
        if (!before.contains(id))
            news.push_back(id);
    ASSERT_LE(2u, news.size());
    for (const std::string& id : news) {
        const auto unblocked = [&] { return all_signals() & ~blocked_signals(id); };
        EXPECT_TRUE(wait_until([&] { return unblocked() == 0; })) << std::hex << unblocked();
    }
}

/// While it lives, the process gets little more memory than it has.
class little_memory {
public:
    little_memory()
    {
        ::getrlimit(RLIMIT_AS, &before_);
        std::ifstream sizes("/proc/self/statm");
        rlim_t pages = 0;
        sizes >> pages;
        const rlimit now{pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + some_bytes,
                         before_.rlim_max};
        ::setrlimit(RLIMIT_AS, &now);
    }
    ~little_memory() { ::setrlimit(RLIMIT_AS, &before_); }
    little_memory(const little_memory&) = delete;
    little_memory& operator=(const little_memory&) = delete;

private:
    static constexpr rlim_t some_bytes = 256 << 20; // a few stacks
    rlimit before_{};
};

// libzmq ends the process.
TEST(ZlinkOnlyIoThreads, that_cannot_be_started_are_an_error_and_fewer_may_do)
{
    if (is_sanitized())
        GTEST_SKIP() << "sanitizers reserve more memory than any limit";
    test_context context;
    zmq_ctx_set(context, ZMQ_IO_THREADS, 1'000);
    {
        const little_memory now;
        EXPECT_TRUE(fails_with(EMFILE, zmq_socket(context, ZMQ_PULL)));
    }
    zmq_ctx_set(context, ZMQ_IO_THREADS, 1);
    auto [bound, peer, address] = connect_pair(context, transport::tcp, ZMQ_PAIR, ZMQ_PAIR);
    peer.send("x");
    EXPECT_EQ("x", bound.recv());
}

TEST(IoThreads, do_not_block_signals_of_the_application)
{
    const std::string self = std::to_string(::gettid());
    const std::uint64_t before = blocked_signals(self);
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    socket.bind("tcp://127.0.0.1:*");
    EXPECT_EQ(before, blocked_signals(self));
}

} // namespace
} // namespace zlink::test
