// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/frame_decoder.hpp"
#include "engine/traffic/read_buffer.hpp"
#include "engine/wire/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>
#include <utility>
#include <vector>

namespace zlink::engine {

/// The decoder of a wire that changes frames: takes them apart with the codec, opens them with the
/// cipher and puts them into the channel. Small frames are read many at a time and copied; the body
/// of a large one gets memory of its own, is read straight into it, and is changed and opened
/// there. One that need not be opened may go to memory of the consumer's instead.
///
/// Thread safety: one thread at a time (the channel's consumer is another).
/// Lifetime: the channel must outlive the object.
/// Memory: what the peer announces within the limits, at most that much per frame, and the size of
/// one read. A body that comes in several frames counts as one.
class wire_inbound final : public frame_decoder {
public:
    wire_inbound(base::channel& to, wire how, message_rules rules,
                 command_handler& commands) noexcept
        : frame_decoder(to, rules, commands), wire_(std::move(how))
    {}
    ~wire_inbound() override { reset(); }

    int prepare(std::span<iovec> space) noexcept override;
    inbound_error received(std::size_t bytes) override;
    inbound_error go_on() override;
    /// Also from within command_handler::on_command(): nothing that follows is taken then.
    void reset() noexcept override;
    void offer_memory(std::span<std::byte> memory) noexcept override;
    void withdraw_memory() noexcept override;
    bool in_message() const noexcept override
    {
        return in_message_ || joins_ || step_ != step::head || !buffer_.empty();
    }

private:
    enum class step : std::uint8_t {
        head,       ///< the head of a frame comes next
        body,       ///< its body
        large_body, ///< its body, which is read to block_, or outside
        open_frame, ///< the frame is decoded and opened, and has to be delivered
    };

    inbound_error take_frames();
    void take_run() noexcept;
    inbound_error take_head() noexcept;
    inbound_error begin_large_body() noexcept;
    bool may_go_outside() const noexcept;
    std::byte* large_body() const noexcept
    {
        return outside_.in_use() ? outside_.data() : block_->data;
    }
    inbound_error open_body(std::span<std::byte> body) noexcept;
    bool join(std::span<std::byte>& body) noexcept;
    void end_joined() noexcept;
    inbound_error deliver();
    inbound_error tell(std::span<const std::byte> command_body);
    bool deliver_part() noexcept;
    void end_of_body() noexcept;

    const wire wire_;
    read_buffer buffer_;     ///< what was read, but for the bodies of large frames
    std::size_t needed_ = 0; ///< so much has to be in the buffer before anything can be taken

    step step_ = step::head;
    frame_head head_;              ///< of the frame that is being taken
    base::buffer_ref block_;       ///< for its body, if that is large
    std::size_t block_filled_ = 0; ///< also if it is read outside
    /// The body of a frame that comes in several, as far as it has come.
    std::vector<std::byte> joined_;
    bool joins_ = false;             ///< there is such a body
    std::uint8_t flags_ = 0;         ///< of the frame, when it is open
    std::span<std::byte> body_;      ///< the same; in the buffer, in block_ or in joined_
    std::size_t body_in_buffer_ = 0; ///< bytes of the buffer that go with it
    bool allowed_ = false;           ///< it has passed the rules
};

} // namespace zlink::engine
