// SPDX-License-Identifier: Apache-2.0
#include "subscriber_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace zlink::sockets {
namespace {

using addition = subscriber_index::addition;
using removal = subscriber_index::removal;
using departures = std::vector<std::pair<std::string, bool>>;

std::span<const std::byte> bytes(std::string_view text)
{
    return std::as_bytes(std::span{text.data(), text.size()});
}

std::string text(std::span<const std::byte> from)
{
    return {reinterpret_cast<const char*>(from.data()), from.size()};
}

/// The matching subscribers in ascending order; a subscriber named twice appears twice.
std::vector<subscriber> matching(subscriber_index& index, std::string_view message)
{
    std::vector<subscriber> found;
    index.match(bytes(message), [&](subscriber who) { found.push_back(who); });
    std::sort(found.begin(), found.end());
    return found;
}

departures remove_all(subscriber_index& index, subscriber who)
{
    departures reported;
    index.remove_all(who, [&](std::span<const std::byte> prefix, bool last) {
        reported.emplace_back(text(prefix), last);
    });
    return reported;
}

/// The obvious implementation to compare with.
struct naive_subscriber_index {
    std::map<std::string, std::set<subscriber>> topics;

    addition add(const std::string& prefix, subscriber who)
    {
        auto& audience = topics[prefix];
        const bool first = audience.empty();
        if (!audience.insert(who).second) {
            return addition::duplicate;
        }
        return first ? addition::first_for_topic : addition::added;
    }

    removal remove(const std::string& prefix, subscriber who)
    {
        const auto found = topics.find(prefix);
        if (found == topics.end() || found->second.erase(who) == 0) {
            return removal::unknown;
        }
        if (!found->second.empty()) {
            return removal::removed;
        }
        topics.erase(found);
        return removal::last_for_topic;
    }

    departures remove_all(subscriber who)
    {
        departures reported;
        for (auto at = topics.begin(); at != topics.end();) {
            const auto current = at++;
            if (current->second.erase(who) != 0) {
                reported.emplace_back(current->first, current->second.empty());
            }
            if (current->second.empty()) {
                topics.erase(current);
            }
        }
        return reported;
    }

