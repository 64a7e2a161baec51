// SPDX-License-Identifier: Apache-2.0
// Options of contexts: ranges, reading and writing with lengths, and what the threads are like.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

struct context_option {
    const char* name;
    int id;
    bool settable;
    bool readable;
    int initial;
    int least;          ///< of what can be set
    bool truth = false; ///< not 0 reads as 1
};

const std::array sheet{
    context_option{"IO_THREADS", ZMQ_IO_THREADS, true, true, 1, 0},
    context_option{"MAX_SOCKETS", ZMQ_MAX_SOCKETS, true, true, 1023, 1},
    context_option{"THREAD_SCHED_POLICY", ZMQ_THREAD_SCHED_POLICY, true, true, -1, 0},
    context_option{"MAX_MSGSZ", ZMQ_MAX_MSGSZ, true, true, INT_MAX, 0},
    context_option{"MSG_T_SIZE", ZMQ_MSG_T_SIZE, false, true, 64, 0},
    context_option{"THREAD_AFFINITY_CPU_ADD", ZMQ_THREAD_AFFINITY_CPU_ADD, true, false, 0, 0},
    context_option{"THREAD_NAME_PREFIX", ZMQ_THREAD_NAME_PREFIX, true, true, 0, INT_MIN},
    context_option{"ZERO_COPY_RECV", ZMQ_ZERO_COPY_RECV, true, true, 1, 0, true},
    context_option{"IPV6", ZMQ_IPV6, true, true, 0, 0, true},
    context_option{"BLOCKY", ZMQ_BLOCKY, true, true, 1, 0, true},
};

const context_option* find(int id)
{
    const auto row = std::ranges::find(sheet, id, &context_option::id);
    return row == sheet.end() ? nullptr : &*row;
}

int read(void* context, int id)
{
    errno = 0;
    return zmq_ctx_get(context, id);
}

TEST(ContextOptions, are_as_the_sheet_says_at_every_number)
{
    for (int id = -1; id <= 130; ++id) {
        if (id == ZMQ_THREAD_PRIORITY || id == ZMQ_THREAD_AFFINITY_CPU_REMOVE)
            continue; // below
        const context_option* const row = find(id);
        SCOPED_TRACE(row ? row->name : std::to_string(id).c_str());
        test_context context;
        const bool readable = row && row->readable;
        EXPECT_EQ(readable ? row->initial : -1, read(context, id));
        EXPECT_EQ(readable ? 0 : EINVAL, errno);
        int kept = readable ? row->initial : -1;
        for (const int value : {INT_MIN, -1, 0, 1, 2, 100, INT_MAX}) {
            const bool good = row && row->settable && value >= row->least;
            if (good) {
                EXPECT_EQ(0, zmq_ctx_set(context, id, value)) << value;
                kept = readable ? (row->truth ? value != 0 : value) : -1;
            } else {
                EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set(context, id, value))) << value;
            }
            EXPECT_EQ(kept, read(context, id)) << value;
        }
    }
}

TEST(ContextOptions, share_a_number_between_thread_priority_and_socket_limit)
{
    test_context context;
    EXPECT_EQ(65535, read(context, ZMQ_SOCKET_LIMIT));
    EXPECT_EQ(0, zmq_ctx_set(context, ZMQ_THREAD_PRIORITY, 7));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set(context, ZMQ_THREAD_PRIORITY, -1)));
    EXPECT_EQ(65535, read(context, ZMQ_SOCKET_LIMIT));
}

TEST(ContextOptions, hold_each_processor_once)
{
    test_context context;
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_REMOVE, 1)));
    for (int times = 0; times < 2; ++times)
        EXPECT_EQ(0, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_ADD, 1));
    EXPECT_EQ(0, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_REMOVE, 1));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_REMOVE, 1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_REMOVE, -1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_get(context, ZMQ_THREAD_AFFINITY_CPU_REMOVE)));
}

// --- with lengths --------------------------------------------------------------------------------

