// SPDX-License-Identifier: Apache-2.0
#include "base/wait/one_shot_call.hpp"
#include "base/system/no_cancellation.hpp"

namespace zlink::base {

void one_shot_call::arm(function& called, void* argument) noexcept
{
    disarm(); // a call that is just ending would take this for armed by itself, and end that
    called_ = &called;
    argument_ = argument;
    state_.store(state::armed, std::memory_order_release);
}

bool one_shot_call::disarm() noexcept
{
    state seen = state::armed;
    if (state_.compare_exchange_strong(seen, state::idle, std::memory_order_acq_rel))
        return true;
    wait_while_running();
    return false;
}

void one_shot_call::fire_and_wait() noexcept
{
    fire();
    wait_while_running();
}

void one_shot_call::fire_armed() noexcept
{
    state seen = state::armed;
    if (!state_.compare_exchange_strong(seen, state::running, std::memory_order_acq_rel))
        return; // another thread was faster, or it has been disarmed
    const no_cancellation whole;
    called_(argument_);
    state_.store(state::idle, std::memory_order_release);
    state_.notify_all();
}

void one_shot_call::wait_while_running() const noexcept
{
    state_.wait(state::running, std::memory_order_acquire);
}

} // namespace zlink::base
