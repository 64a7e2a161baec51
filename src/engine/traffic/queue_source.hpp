// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/channel.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/traffic/frame_source.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace zlink::engine {

/// The header of a frame in a queue.
struct queued_header {
    zmtp3::frame_header header;
    std::uint64_t position; ///< of the frame
    bool is_body_apart;     ///< the body is not in the memory of the header
};
/// Moves `ahead`, where a frame begins, to its body, which lies in one piece.
queued_header next_header(base::byte_queue::lookahead& ahead) noexcept;

/// The messages in the queue of a channel, as they lie there; and what of them was written in
/// another form, or past the queue. Reports to the producer which ones were taken.
///
/// Messages count as taken when they are listed or encoded.
///
/// Thread safety: that of outgoing; it is the consumer of the channel.
/// Lifetime: the channel must outlive the object.
class queue_source final : public frame_source {
public:
    explicit queue_source(base::channel& from) noexcept : from_(from) {}

    /// Is there something to list?
    bool waits() noexcept;
    std::size_t next(std::span<iovec> entries, std::size_t& bytes) noexcept override;
    void taken(std::size_t bytes) noexcept override
    {
        from_.queue.sent(bytes);
        if (bytes != 0)
            rest_expected_ = false; // it was first
    }
    bool at_boundary() const noexcept override
    {
        return from_.queue.at_boundary() && !rest_expected_;
    }

    /// Is all written that was published?
    bool all_taken() const noexcept
    {
        return from_.queue.send_position() == from_.queue.published_position();
    }
    /// Up to where it is written.
    std::uint64_t position() const noexcept { return from_.queue.send_position(); }
    std::uint64_t published_position() const noexcept { return from_.queue.published_position(); }

    // What is written in another form

    base::byte_queue::lookahead look_ahead() noexcept
    {
        return from_.queue.look_behind_send_cursor();
    }
    /// The last messages up to this position were encoded, unless they were counted before.
    void count_taken(std::uint64_t position, std::uint64_t messages = 1) noexcept;
    /// Do messages up to this position count as taken?
    bool is_counted(std::uint64_t position) const noexcept { return position <= counted_until_; }
    /// What they became is written up to this position.
    void written_until(std::uint64_t position) noexcept
    {
        if (position > from_.queue.send_position())
            from_.queue.sent(static_cast<std::size_t>(position - from_.queue.send_position()));
    }

    // What is written past the queue, see outgoing

    /// Lists all that is published; false if it does not fit.
    bool list_all(std::span<iovec> entries, base::byte_queue::batch& all) noexcept;
    /// What was listed counts as taken.
    void count_listed(const base::byte_queue::batch& listed) noexcept;
    void passed_by(std::size_t queued, std::size_t message, std::size_t taken) noexcept;
    void count_passed_by() noexcept;
    /// A message was taken in part past the queue. Its rest is still to be committed as the next
    /// bytes, or is there and not written yet.
    bool expects_rest() const noexcept { return rest_expected_ || rest_is_void_; }
    /// The connection that such a message had begun on is gone: drops the rest, if it is there.
    /// False if it is still to come.
    bool drop_void_rest() noexcept;

    /// The connection has gone. The first message that it did not take as a whole is the next one;
    /// of plain bytes, what was committed together with a byte that was taken is dropped.
    void end(bool plain_bytes) noexcept;
    /// Drops all messages.
    void discard() noexcept;

    /// Does the producer wait for room that has been made? Asked once.
    bool wakes_producer() noexcept { return std::exchange(wake_producer_, false); }

private:
    void return_to_message_start() noexcept;

    base::channel& from_;
    /// A direct write was partial: its continuation is next in the queue.
    bool rest_expected_ = false;
    bool rest_is_void_ = false;       ///< that connection was lost: the continuation is dropped
    bool wake_producer_ = false;      ///< it waits for room, and there is some now
    std::uint64_t counted_until_ = 0; ///< messages up to this position count as taken
    std::uint64_t passed_by_ = 0;     ///< messages that were taken past the queue
};

} // namespace zlink::engine
