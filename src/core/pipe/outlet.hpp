// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "core/pace/write_plan.hpp"
#include "core/pipe/traffic_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>

namespace zlink::core {

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
        plan next;             ///< if any were taken
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
