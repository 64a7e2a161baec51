// SPDX-License-Identifier: Apache-2.0
#include "base/wait/mailbox.hpp"

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <thread>
#include <unistd.h>
#include <vector>

namespace zlink::base {
namespace {

struct item : mail {
    explicit item(int number) : number(number) {}
    const int number;
};

class Mailbox : public ::testing::Test {
protected:
    void post(int number, std::uint32_t events)
    {
        ASSERT_TRUE(box_.post(*items_[static_cast<std::size_t>(number)], events,
                              items_[static_cast<std::size_t>(number)]));
    }
    struct news {
        int number;
        std::uint32_t events;
        bool operator==(const news&) const = default;
    };
    std::vector<news> collect()
    {
        std::vector<news> found;
        box_.collect([&](const std::shared_ptr<void>& owner, mail& each, std::uint32_t events) {
            EXPECT_TRUE(owner);
            found.push_back({static_cast<item&>(each).number, events});
        });
        return found;
    }

    mailbox box_;
    std::vector<std::shared_ptr<item>> items_{std::make_shared<item>(0), std::make_shared<item>(1),
                                              std::make_shared<item>(2)};
};

TEST_F(Mailbox, gives_every_item_once_with_all_its_news)
{
    EXPECT_FALSE(box_.has_mail());
    post(1, 1);
    post(0, 2);
    post(1, 4);
    EXPECT_TRUE(box_.has_mail());
    EXPECT_EQ((std::vector<news>{{1, 5}, {0, 2}}), collect());
    EXPECT_FALSE(box_.has_mail());
    EXPECT_EQ(std::vector<news>{}, collect());
    EXPECT_EQ(1, items_[0].use_count());
}

TEST_F(Mailbox, keeps_what_lies_behind_an_item_that_could_not_be_handled)
{
    for (int number = 0; number < 3; ++number)
        post(number, 1);
    int handled = 0;
    const auto fail_at_second = [&](const auto&, mail& each, std::uint32_t events) {
        if (++handled == 2) {
            box_.post(each, events, items_[1]); // as who handles it has to
            throw std::bad_alloc();
        }
    };
    EXPECT_THROW(box_.collect(fail_at_second), std::bad_alloc);
    EXPECT_TRUE(box_.has_mail());
    post(0, 2);
    EXPECT_EQ((std::vector<news>{{1, 1}, {2, 1}, {0, 2}}), collect());
}

TEST_F(Mailbox, takes_nothing_once_it_is_closed)
{
    post(0, 1);
    int handled = 0;
    box_.close([&](const auto&...) { ++handled; });
    EXPECT_EQ(1, handled);
    EXPECT_FALSE(box_.post(*items_[1], 1, items_[1]));
    EXPECT_EQ(1, items_[1].use_count());
}

// A call that counts, and lets a thread wait until there was one.
struct counted_call {
    static void make(void* self)
    {
        auto& count = static_cast<counted_call*>(self)->count;
        ++count;
        count.notify_one();
    }
    std::atomic<int> count{0};
};

TEST_F(Mailbox, makes_the_call_that_is_armed_with_the_next_mail_only)
{
    counted_call call;
    ASSERT_TRUE(box_.arm(counted_call::make, &call));
    EXPECT_TRUE(box_.armed());
    EXPECT_EQ(0, call.count);
    post(0, 1);
    EXPECT_EQ(1, call.count);
    EXPECT_FALSE(box_.armed());
    post(1, 1);
    collect();
    post(2, 1);
    EXPECT_EQ(1, call.count);
}

TEST_F(Mailbox, arms_nothing_if_there_is_mail)
{
    counted_call call;
    post(0, 1);
    EXPECT_FALSE(box_.arm(counted_call::make, &call));
    collect();
    post(0, 1);
    EXPECT_EQ(0, call.count);
}

TEST_F(Mailbox, makes_no_call_that_was_disarmed)
{
    counted_call call;
    ASSERT_TRUE(box_.arm(counted_call::make, &call));
    box_.disarm();
    post(0, 1);
    EXPECT_EQ(0, call.count);
}

TEST_F(Mailbox, makes_the_call_when_it_is_shut_down_and_arms_none_afterwards)
{
    counted_call call;
    ASSERT_TRUE(box_.arm(counted_call::make, &call));
    box_.shut_down();
    EXPECT_EQ(1, call.count);
    collect();
    EXPECT_FALSE(box_.arm(counted_call::make, &call));
    EXPECT_EQ(1, call.count);
}

TEST_F(Mailbox, makes_the_call_beside_waking_a_sleeper_and_the_descriptor)
{
    struct counted_wakeup final : wakeup {
        void signal() noexcept override { ++count; }
        int count = 0;
    } sleeper;
    counted_call call;
    ASSERT_LE(0, box_.descriptor());
    box_.clear_descriptor();
    ASSERT_TRUE(box_.arm(counted_call::make, &call));
    ASSERT_TRUE(box_.prepare_sleep(sleeper));
    post(0, 1);
    EXPECT_EQ(1, call.count);
    EXPECT_EQ(1, sleeper.count);
    std::uint64_t signals = 0;
    EXPECT_EQ(static_cast<ssize_t>(sizeof signals),
              ::read(box_.descriptor(), &signals, sizeof signals));
    EXPECT_EQ(1u, signals);
}

TEST_F(Mailbox, loses_no_call_while_another_thread_posts)
{
    constexpr int rounds = 20'000;
    counted_call call;
    std::atomic<int> posted{0};
    std::atomic<int> seen{0};
    std::thread other([&] {
        for (int round = 0; round < rounds; ++round) {
            seen.wait(round - 1); // not before the round has begun
            ++posted;
            box_.post(*items_[0], 1, items_[0]);
        }
    });
    int calls = 0;
    for (int round = 0; round < rounds; ++round) {
        seen = round;
        seen.notify_one();
        // Without mail there is a call, which no post precedes.
        while (collect().empty()) {
            if (!box_.arm(counted_call::make, &call))
                continue;
            call.count.wait(calls);
            ++calls;
        }
        EXPECT_EQ(round + 1, posted);
    }
    other.join();
    EXPECT_EQ(calls, call.count);
}

} // namespace
} // namespace zlink::base
