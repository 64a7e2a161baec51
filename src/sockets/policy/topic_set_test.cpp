// SPDX-License-Identifier: Apache-2.0
#include "topic_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::sockets {
namespace {

std::span<const std::byte> bytes(std::string_view text)
{
    return std::as_bytes(std::span{text.data(), text.size()});
}

std::string text(std::span<const std::byte> from)
{
    return {reinterpret_cast<const char*>(from.data()), from.size()};
}

using contents = std::vector<std::pair<std::string, std::size_t>>;

contents contents_of(const topic_set& topics)
{
    contents all;
    topics.for_each([&](std::span<const std::byte> prefix, std::size_t count) {
        all.emplace_back(text(prefix), count);
    });
    return all;
}

/// The obvious implementation to compare with.
struct naive_topic_set {
    std::map<std::string, std::size_t> counts;

    bool matches(std::string_view message) const
    {
        return std::any_of(counts.begin(), counts.end(),
                           [&](const auto& entry) { return message.starts_with(entry.first); });
    }

    topic_set::removal remove(const std::string& prefix)
    {
        const auto found = counts.find(prefix);
        if (found == counts.end()) {
            return topic_set::removal::unknown;
        }
        if (--found->second != 0) {
            return topic_set::removal::still_counted;
        }
        counts.erase(found);
        return topic_set::removal::last;
    }

    std::size_t total() const
    {
        std::size_t sum = 0;
        for (const auto& [prefix, count] : counts) {
            sum += count;
        }
        return sum;
    }
};

std::string random_text(std::mt19937& random, unsigned letters, std::size_t longest)
{
    std::string result(random() % (longest + 1), '\0');
    for (char& letter : result) {
        letter = static_cast<char>(random() % letters);
    }
    return result;
}

void compare_with_model(unsigned seed, unsigned letters, std::size_t longest, int steps)
{
    std::mt19937 random{seed};
    topic_set topics;
    naive_topic_set model;
    for (int step = 0; step < steps; ++step) {
        // Alternating phases of growth and decline visit full, sparse and empty trees.
        const bool growing = (step / 500) % 2 == 0;
        const std::string prefix = random_text(random, letters, longest);
        if (random() % 4 == (growing ? 0U : 1U) || (!growing && random() % 2 == 0)) {
            std::string victim = prefix;
            if (!model.counts.empty() && random() % 4 != 0) {
                const auto from = model.counts.lower_bound(prefix);
                victim = from == model.counts.end() ? model.counts.begin()->first : from->first;
            }
            ASSERT_EQ(topics.remove(bytes(victim)), model.remove(victim));
        } else {
            ASSERT_EQ(topics.add(bytes(prefix)), ++model.counts[prefix] == 1);
        }
        const std::string message = random_text(random, letters, longest + 3);
        ASSERT_EQ(topics.matches(bytes(message)), model.matches(message));
        ASSERT_EQ(topics.unique_count(), model.counts.size());
        ASSERT_LE(topics.node_count(), 2 * topics.unique_count());
        if (step % 50 == 0) {
            ASSERT_EQ(topics.total_count(), model.total());
            ASSERT_EQ(contents_of(topics), contents(model.counts.begin(), model.counts.end()));
        }
    }
    for (const auto& [prefix, count] : model.counts) {
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_NE(topics.remove(bytes(prefix)), topic_set::removal::unknown);
        }
    }
    EXPECT_EQ(topics.unique_count(), 0U);
    EXPECT_EQ(topics.total_count(), 0U);
    EXPECT_EQ(topics.node_count(), 0U);
}

TEST(topic_set, matches_nothing_when_empty)
{
    const topic_set topics;
    EXPECT_FALSE(topics.matches(bytes("")));
    EXPECT_FALSE(topics.matches(bytes("a")));
    EXPECT_EQ(topics.unique_count(), 0U);
    EXPECT_EQ(topics.total_count(), 0U);
}

TEST(topic_set, matches_messages_that_begin_with_a_prefix)
{
    topic_set topics;
    EXPECT_TRUE(topics.add(bytes("weather.oslo")));
    EXPECT_TRUE(topics.add(bytes("weather.rome")));
    EXPECT_TRUE(topics.matches(bytes("weather.oslo")));
    EXPECT_TRUE(topics.matches(bytes("weather.rome 31")));
    EXPECT_FALSE(topics.matches(bytes("weather.")));
    EXPECT_FALSE(topics.matches(bytes("weather.osl")));
    EXPECT_FALSE(topics.matches(bytes("weather.osla")));
    EXPECT_FALSE(topics.matches(bytes("")));
}

TEST(topic_set, matches_everything_with_the_empty_prefix)
{
    topic_set topics;
    EXPECT_TRUE(topics.add({}));
    EXPECT_TRUE(topics.matches({}));
    EXPECT_TRUE(topics.matches(bytes("anything")));
    EXPECT_EQ(topics.remove({}), topic_set::removal::last);
    EXPECT_FALSE(topics.matches({}));
    EXPECT_FALSE(topics.matches(bytes("anything")));
}

TEST(topic_set, counts_identical_prefixes)
{
    topic_set topics;
    EXPECT_TRUE(topics.add(bytes("a")));
    EXPECT_FALSE(topics.add(bytes("a")));
    EXPECT_EQ(topics.unique_count(), 1U);
    EXPECT_EQ(topics.total_count(), 2U);
    EXPECT_EQ(topics.remove(bytes("a")), topic_set::removal::still_counted);
    EXPECT_TRUE(topics.matches(bytes("ab")));
    EXPECT_EQ(topics.remove(bytes("a")), topic_set::removal::last);
    EXPECT_FALSE(topics.matches(bytes("ab")));
    EXPECT_EQ(topics.remove(bytes("a")), topic_set::removal::unknown);
}