TEST(ZlinkOnlyContextOptions, are_ints_of_four_bytes)
{
    test_context context;
    for (const int id : {ZMQ_IO_THREADS, ZMQ_MAX_SOCKETS, ZMQ_BLOCKY, ZMQ_IPV6}) {
        std::array<char, 8> bytes{1};
        for (const std::size_t size : {0, 1, 3, 5, 8}) {
            std::size_t room = size;
            EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set_ext(context, id, bytes.data(), size)));
            EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_get_ext(context, id, bytes.data(), &room)));
        }
        int value = 1;
        EXPECT_EQ(0, zmq_ctx_set_ext(context, id, &value, sizeof value));
        EXPECT_EQ(1, zmq_ctx_get(context, id));
        value = 99;
        std::size_t room = sizeof value;
        EXPECT_EQ(0, zmq_ctx_get_ext(context, id, &value, &room));
        EXPECT_EQ(1, value);
        EXPECT_EQ(sizeof value, room);
        value = -1;
        EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set_ext(context, id, &value, sizeof value)));
    }
    int value = 0;
    std::size_t room = sizeof value;
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set_ext(context, 99, &value, sizeof value)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_get_ext(context, 99, &value, &room)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set_ext(context, ZMQ_BLOCKY, nullptr, sizeof value)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_get_ext(context, ZMQ_BLOCKY, nullptr, &room)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_get_ext(context, ZMQ_BLOCKY, &value, nullptr)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_set_ext(nullptr, ZMQ_BLOCKY, &value, sizeof value)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_get_ext(nullptr, ZMQ_BLOCKY, &value, &room)));
}

TEST(ZlinkOnlyContextOptions, of_every_number_have_exactly_four_bytes)
{
    std::vector<context_option> ints(sheet.begin(), sheet.end());
    ints.push_back({"THREAD_PRIORITY", ZMQ_THREAD_PRIORITY, true, true, 65535, 0});
    ints.push_back(
        {"THREAD_AFFINITY_CPU_REMOVE", ZMQ_THREAD_AFFINITY_CPU_REMOVE, true, false, 0, 0});
    std::erase_if(ints, [](const context_option& row) { return row.id == ZMQ_THREAD_NAME_PREFIX; });
    for (const context_option& row : ints) {
        SCOPED_TRACE(row.name);
        test_context context;
        ASSERT_EQ(0, zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_ADD, 1)); // to be removed
        const std::array<char, 16> one{1};
        std::array<char, 16> bytes;
        bytes.fill('#');
        const std::array<char, 16> untouched = bytes;
        for (const std::size_t size : {0, 1, 2, 3, 5, 7, 8, 16}) {
            EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set_ext(context, row.id, one.data(), size)))
                << size;
            std::size_t room = size;
            EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_get_ext(context, row.id, bytes.data(), &room)))
                << size;
            EXPECT_EQ(untouched, bytes) << size;
        }
        int value = 0;
        std::size_t room = sizeof value;
        EXPECT_EQ(row.readable ? 0 : -1, zmq_ctx_get_ext(context, row.id, &value, &room));
        EXPECT_EQ(row.readable ? row.initial : 0, value);
        EXPECT_EQ(row.settable ? 0 : -1, zmq_ctx_set_ext(context, row.id, one.data(), 4));
    }
}

TEST(ZlinkOnlyContextOptions, have_a_text_for_the_name_prefix)
{
    test_context context;
    for (const char* prefix : {"p", "abc", "abcd", "abcde", "sixteen-letters!"}) {
        EXPECT_EQ(0, zmq_ctx_set_ext(context, ZMQ_THREAD_NAME_PREFIX, prefix, std::strlen(prefix)));
        std::array<char, 32> room{};
        std::size_t size = room.size();
        EXPECT_EQ(0, zmq_ctx_get_ext(context, ZMQ_THREAD_NAME_PREFIX, room.data(), &size));
        EXPECT_EQ(prefix, std::string(room.data(), size));
        EXPECT_EQ(0, zmq_ctx_get(context, ZMQ_THREAD_NAME_PREFIX)) << "no number";
    }
    std::array<char, 32> room{};
    std::size_t size = 15;
    EXPECT_TRUE(
        fails_with(EINVAL, zmq_ctx_get_ext(context, ZMQ_THREAD_NAME_PREFIX, room.data(), &size)));
    for (const std::size_t wrong : {0, 17, 32})
        EXPECT_TRUE(fails_with(
            EINVAL, zmq_ctx_set_ext(context, ZMQ_THREAD_NAME_PREFIX, room.data(), wrong)));
    const int number = 42;
    EXPECT_EQ(0, zmq_ctx_set_ext(context, ZMQ_THREAD_NAME_PREFIX, &number, sizeof number));
    EXPECT_EQ(42, zmq_ctx_get(context, ZMQ_THREAD_NAME_PREFIX));
}

