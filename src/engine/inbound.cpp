// SPDX-License-Identifier: Apache-2.0
#include "engine/inbound.hpp"

#include "engine/codec/zmtp3.hpp"
#include "engine/traffic_commands.hpp"

#include <algorithm>
#include <cstring>

namespace zlink::engine {
namespace {

constexpr std::size_t smallest_read_bytes = 2 * 1024;
constexpr std::size_t largest_read_bytes = 64 * 1024;
/// Bodies from here on get memory of their own, unless they have arrived as a whole already.
constexpr std::size_t large_body_bytes = 8 * 1024;
/// What is read along with the rest of a large body: the next header, and little that must move.
constexpr std::size_t read_after_body_bytes = 2 * 1024;

} // namespace

inbound::inbound(base::channel& to, std::int64_t max_message_bytes, bool keep_subscriptions,
                 command_handler& commands) noexcept
    : to_(to),
      commands_(commands),
      max_message_bytes_(max_message_bytes < 0 ? UINT64_MAX
                                               : static_cast<std::uint64_t>(max_message_bytes)),
      keep_subscriptions_(keep_subscriptions),
      read_bytes_(smallest_read_bytes)
{}

inbound::~inbound()
{
    reset();
}

void inbound::reset() noexcept
{
    if (body_)
        std::exchange(body_, nullptr)->drop_reference();
    have_ = needed_ = 0;
    in_message_ = false;
    to_.queue.rollback();
}

int inbound::prepare(iovec (&space)[2]) noexcept
{
    int count = 0;
    std::size_t want = read_bytes_;
    if (body_) {
        space[count++] = {body_->data + body_filled_, body_bytes_ - body_filled_};
        want = read_after_body_bytes;
    }
    // The rest of a chunk is used up to a quarter; then it is better to begin a new one.
    const std::size_t least = std::max(needed_, have_ + std::max(want / 4, std::size_t{256}));
    std::byte* tail = to_.queue.reserve(least, have_);
    if (!tail)
        return 0;
    offered_ = std::min(to_.queue.room() - have_, std::max(want, least - have_));
    space[count++] = {tail + have_, offered_};
    return count;
}

inbound_error inbound::received(std::size_t bytes)
{
    if (body_) {
        const std::size_t rest = std::min(bytes, body_bytes_ - body_filled_);
        body_filled_ += rest;
        bytes -= rest;
        if (body_filled_ < body_bytes_)
            return inbound_error::none;
        if (!finish_body())
            return inbound_error::out_of_memory;
        // The bytes behind the body were read to the tail as it was before the body was appended.
        if (bytes && !to_.queue.reserve(std::max(bytes, have_), 0))
            return inbound_error::out_of_memory;
    } else if (bytes == offered_) {
        read_bytes_ = std::min(read_bytes_ * 2, largest_read_bytes);
    }
    have_ += bytes;
    const inbound_error error = walk();
    if (marked_) {
        marked_ = false;
        wake_consumer_ |= to_.queue.publish();
    }
    return error;
}

bool inbound::envelope_allows(std::uint64_t body_bytes, bool more) noexcept
{
    constexpr std::uint64_t number_bytes = 4;
    switch (envelope_) {
    case envelope::start:
        envelope_ = body_bytes == 0 ? envelope::body : envelope::after_number;
        return more && (body_bytes == 0 || body_bytes == number_bytes);
    case envelope::after_number:
        envelope_ = envelope::body;
        return more && body_bytes == 0;
    case envelope::body:
        if (!more)
            envelope_ = envelope::start;
        return true;
    case envelope::any:
        break;
    }
    return true;
}

void inbound::end_of_frame(bool more) noexcept
{
    in_message_ = more;
    if (more)
        return;
    to_.queue.mark(1);
    to_.flow.add_sent(1);
    marked_ = true;
}

bool inbound::begin_body(std::uint64_t bytes, bool more) noexcept
{
    body_ = base::allocate_buffer(bytes);
    if (!body_)
        return false;
    body_bytes_ = bytes;
    body_more_ = more;
    return true;
}

bool inbound::finish_body() noexcept
{
    if (!to_.queue.append(body_, body_->data, body_bytes_))
        return false;
    body_ = nullptr;
    end_of_frame(body_more_);
    return true;
}

inbound_error inbound::walk()
{
    base::byte_queue& queue = to_.queue;
    needed_ = 0;
    while (have_) {
        zmtp3::frame_header header;
        std::byte* const at = queue.tail();
        if (!zmtp3::decode_header(at, have_, header))
            break;
        if (header.body_bytes > max_message_bytes_)
            return inbound_error::too_large;
        const bool complete =
            header.body_bytes <= have_ - header.header_bytes && have_ >= header.header_bytes;
        const bool command = (header.flags & zmtp3::flag_command) != 0;
        if (complete) {
            const std::size_t bytes = header.header_bytes + header.body_bytes;
            have_ -= bytes;
            if (!command) {
                if (envelope_ != envelope::any &&
                    !envelope_allows(header.body_bytes, (header.flags & zmtp3::flag_more) != 0))
                    return inbound_error::bad_envelope;
                queue.advance(bytes);
                end_of_frame((header.flags & zmtp3::flag_more) != 0);
                continue;
            }
            const std::span<const std::byte> body(at + header.header_bytes, header.body_bytes);
            const auto kind = parse_traffic_command(body).kind;
            if (keep_subscriptions_ &&
                (kind == traffic_command_kind::subscribe || kind == traffic_command_kind::cancel)) {
                // Between the frames of a message it becomes visible together with them.
                queue.advance(bytes);
                end_of_frame(in_message_);
                continue;
            }
            commands_.on_command(body);
            if (!queue.skip(bytes))
                return inbound_error::out_of_memory;
            continue;
        }
        if (command || header.body_bytes < large_body_bytes) {
            // Has to lie in one piece: the next read completes it, in a larger chunk if need be.
            if (header.body_bytes > SIZE_MAX / 4)
                return inbound_error::out_of_memory;
            needed_ = header.header_bytes + header.body_bytes;
            break;
        }
        if (envelope_ != envelope::any &&
            !envelope_allows(header.body_bytes, (header.flags & zmtp3::flag_more) != 0))
            return inbound_error::bad_envelope;
        if (!begin_body(header.body_bytes, (header.flags & zmtp3::flag_more) != 0))
            return inbound_error::out_of_memory;
        queue.advance(header.header_bytes);
        body_filled_ = have_ - header.header_bytes;
        std::memcpy(body_->data, at + header.header_bytes, body_filled_);
        have_ = 0;
        // Small reads while the bodies are large: what comes with a header would have to be moved.
        read_bytes_ = smallest_read_bytes;
        break;
    }
    return inbound_error::none;
}

} // namespace zlink::engine
