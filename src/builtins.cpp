// SPDX-License-Identifier: Apache-2.0
#include "builtins.hpp"

#if ZLINK_HAS_CURVE
#include "engine/handshake/mechanisms/curve.hpp"
#endif
#include "engine/handshake/mechanisms/null.hpp"
#include "engine/handshake/mechanisms/plain.hpp"
#include "engine/handshake/zws.hpp"
#include "sockets/patterns.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/tcp/tcp.hpp"
#if ZLINK_HAS_TLS
#include "transport/tls/tls.hpp"
#endif
#include "transport/udp/udp.hpp"
#include "transport/websocket/websocket.hpp"
#if ZLINK_HAS_TLS
#include "transport/wss/wss.hpp"
#endif

#include <array>
#include <memory>
#include <zmq.h>

namespace zlink {
namespace {

constexpr std::array transports
{
    core::transport_row{&transport::tcp}, core::transport_row{&transport::ipc},
        core::transport_row{.scheme = &transport::ws,
                            .frame = engine::zws_framing,
                            .protocols = engine::zws_protocols,
                            .frames_plain_bytes = true},
#if ZLINK_HAS_TLS
        core::transport_row{&transport::tls}, core::transport_row{&transport::tls_tcp},
        core::transport_row{.scheme = &transport::wss,
                            .frame = engine::zws_framing,
                            .protocols = engine::zws_protocols,
                            .frames_plain_bytes = true},
#endif
};

constexpr std::array<const transport::datagram_scheme*, 1> datagram_schemes{&transport::udp};

using core::authentication;

// With NULL a domain says that peers are to be authenticated.
authentication null_authenticates(const core::socket_options& options) noexcept
{
    if (options.security.zap_domain.empty())
        return authentication::none;
    return options.security.zap_enforce_domain ? authentication::required
                                               : authentication::if_handled;
}

std::unique_ptr<engine::mechanism> make_null(const core::socket_options&,
                                             std::shared_ptr<engine::authenticator> asked)
{
    return std::make_unique<engine::null_mechanism>(std::move(asked));
}

// A password that nobody examines is none.
authentication plain_authenticates(const core::socket_options& options) noexcept
{
    if (!options.security.as_server)
        return authentication::none;
    return options.security.zap_enforce_domain && options.security.zap_domain.empty()
               ? authentication::impossible
               : authentication::required;
}

std::unique_ptr<engine::mechanism> make_plain(const core::socket_options& options,
                                              std::shared_ptr<engine::authenticator> asked)
{
    if (options.security.as_server)
        return std::make_unique<engine::plain_server>(std::move(asked));
    return std::make_unique<engine::plain_client>(options.security.plain_username,
                                                  options.security.plain_password);
}

#if ZLINK_HAS_CURVE
// Without a handler, whoever knows the server's key is admitted: what is wanted is the encryption.
authentication curve_authenticates(const core::socket_options& options) noexcept
{
    if (!options.security.as_server)
        return authentication::none;
    if (!options.security.zap_enforce_domain)
        return authentication::if_handled;
    return options.security.zap_domain.empty() ? authentication::none : authentication::required;
}

std::unique_ptr<engine::mechanism> make_curve(const core::socket_options& options,
                                              std::shared_ptr<engine::authenticator> asked)
{
    const core::security_options& keys = options.security;
    if (keys.as_server)
        return std::make_unique<engine::curve_server>(keys.curve_secret_key, std::move(asked));
    return std::make_unique<engine::curve_client>(keys.curve_public_key, keys.curve_secret_key,
                                                  keys.curve_server_key);
}
#endif

constexpr core::mechanism_row null_row{ZMQ_NULL, null_authenticates, make_null};
constexpr core::mechanism_row plain_row{ZMQ_PLAIN, plain_authenticates, make_plain};
#if ZLINK_HAS_CURVE
constexpr core::mechanism_row curve_row{ZMQ_CURVE, curve_authenticates, make_curve};
constexpr std::array mechanisms{null_row, plain_row, curve_row};
#else
constexpr std::array mechanisms{null_row, plain_row};
#endif

} // namespace

const core::builtins& built_in() noexcept
{
    static const core::builtins parts{transports, mechanisms, sockets::all_patterns(),
                                      datagram_schemes};
    return parts;
}

} // namespace zlink