// --- effects -------------------------------------------------------------------------------------

TEST(ContextOptions, do_not_limit_messages_by_their_size)
{
    test_context context;
    ASSERT_EQ(0, zmq_ctx_set(context, ZMQ_MAX_MSGSZ, 10));
    for (const transport kind : {transport::tcp, transport::inproc}) {
        auto [bound, peer, address] = connect_pair(context, kind, ZMQ_PAIR, ZMQ_PAIR);
        zmq_msg_t message;
        ASSERT_EQ(0, zmq_msg_init_size(&message, 1000));
        EXPECT_EQ(1000, zmq_msg_send(&message, peer, 0));
        EXPECT_EQ(1000u, bound.recv().size());
    }
}

struct listed_thread {
    pid_t id;
    std::string name;
};

/// The threads of this process with a name that contains `text`.
std::vector<listed_thread> threads_called(const std::string& text)
{
    std::vector<listed_thread> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(entry.path() / "comm");
        std::string name;
        if (std::getline(file, name) && name.find(text) != std::string::npos)
            found.push_back({std::stoi(entry.path().filename().string()), name});
    }
    std::ranges::sort(found, {}, &listed_thread::name);
    return found;
}

/// The threads of this process that belong to the library.
std::vector<listed_thread> library_threads()
{
    return threads_called("ZMQbg");
}

/// A thread that has been joined is listed a moment longer.
bool no_threads_are_left()
{
    return wait_until([] { return library_threads().empty(); });
}

/// Opens a socket in a context with the given options and waits until `check` likes its threads.
testing::AssertionResult
threads_become(std::initializer_list<std::pair<int, int>> options,
               const std::function<bool(const std::vector<listed_thread>&)>& check)
{
    test_context context;
    for (const auto& [id, value] : options)
        if (zmq_ctx_set(context, id, value) != 0)
            return testing::AssertionFailure() << "option " << id << " refused";
    const test_socket socket(context, ZMQ_PAIR);
    if (wait_until([&] { return check(library_threads()); }))
        return testing::AssertionSuccess();
    auto failure = testing::AssertionFailure() << "threads:";
    for (const listed_thread& one : library_threads())
        failure << " " << one.name;
    return failure;
}

/// Does every I/O thread satisfy the condition, and is there one?
auto every(const std::function<bool(pid_t)>& condition)
{
    return [condition](const std::vector<listed_thread>& threads) {
        return !threads.empty() && std::ranges::all_of(threads, condition, &listed_thread::id);
    };
}

TEST(ZlinkOnlyContextThreads, have_names)
{
    EXPECT_TRUE(threads_become({{ZMQ_IO_THREADS, 2}}, [](const auto& threads) {
        return threads.size() == 2 && threads[0].name == "ZMQbg/IO/0" &&
               threads[1].name == "ZMQbg/IO/1";
    }));
    EXPECT_TRUE(threads_become({{ZMQ_THREAD_NAME_PREFIX, 7}}, [](const auto& threads) {
        return threads.size() == 1 && threads[0].name == "7/ZMQbg/IO/0";
    }));
}

TEST(ZlinkOnlyContextThreads, begin_with_the_first_socket_and_end_with_the_context)
{
    {
        test_context context;
        EXPECT_TRUE(no_threads_are_left());
        const test_socket socket(context, ZMQ_PAIR);
        EXPECT_TRUE(wait_until([] { return library_threads().size() == 1; }));
        EXPECT_EQ(0, zmq_ctx_set(context, ZMQ_IO_THREADS, 5)) << "too late, but no error";
        const test_socket second(context, ZMQ_PAIR);
        EXPECT_EQ(1u, library_threads().size());
    }
    EXPECT_TRUE(no_threads_are_left());
}

TEST(ZlinkOnlyContextThreads, have_a_text_as_prefix)
{
    test_context context;
    ASSERT_EQ(0, zmq_ctx_set_ext(context, ZMQ_THREAD_NAME_PREFIX, "app", 3));
    const test_socket socket(context, ZMQ_PAIR);
    EXPECT_TRUE(wait_until([] {
        const auto threads = library_threads();
        return threads.size() == 1 && threads[0].name == "app/ZMQbg/IO/0";
    }));
}

