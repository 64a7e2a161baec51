// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"
#include "core/connection/socket_link.hpp"
#include "core/options/option_table.hpp"
#include "core/pipe/pipe.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace zlink::core {

/// What a pattern may ask of the socket it belongs to.
class pattern_host {
public:
    virtual ~pattern_host() = default;
    /// Ends a pipe; done when the pattern function that asks for it has returned.
    virtual void drop(pipe_end& pipe) = 0;
    /// Ends a pipe as drop() does, because its peer is not wanted now: of what was written nothing
    /// is sent, and of what has come nothing is read. The connection ends, and whoever has made it
    /// tries again; if that is this side, its next connection has a new pipe.
    virtual void refuse(pipe_end& pipe) = 0;
    /// This pipe is not read any more: gives the reading of its connection back to the I/O thread.
    virtual void ignore_arrivals(pipe_end& pipe) = 0;
    /// A message is going to be written to so many pipes, one after the other, until it has been.
    virtual void begin_message_to_many(std::size_t pipes) = 0;
    virtual void end_message_to_many() = 0;
    virtual const socket_options& options() const noexcept = 0;
};

/// How far a pattern has got with a message that begins with a part that names its pipe: kept by
/// pattern and socket together, as the socket may do such a part by itself, see
/// pattern::only_target().
struct addressed_progress {
    pipe_end* to = nullptr; ///< of the message being sent; null if it is dropped
    bool in_body = false;   ///< the part to be sent next is one of the message itself
    bool id_given = false;  ///< the part to be received next is one of the message itself
    bool addressed = false; ///< there are such parts: never changes
};

/// The routing rules of one socket type.
/// Thread safety: all functions are called in the socket's thread, one at a time.
/// Errors: functions that return int give 0 or an errno value, if not said otherwise; EAGAIN = try
/// again after readable() or writable(). What is not noexcept may throw std::bad_alloc.
class pattern {
public:
    virtual ~pattern() = default;

    /// The socket is going to look at mail, perhaps of many pipes.
    virtual void begin_mail() noexcept {}
    /// A new pipe. It counts as readable and writable until it says otherwise.
    virtual void attach(pipe_end& pipe) = 0;
    /// The handshake has told who the peer is; repeated after each reconnection.
    virtual void identified(pipe_end&, const peer_info&) {}
    /// An override may stop early, so that no peer can keep a call from returning. It then posts
    /// `readable` for this pipe again, so that a later look at the mail reads the rest.
    virtual void readable(pipe_end&) {}
    virtual void writable(pipe_end&) {}
    /// The peer is gone: nothing more is to be written. What it sent may still be read.
    virtual void peer_closed(pipe_end&) {}
    /// The pipe goes away.
    virtual void detach(pipe_end& pipe) = 0;
    /// Will what is left in this pipe be read? If not, it goes away as soon as the peer does.
    virtual bool reads_from(const pipe_end&) const noexcept { return true; }

    /// Sends one part. EAGAIN may also mean, once, that the message that was begun has lost its
    /// peer: the same part and the rest of the message are taken then, and dropped.
    virtual int send(const frame& part) = 0;
    /// The caller was told EAGAIN of the last part of a message and will not be served later: what
    /// it sends next is another message.
    virtual void last_part_refused() noexcept {}
    /// send() in short, of a part with `more` to follow or not. False if it takes more than a look,
    /// and nothing has happened: send() does it.
    virtual bool put(const std::byte* data, std::size_t size, bool more) noexcept;
    /// Sends one part to the members of a group; types without groups ignore it.
    virtual int send_to_group(std::string_view, const frame& part) { return send(part); }
    /// Gives the next part, valid until received() or any other call.
    virtual int receive(frame& part) = 0;
    /// receive() and received() in short, of a part of `most` bytes at most: it stays valid until
    /// any other call. Nothing if it takes more than a look: receive() tells.
    virtual taken_part take(std::size_t most) noexcept;
    /// Fast path: the only pipe that put() would write a message of one part to now, and the only
    /// one that take() would take the last part of a message from. The socket may bypass the
    /// pattern until any other function is called. If the type is addressed (progress()), a part
    /// with the routing id of the pipe comes before each message. Null if there is a choice. Asked
    /// right after such a put() or take().
    virtual pipe_end* only_target() noexcept { return nullptr; }
    virtual pipe_end* only_source() noexcept { return nullptr; }
    addressed_progress& progress() noexcept { return progress_; }
    /// The part given last was used.
    virtual void received() = 0;
    /// Does receive() give parts as they come, without a look at more than their first
    /// tuning::inproc::copied_at_once_bytes bytes?
    virtual bool passes_bodies_on() const noexcept { return false; }
    /// The pipe the part given last came from; null if from none.
    virtual const pipe_end* source() const noexcept { return nullptr; }
    /// Properties of the peer that sent the part given last, with a reference that the caller owns;
    /// null if there are none.
    virtual const metadata* share_source_metadata() const noexcept;
    /// The group of the part given last.
    virtual std::string_view source_group() const noexcept { return {}; }
    virtual bool can_send() = 0;
    virtual bool can_receive() = 0;

    /// Options of the type. EINVAL = not an option of this type.
    virtual int set_option(int id, const void* value, std::size_t bytes);
    virtual int get_option(int id, void* value, std::size_t* bytes);
    /// What could be done with one peer now (ZMQ_POLLOUT or 0). 0, EHOSTUNREACH if there is none of
    /// that name, or ENOTSUP if peers have no names here.
    virtual int peer_events(std::string_view routing_id, int& events);
    /// May a connection be made now? 0 or the errno for zmq_connect.
    virtual int check_connect() { return 0; }
    /// Is a second zmq_connect to the same endpoint ignored while the first one is in force?
    virtual bool connects_once() const noexcept { return false; }
    /// What connections made from now on carry.
    virtual wire_format wire() const noexcept { return wire_format::zmtp; }
    /// Becomes or ends to be a member of a group.
    virtual int join(std::string_view group);
    virtual int leave(std::string_view group);
    /// May a connection be made for the sake of its peer's routing id?
    virtual bool names_peers() const noexcept { return false; }
    /// The routing id of the peer attached last; 0 if there is none.
    virtual std::uint32_t newest_peer() const noexcept { return 0; }
    /// Lets go of the peer with this routing id.
    virtual int drop_peer(std::uint32_t routing_id);
    /// Does it send each message to many peers?
    virtual bool fans_out() const noexcept { return false; }
    /// What I/O threads may use; null if the type does not subscribe.
    virtual std::shared_ptr<subscription_source> subscriptions() { return nullptr; }
    /// ZMQ_LINGER of a new socket, unless the context says otherwise.
    virtual int default_linger_ms() const noexcept { return -1; }

protected:
    addressed_progress progress_;
};

/// A socket type as the composition root lists it.
struct pattern_row {
    socket_type_traits traits;
    std::unique_ptr<pattern> (*make)(pattern_host& host);
};

} // namespace zlink::core
