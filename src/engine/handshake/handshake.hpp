// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/commands/command.hpp"
#include "engine/handshake/command_frames.hpp"
#include "engine/handshake/framing.hpp"
#include "engine/handshake/greeting.hpp"
#include "engine/handshake/handshake_error.hpp"
#include "engine/handshake/identity_exchange.hpp"
#include "engine/handshake/mechanism.hpp"
#include "engine/handshake/peer.hpp"
#include "transport/exchange.hpp"

namespace zlink::engine {

/// Upper limit for the body of a handshake command. ZMQ_MAXMSGSIZE is one for messages only.
inline constexpr std::size_t max_handshake_command_bytes = 64 * 1024;

/// The handshake of a connection, the last stage of its opening: greetings, then the commands of a
/// security mechanism; with peers older than ZMTP 3.0, which have none, an exchange of routing ids.
/// A transport may do without the greeting, see `introduction`.
/// Such peers are refused with `unsupported_version` by any mechanism but NULL, and when they would
/// have to be authenticated.
///
/// A state machine over bytes, see transport::exchange. Its owner moves bytes between it and a
/// connection until `done()` or `failed()`. Output may still be waiting then and goes out before
/// any traffic. Time limits are the owner's business.
///
/// Thread safety: distinct objects: safe; shared objects: unsafe.
/// Errors: protocol errors are values, see `error()`; only memory exhaustion throws
/// (std::bad_alloc), after which the object is only good for destruction.
/// Lifetime: owns all it needs; spans and views returned are valid until the next non-const call.
/// Memory: whatever the peer sends, at most one command body (`max_handshake_command_bytes`) is
/// buffered, and the metadata decoded from it (up to 13 bytes for each byte of a hostile body) is
/// kept.
class handshake final : public transport::exchange {
public:
    /// A handshake with the NULL mechanism.
    explicit handshake(local_peer local);

    /// A handshake with any mechanism, which must not be null.
    handshake(local_peer local, std::unique_ptr<mechanism> security);

    /// How to ask what is known of the connection; called once at most, if the peer has to be
    /// authenticated, and not after the end of the handshake. Before start().
    void on_connection_asked_for(std::function<transport::stream_info()> connection)
    {
        state_.connection = std::move(connection);
    }

    /// The connection is framed in its own way, for its commands and the traffic. Before start().
    /// One without a mechanism must not be asked for where peers have to be authenticated.
    void frame_by(framing how);

    /// Queues the first bytes. Call once, before `feed()`.
    void start() override;

    /// Takes bytes up to the end of the handshake and queues the answers; returns how many were
    /// taken. Fewer than offered only when `done()` or `failed()`: the rest belongs to the traffic
    /// phase (or to nobody); or while the mechanism is waiting.
    std::size_t feed(std::span<const std::byte> bytes) override;
    /// The peer has left while this is `waiting`, and these are the bytes that it has left behind:
    /// has failed() afterwards if they say why.
    void hear_last_words(std::span<const std::byte> bytes);

    /// The connection has ended: nobody is asked about the peer any more. The object can still be
    /// looked at.
    void connection_ended() noexcept;

    /// Bytes to send, in order.
    std::span<const std::byte> output() const noexcept override { return output_; }

    /// Removes the first `bytes` of `output()`: they were sent. More than there are means all.
    void consume_output(std::size_t bytes) noexcept override;

    state current_state() const noexcept override;
    void on_resumed(std::function<void()> resumed) override;

    /// Whether all commands of the mechanism were received and sent (at least queued in output).
    bool done() const noexcept;

    handshake_error error() const noexcept { return error_; }
    bool failed() const noexcept { return error_ != handshake_error::none; }

    /// Reason text of a received ERROR command; empty otherwise. Bytes chosen by the peer.
    std::string_view peer_reason() const noexcept { return state_.peer_reason; }

    /// What the other side announced; complete once done.
    const remote_peer& remote() const noexcept { return state_.remote; }

    const std::shared_ptr<frame_codec>& own_codec() const noexcept { return framing_.codec; }
    /// What encrypts the traffic; null: nothing. Once done; each call makes one.
    std::shared_ptr<frame_cipher> make_cipher()
    {
        return has_mechanism() ? mechanism_->make_cipher() : nullptr;
    }

    /// Received bytes currently kept because their command is not complete.
    std::size_t buffered_bytes() const noexcept
    {
        return reader_.buffered_bytes() +
               (identities_ && !done() ? identities_->buffered_bytes() : 0);
    }

private:
    std::size_t feed_greeting(std::span<const std::byte> bytes);
    std::size_t feed_command(std::span<const std::byte> bytes);
    std::size_t feed_identity(std::span<const std::byte> bytes);
    void begin_legacy();
    void process_frame();
    void process_routing_id();
    bool answer_control();
    void send_commands();
    bool is_waiting() const noexcept;
    bool greets() const noexcept { return framing_.begins_with == introduction::greeting; }
    bool has_mechanism() const noexcept
    {
        return framing_.begins_with != introduction::routing_ids;
    }
    frame_codec& codec() const noexcept
    {
        return framing_.codec ? *framing_.codec : *zmtp3_codec();
    }
    void fail(handshake_error error);

    negotiation state_;
    std::unique_ptr<mechanism> mechanism_;
    framing framing_;
    bool knows_routing_id_ = false; ///< of a peer that has nothing else to say
    greeting greeting_;
    command_reader reader_;
    std::optional<identity_exchange> identities_; ///< of a peer older than ZMTP 3.0
    std::vector<std::byte> output_;
    handshake_error error_ = handshake_error::none;
};

} // namespace zlink::engine
