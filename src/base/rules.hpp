// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zlink::base {

/// What the library does to be faster, and could do without. In a build with ZLINK_ABLATION each of
/// these can be switched off for a whole process, to measure what it earns: ZLINK_ABLATE in the
/// environment is a list of their names with commas between them. See scripts/ablation.py.
enum class rule : unsigned char {
    batching,         ///< a thread batches messages in quick succession: decision 0022
    early_batching,   ///< one that is known for long bursts begins sooner: 0022
    expect_more,      ///< further input lets it begin with the first message: 0022
    unbatched_trials, ///< messages that batches have delayed in vain are written at once: 0022
    ownership_ends,   ///< a thread that sends little batches no more: 0022
    packet_batches,   ///< a batch is written before it would need one more packet: 0002
    packet_filling,   ///< the tail of a large message waits for the next one: 0020
    direct_fan_out,   ///< after a pause, some of many connections are written to directly: 0012
    write_through,    ///< a large body is written from the caller's memory: 0002
    own_block,        ///< a body that is copied gets a block, not a place in the queue: 0002
    write_retry,      ///< a sending thread waits a little for room: 0014
    held_wakeups,     ///< a proxy wakes each reader once for all it has moved: 0022
    spin,             ///< a thread in a dialogue spins before it sleeps: 0013
    back_off,         ///< a reader over inproc that keeps up makes breaks: 0017
    small_reads,      ///< reads begin small and grow: 0024
    pool_wait,        ///< an allocation waits for a block that is about to come back
};

/// The names of the rules in the order above.
inline constexpr std::array<std::string_view, 16> rule_names{
    "batching",       "early_batching", "expect_more",    "unbatched_trials",
    "ownership_ends", "packet_batches", "packet_filling", "direct_fan_out",
    "write_through",  "own_block",      "write_retry",    "held_wakeups",
    "spin",           "back_off",       "small_reads",    "pool_wait"};

/// A bit for each rule that a list names. Other names in it have no effect.
constexpr std::uint32_t rules_in(std::string_view list) noexcept
{
    std::uint32_t rules = 0;
    while (!list.empty()) {
        const std::string_view name = list.substr(0, list.find(','));
        list.remove_prefix(name.size() < list.size() ? name.size() + 1 : name.size());
        for (std::size_t at = 0; at < rule_names.size(); ++at)
            if (rule_names[at] == name)
                rules |= std::uint32_t{1} << at;
    }
    return rules;
}

#ifdef ZLINK_ABLATION
/// Those that are switched off.
extern const std::uint32_t rules_off;

inline bool rule_is_on(rule which) noexcept
{
    return (rules_off >> static_cast<unsigned>(which) & 1) == 0;
}
#else
constexpr bool rule_is_on(rule) noexcept
{
    return true;
}
#endif

} // namespace zlink::base
