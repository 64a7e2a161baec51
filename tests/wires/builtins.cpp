// SPDX-License-Identifier: Apache-2.0
// The composition root of libraries for tests: their connections have wires that change all they
// carry. ZLINK_TOY_CODEC, ZLINK_TOY_CIPHER, ZLINK_CURVE_CIPHER, ZLINK_TLS_BELOW, ZLINK_WEBSOCKET
// and ZLINK_WSS (0 or 1) say which.
#include "builtins.hpp"

#if ZLINK_CURVE_CIPHER
#include "engine/curve/box.hpp"
#include "engine/curve/cipher.hpp"
#endif
#include "engine/handshake/mechanisms/null.hpp"
#include "engine/handshake/zws.hpp"
#include "engine/wire/toy_wire_for_tests.hpp"
#include "sockets/patterns.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/tcp/tcp.hpp"
#if ZLINK_TLS_BELOW
#include "transport/tls/context.hpp"
#include "transport/tls/endpoints.hpp"
#endif
#if ZLINK_TLS_BELOW || ZLINK_WSS
#include "support/certificates.hpp"
#endif
#include "transport/udp/udp.hpp"
#include "transport/websocket/websocket.hpp"
#if ZLINK_WSS
#include "transport/wss/wss.hpp"
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <zmq.h>

namespace zlink {
namespace {

/// NULL, and a cipher.
class toy_mechanism final : public engine::mechanism {
public:
    std::string_view name() const noexcept override { return "TOY"; }
    bool as_server() const noexcept override { return false; }
    bool next_command(engine::negotiation& state, std::vector<std::byte>& body) override
    {
        return null_.next_command(state, body);
    }
    engine::handshake_error process_command(engine::negotiation& state,
                                            std::span<const std::byte> body) override
    {
        return null_.process_command(state, body);
    }
    engine::mechanism_status status() const noexcept override { return null_.status(); }
    std::shared_ptr<engine::frame_cipher> make_cipher() override
    {
        return std::make_shared<test::toy_cipher>();
    }

private:
    engine::null_mechanism null_;
};

#if ZLINK_CURVE_CIPHER
/// NULL, and the cipher of CURVE with a key that both sides know. Who of them is the client of the
/// cipher they find out by lot: each command begins with a random number, and the smaller one wins.
class lot_mechanism final : public engine::mechanism {
public:
    lot_mechanism() { drawn_ = engine::curve::random_bytes(own_); }
    std::string_view name() const noexcept override { return "LOT"; }
    bool as_server() const noexcept override { return false; }
    bool next_command(engine::negotiation& state, std::vector<std::byte>& body) override
    {
        std::vector<std::byte> rest;
        if (!drawn_ || !null_.next_command(state, rest))
            return false;
        engine::append_bytes(body, own_);
        engine::append_bytes(body, rest);
        return true;
    }
    engine::handshake_error process_command(engine::negotiation& state,
                                            std::span<const std::byte> body) override
    {
        if (body.size() < lot_bytes)
            return engine::handshake_error::malformed_command;
        std::ranges::copy(body.first(lot_bytes), peers_.begin());
        if (own_ == peers_) // once in 2^64 times: the next connection draws anew
            return engine::handshake_error::not_authentic;
        return null_.process_command(state, body.subspan(lot_bytes));
    }
    engine::mechanism_status status() const noexcept override { return null_.status(); }
    engine::handshake_error error() const noexcept override
    {
        return drawn_ ? engine::handshake_error::none : engine::handshake_error::no_random_bytes;
    }
    std::shared_ptr<engine::frame_cipher> make_cipher() override
    {
        using engine::curve::cipher;
        constexpr std::array<std::byte, engine::curve::key_bytes> key{std::byte{1}};
        return std::make_shared<cipher>(own_ < peers_ ? cipher::role::client : cipher::role::server,
                                        key, 0, 0);
    }

private:
    static constexpr std::size_t lot_bytes = 8;
    using lot = std::array<std::byte, lot_bytes>;

