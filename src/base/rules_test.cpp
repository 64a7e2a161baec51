// SPDX-License-Identifier: Apache-2.0
#include "base/rules.hpp"

#include <gtest/gtest.h>

#include <set>

namespace zlink::base {
namespace {

constexpr std::uint32_t bit_of(rule which)
{
    return std::uint32_t{1} << static_cast<unsigned>(which);
}

TEST(Rules, are_found_by_their_names)
{
    EXPECT_EQ(bit_of(rule::batching), rules_in("batching"));
    EXPECT_EQ(bit_of(rule::pool_wait), rules_in("pool_wait"))
        << "the last name is that of the last rule";
    EXPECT_EQ(bit_of(rule::write_retry) | bit_of(rule::spin), rules_in("spin,write_retry"));
}

TEST(Rules, do_not_include_what_has_no_name_of_theirs)
{
    EXPECT_EQ(0u, rules_in(""));
    EXPECT_EQ(0u, rules_in("batchin,spins,,"));
    EXPECT_EQ(bit_of(rule::spin), rules_in(",no rule,spin,"));
}

TEST(Rules, have_names_of_their_own)
{
    EXPECT_EQ(rule_names.size(), std::set(rule_names.begin(), rule_names.end()).size());
}

#ifndef ZLINK_ABLATION
static_assert(rule_is_on(rule::batching), "costs nothing");
#endif

} // namespace
} // namespace zlink::base