TEST(ZlinkOnlyContextThreads, run_on_the_processors_that_were_added)
{
    cpu_set_t allowed;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof allowed, &allowed));
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &allowed))
        --last;
    const auto only_last = every([last](pid_t id) {
        cpu_set_t set;
        return sched_getaffinity(id, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1 &&
               CPU_ISSET(last, &set);
    });
    EXPECT_TRUE(threads_become({{ZMQ_THREAD_AFFINITY_CPU_ADD, last}}, only_last));
    // A processor that does not exist is not run on.
    EXPECT_TRUE(threads_become(
        {{ZMQ_THREAD_AFFINITY_CPU_ADD, last}, {ZMQ_THREAD_AFFINITY_CPU_ADD, INT_MAX}}, only_last));
    const auto all = every([&](pid_t id) {
        cpu_set_t set;
        return sched_getaffinity(id, sizeof set, &set) == 0 && CPU_EQUAL(&set, &allowed);
    });
    EXPECT_TRUE(threads_become(
        {{ZMQ_THREAD_AFFINITY_CPU_ADD, last}, {ZMQ_THREAD_AFFINITY_CPU_REMOVE, last}}, all));
    EXPECT_TRUE(threads_become({{ZMQ_THREAD_AFFINITY_CPU_ADD, INT_MAX}}, all));
}

TEST(ZlinkOnlyContextThreads, have_the_scheduling_policy)
{
    EXPECT_TRUE(threads_become({{ZMQ_THREAD_SCHED_POLICY, SCHED_BATCH}}, every([](pid_t id) {
                                   return sched_getscheduler(id) == SCHED_BATCH;
                               })));
    EXPECT_TRUE(threads_become(
        {}, every([](pid_t id) { return sched_getscheduler(id) == sched_getscheduler(0); })));
}

/// Is this allowed, tried in a thread of its own?
bool allowed(const std::function<bool()>& attempt)
{
    bool done = false;
    std::thread([&] { done = attempt(); }).join();
    return done;
}

bool may_be_nicest()
{
    return allowed([] { return setpriority(PRIO_PROCESS, 0, -20) == 0; });
}

bool may_be_real_time()
{
    return allowed([] {
        sched_param parameters{};
        parameters.sched_priority = 5;
        return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) == 0;
    });
}

TEST(ZlinkOnlyContextThreads, have_the_priority_as_far_as_this_user_may_give_it)
{
    const auto nice_is = [](int value) {
        return every([value](pid_t id) {
            return getpriority(PRIO_PROCESS, static_cast<id_t>(id)) == value;
        });
    };
    const int usual = getpriority(PRIO_PROCESS, 0);
    EXPECT_TRUE(threads_become({{ZMQ_THREAD_PRIORITY, 5}}, nice_is(may_be_nicest() ? -20 : usual)));
    EXPECT_TRUE(threads_become({{ZMQ_THREAD_PRIORITY, 0}}, nice_is(usual)));
    EXPECT_EQ(usual, getpriority(PRIO_PROCESS, 0)) << "only the library's threads";
    if (!may_be_real_time())
        return;
    EXPECT_TRUE(threads_become(
        {{ZMQ_THREAD_SCHED_POLICY, SCHED_FIFO}, {ZMQ_THREAD_PRIORITY, 5}}, every([](pid_t id) {
            sched_param parameters{};
            return sched_getscheduler(id) == SCHED_FIFO && sched_getparam(id, &parameters) == 0 &&
                   parameters.sched_priority == 5;
        })));
}

TEST(ZlinkOnlyContextThreads, live_with_wishes_that_cannot_be_granted)
{
    for (const auto& [id, value] : {std::pair{ZMQ_THREAD_SCHED_POLICY, 99},
                                    {ZMQ_THREAD_PRIORITY, INT_MAX},
                                    {ZMQ_THREAD_AFFINITY_CPU_ADD, 1000}}) {
        test_context context;
        EXPECT_EQ(0, zmq_ctx_set(context, id, value));
        auto [bound, peer, address] = connect_pair(context, transport::tcp, ZMQ_PAIR, ZMQ_PAIR);
        peer.send("works");
        EXPECT_EQ("works", bound.recv());
    }
}