    engine::null_mechanism null_;
    lot own_{};
    lot peers_{};
    bool drawn_ = false;
};
#endif

[[maybe_unused]] engine::framing frame_by_toy_codec(std::string_view, bool)
{
    return {.codec = std::make_shared<test::toy_codec>()};
}

core::authentication authenticates_nobody(const core::socket_options&) noexcept
{
    return core::authentication::none;
}

std::unique_ptr<engine::mechanism> make_mechanism(const core::socket_options&,
                                                  std::shared_ptr<engine::authenticator>)
{
#if ZLINK_CURVE_CIPHER
    return std::make_unique<lot_mechanism>();
#endif
    if (ZLINK_TOY_CIPHER)
        return std::make_unique<toy_mechanism>();
    return std::make_unique<engine::null_mechanism>();
}

#if ZLINK_TLS_BELOW
std::shared_ptr<transport::tls_parts::context_source>
make_contexts(transport::tls_parts::side which, transport::error_code& error)
{
    // OpenSSL is used before the library does, as by an application: it cleans up at exit then.
    static const test::certificate authority = test::certificate::authority();
    static const test::certificate own = authority.sign();
    transport::tls_settings settings;
    if (which == transport::tls_parts::side::server) {
        settings.certificate = own.text();
        settings.key = own.key();
    } else {
        settings.ca = authority.text();
        settings.host = "localhost";
    }
    return transport::tls_parts::context_source::make(which, settings, "localhost", error);
}

template <const transport::scheme& below>
std::shared_ptr<transport::connect_endpoint>
connect_over_tls(std::string_view address, std::shared_ptr<const transport::options> settings,
                 transport::error_code& error)
{
    // Never destroyed: threads may outlive the end of main().
    static const auto& contexts =
        *new auto(make_contexts(transport::tls_parts::side::client, error));
    auto made = below.parse_connect(address, std::move(settings), error);
    return error ? nullptr : transport::tls_parts::over(std::move(made), contexts);
}

template <const transport::scheme& below>
std::shared_ptr<transport::bind_endpoint>
bind_over_tls(std::string_view address, std::shared_ptr<const transport::options> settings,
              transport::error_code& error)
{
    static const auto& contexts =
        *new auto(make_contexts(transport::tls_parts::side::server, error));
    auto made = below.parse_bind(address, std::move(settings), error);
    return error ? nullptr : transport::tls_parts::over(std::move(made), contexts);
}

template <const transport::scheme& below>
const transport::scheme& with_tls(std::string_view name, bool known_unbound)
{
    static const transport::scheme made{
        name, connect_over_tls<below>, bind_over_tls<below>,
        [](std::string_view address, const transport::options& settings) {
            return below.canonical(address, settings);
        },
        known_unbound};
    return made;
}
#endif

constexpr auto frame = ZLINK_TOY_CODEC ? frame_by_toy_codec : nullptr;

#if ZLINK_TLS_BELOW
const std::array transports{
    core::transport_row{&with_tls<transport::tcp>("tcp", false), frame},
    core::transport_row{&with_tls<transport::ipc>("ipc", true), frame},
};
#elif ZLINK_WEBSOCKET || ZLINK_WSS
#if ZLINK_WSS
constexpr const transport::scheme& framed = transport::wss;

// With certificates, which the tests do not know of. OpenSSL is used before the library does, as by
// an application: it cleans up at exit then.
std::shared_ptr<const transport::options>
completed(const std::shared_ptr<const transport::options>& settings)
{
    static const test::certificate authority = test::certificate::authority();
    static const test::certificate own = authority.sign();
    auto changed = std::make_shared<transport::options>(*settings);
    transport::tls_settings& tls = changed->tls.edit();
    tls.certificate = own.text();
    tls.key = own.key();
    tls.ca = authority.text();
    tls.host = "localhost";
    return changed;
}
#else
constexpr const transport::scheme& framed = transport::ws;

std::shared_ptr<const transport::options>
completed(std::shared_ptr<const transport::options> settings)
{
    return settings;
}
#endif

transport::scheme completed_scheme(std::string_view name)
{
    return {name,
            [](std::string_view address, std::shared_ptr<const transport::options> settings,
               transport::error_code& error) {
                return framed.parse_connect(address, completed(std::move(settings)), error);
            },
            [](std::string_view address, std::shared_ptr<const transport::options> settings,
               transport::error_code& error) {
                return framed.parse_bind(address, completed(std::move(settings)), error);
            },
            [](std::string_view address, const transport::options& settings) {
                return framed.canonical(address, settings);
            }};
}

// What tests bind as tcp is a WebSocket, and its endpoint says so.
const transport::scheme disguised = completed_scheme("tcp");
const transport::scheme shown = completed_scheme(ZLINK_WSS ? "wss" : "ws");

constexpr core::transport_row websocket_row(const transport::scheme& scheme)
{
    return {.scheme = &scheme,
            .frame = engine::zws_framing,
            .protocols = engine::zws_protocols,
            .frames_plain_bytes = true};
}

constexpr std::array transports{
    websocket_row(disguised),
    websocket_row(shown),
    core::transport_row{&transport::ipc, frame},
};
#else
constexpr std::array transports{
    core::transport_row{&transport::tcp, frame},
    core::transport_row{&transport::ipc, frame},
};
#endif

constexpr std::array mechanisms{
    core::mechanism_row{ZMQ_NULL, authenticates_nobody, make_mechanism},
};

constexpr std::array<const transport::datagram_scheme*, 1> datagram_schemes{&transport::udp};

} // namespace

const core::builtins& built_in() noexcept
{
    static const core::builtins parts{transports, mechanisms, sockets::all_patterns(),
                                      datagram_schemes};
    return parts;
}

} // namespace zlink
