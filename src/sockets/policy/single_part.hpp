// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sockets/policy/fair_queue.hpp"

namespace zlink::sockets {

/// The next message of one part and the pipe it comes from, null if there is none for now. Messages
/// of several parts, which such types do not know, are dropped whole.
inline core::pipe_end* peek_single(fair_queue& in, core::frame& part)
{
    core::pipe_end* pipe = in.peek(part);
    if (!pipe || !part.more()) [[likely]]
        return pipe;
    discard_bound bound;
    do {
        if (!in.skip_message(bound))
            return nullptr;
        pipe = in.peek(part);
    } while (pipe && part.more());
    return pipe;
}

/// The same for fair_queue::take().
inline core::taken_part take_single(fair_queue& in, std::size_t most) noexcept
{
    discard_bound bound;
    for (;;) {
        const core::taken_part part = in.take(most);
        if (!part.more()) [[likely]]
            return part;
        if (!in.skip_message(bound))
            return {};
    }
}

} // namespace zlink::sockets
