// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"
#include "core/connection/socket_side.hpp"
#include "core/options/option_table.hpp"
#include "core/pipe/pipe.hpp"

#include <cerrno>
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
    /// A message is going to be written to this many pipes, one after the other.
    virtual void begin_message_to_many(std::size_t pipes) = 0;
    virtual void end_message_to_many() = 0;
    virtual const socket_options& options() const noexcept = 0;
};

/// How far a pattern has got with a message that begins with a part that names its pipe: kept by
/// pattern and socket together, as the socket may do such a part by itself, see
/// direct_rules::only_target().
struct addressed_progress {
    pipe_end* to = nullptr; ///< of the message being sent; null if it is dropped
    bool in_body = false;   ///< the part to be sent next is one of the message itself
    bool id_given = false;  ///< the part to be received next is one of the message itself
    bool addressed = false; ///< there are such parts: never changes
};

/// What a pattern does for parts that have nothing in their way, see fast_path.
class direct_rules {
public:
    /// pattern::send() of a part with `more` to follow or not. False if there may be something in
    /// its way, and nothing has happened.
    virtual bool put(const std::byte*, std::size_t, bool) noexcept { return false; }
    /// pattern::receive() and received() in one, of a part of at most `max_bytes` bytes: it stays
    /// valid until any other call. Nothing if only receive() can tell.
    virtual taken_part take(std::size_t) noexcept { return {}; }
    /// The only pipe that put() would write a message of one part to now, and the only one that
    /// take() would take the last part of a message from. The socket may bypass the pattern until
    /// any other function is called. If the type is addressed (progress()), a part with the routing
    /// id of the pipe comes before each message. Null if there is a choice. Asked right after such
    /// a put() or take().
    virtual pipe_end* only_target() noexcept { return nullptr; }
    virtual pipe_end* only_source() noexcept { return nullptr; }
    addressed_progress& progress() noexcept { return progress_; }

protected:
    ~direct_rules() = default;
    addressed_progress progress_;
};

/// What a pattern does for groups, if its messages have them.
class group_rules {
public:
    /// Sends one part to the members of a group.
    virtual int send_to_group(std::string_view, const frame&) { return ENOTSUP; }
    /// The group of the part given last.
    virtual std::string_view source_group() const noexcept { return {}; }
    /// The socket becomes a member of a group, or ends to be one.
    virtual int join(std::string_view) { return ENOTSUP; }
    virtual int leave(std::string_view) { return ENOTSUP; }

protected:
    ~group_rules() = default;
};

/// What a pattern does for its peers' names, if it knows them by routing id.
class name_rules {
public:
    /// What could be done with this peer now (ZMQ_POLLOUT or 0). 0, EHOSTUNREACH if there is none
    /// of that name, or ENOTSUP.
    virtual int peer_events(std::string_view, int&) { return ENOTSUP; }
    /// May a connection be made now? 0 or the errno for zmq_connect.
    virtual int check_connect() = 0;

protected:
    ~name_rules() = default;
};

/// What a pattern does for its peers' numbers, if it gives them some.
class number_rules {
public:
    /// The routing id of the peer attached last.
    virtual std::uint32_t newest_peer() const noexcept = 0;
    /// Lets go of the peer with this routing id.
    virtual int drop_peer(std::uint32_t routing_id) = 0;

protected:
    ~number_rules() = default;
};

/// The routing rules of one socket type.
/// Thread safety: all functions are called in the socket's thread, one at a time.
/// Errors: functions that return int give 0 or an errno value, if not said otherwise; EAGAIN = try
/// again after readable() or writable(). What is not noexcept may throw std::bad_alloc.
class pattern : public direct_rules {
public:
    virtual ~pattern() = default;

    /// Rules that only some types have; null without them.
    virtual group_rules* groups() noexcept { return nullptr; }
    virtual name_rules* names() noexcept { return nullptr; }
    virtual number_rules* numbers() noexcept { return nullptr; }

    /// The socket is going to handle mail, perhaps of many pipes.
    virtual void begin_mail() noexcept {}
    /// A new pipe. It counts as readable and writable until it says otherwise.
    virtual void attach(pipe_end& pipe) = 0;
    /// The handshake has told who the peer is; repeated after each reconnection.
    virtual void identified(pipe_end&, const peer_info&) {}
    /// An override may stop early, so that no peer can keep a call from returning. It then posts
    /// `readable` for this pipe again, so that the rest is read when mail is handled next.
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
    /// Gives the next part, valid until received() or any other call.
    virtual int receive(frame& part) = 0;
    /// The part given last was used.
    virtual void received() = 0;
    /// Does receive() give parts as they come, having read no more of them than their first
    /// tuning::inproc::copied_at_once_bytes bytes?
    virtual bool passes_bodies_on() const noexcept { return false; }
    /// The pipe the part given last came from; null if from none.
    virtual const pipe_end* source() const noexcept { return nullptr; }
    /// Properties of the peer that sent the part given last, with a reference that the caller owns;
    /// null if there are none.
    virtual const metadata* share_source_metadata() const noexcept
    {
        const pipe_end* const pipe = source();
        return pipe ? pipe->slot.properties.share() : nullptr;
    }
    virtual bool can_send() = 0;
    virtual bool can_receive() = 0;

    /// Options of the type. EINVAL = not an option of this type.
    virtual int set_option(int, const void*, std::size_t) { return EINVAL; }
    virtual int get_option(int, void*, std::size_t*) { return EINVAL; }
    /// What connections made from now on carry.
    virtual wire_format wire() const noexcept { return wire_format::zmtp; }
    /// What I/O threads may use; null if the type does not subscribe.
    virtual std::shared_ptr<subscription_source> subscriptions() { return nullptr; }
};

/// A socket type as the composition root lists it.
struct pattern_row {
    socket_type_traits traits;
    std::unique_ptr<pattern> (*make)(pattern_host& host);
};

} // namespace zlink::core
