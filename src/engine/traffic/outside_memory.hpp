// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/byte_queue.hpp"
#include "engine/traffic/decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace zlink::engine {

/// The part of a decoder that knows the memory of the consumer's for the next large body, see
/// decoder::offer_memory().
///
/// Thread safety: that of the decoder.
class outside_memory {
public:
    ~outside_memory() { reset(); }

    /// The consumer strips the envelope: it wants the part after the first empty one.
    void take_off_envelope() noexcept { envelope_is_taken_off_ = true; }
    bool envelope_is_taken_off() const noexcept { return envelope_is_taken_off_; }

    /// The offer, when so many messages have come.
    void offer(std::span<std::byte> memory, std::uint64_t messages) noexcept
    {
        memory_ = memory;
        messages_before_ = messages;
    }
    /// A large body is about to be read, after so many messages. If it is what the consumer comes
    /// for, it goes to the memory. `in_message`: parts of its message are in the queue.
    bool begin(std::size_t body_bytes, std::uint64_t messages, bool in_message,
               const base::byte_queue& queue) noexcept;
    /// The same for a body of the first part, of which `begun` has come before the offer: that
    /// moves there, unless it is much.
    void begin_with(std::span<const std::byte> begun, std::size_t body_bytes) noexcept;

    /// Is a body read to the memory?
    bool in_use() const noexcept { return in_use_; }
    std::byte* data() const noexcept { return memory_.data(); }
    /// The body has come as a whole. `announced` takes its place in the channel, and has room for
    /// all of it: gets its first bytes, and one more reference.
    void finish(base::buffer& announced, std::size_t body_bytes) noexcept;
    /// The offer is over; what has come of the body, if it is read there, moves to `to`.
    void withdraw(std::byte* to, std::size_t bytes_come) noexcept;
    /// Nothing is read there any more.
    void reset() noexcept;

    bool has_finished() const noexcept { return finished_.announced != nullptr; }
    decoder::outside_body take_finished() noexcept { return std::exchange(finished_, {}); }

private:
    bool comes_for_next_part(bool in_message, const base::byte_queue& queue) const noexcept;

    std::span<std::byte> memory_; ///< empty: there is no offer
    std::uint64_t messages_before_ = 0;
    decoder::outside_body finished_;
    bool in_use_ = false;
    bool envelope_is_taken_off_ = false;
};

} // namespace zlink::engine
