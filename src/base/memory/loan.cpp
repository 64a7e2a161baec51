// SPDX-License-Identifier: Apache-2.0
#include "base/memory/loan.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace zlink::base {

void loan::offer(const std::byte* from, std::byte* block, std::size_t bytes) noexcept
{
    std::memcpy(block, from, std::min(bytes, tuning::inproc::copied_at_once_bytes));
    state_.store(offered, std::memory_order_relaxed); // published with the block
}

bool loan::settle(const std::byte* from, std::byte* block, std::size_t bytes,
                  void* const& request) noexcept
{
    for (std::size_t at = tuning::inproc::copied_at_once_bytes; at < bytes;
         at += tuning::inproc::piece_bytes) {
        if ((state_.load(std::memory_order_relaxed) & ~asleep_bit) >= borrowed)
            break;
        std::memcpy(block + at, from + at, std::min(tuning::inproc::piece_bytes, bytes - at));
    }
    std::uint32_t seen = offered;
    if (state_.compare_exchange_strong(seen, none, std::memory_order_acq_rel))
        return false;
    if ((seen & ~asleep_bit) == wanted) {
        end(none);
        return false;
    }
    seen = borrowed;
    if (state_.compare_exchange_strong(seen, joined, std::memory_order_acq_rel)) {
        static_cast<joint_copy*>(request)->from_back();
        wait_for_other();
    }
    return true;
}

bool loan::copy_together(joint_copy& copy, void*& request) noexcept
{
    request = &copy;
    std::uint32_t seen = offered;
    if (!state_.compare_exchange_strong(seen, borrowed, std::memory_order_acq_rel))
        return false;
    copy.from_front();
    seen = borrowed;
    if (!state_.compare_exchange_strong(seen, returned, std::memory_order_acq_rel))
        wait_for_other();
    return true;
}

// The first of both waits: the reader for its copy to be complete, the writer for its memory.
void loan::wait_for_other() noexcept
{
    std::uint32_t seen = joined;
    if (state_.compare_exchange_strong(seen, one_done, std::memory_order_acq_rel))
        wait_while(one_done);
    else
        end(returned);
}

void loan::await_copy() noexcept
{
    std::uint32_t seen = offered;
    if (state_.compare_exchange_strong(seen, wanted, std::memory_order_acq_rel))
        wait_while(wanted);
}

void loan::wait_while(state current) noexcept
{
    for (int yields = 0; yields < tuning::inproc::yields_before_sleep; ++yields) {
        if (state_.load(std::memory_order_acquire) != current)
            return;
        std::this_thread::yield(); // to the other, if it shares the processor
    }
    const std::uint32_t asleep = current | asleep_bit;
    std::uint32_t seen = current;
    if (!state_.compare_exchange_strong(seen, asleep, std::memory_order_acq_rel))
        return;
    while (state_.load(std::memory_order_acquire) == asleep)
        ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, asleep, nullptr, nullptr, 0);
}

// The block may be gone as soon as the other one sees the last state.
void loan::end(state last) noexcept
{
    std::atomic<std::uint32_t>* const address = &state_;
    if (state_.exchange(last, std::memory_order_acq_rel) & asleep_bit)
        ::syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace zlink::base
