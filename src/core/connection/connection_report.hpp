// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/event_sink.hpp"
#include "core/pipe/shared_text.hpp"
#include "engine/handshake/handshake_error.hpp"
#include "transport/stream.hpp"

#include <cstdint>
#include <memory>

namespace zlink::core {

/// Tells monitors what happens to the connections of a session, one after the other. Events name
/// both ends of a connection: what there is to know of it is asked for once and kept, as a broken
/// connection cannot be asked any more.
///
/// Thread safety: the I/O thread only, but for the constructor.
/// Lifetime: the sink must last until stop(), the pointer to the stream as long as this.
class connection_report {
public:
    /// `stream` is null while there is no connection. `endpoint`: the own one of connections that
    /// were accepted; of others the one that they are made to.
    connection_report(event_sink& events, const std::unique_ptr<transport::stream>& stream,
                      bool was_accepted, shared_text endpoint) noexcept;

    /// What there is to know of the connection, which must be there. Throws std::bad_alloc.
    const transport::stream_info& facts();
    /// The connection is another one now, or needs less memory.
    void forget_facts() noexcept { facts_.reset(); }
    /// The same, unless a monitor wants them.
    void forget_unless_monitored() noexcept;

    /// Notes the descriptor of a connection that is there now; -1 before that. Throws
    /// std::bad_alloc, and the descriptor is not known.
    void note_descriptor();
    /// That of the last connection.
    int descriptor() const noexcept { return descriptor_; }

    /// ZMQ_EVENT_* with its value.
    void tell(std::uint64_t event, int value) noexcept;
    /// The handshake, or a frame of the traffic, was refused.
    void tell_failure(const engine::failure_event& what) noexcept;
    /// Nothing more is told.
    void stop() noexcept { events_ = nullptr; }

private:
    event_sink* events_; ///< null after stop()
    const std::unique_ptr<transport::stream>& stream_;
    const bool was_accepted_;
    const shared_text endpoint_;
    std::unique_ptr<const transport::stream_info> facts_; ///< while they are of use
    int descriptor_ = -1;
};

} // namespace zlink::core
