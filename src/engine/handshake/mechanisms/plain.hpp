// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/secret.hpp"
#include "engine/handshake/mechanisms/asking_mechanism.hpp"

#include <memory>
#include <string>

namespace zlink::engine {

/// The PLAIN mechanism (RFC 24) of the side that shows a name and a password, which travel readable
/// over the connection.
///
/// Thread safety, errors and lifetime: see `mechanism`.
class plain_client final : public mechanism {
public:
    /// Both have at most 255 bytes.
    plain_client(std::string username, base::secret password)
        : username_(std::move(username)), password_(std::move(password))
    {}

    std::string_view name() const noexcept override { return "PLAIN"; }
    bool as_server() const noexcept override { return false; }
    bool next_command(negotiation& state, std::vector<std::byte>& body) override;
    handshake_error process_command(negotiation& state, std::span<const std::byte> body) override;
    mechanism_status status() const noexcept override;

private:
    enum class step : std::uint8_t { send_hello, await_welcome, send_initiate, await_ready, ready };

    std::string username_;
    base::secret password_;
    step step_ = step::send_hello;
};

/// The PLAIN mechanism of the side that has the name and the password examined.
class plain_server final : public asking_mechanism {
public:
    explicit plain_server(std::shared_ptr<authenticator> asked) : asking_mechanism(std::move(asked))
    {}

    std::string_view name() const noexcept override { return "PLAIN"; }
    bool as_server() const noexcept override { return true; }
    bool next_command(negotiation& state, std::vector<std::byte>& body) override;
    handshake_error process_command(negotiation& state, std::span<const std::byte> body) override;

private:
    enum class step : std::uint8_t { await_hello, send_welcome, await_initiate, send_ready, ready };

    bool is_ready() const noexcept override { return step_ == step::ready; }
    handshake_error process_hello(const negotiation& state, std::span<const std::byte> data);

    step step_ = step::await_hello;
};

} // namespace zlink::engine