TEST(topic_set, does_not_know_parts_of_its_prefixes)
{
    topic_set topics;
    topics.add(bytes("abcd"));
    topics.add(bytes("abxy"));
    for (const char* const part : {"", "a", "ab", "abc", "abcde", "abx", "b"}) {
        EXPECT_EQ(topics.remove(bytes(part)), topic_set::removal::unknown) << part;
    }
    EXPECT_EQ(topics.unique_count(), 2U);
}

TEST(topic_set, visits_prefixes_in_order_with_their_counts)
{
    topic_set topics;
    for (const char* const prefix : {"b", "abc", "", "ab", "\xff", "abd", "ab"}) {
        topics.add(bytes(prefix));
    }
    const contents expected{{"", 1}, {"ab", 2}, {"abc", 1}, {"abd", 1}, {"b", 1}, {"\xff", 1}};
    EXPECT_EQ(contents_of(topics), expected);
}

TEST(topic_set, tells_all_byte_values_apart)
{
    topic_set topics;
    for (int value = 255; value >= 0; --value) {
        EXPECT_TRUE(topics.add(bytes(std::string{'\0', static_cast<char>(value)})));
    }
    EXPECT_EQ(topics.unique_count(), 256U);
    for (int value = 0; value < 256; value += 2) {
        EXPECT_EQ(topics.remove(bytes(std::string{'\0', static_cast<char>(value)})),
                  topic_set::removal::last);
    }
    for (int value = 0; value < 256; ++value) {
        const std::string message{'\0', static_cast<char>(value), 'm'};
        EXPECT_EQ(topics.matches(bytes(message)), value % 2 == 1) << value;
    }
}

TEST(topic_set, keeps_its_own_copy_of_a_prefix)
{
    topic_set topics;
    std::string prefix = "first";
    topics.add(bytes(prefix));
    prefix = "other";
    EXPECT_TRUE(topics.matches(bytes("first")));
    EXPECT_FALSE(topics.matches(bytes("other")));
}

// The node that joins two branches must survive the removal of either of them.
TEST(topic_set, keeps_matching_after_a_neighbour_is_removed)
{
    for (const bool newest_first : {false, true}) {
        topic_set topics;
        std::vector<std::string> prefixes{"abcdef1", "abcdef2", "abcd3", "abcd", "ab4", "abcdef"};
        for (const std::string& prefix : prefixes) {
            topics.add(bytes(prefix));
        }
        if (newest_first) {
            std::reverse(prefixes.begin(), prefixes.end());
        }
        while (!prefixes.empty()) {
            for (const std::string& prefix : prefixes) {
                EXPECT_TRUE(topics.matches(bytes(prefix))) << prefix;
            }
            EXPECT_EQ(topics.remove(bytes(prefixes.back())), topic_set::removal::last);
            prefixes.pop_back();
        }
        EXPECT_EQ(topics.node_count(), 0U);
    }
}

TEST(topic_set, handles_prefixes_of_a_megabyte)
{
    const std::string long_prefix(1'000'000, 'x');
    const std::string other = long_prefix.substr(1) + 'y';
    topic_set topics;
    EXPECT_TRUE(topics.add(bytes(long_prefix)));
    EXPECT_TRUE(topics.add(bytes(other)));
    EXPECT_TRUE(topics.matches(bytes(long_prefix + "tail")));
    EXPECT_TRUE(topics.matches(bytes(other)));
    EXPECT_FALSE(topics.matches(bytes(long_prefix.substr(1))));
    EXPECT_FALSE(topics.matches(bytes(long_prefix.substr(1) + 'z')));
    EXPECT_EQ(topics.remove(bytes(long_prefix)), topic_set::removal::last);
    EXPECT_FALSE(topics.matches(bytes(long_prefix)));
    EXPECT_TRUE(topics.matches(bytes(other)));
}

// One node per level: the worst case for everything that walks up or down.
TEST(topic_set, handles_deeply_nested_prefixes)
{
    constexpr std::size_t depth = 2'000;
    const std::string longest(depth, 'n');
    topic_set topics;
    for (std::size_t length = 1; length <= depth; ++length) {
        ASSERT_TRUE(topics.add(bytes(std::string_view{longest}.substr(0, length))));
    }
    EXPECT_EQ(topics.node_count(), depth);
    std::size_t visited = 0;
    topics.for_each([&](std::span<const std::byte> prefix, std::size_t) {
        EXPECT_EQ(prefix.size(), ++visited);
    });
    EXPECT_EQ(visited, depth);
    for (std::size_t length = 1; length < depth; ++length) {
        ASSERT_EQ(topics.remove(bytes(std::string_view{longest}.substr(0, length))),
                  topic_set::removal::last);
    }
    EXPECT_EQ(topics.node_count(), 1U);
    EXPECT_TRUE(topics.matches(bytes(longest)));
}

TEST(topic_set, agrees_with_the_model_on_dense_prefixes)
{
    compare_with_model(1, 2, 6, 20'000);
}

TEST(topic_set, agrees_with_the_model_on_longer_prefixes)
{
    compare_with_model(2, 3, 40, 6'000);
}

TEST(topic_set, agrees_with_the_model_on_all_byte_values)
{
    compare_with_model(3, 256, 2, 6'000);
}

} // namespace
} // namespace zlink::sockets
