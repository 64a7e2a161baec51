// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/conflation_slot.hpp"
#include "engine/traffic/conflate.hpp"
#include "engine/traffic/frame_source.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace zlink::engine {

/// The message in the conflation slot of a channel, and the one from there that is being written.
///
/// Thread safety: that of outgoing.
class newest_source final : public frame_source {
public:
    explicit newest_source(base::conflation_slot& slot) noexcept : slot_(slot) {}

    /// Is there a message in the slot?
    bool waits() const noexcept { return slot_.filled(); }
    /// Takes it out, to be written; false if there is none.
    bool take() noexcept
    {
        message_ = slot_.take();
        written_bytes_ = 0;
        return static_cast<bool>(message_);
    }
    /// The message that was taken, until it is written.
    copied_frame frame() const noexcept { return view_frame(*message_.get()); }
    base::buffer* memory() const noexcept { return message_.get(); }
    /// It was not written as a whole, and goes back unless there is a newer one.
    void put_back() noexcept
    {
        if (message_)
            slot_.put_back(std::move(message_));
        message_.reset();
    }
    /// It is written, or need not be.
    void drop() noexcept { message_.reset(); }
    void clear() noexcept
    {
        drop();
        slot_.take();
    }

    std::size_t next(std::span<iovec> entries, std::size_t& bytes) noexcept override
    {
        const std::size_t left = frame().total_bytes - written_bytes_;
        entries[0] = {message_->data + written_bytes_, left};
        bytes += left;
        return 1;
    }
    void taken(std::size_t bytes) noexcept override
    {
        written_bytes_ += bytes;
        if (written_bytes_ == frame().total_bytes)
            drop();
    }
    bool at_boundary() const noexcept override { return !message_; }

private:
    base::conflation_slot& slot_;
    base::buffer_ref message_;
    std::size_t written_bytes_ = 0; ///< of it
};

} // namespace zlink::engine
