// SPDX-License-Identifier: Apache-2.0
#include "base/system/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <unordered_map>

namespace zlink::test {
namespace {

// As its authors publish it: the key 00 01 .. 0f, the text 00 01 .. 0e.
TEST(keyed_hash, is_the_published_function)
{
    std::string text;
    for (char byte = 0; byte < 15; ++byte)
        text += byte;
    const base::hash_key key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
    EXPECT_EQ((base::siphash<2, 4>(key, text)), 0xa129ca6149be45e5U);
}

TEST(keyed_hash, depends_on_the_key_and_on_each_byte)
{
    std::set<std::uint64_t> seen;
    for (std::uint64_t key = 0; key < 4; ++key)
        for (std::size_t size = 0; size < 20; ++size) {
            std::string text(size, '\0');
            seen.insert(base::siphash<1, 3>({key, 0}, text));
            for (char& byte : text) {
                byte = 1;
                seen.insert(base::siphash<1, 3>({key, 0}, text));
                byte = 0;
            }
        }
    EXPECT_EQ(seen.size(), 4U * (20 + 190));
}

TEST(keyed_hash, finds_names_by_views)
{
    std::unordered_map<std::string, int, base::keyed_hash, std::equal_to<>> table;
    for (int number = 0; number < 100; ++number)
        table.emplace("name " + std::to_string(number), number);
    const auto found = table.find(std::string_view("name 42"));
    ASSERT_NE(found, table.end());
    EXPECT_EQ(found->second, 42);
    EXPECT_FALSE(table.contains(std::string_view("name 100")));
}

} // namespace
} // namespace zlink::test
