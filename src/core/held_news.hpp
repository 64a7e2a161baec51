// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zlink::core {

class pipe_end;

/// A thread that moves messages in a loop, as a proxy does, holds back the wake-ups of readers in
/// the same process: each is woken once for all that the loop has for it, not for its first
/// message. While an object of this exists its thread does so; at its end, before the thread
/// waits, and at latest about `burst::bound` after the first of them all readers are told.
///
/// Thread safety: the thread that made it. One at a time for each thread; it does nothing for a
/// further one, or without memory.
class held_news {
public:
    held_news() noexcept;
    ~held_news();
    held_news(const held_news&) = delete;
    held_news& operator=(const held_news&) = delete;

    /// Holds back that there is something to read at `reader`; false if it has to be told now.
    static bool hold(pipe_end& reader) noexcept;
    /// Is there something to tell for too long? Then it is told.
    static void look() noexcept;
    /// Tells all that was held back by this thread.
    static void tell() noexcept;

private:
    bool begun_ = false;
};

} // namespace zlink::core
