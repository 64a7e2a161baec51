// SPDX-License-Identifier: Apache-2.0
#include "engine/codec/group_datagram.hpp"

#include "support/bytes.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace zlink::engine::group_datagram {
namespace {

using namespace std::string_literals;
using test::bytes_of;
using test::text_of;

std::optional<message> parse_text(std::string_view text)
{
    return parse(bytes_of(text));
}

TEST(GroupDatagram, has_the_group_before_the_body)
{
    const auto seen = parse_text("\2TVbody");
    ASSERT_TRUE(seen);
    EXPECT_EQ("TV", text_of(seen->group));
    EXPECT_EQ("body", text_of(seen->body));
}

TEST(GroupDatagram, may_have_an_empty_group_or_body)
{
    const std::string no_group = "\0body"s;
    EXPECT_EQ("", text_of(parse_text(no_group)->group));
    EXPECT_EQ("body", text_of(parse_text(no_group)->body));
    EXPECT_EQ("", text_of(parse_text("\2TV")->body));
    EXPECT_EQ("", text_of(parse_text("\0"s)->body));
}

TEST(GroupDatagram, may_have_the_longest_group)
{
    const std::string group(max_group_bytes, 'g');
    const std::string whole = "\xff" + group + "body";
    EXPECT_EQ(group, text_of(parse_text(whole)->group));
    EXPECT_EQ("body", text_of(parse_text(whole)->body));
}

TEST(GroupDatagram, is_refused_if_the_group_is_cut)
{
    EXPECT_FALSE(parse_text(""));
    EXPECT_FALSE(parse_text("\1"));
    EXPECT_FALSE(parse_text("\5four"));
    EXPECT_FALSE(parse_text("\xff" + std::string(254, 'g')));
}

} // namespace
} // namespace zlink::engine::group_datagram
