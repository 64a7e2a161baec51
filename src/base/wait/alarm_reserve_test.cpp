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

TEST(AlarmReserve, gives_as_many_as_are_wanted_and_keeps_some)
{
    alarm_reserve reserve;
    std::vector<alarm_reserve::alarm> taken;
    for (int i = 0; i < 40; ++i) {
        taken.push_back(reserve.acquire());
        ASSERT_TRUE(taken.back());
        EXPECT_LE(0, taken.back()->descriptor());
    }
    const descriptor_wakeup* const last = taken.back().get();
    const std::size_t count = taken.size();
    std::swap(taken.front(), taken.back());
    for (auto& each : taken)
        reserve.release(std::move(each));
    bool again = false;
    for (std::size_t i = 0; i < count; ++i) {
        taken[i] = reserve.acquire();
        again |= taken[i].get() == last;
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
    auto first = reserve.acquire();
    const bool second = reserve.acquire() != nullptr;
    reserve.release(std::move(first));
    first = reserve.acquire();
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &before));
    EXPECT_TRUE(first);
    EXPECT_FALSE(second);
    EXPECT_TRUE(reserve.acquire());
}

} // namespace
} // namespace zlink::base
