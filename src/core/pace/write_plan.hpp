// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"
#include "core/pace/cadence.hpp"

#include <cstddef>
#include <cstdint>

namespace zlink::core {

/// Who writes what is queued for a connection. Stored in its writer, and nowhere else; a plan is a
/// copy for the thread that acts on it.
enum class writer_is : std::uint8_t {
    nobody,    ///< nothing is queued, or there is no connection; the next commit is announced
    committer, ///< the sending thread, what it has just committed; it may be retrying that
    batcher,   ///< the sending thread, which coalesces what it commits until a batch is full or due
    io_thread, ///< the I/O thread of the connection
    blocked,   ///< nobody until the connection takes more, which the I/O thread waits for
};
inline constexpr std::size_t writer_states = 5;

/// What the sending thread does about what it commits next.
struct plan {
    /// `batcher`: it calls outlet::flush() when a batch is full or due. `io_thread`: it may call
    /// that for room.
    writer_is who = writer_is::nobody;
    bool credit_freed = false; ///< the producer waits for room, and there is some now
    /// As the batcher: the batch size in bytes at which flush() is to be called. Below
    /// tuning::batching::flush_bytes only to check whether a batch is due.
    std::size_t flush_at_bytes = tuning::batching::flush_bytes;
};

/// Why the sending thread writes what is queued before it commits more.
enum class flush_reason : std::uint8_t {
    full,          ///< the batch is full, or there is no room for more
    maybe_due,     ///< the batch has grown: the oldest of this thread's batches may be due
    large_message, ///< one is going to be committed, and the I/O thread has earlier ones to write
    about_to_wait, ///< the thread is about to block
};

/// What matters besides state and cadence.
struct link_facts {
    bool may_batch = true;       ///< messages may wait for others
    bool is_wide = false;        ///< its thread sends to more connections than it writes to
    bool is_one_of_many = false; ///< the message goes to more connections than a thread writes to,
    bool has_turn = true;        ///< and this is one of those that it writes to nevertheless
};

/// The decision: who writes a message that was committed to a link in state `now`, by a thread that
/// sends in this cadence. `committer` and `batcher` are that thread.
constexpr writer_is next_writer(writer_is now, cadence how, link_facts facts) noexcept
{
    if (now != writer_is::nobody)
        return now; // the message is behind what is being seen to
    if (facts.is_one_of_many)
        return facts.has_turn ? writer_is::committer : writer_is::io_thread;
    if (how != cadence::stream)
        return writer_is::committer; // nothing would join it in time, or it is large enough
    return facts.may_batch && !facts.is_wide ? writer_is::batcher : writer_is::io_thread;
}

} // namespace zlink::core
