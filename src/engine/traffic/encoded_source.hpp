// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/frame_source.hpp"
#include "engine/traffic/newest_source.hpp"
#include "engine/traffic/own_frames.hpp"
#include "engine/traffic/queue_source.hpp"
#include "engine/wire/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace zlink::engine {

/// What a wire makes of the other sources: a batch of frames at a time, filtered, encrypted and
/// encoded. It belongs to one connection.
///
/// Thread safety: that of outgoing.
/// Lifetime: the other sources, and what the wire refers to, must outlive the object.
class encoded_source final : public frame_source {
public:
    encoded_source(wire how, own_frames& own, queue_source& queue, newest_source& newest) noexcept
        : wire_(std::move(how)), own_(own), queue_(queue), newest_(newest)
    {}

    const wire& how() const noexcept { return wire_; }
    /// Do all messages from this position of the queue on pass the filter as they are?
    bool passes_filter(std::uint64_t position) const noexcept
    {
        return !wire_.filter || wire_.filter->passes_all(position);
    }

    /// Fills the batch with what there is and there is memory for; nothing of it may be left. An
    /// errno value if that is nothing at all: ENOMEM, or EPROTO if the cipher's key is used up.
    int encode() noexcept;
    /// Drops the batch.
    void discard() noexcept
    {
        batch_.reset();
        has_own_frames_ = false;
    }
    /// Does it have frames of own_frames?
    bool has_own_frames() const noexcept { return has_own_frames_; }

    std::size_t next(std::span<iovec> entries, std::size_t& bytes) noexcept override
    {
        return batch_->list(entries, bytes);
    }
    void taken(std::size_t bytes) noexcept override;
    bool at_boundary() const noexcept override { return !batch_ || batch_->empty(); }

    // A message from the caller's memory as the next batch, see outgoing

    /// Can one be encoded now, if nothing is queued?
    bool can_encode_past() const noexcept;
    bool encode_past(std::span<const std::byte> frames, std::span<const std::byte> body) noexcept;
    void keep_past(base::certain_memory& room) noexcept
    {
        if (!at_boundary())
            batch_->keep_borrowed(room);
    }
    void give_up_past() noexcept { batch_->clear(); }

private:
    bool is_inside_message() const noexcept;
    void encode_own(frame_encoder& to);
    void encode_queue(frame_encoder& to, base::byte_queue::lookahead ahead);
    bool encode_run(base::byte_queue::lookahead& ahead);
    bool encode_message(base::byte_queue::lookahead& ahead, frame_encoder& to);
    void encode_newest(frame_encoder& to);

    const wire wire_;
    own_frames& own_;
    queue_source& queue_;
    newest_source& newest_;
    std::unique_ptr<write_batch> batch_; ///< null where it is seldom needed
    bool has_own_frames_ = false;        ///< the batch
};

} // namespace zlink::engine
