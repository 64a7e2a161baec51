// SPDX-License-Identifier: Apache-2.0
// Contexts: options, limits, shutdown and termination.
#include "support/fixture.hpp"

#include <atomic>
#include <future>
#include <thread>
#include <tuple>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

TEST(Context, has_documented_defaults)
{
    test_context context;
    EXPECT_EQ(1, zmq_ctx_get(context, ZMQ_IO_THREADS));
    EXPECT_EQ(1023, zmq_ctx_get(context, ZMQ_MAX_SOCKETS));
    EXPECT_EQ(65535, zmq_ctx_get(context, ZMQ_SOCKET_LIMIT));
    EXPECT_EQ(2147483647, zmq_ctx_get(context, ZMQ_MAX_MSGSZ));
    EXPECT_EQ(64, zmq_ctx_get(context, ZMQ_MSG_T_SIZE));
    EXPECT_EQ(0, zmq_ctx_get(context, ZMQ_IPV6));
    EXPECT_EQ(1, zmq_ctx_get(context, ZMQ_BLOCKY));
    EXPECT_EQ(-1, zmq_ctx_get(context, ZMQ_THREAD_SCHED_POLICY));
    EXPECT_EQ(0, zmq_ctx_get(context, ZMQ_THREAD_NAME_PREFIX));
}

TEST(Context, returns_what_was_set)
{
    test_context context;
    for (const auto& [option, value] : {std::pair{ZMQ_IO_THREADS, 3},
                                        {ZMQ_MAX_SOCKETS, 17},
                                        {ZMQ_MAX_MSGSZ, 4096},
                                        {ZMQ_THREAD_SCHED_POLICY, 0},
                                        {ZMQ_THREAD_NAME_PREFIX, 42},
                                        {ZMQ_IPV6, 1},
                                        {ZMQ_BLOCKY, 0},
                                        {ZMQ_IO_THREADS, 0},
                                        {ZMQ_MAX_SOCKETS, 1}}) {
        EXPECT_EQ(0, zmq_ctx_set(context, option, value)) << option;
        EXPECT_EQ(value, zmq_ctx_get(context, option)) << option;
    }
}

TEST(Context, rejects_values_out_of_range)
{
    test_context context;
    for (const auto& [option, value] : {std::pair{ZMQ_IO_THREADS, -1},
                                        {ZMQ_MAX_SOCKETS, 0},
                                        {ZMQ_MAX_SOCKETS, -1},
                                        {ZMQ_THREAD_PRIORITY, -1},
                                        {ZMQ_THREAD_SCHED_POLICY, -1},
                                        {ZMQ_MAX_MSGSZ, -1},
                                        {ZMQ_MSG_T_SIZE, 64},
                                        {ZMQ_THREAD_AFFINITY_CPU_ADD, -1},
                                        {ZMQ_THREAD_AFFINITY_CPU_REMOVE, 0},
                                        {ZMQ_IPV6, -1},
                                        {ZMQ_BLOCKY, -1},
                                        {0, 1},
                                        {99, 1}})
        EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set(context, option, value))) << option;
    EXPECT_EQ(1, zmq_ctx_get(context, ZMQ_IO_THREADS));
}

TEST(Context, rejects_reading_options_that_cannot_be_read)
{
    test_context context;
    for (const int option : {0, 99, ZMQ_THREAD_AFFINITY_CPU_ADD, ZMQ_THREAD_AFFINITY_CPU_REMOVE})
        EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_get(context, option))) << option;
}

TEST(Context, removes_only_processors_that_were_added)
{
    test_context context;
    EXPECT_EQ(0, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_ADD, 0));
    EXPECT_EQ(0, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_REMOVE, 0));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_REMOVE, 0)));
}

TEST(Context, refuses_a_null_handle)
{
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_set(nullptr, ZMQ_IO_THREADS, 1)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_get(nullptr, ZMQ_IO_THREADS)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_shutdown(nullptr)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_term(nullptr)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_socket(nullptr, ZMQ_PAIR)));
}

TEST(Context, init_sets_the_number_of_threads)
{
    void* context = zmq_init(2);
    ASSERT_NE(nullptr, context);
    EXPECT_EQ(2, zmq_ctx_get(context, ZMQ_IO_THREADS));
    EXPECT_EQ(0, zmq_term(context));
    EXPECT_TRUE(fails_with(EINVAL, zmq_init(-1)));
}

TEST(Context, ends_at_once_when_nothing_was_opened)
{
    void* context = zmq_ctx_new();
    EXPECT_EQ(0, zmq_ctx_destroy(context));
}