    std::vector<subscriber> matching(std::string_view message) const
    {
        std::set<subscriber> found;
        for (const auto& [prefix, audience] : topics) {
            if (message.starts_with(prefix)) {
                found.insert(audience.begin(), audience.end());
            }
        }
        return {found.begin(), found.end()};
    }
};

struct model_run {
    unsigned seed;
    unsigned letters;
    std::size_t longest;
    subscriber subscribers;
    int steps;
};

std::string random_text(std::mt19937& random, unsigned letters, std::size_t longest)
{
    std::string result(random() % (longest + 1), '\0');
    for (char& letter : result) {
        letter = static_cast<char>(random() % letters);
    }
    return result;
}

/// A topic near `prefix` that somebody holds, together with one of its subscribers.
std::pair<std::string, subscriber> existing(const naive_subscriber_index& model,
                                            const std::string& prefix)
{
    auto at = model.topics.lower_bound(prefix);
    if (at == model.topics.end()) {
        at = model.topics.begin();
    }
    return {at->first, *at->second.begin()};
}

void compare_with_model(const model_run& run)
{
    std::mt19937 random{run.seed};
    subscriber_index index;
    naive_subscriber_index model;
    for (int step = 0; step < run.steps; ++step) {
        const bool growing = (step / 500) % 2 == 0;
        std::string prefix = random_text(random, run.letters, run.longest);
        subscriber who = static_cast<subscriber>(random() % run.subscribers);
        const auto dice = random() % 100;
        if (dice < 1) {
            ASSERT_EQ(remove_all(index, who), model.remove_all(who));
        } else if (dice < (growing ? 75U : 25U)) {
            ASSERT_EQ(index.add(bytes(prefix), who), model.add(prefix, who));
        } else {
            if (!model.topics.empty() && dice % 4 != 0) {
                std::tie(prefix, who) = existing(model, prefix);
            }
            ASSERT_EQ(index.remove(bytes(prefix), who), model.remove(prefix, who));
        }
        const std::string message = random_text(random, run.letters, run.longest + 3);
        ASSERT_EQ(matching(index, message), model.matching(message));
        ASSERT_EQ(index.unique_topics(), model.topics.size());
        ASSERT_EQ(index.empty(), model.topics.empty());
        ASSERT_LE(index.node_count(), 2 * index.unique_topics());
    }
    for (subscriber who = 0; who < run.subscribers; ++who) {
        ASSERT_EQ(remove_all(index, who), model.remove_all(who));
    }
    EXPECT_TRUE(index.empty());
    EXPECT_EQ(index.node_count(), 0U);
}

TEST(subscriber_index, matches_nobody_when_empty)
{
    subscriber_index index;
    EXPECT_TRUE(index.empty());
    EXPECT_TRUE(matching(index, "").empty());
    EXPECT_TRUE(matching(index, "message").empty());
    EXPECT_TRUE(remove_all(index, 7).empty());
}

TEST(subscriber_index, tells_first_further_and_repeated_subscriptions_apart)
{
    subscriber_index index;
    EXPECT_EQ(index.add(bytes("a"), 3), addition::first_for_topic);
    EXPECT_EQ(index.add(bytes("a"), 1), addition::added);
    EXPECT_EQ(index.add(bytes("a"), 3), addition::duplicate);
    EXPECT_EQ(index.add(bytes("ab"), 3), addition::first_for_topic);
    EXPECT_EQ(index.unique_topics(), 2U);
}

TEST(subscriber_index, tells_unknown_further_and_last_removals_apart)
{
    subscriber_index index;
    index.add(bytes("a"), 1);
    index.add(bytes("a"), 2);
    EXPECT_EQ(index.remove(bytes("a"), 3), removal::unknown);
    EXPECT_EQ(index.remove(bytes("b"), 1), removal::unknown);
    EXPECT_EQ(index.remove(bytes(""), 1), removal::unknown);
    EXPECT_EQ(index.remove(bytes("a"), 1), removal::removed);
    EXPECT_EQ(index.remove(bytes("a"), 1), removal::unknown);
    EXPECT_EQ(index.remove(bytes("a"), 2), removal::last_for_topic);
    EXPECT_TRUE(index.empty());
}

TEST(subscriber_index, cancels_a_repeated_subscription_at_once)
{
    subscriber_index index;
    index.add(bytes("a"), 1);
    index.add(bytes("a"), 1);
    EXPECT_EQ(index.remove(bytes("a"), 1), removal::last_for_topic);
    EXPECT_TRUE(matching(index, "a").empty());
}

TEST(subscriber_index, names_each_matching_subscriber_once)
{
    subscriber_index index;
    for (const char* const prefix : {"", "n", "new", "news", "news.sport"}) {
        index.add(bytes(prefix), 4);
    }
    index.add(bytes("news"), 2);
    index.add(bytes("new"), 9);
    index.add(bytes("news.sport"), 9);
    using expected = std::vector<subscriber>;
    EXPECT_EQ(matching(index, "news.sport: 2:1"), (expected{2, 4, 9}));
    EXPECT_EQ(matching(index, "news"), (expected{2, 4, 9}));
    EXPECT_EQ(matching(index, "newt"), (expected{4, 9}));
    EXPECT_EQ(matching(index, "ne"), (expected{4}));
    EXPECT_EQ(matching(index, ""), (expected{4}));
}

TEST(subscriber_index, matches_every_message_with_the_empty_topic)
{
    subscriber_index index;
    EXPECT_EQ(index.add({}, 0), addition::first_for_topic);
    EXPECT_EQ(index.add({}, 5), addition::added);
    EXPECT_EQ(matching(index, ""), (std::vector<subscriber>{0, 5}));
    EXPECT_EQ(matching(index, "x"), (std::vector<subscriber>{0, 5}));
    EXPECT_EQ(index.remove({}, 0), removal::removed);
    EXPECT_EQ(index.remove({}, 5), removal::last_for_topic);
    EXPECT_TRUE(matching(index, "x").empty());
}

TEST(subscriber_index, reports_the_topics_of_a_leaving_subscriber_in_order)
{
    subscriber_index index;
    for (const char* const prefix : {"b", "ab", "\xff", "", "abc", "aa", "gone"}) {
        index.add(bytes(prefix), 1);
    }
    index.remove(bytes("gone"), 1);
    index.add(bytes("ab"), 2);
    index.add(bytes("zz"), 2);
    const departures expected{{"", true},    {"aa", true}, {"ab", false},
                              {"abc", true}, {"b", true},  {"\xff", true}};
    EXPECT_EQ(remove_all(index, 1), expected);
    EXPECT_EQ(index.unique_topics(), 2U);
    EXPECT_EQ(matching(index, "abc"), (std::vector<subscriber>{2}));
    EXPECT_TRUE(remove_all(index, 1).empty());
}

TEST(subscriber_index, lets_a_number_be_reused)
{
    subscriber_index index;
    index.add(bytes("old"), 1);
    remove_all(index, 1);
    EXPECT_EQ(index.add(bytes("new"), 1), addition::first_for_topic);
    EXPECT_TRUE(matching(index, "old").empty());
    EXPECT_EQ(remove_all(index, 1), (departures{{"new", true}}));
}

TEST(subscriber_index, removes_all_topics_even_if_a_report_throws)
{
    subscriber_index index;
    for (const char* const prefix : {"a", "b", "c"}) {
        index.add(bytes(prefix), 1);
    }
    index.add(bytes("b"), 2);
    int reported = 0;
    const auto fail_at_second = [&](std::span<const std::byte>, bool) {
        if (++reported == 2) {
            throw std::runtime_error{"report failed"};
        }
    };
    EXPECT_THROW(index.remove_all(1, fail_at_second), std::runtime_error);
    EXPECT_EQ(reported, 2);
    EXPECT_EQ(index.unique_topics(), 1U);
    EXPECT_TRUE(matching(index, "c").empty());
    EXPECT_EQ(matching(index, "b"), (std::vector<subscriber>{2}));
}

TEST(subscriber_index, keeps_working_after_a_match_was_interrupted)
{
    subscriber_index index;
    for (subscriber who = 0; who < 3; ++who) {
        index.add(bytes("a"), who);
        index.add(bytes("ab"), who);
    }
    EXPECT_THROW(index.match(bytes("abc"), [](subscriber) { throw std::runtime_error{"full"}; }),
                 std::runtime_error);
    EXPECT_EQ(matching(index, "abc"), (std::vector<subscriber>{0, 1, 2}));
}

TEST(subscriber_index, handles_topics_of_a_megabyte)
{
    const std::string common(1'000'000, '\0');
    subscriber_index index;
    EXPECT_EQ(index.add(bytes(common + 'a'), 0), addition::first_for_topic);
    EXPECT_EQ(index.add(bytes(common + 'b'), 1), addition::first_for_topic);
    EXPECT_EQ(index.add(bytes(common + 'a'), 1), addition::added);
    EXPECT_EQ(matching(index, common + "ab"), (std::vector<subscriber>{0, 1}));
    EXPECT_EQ(matching(index, common + 'b'), (std::vector<subscriber>{1}));
    EXPECT_TRUE(matching(index, common).empty());
    EXPECT_EQ(remove_all(index, 1), (departures{{common + 'a', false}, {common + 'b', true}}));
    EXPECT_EQ(remove_all(index, 0), (departures{{common + 'a', true}}));
    EXPECT_EQ(index.node_count(), 0U);
}

// Half of the topics stay, so that the destructor meets one node per level.
TEST(subscriber_index, handles_deeply_nested_topics)
{
    constexpr std::size_t depth = 2'000;
    const std::string longest(depth, 'n');
    subscriber_index index;
    for (std::size_t length = depth; length > 0; --length) {
        index.add(bytes(std::string_view{longest}.substr(0, length)), length % 2);
    }
    EXPECT_EQ(matching(index, longest), (std::vector<subscriber>{0, 1}));
    EXPECT_EQ(remove_all(index, 0).size(), depth / 2);
    EXPECT_EQ(index.node_count(), depth / 2);
    EXPECT_EQ(matching(index, longest), (std::vector<subscriber>{1}));
}

TEST(subscriber_index, serves_thousands_of_subscribers)
{
    constexpr subscriber count = 3'000;
    subscriber_index index;
    for (subscriber who = count; who-- > 0;) {
        index.add(bytes("all"), who);
        index.add(bytes("all." + std::to_string(who)), who);
    }
    EXPECT_EQ(matching(index, "all.1234").size(), count);
    EXPECT_EQ(matching(index, "al").size(), 0U);
    for (subscriber who = 0; who < count; who += 2) {
        ASSERT_EQ(remove_all(index, who).size(), 2U);
    }
    EXPECT_EQ(matching(index, "all.1234").size(), count / 2);
    EXPECT_EQ(index.unique_topics(), 1 + count / 2);
}

TEST(subscriber_index, agrees_with_the_model_on_dense_topics)
{
    compare_with_model({.seed = 1, .letters = 2, .longest = 6, .subscribers = 5, .steps = 20'000});
}

TEST(subscriber_index, agrees_with_the_model_on_longer_topics)
{
    compare_with_model({.seed = 2, .letters = 3, .longest = 40, .subscribers = 3, .steps = 6'000});
}

TEST(subscriber_index, agrees_with_the_model_on_all_byte_values)
{
    compare_with_model({.seed = 3, .letters = 256, .longest = 2, .subscribers = 9, .steps = 6'000});
}

TEST(subscriber_index, agrees_with_the_model_on_many_subscribers)
{
    compare_with_model({.seed = 4, .letters = 2, .longest = 3, .subscribers = 200, .steps = 8'000});
}

} // namespace
} // namespace zlink::sockets
