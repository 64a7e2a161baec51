// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/joint_copy.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zlink::base {

/// Hands a large body from one thread to another with a single copy. The writer publishes an empty
/// block and begins to copy the body into it. A reader that comes in time copies straight from the
/// writer's memory instead, and the writer copies the other half. There is one copy if the reader
/// keeps up and two otherwise; a side waits only while the other copies. See docs/decisions/0015.
///
/// Thread safety: one writer and one reader; lent() in any thread.
class loan {
public:
    /// Reader. May the body still be missing in the block? Once it says no, it is no for ever.
    bool lent() const noexcept { return state_.load(std::memory_order_acquire) != none; }

    /// Writer, before the reader can know of the block: the body of `bytes` bytes lies at `from`,
    /// which the reader has to be told in a way of its own.
    void offer(const std::byte* from, std::byte* block, std::size_t bytes) noexcept;
    /// Writer. Has the reader answered?
    bool answered() const noexcept { return state_.load(std::memory_order_relaxed) != offered; }
    /// Writer. Copies what is missing, or helps the reader to copy all, and waits while it does;
    /// `from` may be changed afterwards. `request` is where copy_together() put it. True if the
    /// reader has its copy: the block does not have it then.
    bool settle(const std::byte* from, std::byte* block, std::size_t bytes,
                void* const& request) noexcept;

    /// Reader. Makes the copy from the writer's memory, with the writer's help if it comes, and
    /// needs the body no more, neither there nor in the block. `request`, which the writer knows,
    /// is changed to lead it there. False if nothing is lent any more: all is in the block.
    bool copy_together(joint_copy& copy, void*& request) noexcept;
    /// Reader. Waits until all is in the block.
    void await_copy() noexcept;

private:
    enum state : std::uint32_t {
        none,     ///< nothing is lent (any more): the block has it
        offered,  ///< the writer copies, or waits for a reader
        wanted,   ///< the reader waits for the block
        borrowed, ///< the reader copies
        joined,   ///< both copy
        one_done, ///< one of them has copied its part and waits for the other
        returned, ///< the reader has all it needs
        asleep_bit = 8
    };
    void wait_while(state current) noexcept;
    void wait_for_other() noexcept;
    void end(state last) noexcept;

    std::atomic<std::uint32_t> state_{none};
};

} // namespace zlink::base
