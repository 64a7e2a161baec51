// SPDX-License-Identifier: Apache-2.0
// Version, errors, capabilities, counters, stopwatch, sleep, threads, Z85, and the functions that
// are exported but not served yet. Suites named *_own and *_misuse hold what only this library
// promises.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include <zmq.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// ---- version, errors, capabilities

TEST(version, is_that_of_the_header)
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    EXPECT_EQ(major, 4);
    EXPECT_EQ(minor, 3);
    EXPECT_EQ(patch, 5);
}

TEST(version_misuse, skips_null_pointers)
{
    int minor = 0;
    zmq_version(nullptr, &minor, nullptr);
    EXPECT_EQ(minor, 3);
    zmq_version(nullptr, nullptr, nullptr);
}

TEST(errors, zmq_errno_is_the_errno_of_the_calling_thread)
{
    errno = EFSM;
    EXPECT_EQ(zmq_errno(), EFSM);
    int seen_elsewhere = -1;
    std::thread([&] {
        errno = 0;
        seen_elsewhere = zmq_errno();
    }).join();
    EXPECT_EQ(seen_elsewhere, 0);
    EXPECT_EQ(zmq_errno(), EFSM);
}

TEST(errors, own_numbers_have_own_texts)
{
    EXPECT_STREQ(zmq_strerror(EFSM), "Operation cannot be accomplished in current state");
    EXPECT_STREQ(zmq_strerror(ENOCOMPATPROTO),
                 "The protocol is not compatible with the socket type");
    EXPECT_STREQ(zmq_strerror(ETERM), "Context was terminated");
    EXPECT_STREQ(zmq_strerror(EMTHREAD), "No thread available");
    EXPECT_STREQ(zmq_strerror(EHOSTUNREACH), "Host unreachable");
}

TEST(errors, other_numbers_have_the_texts_of_the_system)
{
    for (const int number : {0, EAGAIN, EINVAL, EFAULT, ENOTSOCK, EADDRINUSE, -1, 99999}) {
        const std::string expected = std::strerror(number);
        EXPECT_EQ(zmq_strerror(number), expected) << number;
    }
}

TEST(capabilities, ipc_is_there)
{
    EXPECT_EQ(zmq_has("ipc"), 1);
}

TEST(capabilities_own, websockets_are_there_in_both_spellings)
{
    EXPECT_EQ(zmq_has("WS"), 1);
    EXPECT_EQ(zmq_has("ws"), 1);
}

TEST(capabilities, unknown_names_are_not)
{
    for (const auto* name : {"", "tcp", "inproc", "Ws", "IPC", "ipc ", "nonsense"}) {
        EXPECT_EQ(zmq_has(name), 0) << name;
    }
}

TEST(capabilities_own, those_never_built_are_not)
{
    for (const auto* name : {"pgm", "tipc", "norm", "gssapi", "vmci"}) {
        EXPECT_EQ(zmq_has(name), 0) << name;
    }
}

TEST(capabilities_own, the_draft_types_are_there)
{
    EXPECT_EQ(zmq_has("draft"), 1);
}

TEST(capabilities_misuse, null_is_not)
{
    EXPECT_EQ(zmq_has(nullptr), 0);
}

// ---- atomic counters

TEST(atomic_counter, counts)
{
    void* counter = zmq_atomic_counter_new();
    ASSERT_NE(counter, nullptr);
    EXPECT_EQ(zmq_atomic_counter_value(counter), 0);
    EXPECT_EQ(zmq_atomic_counter_inc(counter), 0);
    EXPECT_EQ(zmq_atomic_counter_inc(counter), 1);
    EXPECT_EQ(zmq_atomic_counter_value(counter), 2);
    EXPECT_EQ(zmq_atomic_counter_dec(counter), 1);
    EXPECT_EQ(zmq_atomic_counter_dec(counter), 0);
    EXPECT_EQ(zmq_atomic_counter_value(counter), 0);
    EXPECT_EQ(zmq_atomic_counter_dec(counter), 1);
    EXPECT_EQ(zmq_atomic_counter_value(counter), -1);
    zmq_atomic_counter_set(counter, 7);
    EXPECT_EQ(zmq_atomic_counter_value(counter), 7);
    zmq_atomic_counter_destroy(&counter);
    EXPECT_EQ(counter, nullptr);
}

