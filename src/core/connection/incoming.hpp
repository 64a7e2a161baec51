// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options/options.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/traffic/decoder.hpp"
#include "engine/wire/wire.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace zlink::core {

/// What comes in through a pipe: makes messages of the bytes of one connection after the other, and
/// passes them on to the socket, all of them or with ZMQ_CONFLATE the newest. Between these
/// messages it puts the notices about the connections (core/pipe/notices.hpp).
///
/// Invariant: there is a connection from begin() to reset().
/// Thread safety: the I/O thread only, and nothing but decoder() while another one reads, see
/// reading_lease.
/// Lifetime: the channels of a pipe must last until the next begin(), also after leave().
class incoming {
public:
    explicit incoming(std::shared_ptr<const socket_options> options) noexcept
        : options_(std::move(options))
    {}

    /// A connection with this wire begins; what it brings is for `to`. Commands that are no
    /// messages are told to `commands`. Throws std::bad_alloc, and nothing has changed.
    void begin(const engine::wire& how, std::shared_ptr<pipe_end> to,
               engine::command_handler& commands);
    /// Reads the connection; after each time pass_on() is due. Only after begin().
    engine::decoder& decoder() noexcept { return *decoder_; }
    /// Takes bytes that were read by others. Ends early if the connection does.
    engine::inbound_error feed(std::span<const std::byte> bytes);
    /// Gives the socket what has become complete.
    void pass_on();
    /// The peer, a subscriber of ZMTP 1.0, chooses among all messages by itself.
    void subscribe_to_all();
    /// A message that no peer has sent, for the application.
    void tell(std::string_view notice);
    /// Does the application want to be told that the connection has gone?
    bool tells_of_loss() const noexcept;
    /// The application is told that the connection has gone, if it wants; after reset().
    void tell_of_loss(bool made_again);
    /// The connection has gone: drops the message of which only a part has come.
    void reset() noexcept;
    /// The pipe is given up: the socket gets nothing more.
    void leave() noexcept { to_.reset(); }
    bool keeps_newest() const noexcept { return unconflated_ != nullptr; }

private:
    std::unique_ptr<engine::decoder> make_decoder(const engine::wire& how, base::channel& to,
                                                  engine::command_handler& commands) const;

    const std::shared_ptr<const socket_options> options_;
    std::shared_ptr<pipe_end> to_;
    std::unique_ptr<base::channel> unconflated_; ///< what comes in, if only the newest goes on
    std::unique_ptr<engine::decoder> decoder_;
    bool connected_ = false;
};

} // namespace zlink::core
