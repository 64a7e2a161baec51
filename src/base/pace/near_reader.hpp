// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "base/pace/wait_budget.hpp"
#include "base/pace/write_retry.hpp"
#include "base/queue/channel.hpp"
#include "base/tuning.hpp"

#include <cstddef>
#include <utility>

namespace zlink::base {

/// What the writer of a channel does for a reader in the same process: it waits until the reader
/// has caught up, and lends large bodies, which the reader then copies from where they lie. See
/// docs/decisions/0014 and 0015.
/// Thread safety: the writer's thread.
class near_reader {
public:
    /// Is the reader near enough to come for a loan?
    static bool has_caught_up(const message_credit& credit) noexcept
    {
        return credit.waiting() <= tuning::inproc::max_waiting_to_lend;
    }

    /// Before a body of `bytes` bytes is written, or lent. What lies in the queue should still lie
    /// in a cache when it is read: if it is much, waits until it is less. `has_others`: other
    /// readers of this thread wait meanwhile, see wait_budget.
    void let_catch_up(const message_credit& credit, std::size_t bytes, bool lends,
                      bool has_others) noexcept
    {
        using step = write_retry::step;
        const auto is_much = [&] {
            return credit.waiting() * bytes >= tuning::inproc::max_backlog_bytes;
        };
        if (!is_much())
            return;
        std::uint64_t taken = credit.taken();
        const auto check = [&] {
            if (lends && !has_others ? has_caught_up(credit) : !is_much())
                return step::done;
            return std::exchange(taken, credit.taken()) != taken ? step::progress : step::nothing;
        };
        if (has_others)
            wait_for_one_of_several(backlog_, check);
        else
            backlog_.wait(check);
    }

    /// Offers a body in `block`, which is going to be appended and committed; settle() has to
    /// follow.
    static void offer(buffer& block, const std::byte* body, std::size_t bytes) noexcept
    {
        block.hint = const_cast<std::byte*>(body);
        block.lending.offer(body, block.data, bytes);
    }
    /// Ends the loan. The reader may copy the body meanwhile; afterwards nobody reads it. Where the
    /// writer `has_others`, it does not wait for the reader to begin: the next one has its turn.
    void settle(buffer& block, const std::byte* body, std::size_t bytes, bool has_others) noexcept
    {
        using step = write_retry::step;
        if (borrows_ && !has_others)
            borrower_.wait([&] { return block.lending.answered() ? step::done : step::nothing; });
        borrows_ = block.lending.settle(body, block.data, bytes, block.hint);
    }

private:
    write_retry backlog_;
    /// Apart from the other: that the reader does not come for one body is no reason not to wait
    /// until it has caught up.
    write_retry borrower_{tuning::write_retry::max_stall_of_loan};
    bool borrows_ = false; ///< the reader has copied what was lent to it last
};

} // namespace zlink::base
