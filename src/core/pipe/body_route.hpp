// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rules.hpp"
#include "base/tuning.hpp"

#include <cstddef>
#include <cstdint>

namespace zlink::core {

/// How the body of a message part leaves the caller's memory.
enum class body_route : std::uint8_t {
    copied,    ///< into the queue, behind its header
    own_block, ///< into a block of its own, to which the queue refers
    referred,  ///< not at all: the queue refers to the shared memory it lies in
    lent,      ///< the reader copies it from there (inproc)
    direct,    ///< a direct write takes it from there to the connection
};

/// What the route depends on besides the size.
struct body_facts {
    bool is_shared = false;     ///< counted by reference; else the memory is lent to the call only
    bool is_users = false;      ///< shared, and a function of the application frees it
    bool is_inproc = false;     ///< the reader is in the same process
    bool may_lend = false;      ///< the call may last until the reader, which is near, has the body
    bool may_be_direct = false; ///< there is a connection, and this part ends its message
    bool is_batched = false;    ///< this thread batches what it writes
    bool is_stalled = false;    ///< there is no connection: what is queued may stay for long
};

/// The way for a body of `bytes` bytes. Where a direct write fails, it goes as if it might not be
/// direct.
inline body_route route_of_body(std::size_t bytes, const body_facts& facts) noexcept
{
    namespace body = tuning::body;
    if (facts.is_shared) {
        // The free function of a small body tells that it is on its way, or soon will be. Without
        // a connection it might never be.
        if (facts.is_users && facts.is_stalled && bytes != 0)
            return body_route::referred;
        const std::size_t min_bytes = facts.is_users && facts.is_inproc
                                          ? body::min_shared_user_bytes
                                          : body::min_shared_bytes;
        return bytes >= min_bytes ? body_route::referred : body_route::copied;
    }
    if (facts.may_lend && bytes >= tuning::inproc::min_lent_bytes)
        return body_route::lent;
    if (bytes < body::min_uncopied_bytes)
        return body_route::copied;
    if (facts.may_be_direct &&
        (!facts.is_batched || bytes >= tuning::batching::min_unbatched_bytes))
        return body_route::direct;
    return base::rule_is_on(base::rule::own_block) ? body_route::own_block : body_route::copied;
}

} // namespace zlink::core
