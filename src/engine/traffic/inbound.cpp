// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/inbound.hpp"

#include "base/tuning.hpp"

#include "base/memory/thread_own.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/commands/traffic_commands.hpp"

#include <algorithm>
#include <cstring>

namespace zlink::engine {
namespace {

/// Where little is read to if its queue has no room at hand: whatever comes then takes only as much
/// of a queue as it needs, and a connection that waits for more has no memory set aside for it.
/// Used between prepare() and received(), which the same thread calls.
struct scratch_memory {
    std::byte bytes[tuning::reading::min_read_bytes];
};
using scratch = base::thread_own<scratch_memory>;
const scratch keep_scratch;

} // namespace

void inbound::reset() noexcept
{
    if (body_)
        std::exchange(body_, nullptr)->drop_reference();
    outside_.reset();
    have_ = behind_body_ = needed_ = 0;
    in_message_ = bytes_lost_ = false;
    publish();
    to_.queue.rollback();
}

int inbound::prepare(std::span<iovec> space) noexcept
{
    std::size_t count = 0;
    std::size_t want = read_size_.bytes();
    std::size_t least_room = read_size_.least_room_bytes();
    if (body_) {
        space[count++] = {body_data() + body_filled_, body_bytes_ - body_filled_};
        want = tuning::reading::min_read_bytes;
        least_room = tuning::reading::min_read_bytes / 4;
    }
    const std::size_t least = std::max(needed_, have_ + least_room);
    base::byte_queue& queue = to_.queue;
    const bool at_hand = queue.room() >= least;
    in_scratch_ = false;
    // An envelope had better lie in one piece: see outside_memory.
    if (!at_hand && !body_ && have_ == 0 && read_size_.is_smallest() &&
        !outside_.envelope_is_taken_off()) {
        // What is read must find memory then.
        const bool is_new = queue.committed_messages() == 0 && !queue.has_uncommitted();
        const std::size_t offered = std::min(sizeof(scratch_memory), base::certain_bytes());
        scratch_memory* const memory = offered != 0 ? scratch::find_or_make() : nullptr;
        in_scratch_ = memory && (is_new || queue.prepare_append());
        if (in_scratch_) {
            read_size_.offered(offered);
            space[0] = {memory->bytes, offered};
            return 1;
        }
    }
    std::byte* tail =
        queue.reserve(at_hand ? least : std::max(least, tuning::reading::min_room_bytes), have_);
    if (!tail)
        return 0;
    const std::size_t offered = std::min(queue.room() - have_, std::max(want, least - have_));
    read_size_.offered(offered);
    space[count++] = {tail + have_, offered};
    return static_cast<int>(count);
}

inbound_error inbound::received(std::size_t bytes)
{
    went_on_ = false;
    if (body_) {
        const std::size_t rest = std::min(bytes, body_bytes_ - body_filled_);
        body_filled_ += rest;
        behind_body_ = bytes - rest;
        if (body_filled_ < body_bytes_)
            return inbound_error::none;
    } else {
        if (in_scratch_ && !take_from_scratch(bytes))
            return inbound_error::out_of_memory;
        read_size_.received(bytes);
        have_ += bytes;
    }
    return go_on();
}

bool inbound::take_from_scratch(std::size_t bytes) noexcept
{
    in_scratch_ = false;
    std::byte* const at = to_.queue.reserve(bytes);
    if (at)
        std::memcpy(at, scratch::find()->bytes, bytes);
    else
        bytes_lost_ = true;
    return at != nullptr;
}

// Each step is either done, or leaves everything as it was for the next time.
inbound_error inbound::go_on()
{
    if (bytes_lost_)
        return inbound_error::out_of_memory;
    if (body_ && body_filled_ == body_bytes_ && !finish_body())
        return inbound_error::out_of_memory;
    if (behind_body_) {
        // Read to the tail as it was before the body was appended.
        if (!to_.queue.reserve(behind_body_))
            return inbound_error::out_of_memory;
        have_ = std::exchange(behind_body_, 0);
    }
    const inbound_error error = walk();
    publish();
    return error;
}

bool inbound::begin_body(std::uint64_t bytes, bool more) noexcept
{
    body_ = base::allocate_buffer(bytes);
    if (!body_)
        return false;
    body_bytes_ = bytes;
    body_more_ = more;
    outside_.begin(body_bytes_, messages(), in_message_, to_.queue);
    return true;
}

void inbound::offer_memory(std::span<std::byte> memory) noexcept
{
    outside_.offer(memory, messages());
    if (body_ && !in_message_)
        outside_.begin_with({body_->data, body_filled_}, body_bytes_);
}

void inbound::withdraw_memory() noexcept
{
    outside_.withdraw(body_ ? body_->data : nullptr, body_filled_);
}

bool inbound::finish_body() noexcept
{
    if (!to_.queue.append(body_, body_->data, body_bytes_))
        return false;
    if (outside_.in_use())
        outside_.finish(*body_, body_bytes_);
    body_ = nullptr;
    end_of_frame(body_more_);
    return true;
}

// Moves over the complete data frames that come first, which is most of what there is to do:
// nothing is to be checked but sizes, and nothing to be changed.
void inbound::walk_plain_frames() noexcept
{
    const std::byte* at = to_.queue.tail();
    const std::byte* const end = at + have_;
    const std::byte* last_end = at; // of a whole message
    std::uint64_t messages = 0;
    bool more = in_message_;
    const std::uint64_t max_message_bytes = rules_.max_message_bytes();
    const bool any_short_size = max_message_bytes >= zmtp3::max_short_body_bytes;
    // Before each frame: does it begin within what there is, and end there?
    while (end - at >= static_cast<std::ptrdiff_t>(zmtp3::short_header_bytes)) {
        const auto flags = std::to_integer<std::uint8_t>(at[0]);
        if (flags == 0 && any_short_size) { // a run of short messages of one part, mostly
            const std::byte* const run = at;
            do {
                const std::byte* const next =
                    at + zmtp3::short_header_bytes + std::to_integer<std::ptrdiff_t>(at[1]);
                if (next > end)
                    break;
                at = next;
                ++messages;
            } while (end - at >= static_cast<std::ptrdiff_t>(zmtp3::short_header_bytes) &&
                     at[0] == std::byte{0});
            if (at == run)
                break;
            more = false;
            last_end = at;
            continue;
        }
        std::size_t header_bytes = zmtp3::short_header_bytes;
        auto body_bytes = std::to_integer<std::uint64_t>(at[1]);
        if (flags > zmtp3::flag_more) {
            if ((flags & ~zmtp3::flag_more) != zmtp3::flag_long ||
                end - at < static_cast<std::ptrdiff_t>(zmtp3::long_header_bytes))
                break;
            header_bytes = zmtp3::long_header_bytes;
            body_bytes = zmtp3::load_size(at + 1);
        }
        if (body_bytes > static_cast<std::size_t>(end - at) - header_bytes ||
            body_bytes > max_message_bytes)
            break;
        at += header_bytes + body_bytes;
        more = (flags & zmtp3::flag_more) != 0;
        messages += !more;
        last_end = more ? last_end : at;
    }
    const auto incomplete = static_cast<std::size_t>(end - at);
    const auto until_last_end = static_cast<std::size_t>(end - last_end);
    went_on_ |= incomplete < have_;
    end_of_frames(have_ - incomplete, have_ - until_last_end, messages, more);
    have_ = incomplete;
}

inbound_error inbound::walk()
{
    base::byte_queue& queue = to_.queue;
    needed_ = 0;
    while (have_) {
        if (rules_.allow_any_form()) {
            walk_plain_frames();
            if (!have_)
                break;
        }
        zmtp3::frame_header header;
        std::byte* const at = queue.tail();
        if (!zmtp3::decode_header(at, have_, header))
            break;
        if (header.body_bytes > zmtp3::max_body_bytes)
            return inbound_error::no_frame;
        const bool command = (header.flags & zmtp3::flag_command) != 0;
        if (header.body_bytes > rules_.max_bytes(command))
            return inbound_error::too_large;
        const bool complete =
            header.body_bytes <= have_ - header.header_bytes && have_ >= header.header_bytes;
        if (complete) {
            const std::size_t bytes = header.header_bytes + header.body_bytes;
            if (!command) {
                if (!rules_.allow_part(header.body_bytes, (header.flags & zmtp3::flag_more) != 0))
                    return inbound_error::bad_envelope;
                queue.advance(bytes);
                have_ -= bytes;
                end_of_frame((header.flags & zmtp3::flag_more) != 0);
                continue;
            }
            const std::span<const std::byte> body(at + header.header_bytes, header.body_bytes);
            if (rules_.keep(parse_traffic_command(body).kind)) {
                // Between the frames of a message it becomes visible together with them. The bit of
                // a further part means nothing here.
                at[0] &= ~std::byte{zmtp3::flag_more};
                queue.advance(bytes);
                have_ -= bytes;
                end_of_frame(in_message_);
                continue;
            }
            if (!queue.prepare_append())
                return inbound_error::out_of_memory;
            went_on_ = false;
            have_ -= bytes; // nothing that follows is taken if the command ends the connection
            try {
                commands_.on_command(body);
            } catch (...) {
                have_ += bytes;
                throw;
            }
            queue.skip(bytes);
            continue;
        }
        if (command || header.body_bytes < tuning::reading::min_large_body_bytes) {
            // Has to lie in one piece: the next read completes it, in a larger chunk if need be.
            if (header.body_bytes > SIZE_MAX / 4)
                return inbound_error::out_of_memory;
            needed_ = header.header_bytes + header.body_bytes;
            // Asked for now: a peer that says no more must not keep what cannot be served open.
            if (!queue.reserve(needed_, have_))
                return inbound_error::out_of_memory;
            break;
        }
        const message_rules before = rules_;
        if (!rules_.allow_part(header.body_bytes, (header.flags & zmtp3::flag_more) != 0))
            return inbound_error::bad_envelope;
        if (!begin_body(header.body_bytes, (header.flags & zmtp3::flag_more) != 0)) {
            rules_ = before;
            return inbound_error::out_of_memory;
        }
        queue.advance(header.header_bytes);
        body_filled_ = have_ - header.header_bytes;
        std::memcpy(body_data(), at + header.header_bytes, body_filled_);
        have_ = 0;
        // Small reads while the bodies are large: what comes with a header would have to be moved.
        read_size_.restart();
        break;
    }
    return inbound_error::none;
}

} // namespace zlink::engine
