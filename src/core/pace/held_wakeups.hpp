// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rules.hpp"

#include <memory>

namespace zlink::core {

/// A thread that moves messages in a loop, as a proxy does, holds back the wake-ups of readers in
/// the same process: each is woken once for all that the loop has for it, not for its first
/// message. While an object of this exists its thread does so; at its end, before the thread
/// waits, and at latest about `tuning::batching::max_delay` after the first of them all readers are
/// told.
///
/// Thread safety: the thread that made it. One at a time for each thread; it does nothing for a
/// further one, or without memory.
class held_wakeups {
public:
    held_wakeups() noexcept;
    ~held_wakeups();
    held_wakeups(const held_wakeups&) = delete;
    held_wakeups& operator=(const held_wakeups&) = delete;

    /// Holds back that there is something to read at `reader`, which has tell_held() and
    /// shared_from_this(); false if it has to be told now.
    template <class Reader>
    static bool hold(Reader& reader) noexcept
    {
        if (!base::rule_is_on(base::rule::held_wakeups) || !is_held())
            return false;
        add(reader.shared_from_this(),
            [](void* held) noexcept { static_cast<Reader*>(held)->tell_held(); });
        return true;
    }
    /// Is there something to tell for too long? Then it is told.
    static void look() noexcept;
    /// Tells all that was held back by this thread.
    static void tell() noexcept;

private:
    using tell_function = void (*)(void*) noexcept;
    static bool is_held() noexcept;
    static void add(std::shared_ptr<void> reader, tell_function tell) noexcept;

    bool begun_ = false;
};

} // namespace zlink::core
