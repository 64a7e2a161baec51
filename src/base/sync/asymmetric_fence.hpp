// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace zlink::base {

/// A pair of fences for "store mine, then look at yours" between two threads of which one does it
/// all the time and the other seldom: the frequent side pays nothing but the order of its
/// instructions, the rare side makes every processor that runs this process execute a full fence.

/// Can heavy_fence() be used? (Needs the kernel's help; asked once.)
bool has_heavy_fence() noexcept;

/// The rare side.
void heavy_fence() noexcept;

/// The frequent side.
inline void light_fence() noexcept
{
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

} // namespace zlink::base
