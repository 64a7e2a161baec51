// SPDX-License-Identifier: Apache-2.0
#include "base/sync/asymmetric_mutex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zlink::base {

// Announced and fenced once: whoever unlocks it from then on knows of this thread.
void asymmetric_mutex::wait() noexcept
{
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    if (fenced_)
        heavy_fence();
    while (!try_lock())
        ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, locked, nullptr, nullptr, 0);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void asymmetric_mutex::wake_one() noexcept
{
    ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

} // namespace zlink::base
