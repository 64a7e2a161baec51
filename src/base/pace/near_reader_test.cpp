// SPDX-License-Identifier: Apache-2.0
#include "base/pace/near_reader.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <thread>

namespace zlink::base {
namespace {

constexpr std::size_t large_bytes = tuning::inproc::max_backlog_bytes;

class NearReader : public ::testing::Test {
protected:
    /// Lends `body`, while another thread is the reader that calls `read(block)`.
    template <class Read>
    void lend(const std::string& body, Read read)
    {
        const auto* const data = reinterpret_cast<const std::byte*>(body.data());
        const buffer_ref block(allocate_buffer(body.size()));
        near_reader::offer(*block.get(), data, body.size());
        std::thread reader([&] { read(*block.get()); });
        subject_.settle(*block.get(), data, body.size(), has_others_);
        reader.join();
        EXPECT_TRUE(block->lending.answered());
    }

    message_credit credit_;
    near_reader subject_;
    bool has_others_ = false; ///< the writer has other readers
};

/// One of several readers of a thread.
class NearReaderAmongOthers : public NearReader {
protected:
    NearReaderAmongOthers() { has_others_ = true; }
};

TEST_F(NearReader, has_caught_up_once_it_has_taken_all_but_one_message)
{
    EXPECT_TRUE(near_reader::has_caught_up(credit_));
    credit_.add_sent(2);
    EXPECT_FALSE(near_reader::has_caught_up(credit_));
    credit_.add_taken(1);
    credit_.report();
    EXPECT_TRUE(near_reader::has_caught_up(credit_));
}

TEST_F(NearReader, is_waited_for_while_much_is_queued)
{
    credit_.add_sent(1);
    std::thread reader([&] {
        credit_.add_taken(1);
        credit_.report();
    });
    while (!near_reader::has_caught_up(credit_) || credit_.waiting() != 0)
        subject_.let_catch_up(credit_, large_bytes, false, has_others_);
    reader.join();
    EXPECT_EQ(0U, credit_.waiting());
}

TEST_F(NearReader, that_does_not_come_is_not_waited_for)
{
    credit_.add_sent(2);
    subject_.let_catch_up(credit_, large_bytes, true, has_others_);
    EXPECT_EQ(2U, credit_.waiting());
}

TEST_F(NearReader, gets_the_body_that_was_lent_however_it_reads)
{
    const std::string body(200'000, 'b');
    for (int round = 0; round < 20; ++round) {
        std::string copied(body.size(), ' ');
        lend(body, [&](buffer& block) {
            joint_copy copy(static_cast<const std::byte*>(block.hint),
                            reinterpret_cast<std::byte*>(copied.data()), copied.size());
            if (!block.lending.copy_together(copy, block.hint))
                std::memcpy(copied.data(), block.data, copied.size());
        });
        EXPECT_TRUE(body == copied);
        lend(body, [&](buffer& block) {
            block.lending.await_copy();
            EXPECT_EQ(0, std::memcmp(block.data, body.data(), body.size()));
        });
    }
}

TEST_F(NearReaderAmongOthers, is_waited_for_until_it_has_taken_enough)
{
    std::thread([&] { // which has not waited yet
        credit_.add_sent(2);
        std::thread reader([&] {
            credit_.add_taken(1);
            credit_.report();
        });
        // Until all is taken would be for ever.
        while (credit_.waiting() != 1)
            subject_.let_catch_up(credit_, large_bytes / 2, true, true);
        reader.join();
    })
        .join();
    EXPECT_EQ(1U, credit_.waiting());
}

TEST_F(NearReaderAmongOthers, is_not_waited_for_once_they_have_waited_long_enough)
{
    std::thread([&] {
        const auto now = steady_clock::now();
        wait_budget::of_this_thread()->waited(now - std::chrono::hours(1), now);
        credit_.add_sent(2);
        const auto begin = steady_clock::now();
        for (int bodies = 0; bodies < 1000; ++bodies)
            subject_.let_catch_up(credit_, large_bytes, false, true);
        EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(5)) << "it never waits";
    }).join();
}

TEST_F(NearReaderAmongOthers, gets_the_body_that_was_lent)
{
    const std::string body(200'000, 'b');
    for (int round = 0; round < 20; ++round)
        lend(body, [&](buffer& block) {
            block.lending.await_copy();
            EXPECT_EQ(0, std::memcmp(block.data, body.data(), body.size()));
        });
}

} // namespace
} // namespace zlink::base
