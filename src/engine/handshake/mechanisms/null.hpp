// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/mechanism.hpp"

namespace zlink::engine {

/// The NULL mechanism: no security. Each side sends READY with its metadata as soon as the
/// greetings are exchanged, without waiting for the other's.
///
/// Thread safety, errors and lifetime: see `mechanism`.
class null_mechanism final : public mechanism {
public:
    std::string_view name() const noexcept override { return "NULL"; }
    bool as_server() const noexcept override { return false; }
    bool next_command(const negotiation& state, std::vector<std::byte>& body) override;
    handshake_error process_command(negotiation& state, std::span<const std::byte> body) override;
    mechanism_status status() const noexcept override;

private:
    bool ready_sent_ = false;
    bool ready_received_ = false;
};

} // namespace zlink::engine
