// SPDX-License-Identifier: Apache-2.0
#include "soak_ledger.hpp"

#include <gtest/gtest.h>

#include "stress/crowd_message.hpp"

namespace zlink::test {
namespace {

constexpr int ear = 0;
constexpr int receiver = 0;

class SoakLedger : public ::testing::Test {
protected:
    void send(std::uint64_t count)
    {
        for (std::uint64_t number = 0; number < count; ++number) {
            ledger_.offer(stream_, number);
            ledger_.accepted(stream_, number);
        }
    }
    void receive(std::initializer_list<std::uint64_t> numbers)
    {
        for (const std::uint64_t number : numbers)
            ledger_.arrived(stream_, number, ear, receiver);
    }

    soak_ledger ledger_;
    const std::uint32_t stream_ = ledger_.open_stream(1);
};

TEST_F(SoakLedger, IsCompleteWhenAllHasCome)
{
    send(3);
    receive({0, 1});
    EXPECT_FALSE(ledger_.is_complete(true));
    receive({2});
    EXPECT_TRUE(ledger_.is_complete(true));
    EXPECT_EQ("", ledger_.missing(true));
    EXPECT_EQ(0u, ledger_.sum().lost);
}

TEST_F(SoakLedger, CountsWhatIsLost)
{
    send(5);
    receive({0, 3});
    EXPECT_FALSE(ledger_.is_complete(true));
    EXPECT_NE(std::string::npos, ledger_.missing(true).find("lost: 3 of 5"));
    EXPECT_EQ(3u, ledger_.sum().lost);
    EXPECT_EQ(2u, ledger_.in_flight(stream_) + 1);
}

TEST_F(SoakLedger, ForgivesWhatABreakTookButNotWhatCameAfter)
{
    send(5);
    receive({0, 3});
    ledger_.all_is_due(stream_, 3);
    EXPECT_FALSE(ledger_.is_complete(false));
    receive({4});
    EXPECT_TRUE(ledger_.is_complete(false));
    EXPECT_FALSE(ledger_.is_complete(true));
}

TEST_F(SoakLedger, NoticesWhatComesTwice)
{
    send(2);
    receive({0, 1});
    ledger_.note_break();
    EXPECT_THROW(receive({0}), crowd_failure);
}

TEST_F(SoakLedger, NoticesWhatWasNeverSent)
{
    send(2);
    EXPECT_THROW(receive({2}), crowd_failure);
    EXPECT_THROW(ledger_.arrived(stream_ + 1, 0, ear, receiver), crowd_failure);
    EXPECT_THROW(ledger_.arrived(stream_, 0, ear + 1, receiver), crowd_failure);
}

TEST_F(SoakLedger, NoticesAnOrderThatNoBreakExplains)
{
    send(4);
    receive({0, 2});
    EXPECT_THROW(receive({1}), crowd_failure);
}

TEST_F(SoakLedger, AcceptsAsManyOrdersAsThereWereConnections)
{
    send(9);
    ledger_.note_break();
    receive({3, 0, 4, 1, 5});
    EXPECT_THROW(receive({2, 8, 7, 6}), crowd_failure);
}

TEST_F(SoakLedger, BeginsForALaterEarWithWhatItGetsFirst)
{
    send(4);
    receive({0, 1, 2, 3});
    ledger_.add_ear(stream_, 1);
    EXPECT_FALSE(ledger_.all_have_begun(stream_));
    ledger_.arrived(stream_, 2, 1, 1);
    EXPECT_TRUE(ledger_.all_have_begun(stream_));
    EXPECT_FALSE(ledger_.is_complete(true));
    ledger_.arrived(stream_, 3, 1, 1);
    EXPECT_TRUE(ledger_.is_complete(true));
    ledger_.drop_ear(stream_, 1);
    EXPECT_EQ(6u, ledger_.sum().arrived);
}

} // namespace
} // namespace zlink::test
