// SPDX-License-Identifier: Apache-2.0
#include "base/memory/loan.hpp"

#include <atomic>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace zlink::base {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t body_bytes = 100'000;

bytes body_of(int number)
{
    return bytes(body_bytes, static_cast<std::byte>(number));
}

/// Or its beginning.
bool is_body_of(int number, const bytes& got)
{
    const bytes expected = body_of(number);
    return got.size() <= expected.size() &&
           std::memcmp(got.data(), expected.data(), got.size()) == 0;
}

TEST(Loan, is_copied_by_the_writer_if_nobody_reads)
{
    bytes source = body_of(1);
    bytes block(body_bytes);
    loan subject;
    EXPECT_FALSE(subject.lent());
    subject.offer(source.data(), block.data(), block.size());
    EXPECT_TRUE(subject.lent());
    EXPECT_EQ(0, std::memcmp(block.data(), source.data(), tuning::inproc::copied_at_once_bytes));
    EXPECT_FALSE(subject.answered());
    void* request = nullptr;
    EXPECT_FALSE(subject.settle(source.data(), block.data(), block.size(), request));
    EXPECT_FALSE(subject.lent());
    bytes got(body_bytes);
    joint_copy copy(source.data(), got.data(), got.size());
    EXPECT_FALSE(subject.copy_together(copy, request));
    subject.await_copy();
    EXPECT_EQ(source, block);
    EXPECT_EQ(bytes(body_bytes), got);
}

TEST(Loan, is_copied_by_a_quick_reader)
{
    bytes source = body_of(2);
    bytes block(body_bytes);
    loan subject;
    subject.offer(source.data(), block.data(), block.size());
    bytes got(body_bytes);
    void* request = nullptr;
    joint_copy copy(source.data(), got.data(), got.size());
    EXPECT_TRUE(subject.copy_together(copy, request));
    EXPECT_EQ(source, got);
    EXPECT_TRUE(subject.answered());
    EXPECT_TRUE(subject.settle(source.data(), block.data(), block.size(), request));
}

TEST(Loan, of_a_short_body_is_copied_at_once)
{
    bytes source(100, std::byte{7});
    bytes block(100);
    loan subject;
    subject.offer(source.data(), block.data(), block.size());
    EXPECT_EQ(source, block);
    void* request = nullptr;
    EXPECT_FALSE(subject.settle(source.data(), block.data(), block.size(), request));
    EXPECT_EQ(source, block);
}

// Whoever comes when, and however long it takes: the reader sees the body, and the writer gets its
// memory back. In a quarter of the rounds the writer waits for an answer of the reader, in another
// one the reader comes when all is over, and in the rest chance decides.
TEST(Loan, gives_the_reader_the_body_in_every_order)
{
    constexpr int rounds = 1000;
    struct offer {
        loan agreement;
        bytes source;
        bytes block;
        void* request = nullptr;
    };
    std::atomic<offer*> offered{nullptr};
    std::atomic<int> finished{0};
    // Without giving its processor away: on a busy machine that takes milliseconds each time.
    const auto dawdle = [](std::minstd_rand& random) {
        volatile unsigned turns = random() % 4 == 0 ? random() % 30'000 : random() % 800;
        while (turns != 0)
            turns = turns - 1;
    };
    std::thread reader([&] {
        std::minstd_rand random(1);
        for (int round = 0; round < rounds; ++round) {
            offer* found = nullptr;
            while (!(found = offered.exchange(nullptr)))
                std::this_thread::yield();
            dawdle(random);
            bool right = false;
            bytes got(random() % 4 == 0 ? random() % body_bytes : body_bytes);
            joint_copy copy(found->source.data(), got.data(), got.size());
            if (random() % 2 == 0 && found->agreement.copy_together(copy, found->request)) {
                right = is_body_of(round, got);
            } else {
                found->agreement.await_copy();
                right = is_body_of(round, found->block);
            }
            EXPECT_TRUE(right) << round;
            finished.store(round + 1);
        }
    });
    std::minstd_rand random(2);
    int read = 0;
    for (int round = 0; round < rounds; ++round) {
        const bool reader_first = round % 4 == 0;
        const bool writer_first = round % 4 == 1;
        offer made{{}, body_of(round), bytes(body_bytes), nullptr};
        made.agreement.offer(made.source.data(), made.block.data(), body_bytes);
        if (!writer_first)
            offered.store(&made);
        while (reader_first && !made.agreement.answered())
            std::this_thread::yield();
        dawdle(random);
        read +=
            made.agreement.settle(made.source.data(), made.block.data(), body_bytes, made.request);
        std::memset(made.source.data(), 0xee, body_bytes);
        if (writer_first)
            offered.store(&made);
        while (finished.load() <= round)
            std::this_thread::yield();
    }
    reader.join();
    EXPECT_LT(0, read);
    EXPECT_GT(rounds, read);
}

// Does the thread of this process sleep in the kernel?
bool is_asleep(pid_t thread)
{
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    const auto name_end = text.rfind(')');
    return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
}

TEST(Loan, is_copied_whole_for_a_reader_that_sleeps_until_then)
{
    const bytes source = body_of(3);
    bytes block(body_bytes);
    loan subject;
    void* request = nullptr;
    subject.offer(source.data(), block.data(), block.size());
    std::atomic<pid_t> id{0};
    std::thread reader([&] {
        id = ::gettid();
        subject.await_copy();
        EXPECT_EQ(source, block);
    });
    while (!subject.answered() || !is_asleep(id))
        std::this_thread::yield();
    EXPECT_FALSE(subject.settle(source.data(), block.data(), block.size(), request));
    reader.join();
}

TEST(JointCopy, is_whole_whoever_does_most_of_it)
{
    std::minstd_rand random(3);
    for (const std::size_t size : {0U, 1U, 16'383U, 16'384U, 16'385U, 100'000U, 1'000'000U})
        for (int round = 0; round < 20; ++round) {
            bytes source(size);
            for (std::byte& one : source)
                one = static_cast<std::byte>(random());
            bytes got(size);
            joint_copy copy(source.data(), got.data(), size);
            if (round == 0) {
                copy.from_front();
            } else if (round == 1) {
                copy.from_back();
            } else {
                std::atomic<bool> begun{false};
                std::thread other([&] {
                    begun = true;
                    copy.from_back();
                });
                while (round % 2 == 0 && !begun)
                    std::this_thread::yield();
                copy.from_front();
                other.join();
            }
            EXPECT_EQ(source, got) << size;
        }
}

} // namespace
} // namespace zlink::base
