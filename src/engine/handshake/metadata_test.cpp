// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/metadata.hpp"

#include <gtest/gtest.h>

#include "engine/handshake/handshake_script_for_tests.hpp"

namespace zlink::test {
namespace {

using namespace engine;

const std::string two_properties = "07582d416c70686100000003313a32"
                                   "05582d466f6f00000003626172";

TEST(metadata, encodes_names_and_values_in_order)
{
    std::vector<std::byte> out;
    EXPECT_TRUE(append_property(out, "X-Alpha", "1:2"));
    EXPECT_TRUE(append_property(out, "X-Foo", "bar"));
    EXPECT_EQ(to_hex(out), two_properties);
}

TEST(metadata, encodes_empty_and_long_values)
{
    std::vector<std::byte> out;
    EXPECT_TRUE(append_property(out, "a", ""));
    EXPECT_TRUE(append_property(out, "b", std::string(0x012345, 'x')));
    EXPECT_EQ(to_hex(std::span(out).first(12)), "016100000000"
                                                "016200012345");
    EXPECT_EQ(out.size(), 12u + 0x012345u);
}

TEST(metadata, refuses_names_that_cannot_be_sent)
{
    std::vector<std::byte> out;
    EXPECT_FALSE(append_property(out, "", "value"));
    EXPECT_FALSE(append_property(out, std::string(256, 'n'), "value"));
    EXPECT_TRUE(out.empty());
    EXPECT_TRUE(append_property(out, std::string(255, 'n'), ""));
    EXPECT_EQ(out.size(), 1u + 255u + 4u);
}

TEST(metadata, decodes_what_was_encoded_after_what_was_there)
{
    std::vector<property> properties{{"first", "one"}};
    ASSERT_TRUE(decode_properties(hex(two_properties), properties));
    const std::vector<property> expected{{"first", "one"}, {"X-Alpha", "1:2"}, {"X-Foo", "bar"}};
    EXPECT_EQ(properties, expected);
}

TEST(metadata, accepts_empty_lists_empty_names_repeats_and_nuls)
{
    std::vector<property> properties;
    EXPECT_TRUE(decode_properties({}, properties));
    EXPECT_TRUE(properties.empty());
    ASSERT_TRUE(decode_properties(hex("0000000001ff 016100000000 0161000000020062"), properties));
    const std::vector<property> expected{{"", "\xff"}, {"a", ""}, {"a", std::string("\0b", 2)}};
    EXPECT_EQ(properties, expected);
}

TEST(metadata, refuses_lists_cut_anywhere_but_between_properties)
{
    const auto list = hex(two_properties);
    for (std::size_t size = 0; size <= list.size(); ++size) {
        std::vector<property> properties;
        const bool whole = size == 0 || size == 15 || size == list.size();
        EXPECT_EQ(decode_properties(std::span(list).first(size), properties), whole) << size;
        EXPECT_TRUE(whole || properties.empty()) << size;
    }
}

TEST(metadata, refuses_lengths_beyond_the_end)
{
    for (const auto* list : {"01", "0261", "016100000001", "0161ffffffff62", "016180000000",
                             "016100000000 00", "ff61", "00fffffffb"}) {
        std::vector<property> properties;
        EXPECT_FALSE(decode_properties(hex(list), properties)) << list;
    }
}

TEST(metadata, the_first_property_of_a_name_is_found_exactly)
{
    const std::vector<property> properties{{"a", "1"}, {"b", "2"}, {"a", "3"}};
    ASSERT_NE(find_property(properties, "a"), nullptr);
    EXPECT_EQ(find_property(properties, "a")->value, "1");
    EXPECT_EQ(find_property(properties, "b"), &properties[1]);
    EXPECT_EQ(find_property(properties, "A"), nullptr);
    EXPECT_EQ(find_property(properties, ""), nullptr);
}

} // namespace
} // namespace zlink::test
