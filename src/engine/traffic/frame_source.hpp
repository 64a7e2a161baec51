// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <sys/uio.h>

namespace zlink::engine {

/// One of the places that the bytes of a connection come from, see outgoing.
///
/// Thread safety: that of outgoing.
class frame_source {
public:
    /// Lists its next bytes, which stay where they are until taken(): returns how many entries were
    /// filled, and adds up their bytes.
    virtual std::size_t next(std::span<iovec> entries, std::size_t& bytes) noexcept = 0;
    /// So many of the bytes that were listed last were written, up to all.
    virtual void taken(std::size_t bytes) noexcept = 0;
    /// Is nothing begun that has to be written before the bytes of another source?
    virtual bool at_boundary() const noexcept = 0;

protected:
    ~frame_source() = default;
};

} // namespace zlink::engine
