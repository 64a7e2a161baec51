// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/decoder.hpp"

#include <cstddef>
#include <span>

namespace zlink::core {

/// The way into a pipe from a connection. A thread that waits for input may read the connection by
/// itself: it asks, is told by pipe_end::leased, and may then call read() until `leased` is false.
/// Thread safety: the thread of the pipe end that reads.
class inlet {
public:
    struct leased_read {
        bool leased = false; ///< the caller may call again
        bool got = false;    ///< there is something new in the queue
        bool moved = false;  ///< something was read, if only a part of a message
        int descriptor = -1; ///< becomes readable when there is more to read
        /// A body is on its way into the memory given: call withdraw_memory() before that memory
        /// is used otherwise.
        bool outside = false;
        engine::decoder::outside_body body; ///< has come there as a whole
    };

    /// Messages were taken, and the connection waits for room.
    virtual void made_room() noexcept = 0;
    /// The thread often waits for input, and asks to read the connection by itself.
    virtual void ask_to_read() noexcept = 0;
    /// Reads what is there into the queue, but the first large body into `memory` if it fits there:
    /// see engine::decoder::offer_memory().
    virtual leased_read read(std::span<std::byte> memory) noexcept = 0;
    /// The memory given with read() is wanted for something else.
    virtual void withdraw_memory() noexcept = 0;
    /// The thread stops reading by itself.
    virtual void give_back() noexcept = 0;

protected:
    ~inlet() = default;
};

} // namespace zlink::core
