// SPDX-License-Identifier: Apache-2.0
#include "core/pace/write_plan.hpp"

#include <gtest/gtest.h>
#include <string>

namespace zlink::core {
namespace {

using who = writer_is;

struct row {
    bool may_batch, is_wide, is_one_of_many, has_turn;
    who sparse, dialogue, stream, bulk;
};

// Of a link that nobody writes to: complete, a row for each combination of facts.
constexpr row rows[] = {
    // may_batch, is_wide, one_of_many, turn:  sparse, dialogue, stream, bulk
    {0, 0, 0, 0, who::committer, who::committer, who::io_thread, who::committer},
    {0, 0, 0, 1, who::committer, who::committer, who::io_thread, who::committer},
    {0, 0, 1, 0, who::io_thread, who::io_thread, who::io_thread, who::io_thread},
    {0, 0, 1, 1, who::committer, who::committer, who::committer, who::committer},
    {0, 1, 0, 0, who::committer, who::committer, who::io_thread, who::committer},
    {0, 1, 0, 1, who::committer, who::committer, who::io_thread, who::committer},
    {0, 1, 1, 0, who::io_thread, who::io_thread, who::io_thread, who::io_thread},
    {0, 1, 1, 1, who::committer, who::committer, who::committer, who::committer},
    {1, 0, 0, 0, who::committer, who::committer, who::batcher, who::committer},
    {1, 0, 0, 1, who::committer, who::committer, who::batcher, who::committer},
    {1, 0, 1, 0, who::io_thread, who::io_thread, who::io_thread, who::io_thread},
    {1, 0, 1, 1, who::committer, who::committer, who::committer, who::committer},
    {1, 1, 0, 0, who::committer, who::committer, who::io_thread, who::committer},
    {1, 1, 0, 1, who::committer, who::committer, who::io_thread, who::committer},
    {1, 1, 1, 0, who::io_thread, who::io_thread, who::io_thread, who::io_thread},
    {1, 1, 1, 1, who::committer, who::committer, who::committer, who::committer},
};
static_assert(std::size(rows) == 16);

constexpr who expected(const row& of, cadence how)
{
    const who by_cadence[cadences] = {of.sparse, of.dialogue, of.stream, of.bulk};
    return by_cadence[static_cast<std::size_t>(how)];
}

TEST(next_writer, is_decided_for_each_state_cadence_and_combination_of_facts)
{
    unsigned cases = 0;
    for (const row& each : rows)
        for (std::size_t how = 0; how < cadences; ++how)
            for (std::size_t now = 0; now < writer_states; ++now) {
                const auto state = static_cast<who>(now);
                const auto sends = static_cast<cadence>(how);
                // Who sees to what is queued sees to what comes behind it.
                const who next = state == who::nobody ? expected(each, sends) : state;
                EXPECT_EQ(next, next_writer(state, sends,
                                            {.may_batch = each.may_batch,
                                             .is_wide = each.is_wide,
                                             .is_one_of_many = each.is_one_of_many,
                                             .has_turn = each.has_turn}))
                    << "state " << now << ", cadence " << how << ", row " << &each - rows;
                ++cases;
            }
    EXPECT_EQ(16 * cadences * writer_states, cases);
}

} // namespace
} // namespace zlink::core
