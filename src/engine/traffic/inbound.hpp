// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/frame_decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::engine {

/// The decoder for wires whose frames arrive in the format of the queue, see
/// wire::decodes_queue_format(). Bytes are read to the tail of the channel and stay there; small
/// reads of an idle connection go through memory of the thread and are copied. The body of a large
/// frame gets memory of its own and is read straight into it.
///
/// Thread safety: one thread at a time (the channel's consumer is another).
/// Lifetime: the channel must outlive the object.
/// Memory: what the peer announces, at most that much per frame, plus one chunk.
class inbound final : public frame_decoder {
public:
    inbound(base::channel& to, message_rules rules, command_handler& commands) noexcept
        : frame_decoder(to, rules, commands)
    {}
    ~inbound() override { reset(); }

    int prepare(std::span<iovec> space) noexcept override;
    inbound_error received(std::size_t bytes) override;
    inbound_error go_on() override;
    /// Also from within command_handler::on_command(): nothing that follows is taken then.
    void reset() noexcept override;
    void offer_memory(std::span<std::byte> memory) noexcept override;
    void withdraw_memory() noexcept override;
    bool in_message() const noexcept override { return in_message_ || body_ || have_ != 0; }

private:
    inbound_error walk();
    void walk_plain_frames() noexcept;
    bool take_from_scratch(std::size_t bytes) noexcept;
    bool begin_body(std::uint64_t bytes, bool more) noexcept;
    bool finish_body() noexcept;
    std::byte* body_data() const noexcept
    {
        return outside_.in_use() ? outside_.data() : body_->data;
    }

    bool in_scratch_ = false; ///< what prepare() has offered is no memory of the queue's
    bool bytes_lost_ = false; ///< there was no memory for what was read there

    std::size_t have_ = 0;        ///< bytes lying at the tail of the queue, not walked over yet
    std::size_t behind_body_ = 0; ///< the same, but the body that comes before has to be appended
    std::size_t needed_ = 0;      ///< size of the incomplete frame they begin, 0 = unknown

    base::buffer* body_ = nullptr;
    std::size_t body_bytes_ = 0;
    std::size_t body_filled_ = 0;
    bool body_more_ = false;
};

} // namespace zlink::engine
