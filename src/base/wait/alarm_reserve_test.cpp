// SPDX-License-Identifier: Apache-2.0
#include "base/wait/alarm_reserve.hpp"

#include <cstddef>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink::base {
namespace {

TEST(AlarmReserve, lends_as_many_as_are_wanted_and_keeps_some)
{
    alarm_reserve reserve;
    std::vector<alarm_reserve::alarm> lent;
    for (int i = 0; i < 40; ++i) {
        lent.push_back(reserve.lend());
        ASSERT_TRUE(lent.back());
        EXPECT_LE(0, lent.back()->descriptor());
    }
    const descriptor_wakeup* const last = lent.back().get();
    const std::size_t count = lent.size();
    std::swap(lent.front(), lent.back());
    for (auto& each : lent)
        reserve.give_back(std::move(each));
    bool again = false;
    for (std::size_t i = 0; i < count; ++i) {
        lent[i] = reserve.lend();
        again |= lent[i].get() == last;
    }
    EXPECT_TRUE(again);
}

TEST(AlarmReserve, has_one_when_no_descriptor_is_left)
{
    alarm_reserve reserve;
    reserve.fill();
    rlimit before{};
    ASSERT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &before));
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(0, ::close(next));
    rlimit none = before;
    none.rlim_cur = static_cast<rlim_t>(next);
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &none));
    auto first = reserve.lend();
    const bool second = reserve.lend() != nullptr;
    reserve.give_back(std::move(first));
    first = reserve.lend();
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &before));
    EXPECT_TRUE(first);
    EXPECT_FALSE(second);
    EXPECT_TRUE(reserve.lend());
}

} // namespace
} // namespace zlink::base
