// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace zlink::base {

/// A function of the application that is called once when something happens, by whoever makes it
/// happen.
///
/// Thread safety: fire() and fire_and_wait() in any thread, all else in the owner's.
/// Lifetime: who calls fire() keeps the object.
class one_shot_call {
public:
    using function = void(void*);

    one_shot_call() = default;
    one_shot_call(const one_shot_call&) = delete;
    one_shot_call& operator=(const one_shot_call&) = delete;

    /// The next fire() calls it, if that sees what this thread has done last. Takes the place of
    /// what was armed before, and waits for a call that is under way.
    void arm(function& called, void* argument) noexcept;
    bool armed() const noexcept { return state_.load(std::memory_order_relaxed) == state::armed; }
    /// Waits for a call that is under way; none follows. True if it was armed and not called.
    bool disarm() noexcept;
    /// Calls it if it is armed.
    void fire() noexcept
    {
        if (armed()) [[unlikely]]
            fire_armed();
    }
    /// The same, and waits if another thread is just calling it. Not for use in the call itself.
    void fire_and_wait() noexcept;

private:
    enum class state : int { idle, armed, running };

    void fire_armed() noexcept;
    void wait_while_running() const noexcept;

    std::atomic<state> state_{state::idle};
    function* called_ = nullptr;
    void* argument_ = nullptr;
};

} // namespace zlink::base
