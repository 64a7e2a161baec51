// SPDX-License-Identifier: Apache-2.0
#include "core/connection/delivery_wait.hpp"

#include <gtest/gtest.h>
#include <utility>

namespace zlink::core {
namespace {

class DeliveryWait : public ::testing::Test {
protected:
    void begin(std::function<std::size_t()> remaining,
               delivery_wait::limit how_long = delivery_wait::limit::short_stall)
    {
        wait_.begin(
            std::move(remaining),
            [this] {
                ++ends_;
                wait_.stop();
            },
            how_long);
    }

    boost::asio::io_context io_;
    delivery_wait wait_{io_};
    int ends_ = 0;
};

TEST_F(DeliveryWait, is_over_at_once_if_nothing_is_left)
{
    begin([] { return 0; });
    EXPECT_EQ(ends_, 1);
    EXPECT_FALSE(wait_.running());
    EXPECT_EQ(io_.run(), 0u);
}

TEST_F(DeliveryWait, lasts_until_the_peer_has_read_all)
{
    std::size_t remaining = 5;
    begin([&] { return remaining--; });
    EXPECT_TRUE(wait_.running());
    EXPECT_EQ(ends_, 0);
    io_.run();
    EXPECT_EQ(ends_, 1);
    EXPECT_FALSE(wait_.running());
}

TEST_F(DeliveryWait, does_not_last_for_a_peer_that_reads_nothing)
{
    begin([] { return 5; });
    const auto begin = std::chrono::steady_clock::now();
    io_.run();
    EXPECT_EQ(ends_, 1);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1900));
}

TEST_F(DeliveryWait, lasts_for_a_peer_that_is_known_to_live)
{
    using clock = std::chrono::steady_clock;
    const auto until = clock::now() + std::chrono::milliseconds(2100);
    begin([&] { return clock::now() < until ? 5 : 0; }, delivery_wait::limit::none);
    io_.run();
    EXPECT_EQ(ends_, 1);
    EXPECT_GE(clock::now(), until);
}

TEST_F(DeliveryWait, is_over_without_a_word_when_it_is_stopped)
{
    int looks = 0;
    begin([&] {
        ++looks;
        return 5;
    });
    wait_.stop();
    io_.run();
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(ends_, 0);
}

TEST_F(DeliveryWait, ends_with_the_linger_time_if_the_peer_has_not_got_all)
{
    begin([] { return 5; }, delivery_wait::limit::none);
    const auto begun = std::chrono::steady_clock::now();
    wait_.end_after(std::chrono::milliseconds(20), [this] {
        ++ends_;
        wait_.stop();
    });
    io_.run();
    EXPECT_EQ(ends_, 1);
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(20));
}

TEST_F(DeliveryWait, forgets_the_linger_time_when_it_is_stopped)
{
    wait_.end_after(std::chrono::hours(1), [this] { ++ends_; });
    wait_.stop();
    io_.run();
    EXPECT_EQ(ends_, 0);
}

} // namespace
} // namespace zlink::core
