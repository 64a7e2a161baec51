// SPDX-License-Identifier: Apache-2.0
#include "base/wait/mailbox.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <new>
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

} // namespace
} // namespace zlink::base