TEST(atomic_counter, loses_nothing_between_threads)
{
    constexpr int rounds = 20'000;
    constexpr int workers = 4;
    void* counter = zmq_atomic_counter_new();
    ASSERT_NE(counter, nullptr);
    std::atomic<int> reached_zero{0};
    std::vector<std::thread> threads;
    for (int worker = 0; worker < workers; ++worker) {
        threads.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                zmq_atomic_counter_inc(counter);
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(zmq_atomic_counter_value(counter), workers * rounds);
    threads.clear();
    for (int worker = 0; worker < workers; ++worker) {
        threads.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                reached_zero += zmq_atomic_counter_dec(counter) == 0;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(zmq_atomic_counter_value(counter), 0);
    EXPECT_EQ(reached_zero, 1) << "exactly one thread takes the last reference away";
    zmq_atomic_counter_destroy(&counter);
}

TEST(atomic_counter_misuse, null_does_no_harm)
{
    void* none = nullptr;
    zmq_atomic_counter_set(none, 3);
    EXPECT_EQ(zmq_atomic_counter_inc(none), 0);
    EXPECT_EQ(zmq_atomic_counter_dec(none), 0);
    EXPECT_EQ(zmq_atomic_counter_value(none), 0);
    zmq_atomic_counter_destroy(&none);
    zmq_atomic_counter_destroy(nullptr);
}

// ---- stopwatch and sleep

TEST(stopwatch, measures_microseconds)
{
    const auto before = clock::now();
    void* watch = zmq_stopwatch_start();
    ASSERT_NE(watch, nullptr);
    unsigned long last_us = 0;
    while (last_us < 2000 && clock::now() - before < 10s) {
        const auto now_us = zmq_stopwatch_intermediate(watch);
        ASSERT_GE(now_us, last_us);
        last_us = now_us;
    }
    const auto total_us = zmq_stopwatch_stop(watch);
    const auto limit = std::chrono::ceil<std::chrono::microseconds>(clock::now() - before);
    EXPECT_GE(last_us, 2000u);
    EXPECT_GE(total_us, last_us);
    EXPECT_LE(total_us, static_cast<unsigned long>(limit.count()) + 1);
}

TEST(stopwatch_misuse, null_reads_zero)
{
    EXPECT_EQ(zmq_stopwatch_intermediate(nullptr), 0u);
    EXPECT_EQ(zmq_stopwatch_stop(nullptr), 0u);
}

TEST(sleep, lasts_whole_seconds)
{
    const auto before = clock::now();
    zmq_sleep(1);
    EXPECT_GE(clock::now() - before, 1s);
    zmq_sleep(0);
    EXPECT_LT(clock::now() - before, 10s);
}

TEST(sleep, ends_early_when_a_signal_handler_runs)
{
    struct sigaction ignore_it {};
    struct sigaction previous {};
    ignore_it.sa_handler = [](int) {};
    ASSERT_EQ(sigaction(SIGUSR1, &ignore_it, &previous), 0);
    std::atomic<bool> awake{false};
    std::thread disturber([&awake, sleeper = pthread_self()] {
        while (!awake) {
            pthread_kill(sleeper, SIGUSR1);
            std::this_thread::yield();
        }
    });
    const auto before = clock::now();
    zmq_sleep(30);
    awake = true;
    disturber.join();
    EXPECT_LT(clock::now() - before, 15s);
    sigaction(SIGUSR1, &previous, nullptr);
}

TEST(sleep_misuse, negative_returns_at_once)
{
    const auto before = clock::now();
    zmq_sleep(-5);
    EXPECT_LT(clock::now() - before, 5s);
}

// ---- threads

TEST(threads, run_the_function_with_its_argument)
{
    std::thread::id inside;
    void* thread = zmq_threadstart(
        [](void* arg) { *static_cast<std::thread::id*>(arg) = std::this_thread::get_id(); },
        &inside);
    ASSERT_NE(thread, nullptr);
    zmq_threadclose(thread);
    EXPECT_NE(inside, std::thread::id{});
    EXPECT_NE(inside, std::this_thread::get_id());
}

TEST(threads, have_signals_blocked_and_leave_the_creators_mask_alone)
{
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    sigset_t inside;
    sigemptyset(&inside);
    void* thread = zmq_threadstart(
        [](void* arg) { pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(arg)); },
        &inside);
    ASSERT_NE(thread, nullptr);
    zmq_threadclose(thread);
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD}) {
        EXPECT_EQ(sigismember(&inside, signal), 1) << signal;
    }
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int signal = 1; signal < 32; ++signal) {
        EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
    }
}

