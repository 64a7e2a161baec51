// SPDX-License-Identifier: Apache-2.0
#include "base/loan.hpp"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

namespace zlink::base {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t body_bytes = 100'000;

bytes body_of(int number)
{
    return bytes(body_bytes, static_cast<std::byte>(number));
}

bool is_body_of(int number, const bytes& got)
{
    const bytes expected = body_of(number);
    return got.size() == expected.size() &&
           std::memcmp(got.data(), expected.data(), expected.size()) == 0;
}

TEST(Loan, is_copied_by_the_writer_if_nobody_reads)
{
    bytes source = body_of(1);
    bytes block(body_bytes);
    loan subject;
    EXPECT_FALSE(subject.lent());
    subject.offer(source.data(), block.data(), block.size());
    EXPECT_TRUE(subject.lent());
    EXPECT_EQ(0, std::memcmp(block.data(), source.data(), loan::copied_at_once_bytes));
    EXPECT_FALSE(subject.answered());
    EXPECT_FALSE(subject.settle(source.data(), block.data(), block.size()));
    EXPECT_FALSE(subject.lent());
    EXPECT_FALSE(subject.borrow());
    subject.await_copy();
    EXPECT_EQ(source, block);
}

TEST(Loan, is_copied_by_a_quick_reader)
{
    bytes source = body_of(2);
    bytes block(body_bytes);
    loan subject;
    subject.offer(source.data(), block.data(), block.size());
    EXPECT_TRUE(subject.borrow());
    EXPECT_TRUE(subject.answered());
    subject.give_back();
    EXPECT_TRUE(subject.settle(source.data(), block.data(), block.size()));
}

TEST(Loan, of_a_short_body_is_copied_at_once)
{
    bytes source(100, std::byte{7});
    bytes block(100);
    loan subject;
    subject.offer(source.data(), block.data(), block.size());
    EXPECT_EQ(source, block);
    EXPECT_FALSE(subject.settle(source.data(), block.data(), block.size()));
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
            if (random() % 2 == 0 && found->agreement.borrow()) {
                dawdle(random);
                right = is_body_of(round, found->source);
                found->agreement.give_back();
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
        offer made{{}, body_of(round), bytes(body_bytes)};
        made.agreement.offer(made.source.data(), made.block.data(), body_bytes);
        if (!writer_first)
            offered.store(&made);
        while (reader_first && !made.agreement.answered())
            std::this_thread::yield();
        dawdle(random);
        read += made.agreement.settle(made.source.data(), made.block.data(), body_bytes);
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

} // namespace
} // namespace zlink::base
