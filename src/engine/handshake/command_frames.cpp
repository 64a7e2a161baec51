// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/command_frames.hpp"

#include "base/memory/give_back.hpp"
#include "base/memory/secret.hpp"
#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"

#include <algorithm>

namespace zlink::engine {

void append_frame(std::vector<std::byte>& out, std::uint8_t flags, std::span<const std::byte> body,
                  frame_codec& codec)
{
    std::byte head[frame_codec::max_head_bytes];
    append_bytes(out, std::span(head, codec.encode_head(head, flags, body.size())));
    append_bytes(out, body);
    apply_in_place(codec.traits().sent_bodies, std::span(out).last(body.size()));
}

handshake_error read_error_command(std::span<const std::byte> data, std::string& reason)
{
    if (data.empty()) {
        return handshake_error::malformed_error_command;
    }
    const auto reason_bytes = std::to_integer<std::size_t>(data[0]);
    if (reason_bytes > data.size() - 1) {
        return handshake_error::malformed_error_command;
    }
    reason = as_text(data.subspan(1, reason_bytes));
    return handshake_error::refused_by_peer;
}

std::size_t command_reader::feed(std::span<const std::byte> bytes)
{
    std::size_t taken = 0;
    while (taken < bytes.size() && !complete_ && !too_large() && !no_frame_)
        taken += feed_frame(bytes.subspan(taken));
    return taken;
}

std::size_t command_reader::feed_frame(std::span<const std::byte> bytes)
{
    std::size_t taken = 0;
    // One byte at a time: a short head must not swallow the beginning of the body.
    while (!head_known() && !no_frame_ && taken < bytes.size()) {
        raw_head_[raw_head_bytes_++] = bytes[taken++];
        no_frame_ = codec_->decode_head(raw_head_, raw_head_bytes_, head_) ==
                    frame_codec::decoded::no_frame;
    }
    if (!head_known() || no_frame_ || too_large())
        return taken;
    const auto missing =
        static_cast<std::size_t>(head_.body_bytes) - (body_.size() - body_of_earlier_frames_);
    const auto piece = bytes.subspan(taken, std::min(missing, bytes.size() - taken));
    append_bytes(body_, piece);
    if (piece.size() == missing) {
        apply_in_place(codec_->traits().received_bodies,
                       std::span(body_).subspan(body_of_earlier_frames_));
        if (head_.continues) {
            body_of_earlier_frames_ = body_.size();
            next_frame();
        } else {
            complete_ = true;
        }
    }
    return taken + piece.size();
}

bool command_reader::complete() const noexcept
{
    return complete_ && !head_.is_control;
}

void command_reader::next_frame() noexcept
{
    raw_head_bytes_ = 0;
    head_ = {};
    complete_ = false;
}

void command_reader::next_after_control() noexcept
{
    body_.resize(body_of_earlier_frames_);
    next_frame();
}

void command_reader::next() noexcept
{
    next_frame();
    body_of_earlier_frames_ = 0;
    base::wipe(body_.data(), body_.size()); // there may be a password in it
    base::give_back(body_);
}

} // namespace zlink::engine