TEST(threads_misuse, no_function_no_thread)
{
    errno = 0;
    EXPECT_EQ(zmq_threadstart(nullptr, nullptr), nullptr);
    EXPECT_EQ(errno, EFAULT);
    zmq_threadclose(nullptr);
}

TEST(threads_misuse, a_thread_may_close_itself)
{
    // Static: the thread is on its own once it has closed its handle.
    static std::mutex starting;
    static void* own_handle = nullptr;
    static std::atomic<bool> survived{false};
    survived = false;
    {
        const std::lock_guard lock(starting);
        own_handle = zmq_threadstart(
            [](void*) {
                {
                    const std::lock_guard until_started(starting);
                }
                zmq_threadclose(own_handle);
                survived = true;
            },
            nullptr);
        ASSERT_NE(own_handle, nullptr);
    }
    const auto deadline = clock::now() + 10s;
    while (!survived && clock::now() < deadline) {
        std::this_thread::yield();
    }
    EXPECT_TRUE(survived);
}

#if defined __GLIBC__
TEST(threads_own, fail_with_an_errno_when_the_system_has_no_more)
{
    pthread_attr_t usual;
    pthread_attr_t impossible;
    ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
    pthread_attr_init(&impossible);
    ASSERT_EQ(pthread_attr_setstacksize(&impossible, std::size_t{1} << 50), 0);
    ASSERT_EQ(pthread_setattr_default_np(&impossible), 0);
    errno = 0;
    void* thread = zmq_threadstart([](void*) {}, nullptr);
    const int reason = errno;
    ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
    pthread_attr_destroy(&impossible);
    pthread_attr_destroy(&usual);
    EXPECT_EQ(thread, nullptr);
    EXPECT_EQ(reason, EAGAIN);
    zmq_threadclose(thread);
}
#endif

// ---- Z85

struct z85_vector {
    std::vector<std::uint8_t> bytes;
    std::string text;
};

const std::array<z85_vector, 5> z85_vectors{{
    {{0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B}, "HelloWorld"},
    {{0, 0, 0, 0}, "00000"},
    {{0xFF, 0xFF, 0xFF, 0xFF}, "%nSc0"},
    {{0, 0, 0, 1}, "00001"},
    {{0, 0, 0, 85}, "00010"},
}};

TEST(z85, encodes_the_vectors)
{
    for (const auto& vector : z85_vectors) {
        std::array<char, 32> text{};
        text.fill('~');
        EXPECT_EQ(zmq_z85_encode(text.data(), vector.bytes.data(), vector.bytes.size()),
                  text.data());
        EXPECT_STREQ(text.data(), vector.text.c_str());
        EXPECT_EQ(text[vector.text.size() + 1], '~') << "wrote more than text and NUL";
    }
}

TEST(z85, decodes_the_vectors)
{
    for (const auto& vector : z85_vectors) {
        std::vector<std::uint8_t> bytes(vector.bytes.size() + 1, 0xAA);
        EXPECT_EQ(zmq_z85_decode(bytes.data(), vector.text.c_str()), bytes.data());
        EXPECT_EQ(bytes.back(), 0xAA) << "wrote more than the bytes";
        bytes.pop_back();
        EXPECT_EQ(bytes, vector.bytes) << vector.text;
    }
}

TEST(z85, of_nothing_is_an_empty_text)
{
    char text = '~';
    const std::uint8_t nothing = 0;
    EXPECT_EQ(zmq_z85_encode(&text, &nothing, 0), &text);
    EXPECT_EQ(text, '\0');
}

TEST(z85, comes_back_from_text)
{
    std::mt19937 random(85);
    for (std::size_t size = 4; size <= 64; size += 4) {
        std::vector<std::uint8_t> bytes(size);
        for (auto& byte : bytes) {
            byte = static_cast<std::uint8_t>(random());
        }
        std::string text(size * 5 / 4 + 1, '~');
        ASSERT_NE(zmq_z85_encode(text.data(), bytes.data(), size), nullptr);
        std::vector<std::uint8_t> decoded(size);
        ASSERT_NE(zmq_z85_decode(decoded.data(), text.c_str()), nullptr);
        EXPECT_EQ(decoded, bytes);
    }
}

TEST(z85, refuses_sizes_that_are_no_multiple)
{
    std::array<char, 32> text{};
    const std::array<std::uint8_t, 8> bytes{};
    for (const std::size_t size : {1u, 2u, 3u, 5u, 7u}) {
        errno = 0;
        EXPECT_EQ(zmq_z85_encode(text.data(), bytes.data(), size), nullptr) << size;
        EXPECT_EQ(errno, EINVAL);
    }
}