TEST(ContextThreads, have_names_of_15_characters_at_most)
{
    test_context context;
    ASSERT_EQ(0, zmq_ctx_set(context, ZMQ_THREAD_NAME_PREFIX, 1'234'567'890));
    const test_socket socket(context, ZMQ_PAIR);
    EXPECT_TRUE(wait_until([] { return !threads_called("1234567890/ZMQb").empty(); }));
}

/// The time for which a thread has had a processor, in nanoseconds; -1 if there is no such thread.
long busy_ns(const std::string& thread_name)
{
    const auto threads = threads_called(thread_name);
    long time = -1;
    if (threads.size() == 1)
        std::ifstream("/proc/self/task/" + std::to_string(threads.front().id) + "/schedstat") >>
            time;
    return time;
}

TEST(ContextThreads, serve_the_sockets_that_have_an_affinity_to_them)
{
    for (const int chosen : {0, 1}) {
        test_context context;
        zmq_ctx_set(context, ZMQ_IO_THREADS, 2);
        zmq_ctx_set(context, ZMQ_THREAD_NAME_PREFIX, chosen);
        const auto busy = [&](int thread) {
            return busy_ns(std::to_string(chosen) + "/ZMQbg/IO/" + std::to_string(thread));
        };
        const auto choose = [](test_socket& socket, std::uint64_t threads) {
            zmq_setsockopt(socket, ZMQ_AFFINITY, &threads, sizeof threads);
        };
        // Threads that do not exist are passed over.
        const std::uint64_t only_chosen = (std::uint64_t{1} << chosen) | (std::uint64_t{1} << 63);
        test_socket sink(context, ZMQ_PULL);
        choose(sink, only_chosen);
        const std::string address = sink.bind_and_resolve("tcp://127.0.0.1:*");
        choose(sink, std::uint64_t{1} << (1 - chosen)); // too late for this endpoint
        if (!wait_until([&] { return busy(0) > 0 && busy(1) > 0; }, 1s))
            GTEST_SKIP() << "the kernel does not tell";
        const long before[] = {busy(0), busy(1)};
        for (int index = 0; index < 50; ++index) {
            test_socket source(context, ZMQ_PUSH);
            choose(source, only_chosen);
            source.connect(address);
            source.send("x");
            EXPECT_EQ("x", sink.recv());
        }
        EXPECT_GT((busy(chosen) - before[chosen]) / 5, busy(1 - chosen) - before[1 - chosen]);
    }
}

TEST(ContextThreads, share_endpoints_so_that_the_least_loaded_of_those_allowed_gets_the_next)
{
    for (const int loaded : {0, 1}) {
        constexpr int forbidden = 2; // and idle
        test_context context;
        const int prefix = 2 + loaded; // so that a thread of the last round is not taken for one
        zmq_ctx_set(context, ZMQ_IO_THREADS, 3);
        zmq_ctx_set(context, ZMQ_THREAD_NAME_PREFIX, prefix);
        const auto busy = [&](int thread) {
            return busy_ns(std::to_string(prefix) + "/ZMQbg/IO/" + std::to_string(thread));
        };
        const auto choose = [](test_socket& socket, std::uint64_t threads) {
            zmq_setsockopt(socket, ZMQ_AFFINITY, &threads, sizeof threads);
        };
        std::vector<test_socket> load;
        std::vector<raw_peer> peers;
        for (int index = 0; index < 3; ++index) {
            load.emplace_back(context, ZMQ_PULL);
            choose(load.back(), std::uint64_t{1} << loaded);
            peers.emplace_back(load.back().bind_and_resolve("tcp://127.0.0.1:*"));
            peers.back().recv(10); // so the thread has it
        }
        test_socket socket(context, ZMQ_PULL);
        choose(socket, 0b11);
        socket.set(ZMQ_TCP_ACCEPT_FILTER, "192.0.2.1"); // only the listener has to do with peers
        const std::string address = socket.bind_and_resolve("tcp://127.0.0.1:*");
        if (!wait_until([&] { return busy(0) > 0 && busy(1) > 0 && busy(2) > 0; }, 1s))
            GTEST_SKIP() << "the kernel does not tell";
        const std::array before{busy(0), busy(1), busy(2)};
        for (int index = 0; index < 200; ++index)
            EXPECT_EQ("", raw_peer(address).recv_to_end());
        const auto spent = [&](int thread) { return busy(thread) - before[thread]; };
        const long by_the_least_loaded = spent(1 - loaded);
        EXPECT_GT(by_the_least_loaded / 5, spent(loaded));
        EXPECT_GT(by_the_least_loaded / 5, spent(forbidden));
    }
}

} // namespace
} // namespace zlink::test
