// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/mechanisms/asking_mechanism.hpp"

#include <memory>

namespace zlink::engine {

/// The NULL mechanism: nothing is encrypted, and a peer shows no more than its address. Each side
/// sends READY with its metadata as soon as the greetings are exchanged and its authenticator, if
/// it has one, admits the peer; without waiting for the other's.
///
/// Thread safety, errors and lifetime: see `mechanism`.
class null_mechanism final : public asking_mechanism {
public:
    /// Null: every peer is admitted.
    explicit null_mechanism(std::shared_ptr<authenticator> asked = nullptr)
        : asking_mechanism(std::move(asked))
    {}

    std::string_view name() const noexcept override { return "NULL"; }
    bool as_server() const noexcept override { return false; }
    bool next_command(negotiation& state, std::vector<std::byte>& body) override;
    handshake_error process_command(negotiation& state, std::span<const std::byte> body) override;

private:
    bool is_ready() const noexcept override { return ready_sent_ && ready_received_; }

    bool ready_sent_ = false;
    bool ready_received_ = false;
};

} // namespace zlink::engine