TEST(z85, refuses_malformed_text)
{
    std::array<std::uint8_t, 32> bytes{};
    for (const auto* text : {"", "abc", "abcd", "abcdef", "abc\"e", "abc e",
                             "abc\x7F"
                             "e",
                             "abc\xFF"
                             "e",
                             "%nSc1", "#####", "00000#####"}) {
        errno = 0;
        EXPECT_EQ(zmq_z85_decode(bytes.data(), text), nullptr) << text;
        EXPECT_EQ(errno, EINVAL) << text;
    }
}

TEST(z85_misuse, refuses_null)
{
    std::array<std::uint8_t, 8> bytes{};
    std::array<char, 16> text{};
    errno = 0;
    EXPECT_EQ(zmq_z85_encode(nullptr, bytes.data(), 4), nullptr);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(zmq_z85_encode(text.data(), nullptr, 4), nullptr);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(zmq_z85_decode(nullptr, "00000"), nullptr);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(zmq_z85_decode(bytes.data(), nullptr), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

// ---- functions that are not served yet

/// Calls `function` and gives back the errno it left if it failed with `failure`, else 0.
template <typename Result, typename Function>
int error_of(Result failure, Function function)
{
    errno = 0;
    return function() == failure ? errno : 0;
}

TEST(proxies, check_their_sockets_first)
{
    char some = 0;
    void* const it = &some;
    EXPECT_EQ(error_of(-1, [&] { return zmq_proxy(nullptr, it, nullptr); }), EFAULT);
    EXPECT_EQ(error_of(-1, [&] { return zmq_proxy(it, nullptr, nullptr); }), EFAULT);
    EXPECT_EQ(error_of(-1, [&] { return zmq_device(ZMQ_QUEUE, nullptr, it); }), EFAULT);
    EXPECT_EQ(error_of(-1, [&] { return zmq_device(ZMQ_QUEUE, it, nullptr); }), EFAULT);
    EXPECT_EQ(error_of(-1, [&] { return zmq_proxy_steerable(nullptr, it, nullptr, nullptr); }),
              EFAULT);
    EXPECT_EQ(error_of(-1, [&] { return zmq_proxy(it, it, nullptr); }), ENOTSOCK);
    EXPECT_EQ(error_of(-1, [&] { return zmq_device(ZMQ_QUEUE, it, it); }), ENOTSOCK);
    EXPECT_EQ(error_of(-1, [&] { return zmq_proxy_steerable(it, it, it, it); }), ENOTSOCK);
}

TEST(curve_keys, are_not_served_by_a_library_without_curve)
{
    if (zmq_has("curve"))
        GTEST_SKIP() << "this one has it";
    std::array<char, 41> key{};
    EXPECT_EQ(error_of(-1, [&] { return zmq_curve_keypair(key.data(), key.data()); }), ENOTSUP);
    EXPECT_EQ(error_of(-1, [&] { return zmq_curve_public(key.data(), key.data()); }), ENOTSUP);
}

TEST(curve_keys, are_made_in_pairs)
{
    if (!zmq_has("curve"))
        GTEST_SKIP() << "the library has no CURVE";
    std::array<char, 41> public_key{};
    std::array<char, 41> secret_key{};
    std::array<char, 41> derived{};
    std::string before;
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(zmq_curve_keypair(public_key.data(), secret_key.data()), 0);
        EXPECT_EQ(std::strlen(public_key.data()), 40U);
        EXPECT_EQ(std::strlen(secret_key.data()), 40U);
        EXPECT_NE(before, secret_key.data());
        before = secret_key.data();
        ASSERT_EQ(zmq_curve_public(derived.data(), secret_key.data()), 0);
        EXPECT_STREQ(derived.data(), public_key.data());
    }
}

TEST(curve_keys, a_public_key_follows_from_a_secret_one)
{
    if (!zmq_has("curve"))
        GTEST_SKIP() << "the library has no CURVE";
    std::array<char, 41> key{};
    ASSERT_EQ(zmq_curve_public(key.data(), "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"), 0);
    EXPECT_STREQ(key.data(), "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID");
    for (const char* wrong : {"", "D:)Q[", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%c\"",
                              "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs00000",
                              "########################################"})
        EXPECT_EQ(error_of(-1, [&] { return zmq_curve_public(key.data(), wrong); }), EINVAL)
            << wrong;
}

} // namespace
