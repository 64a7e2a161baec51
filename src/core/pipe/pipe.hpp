// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/line_allocator.hpp"
#include "base/wait/mailbox.hpp"
#include "core/pipe/channel_pair.hpp"
#include "core/pipe/peer_info.hpp"
#include "core/pipe/pipe_input.hpp"
#include "core/pipe/pipe_output.hpp"
#include "core/pipe/pipe_peer.hpp"
#include "core/pipe/pipe_slot.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace zlink::core {

/// A socket's end of a pipe: writes messages by `out`, reads them by `in`, and is told by the other
/// end, as mail to its socket, what happens there.
/// Thread safety: the thread of the socket that has it. Any thread: notify(), set_peer() and
/// is_refused(); the other end calls the pipe_peer functions, in its thread. Until a socket has it,
/// its maker uses it (inproc: under the lock of the registry).
class pipe_end final : public base::mail,
                       public pipe_peer,
                       public std::enable_shared_from_this<pipe_end> {
    // The thread of the other end reads some of these when it tells of something. So they do not
    // lie in the cache lines of `out` and `in`, which this end's thread writes with each message.
    const std::shared_ptr<channel_pair> channels_;
    std::shared_ptr<base::mailbox> box_;
    std::shared_ptr<pipe_peer> other_;
    std::atomic<peer_info*> peer_{nullptr}; ///< until the socket has taken it
    bool marks_notices_ = false;            ///< see notice_frame()
    bool other_gone_ = false;
    bool closed_ = false;
    std::atomic<bool> refused_{false};
    std::atomic<bool> taken_back_{false}; ///< by the other end
    shared_text disconnect_message_;      ///< the last message to the other end; empty = none

public:
    /// What the owning socket is told by mail, as event bits. Handled in this order.
    enum event : std::uint32_t {
        attached = 1,   ///< a new pipe for the socket
        identified = 2, ///< take_peer() has what the peer announced
        readable = 4,
        writable = 8,
        closed = 16,  ///< the other end is gone; what it sent can still be read
        leased = 32,  ///< this end may read by itself, see inlet::read()
        leaving = 64, ///< the other end is going: a message that says so follows, and `closed`
    };

    /// `side_a`: this end writes a_to_b. `box` may be null until the socket is known (inproc).
    pipe_end(std::shared_ptr<channel_pair> channels, bool side_a,
             std::shared_ptr<base::mailbox> box);
    ~pipe_end() override;

    pipe_origin origin; ///< set by the maker of the pipe
    pipe_output out;
    pipe_input in;
    pipe_slot slot; ///< of the socket that has the pipe, and of its pattern

    void set_mailbox(std::shared_ptr<base::mailbox> box) { box_ = std::move(box); }
    void set_other_end(std::shared_ptr<pipe_peer> other) noexcept;
    /// A connection carries the messages. The owner of the channels owns both, or outlives this.
    void set_connection(outlet& to, inlet& from) noexcept
    {
        out.set_outlet(&to);
        in.set_inlet(&from);
    }
    void set_conflation(bool of_output, bool of_input) noexcept
    {
        out.set_conflation(of_output);
        in.set_conflation(of_input);
    }
    /// Both ends are in this process.
    void set_inproc() noexcept;
    /// How many messages may wait on this side of each direction; 0 = any number.
    void set_limits(int out_messages, int in_messages) noexcept;
    const std::shared_ptr<channel_pair>& channels() const noexcept { return channels_; }
    /// Tells the socket; false if the socket is gone.
    bool notify(std::uint32_t events) noexcept;
    /// Tells the socket that there is something to read: see flush_list::hold().
    void tell_held() noexcept { notify(readable); }

    /// Any thread: what the handshake found.
    void set_peer(std::unique_ptr<peer_info> info) noexcept;
    /// What was set last; null if that was taken already.
    std::unique_ptr<peer_info> take_peer() noexcept;

    /// The other end is gone (the event was handled): it need not be told of anything.
    void mark_other_gone() noexcept
    {
        out.close();
        other_gone_ = true;
    }
    /// The other end is gone, or is to go once all is read: nothing more is written.
    bool other_closed() const noexcept { return out.is_closed(); }
    bool belongs_to(const pipe_peer& other) const noexcept { return other_.get() == &other; }
    /// Has the other end taken back what it has written before anything of it was read? See
    /// pipe_ending::refused. What any other end has left can still be read.
    bool is_taken_back() const noexcept
    {
        return taken_back_.load(std::memory_order_acquire) && in.is_untouched();
    }

    /// Tells the other end that nothing more is written, before this end itself ends: `left` or
    /// `output_ended`.
    void end_output(pipe_ending how) noexcept;
    /// The connection is going to be closed by the side that has made it: nothing more is written,
    /// and what has come is read until `closed`, see pipe_ending::left. False if the other end is
    /// gone already: nothing follows.
    bool leave() noexcept;
    /// Whether the peer is not wanted now: then hang_up() says so, see pipe_ending::refused.
    void set_refused(bool refused) noexcept { refused_.store(refused, std::memory_order_relaxed); }
    bool is_refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
    /// Ends the peer's side, as close() does, but what it has sent can still be read.
    void hang_up(int linger_ms) noexcept;
    /// Gives this end up; returns whether it was not given up before.
    bool close(int linger_ms) noexcept;
    bool closed_here() const noexcept { return closed_; }

private:
    void on_readable() noexcept override;
    void on_writable() noexcept override { notify(writable); }
    void on_ended(pipe_ending how, int linger_ms) noexcept override;

    void write_disconnect_message() noexcept;
};

/// Makes a pipe end whose reference count has a fixed place relative to the cache lines: the other
/// end changes the count with each post to the mailbox.
inline std::shared_ptr<pipe_end> make_pipe_end(std::shared_ptr<channel_pair> channels, bool side_a,
                                               std::shared_ptr<base::mailbox> box)
{
    return std::allocate_shared<pipe_end>(base::line_allocator<pipe_end>(), std::move(channels),
                                          side_a, std::move(box));
}

} // namespace zlink::core
