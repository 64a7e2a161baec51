// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/secret.hpp"
#include "engine/curve/box.hpp"
#include "engine/handshake/mechanisms/asking_mechanism.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace zlink::engine {

/// The CURVE mechanism (RFC 26, CurveZMQ) of the side that knows the other's public key beforehand.
/// Both sides make short-term keys for each connection, so what was recorded cannot be read later,
/// even by who has got hold of the long-term keys.
///
/// Thread safety, errors and lifetime: see `mechanism`.
class curve_client final : public mechanism {
public:
    /// `secret`: of `own`, 32 bytes; anything shorter counts as zeros.
    curve_client(const curve::public_key& own, const base::secret& secret,
                 const curve::public_key& server,
                 curve::random_source random = curve::random_bytes);

    std::string_view name() const noexcept override { return "CURVE"; }
    bool as_server() const noexcept override { return false; }
    bool next_command(negotiation& state, std::vector<std::byte>& body) override;
    handshake_error process_command(negotiation& state, std::span<const std::byte> body) override;
    mechanism_status status() const noexcept override;
    handshake_error error() const noexcept override { return error_; }
    std::shared_ptr<frame_cipher> make_cipher() override;

private:
    enum class step : std::uint8_t { send_hello, await_welcome, send_initiate, await_ready, ready };
    using key = std::array<std::byte, curve::key_bytes>;
    struct secrets {
        key long_term;    ///< c
        key short_term;   ///< c'
        key hello;        ///< shared by c' and S
        key conversation; ///< shared by c' and S'
    };

    bool append_hello(std::vector<std::byte>& body);
    bool append_initiate(const negotiation& state, std::vector<std::byte>& body);
    handshake_error process_welcome(std::span<const std::byte> body);
    handshake_error process_ready(negotiation& state, std::span<const std::byte> body);

    const curve::public_key own_;    ///< C
    const curve::public_key server_; ///< S
    const curve::random_source random_;
    base::secret_object<secrets> secrets_;
    curve::public_key short_term_{};        ///< C'
    curve::public_key server_short_term_{}; ///< S'
    std::array<std::byte, 96> cookie_{};
    std::uint64_t sent_ = 0; ///< counter of the last command
    std::uint64_t received_ = 0;
    step step_ = step::send_hello;
    handshake_error error_ = handshake_error::none;
};

/// The CURVE mechanism of the side whose public key others know. Who they are is told to the
/// authenticator, if there is one, by their public key.
class curve_server final : public asking_mechanism {
public:
    using clock = std::chrono::steady_clock;
    /// A client has to show its cookie within this time (RFC 26).
    static constexpr std::chrono::seconds cookie_lifetime{60};

    /// `secret`: 32 bytes; anything shorter counts as zeros. `asked` may be null: all clients are
    /// admitted.
    curve_server(const base::secret& secret, std::shared_ptr<authenticator> asked,
                 curve::random_source random = curve::random_bytes,
                 clock::time_point (*now)() = clock::now);

    std::string_view name() const noexcept override { return "CURVE"; }
    bool as_server() const noexcept override { return true; }
    bool next_command(negotiation& state, std::vector<std::byte>& body) override;
    handshake_error process_command(negotiation& state, std::span<const std::byte> body) override;
    handshake_error error() const noexcept override;
    std::shared_ptr<frame_cipher> make_cipher() override;

private:
    enum class step : std::uint8_t { await_hello, send_welcome, await_initiate, send_ready, ready };
    using key = std::array<std::byte, curve::key_bytes>;
    struct secrets {
        key long_term;    ///< s
        key short_term;   ///< s'
        key cookie;       ///< t
        key hello;        ///< shared by s and C'
        key conversation; ///< shared by s' and C'
        key vouch;        ///< shared by s' and C
        /// What a cookie seals: C' and s'.
        std::array<std::byte, 2 * curve::key_bytes> cookie_text;
        std::array<std::byte, 2 * curve::key_bytes> opened_cookie;
    };

    bool is_ready() const noexcept override { return step_ == step::ready; }
    handshake_error process_hello(std::span<const std::byte> body);
    bool append_welcome(std::vector<std::byte>& body);
    handshake_error process_initiate(negotiation& state, std::span<const std::byte> body);
    void append_ready(const negotiation& state, std::vector<std::byte>& body);

    const curve::random_source random_;
    clock::time_point (*const now_)();
    base::secret_object<secrets> secrets_;
    curve::public_key client_short_term_{}; ///< C'
    clock::time_point cookie_made_{};
    std::uint64_t sent_ = 0;     ///< counter of the last command
    std::uint64_t received_ = 0; ///< the same, of the client
    step step_ = step::await_hello;
    handshake_error error_ = handshake_error::none;
};

} // namespace zlink::engine