TEST(Context, limits_the_number_of_sockets_and_reuses_slots)
{
    test_context context;
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 3);
    std::vector<test_socket> sockets;
    for (int index = 0; index < 3; ++index)
        sockets.emplace_back(context, ZMQ_PAIR);
    EXPECT_TRUE(fails_with(EMFILE, zmq_socket(context, ZMQ_PAIR)));
    sockets.pop_back();
    void* again = nullptr;
    EXPECT_TRUE(wait_until([&] { return (again = zmq_socket(context, ZMQ_PAIR)) != nullptr; }));
    EXPECT_TRUE(fails_with(EMFILE, zmq_socket(context, ZMQ_PAIR)));
    zmq_close(again);
}

TEST(Context, fixes_the_maximum_of_sockets_with_the_first_socket)
{
    test_context context;
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 1);
    test_socket first(context, ZMQ_PAIR);
    EXPECT_EQ(0, zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 10));
    EXPECT_TRUE(fails_with(EMFILE, zmq_socket(context, ZMQ_PAIR)));
}

TEST(Context, without_io_threads_serves_inproc_only)
{
    test_context context;
    zmq_ctx_set(context, ZMQ_IO_THREADS, 0);
    test_socket left(context, ZMQ_PAIR);
    test_socket right(context, ZMQ_PAIR);
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_bind(left, "tcp://127.0.0.1:*")));
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_connect(left, "tcp://127.0.0.1:5555")));
    const std::string ipc = known_address(transport::ipc);
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_bind(left, ipc.c_str())));
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_connect(left, ipc.c_str())));
    const std::string inproc = known_address(transport::inproc);
    left.bind(inproc);
    right.connect(inproc);
    right.send("over inproc");
    EXPECT_EQ("over inproc", left.recv());
}

TEST(Context, several_io_threads_serve_many_connections)
{
    test_context context;
    zmq_ctx_set(context, ZMQ_IO_THREADS, 3);
    test_socket sink(context, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve("tcp://127.0.0.1:*");
    std::vector<test_socket> sources;
    for (int index = 0; index < 12; ++index) {
        sources.emplace_back(context, ZMQ_PUSH);
        sources.back().connect(address);
        sources.back().send(std::to_string(index));
    }
    int sum = 0;
    for (int index = 0; index < 12; ++index)
        sum += std::stoi(sink.recv());
    EXPECT_EQ(66, sum);
}

TEST(Context, is_used_by_many_threads_at_once)
{
    test_context context;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&context] {
            for (int round = 0; round < 100; ++round) {
                ASSERT_EQ(0, zmq_ctx_set(context, ZMQ_MAX_MSGSZ, round));
                ASSERT_LE(0, zmq_ctx_get(context, ZMQ_MAX_MSGSZ));
                auto [sink, source, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
                source.send("x");
                ASSERT_EQ("x", sink.recv());
            }
        });
    for (std::thread& thread : threads)
        thread.join();
}

TEST(Context, makes_new_sockets_drop_at_close_when_not_blocky)
{
    test_context context;
    zmq_ctx_set(context, ZMQ_BLOCKY, 0);
    EXPECT_EQ(0, test_socket::with_defaults(context, ZMQ_PUSH).get(ZMQ_LINGER));
}

TEST(Context, hands_its_ipv6_setting_to_new_sockets)
{
    test_context context;
    zmq_ctx_set(context, ZMQ_IPV6, 5);
    EXPECT_EQ(1, zmq_ctx_get(context, ZMQ_IPV6));
    test_socket socket(context, ZMQ_PAIR);
    EXPECT_EQ(1, socket.get(ZMQ_IPV6));
    EXPECT_EQ(0, socket.get(ZMQ_IPV4ONLY));
}

TEST(ContextShutdown, fails_every_later_call_but_close)
{
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    EXPECT_EQ(0, zmq_ctx_shutdown(context));
    EXPECT_EQ(0, zmq_ctx_shutdown(context));
    EXPECT_TRUE(fails_with(ETERM, zmq_send(socket, "x", 1, ZMQ_DONTWAIT)));
    char byte = 0;
    EXPECT_TRUE(fails_with(ETERM, zmq_recv(socket, &byte, 1, ZMQ_DONTWAIT)));
    EXPECT_TRUE(fails_with(ETERM, zmq_bind(socket, "inproc://late")));
    EXPECT_TRUE(fails_with(ETERM, zmq_connect(socket, "inproc://late")));
    EXPECT_TRUE(fails_with(ETERM, zmq_unbind(socket, "inproc://late")));
    EXPECT_TRUE(fails_with(ETERM, zmq_disconnect(socket, "inproc://late")));
    int value = 0;
    std::size_t size = sizeof value;
    EXPECT_TRUE(fails_with(ETERM, zmq_getsockopt(socket, ZMQ_LINGER, &value, &size)));
    EXPECT_TRUE(fails_with(ETERM, zmq_setsockopt(socket, ZMQ_LINGER, &value, size)));
    zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
    EXPECT_TRUE(fails_with(ETERM, zmq_poll(&item, 1, 0)));
    EXPECT_TRUE(fails_with(ETERM, zmq_socket(context, ZMQ_PAIR)));
    EXPECT_EQ(0, zmq_close(socket.release()));
}

