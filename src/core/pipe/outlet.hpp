// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "base/tuning.hpp"
#include "core/pipe/traffic_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>

namespace zlink::core {

/// Who writes what is queued for a connection.
enum class writer_is : std::uint8_t {
    nobody,    ///< nothing is queued, or there is no connection; the next commit is announced
    batcher,   ///< the sending thread, which owns the writing and coalesces what it commits
    io_thread, ///< the I/O thread of the connection
};

/// What the sending thread does about what it commits next.
struct plan {
    /// `batcher`: it calls outlet::flush() when a batch is full or due. `io_thread`: it may call
    /// that for room.
    writer_is who = writer_is::nobody;
    bool credit_freed = false; ///< it waits for room, and there is some now
    /// As the batcher: so many bytes, and flush() is to be called. Below
    /// tuning::batching::flush_bytes only to check whether a batch is due.
    std::size_t flush_at_bytes = tuning::batching::flush_bytes;
};

enum class flush_reason : std::uint8_t {
    full,          ///< the batch is full, or there is no room for more
    maybe_due,     ///< the batch has grown: the oldest of this thread's batches may be due
    large_message, ///< one is going to be committed, and the I/O thread has earlier ones to write
    about_to_wait, ///< the thread is about to block
};

/// The way out of a pipe to a connection.
/// Thread safety: the thread of the pipe end that writes.
class outlet {
public:
    /// Messages were committed, and nobody writes (the commit has cleared the sleep bit of the
    /// queue): decides who does, and writes if it is this thread.
    virtual plan committed() noexcept = 0;
    /// Writes what is queued, as far as the reason asks for it and this thread may.
    virtual plan flush(flush_reason why) noexcept = 0;

    struct direct_write {
        std::size_t bytes = 0; ///< taken, of both pieces together
        bool batches = false;  ///< this thread is the batcher from now on
        bool credit_freed = false;
    };
    /// Zero-copy write of one message from the caller's memory: what precedes its last body, and
    /// that body. Needs a queue that is empty or that this thread owns the writing of. The caller
    /// appends and commits what was not taken; 0 bytes: the message had better go in a batch.
    /// `for_rest` is room for the whole message: if all is taken it may have been used for what is
    /// still to be written.
    virtual direct_write write_direct(const iovec (&message)[2],
                                      base::certain_memory& for_rest) noexcept = 0;

    /// Any thread: what this link has done so far. Only the counts of links are set.
    virtual traffic_counts counts() const noexcept { return {}; }

protected:
    ~outlet() = default;
};

} // namespace zlink::core
