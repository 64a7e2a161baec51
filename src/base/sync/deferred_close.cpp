// SPDX-License-Identifier: Apache-2.0
#include "base/sync/deferred_close.hpp"

#include <thread>
#include <utility>

namespace zlink::base {

deferred_close::closer deferred_close::request(const std::shared_ptr<void>& owner) noexcept
{
    owner_ = owner;
    requested_.store(true, std::memory_order_release);
    if (fenced_)
        heavy_fence();
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
    if (waits_.load(std::memory_order_acquire) != 0)
        return closer::waiting_thread;
    // A few instructions: who has looked before the request lets go, who has seen it claims.
    while (leaving_.load(std::memory_order_acquire) && !claimed_.load(std::memory_order_acquire))
        std::this_thread::yield();
    if (claimed_.exchange(true, std::memory_order_acq_rel))
        return closer::claimant;
    owner_.reset(); // the requester has it
    return closer::requester;
}

std::shared_ptr<void> deferred_close::claim() noexcept
{
    if (!requested() || claimed_.exchange(true, std::memory_order_acq_rel))
        return nullptr;
    return std::move(owner_);
}

} // namespace zlink::base