/// What a thread is blocked in when the context goes away.
enum class blocked_in { send, receive, poll };

class ContextWakes
    : public ::testing::TestWithParam<std::tuple<blocked_in, transport, bool /*connected*/>> {
protected:
    static int block(test_socket& socket, blocked_in call)
    {
        char byte = 0;
        zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
        switch (call) {
        case blocked_in::send: {
            int result = 0;
            while (result >= 0)
                result = zmq_send(socket, "x", 1, 0);
            return result;
        }
        case blocked_in::receive:
            return zmq_recv(socket, &byte, 1, 0);
        case blocked_in::poll:
            return zmq_poll(&item, 1, -1);
        }
        return 0;
    }

    /// Blocks a thread, ends the context by `finish` and returns the error the thread saw.
    static int error_after(const std::function<void(test_context&)>& finish)
    {
        const auto [call, kind, connected] = GetParam();
        const link_in_use scope(kind);
        test_context context;
        test_socket peer;
        test_socket socket = test_socket::with_defaults(context, ZMQ_DEALER);
        socket.set(ZMQ_LINGER, 0);
        socket.set(ZMQ_SNDHWM, 5);
        if (connected) {
            peer = test_socket(context, ZMQ_DEALER);
            peer.set(ZMQ_RCVHWM, 5);
            socket.connect(peer.bind_and_resolve(fresh_bind_address(kind)));
        }
        std::atomic<bool> started{false};
        auto result = std::async(std::launch::async, [&, call = call] {
            started = true;
            const int failed = block(socket, call);
            const int code = failed == -1 ? zmq_errno() : 0;
            socket.close();
            return code;
        });
        wait_until([&] { return started.load(); });
        // Gives the thread the chance to be really inside of the call; the result is the same if it
        // is not.
        result.wait_for(30ms);
        if (connected)
            peer.close();
        finish(context);
        return result.get();
    }
};

TEST_P(ContextWakes, by_shutdown)
{
    EXPECT_EQ(ETERM, error_after([](test_context& context) { zmq_ctx_shutdown(context); }));
}

TEST_P(ContextWakes, by_termination)
{
    EXPECT_EQ(ETERM, error_after([](test_context& context) { context.term(); }));
}

std::string name_of_block(const ::testing::TestParamInfo<ContextWakes::ParamType>& info)
{
    const auto [call, kind, connected] = info.param;
    const char* const calls[] = {"send", "receive", "poll"};
    return std::string(calls[static_cast<int>(call)]) + "_" + name_of(kind) +
           (connected ? "" : "_alone");
}

INSTANTIATE_TEST_SUITE_P(Calls, ContextWakes,
                         ::testing::Combine(::testing::Values(blocked_in::send, blocked_in::receive,
                                                              blocked_in::poll),
                                            ::testing::ValuesIn(all_links()), ::testing::Bool()),
                         name_of_block);

TEST(ContextTerm, waits_until_the_application_closed_its_sockets)
{
    test_context context;
    test_socket socket(context, ZMQ_PAIR);
    auto ended = std::async(std::launch::async, [&] { context.term(); });
    char byte = 0;
    EXPECT_TRUE(fails_with(ETERM, zmq_recv(socket, &byte, 1, 0)));
    EXPECT_EQ(std::future_status::timeout, ended.wait_for(quiet_window));
    socket.close();
    EXPECT_EQ(std::future_status::ready, ended.wait_for(patience));
}

TEST(ContextTerm, does_not_wait_for_inproc_peers_that_never_came)
{
    test_context context;
    test_socket socket = test_socket::with_defaults(context, ZMQ_PUSH);
    socket.connect("inproc://nobody");
    socket.send("lost");
    socket.close();
    context.term();
}

TEST(Contexts, do_not_share_inproc_names)
{
    test_context left;
    test_context right;
    test_socket one(left, ZMQ_PAIR);
    test_socket other(right, ZMQ_PAIR);
    one.bind("inproc://same-name");
    other.bind("inproc://same-name");
}

} // namespace
} // namespace zlink::test
