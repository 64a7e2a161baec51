// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/heartbeat_timer.hpp"
#include "core/connection/incoming.hpp"
#include "core/connection/reading_lease.hpp"
#include "engine/handshake/handshake_error.hpp"
#include "engine/wire/frame_codec.hpp"
#include "transport/stream.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace zlink::core {

/// Reads a connection in its I/O thread: takes bytes from the stream, lets incoming() make messages
/// of them, tells the heartbeat that the peer lives, and shares the reading with the socket's
/// thread through the lease of the pipe's link. The counterpart of writer: like that it never
/// waits, and the caller does what the status says.
///
/// Thread safety: the I/O thread only, but for what reading_lease allows the socket's thread.
/// Lifetime: a stream must last until the lease is taken back or stopped; `commands` longer. Until
/// the next begin() the lease is kept, and with it the channel that the decoder writes to.
class reader {
public:
    /// How a read has ended.
    enum class status : std::uint8_t {
        dry,           ///< Nothing more is there: wait for input, then read again.
        full,          ///< The queue takes no more: whoever makes room reads, or asks for it.
        limit_reached, ///< More is there, but other connections come first: read again later.
        lost,          ///< The connection has ended, or there is no memory for what comes.
        violated,      ///< The peer does not keep to the protocol.
        damaged,       ///< A frame cannot be opened, see fault().
    };
    /// The heartbeat that is told what comes, and whom its timer keeps alive while it runs. The
    /// owner is asked for only when reading pauses or resumes: a read does not count references.
    struct pulse {
        heartbeat_timer& heartbeat;
        std::function<std::shared_ptr<void>()> owner;
    };

    /// Fairness limits of one call of read(): the number of reads, and the time after the first of
    /// them. Bytes do not tell the time: they may be one body, or thousands of messages that each
    /// have to be decrypted.
    struct call_limits {
        int reads = 16;
        std::chrono::microseconds time{200};
    };

    /// `commands` is told the commands of the peer that are no messages.
    reader(std::shared_ptr<const socket_options> options, engine::command_handler& commands,
           call_limits limits) noexcept
        : commands_(commands), incoming_(std::move(options)), limits_(limits)
    {}
    /// With the usual limits.
    reader(std::shared_ptr<const socket_options> options,
           engine::command_handler& commands) noexcept
        : reader(std::move(options), commands, {})
    {}

    /// Where the messages go; the I/O thread only.
    core::incoming& incoming() noexcept { return incoming_; }

    /// A connection with this wire begins; what it brings is for `to`, whose link has the lease.
    void begin(const engine::wire& how, std::shared_ptr<pipe_end> to,
               std::shared_ptr<reading_lease> lease)
    {
        farewell_.reset();
        incoming_.begin(how, std::move(to), commands_);
        lease_ = std::move(lease);
    }
    /// Takes bytes that were read by others. `dry` if they are as they should be.
    status feed(std::span<const std::byte> bytes) { return status_of(incoming_.feed(bytes)); }
    /// Why a frame could not be opened.
    engine::handshake_error fault() const noexcept { return fault_; }
    /// What the peer may be told of the end of the connection, if that is because of what it sent.
    const std::optional<engine::farewell>& farewell() const noexcept { return farewell_; }
    /// Reads up to the fairness limit. When the queue is full, the reading is offered to the
    /// socket's thread.
    status read(transport::stream& from, const pulse& pulse);
    /// Reads what has come by now, whatever the receive buffer of the kernel holds, also if the
    /// queue is full. `dry` also if the connection has ended.
    status read_all(transport::stream& from);
    /// Reads as much and drops it: only that something comes matters.
    static status listen(transport::stream& from, const pulse& pulse);
    /// Leases the reading to the socket's thread. False: not now.
    bool grant_lease(transport::stream& from, const heartbeat_timer& heartbeat);
    /// The connection goes: the socket's thread reads it no more, and what it has met is dropped.
    void stop_sharing();

private:
    status status_of(engine::inbound_error error) noexcept;
    // Heartbeats and conflation want to see what comes in.
    bool must_read_itself(const heartbeat_timer& heartbeat) const noexcept
    {
        return heartbeat.judges() || incoming_.keeps_newest();
    }
    status take_back();

    engine::command_handler& commands_;
    // Ahead of the decoder, which uses its channel to the end.
    std::shared_ptr<reading_lease> lease_;
    core::incoming incoming_;
    const call_limits limits_;
    engine::handshake_error fault_ = engine::handshake_error::none;
    std::optional<engine::farewell> farewell_;
};

} // namespace zlink::core
