// SPDX-License-Identifier: Apache-2.0
#include "core/connection/opening_setup.hpp"

#include "core/pipe/notices.hpp"
#include "engine/bytes.hpp"

#include <utility>

namespace zlink::core {
namespace {

engine::local_peer local_peer(const socket_options& options)
{
    engine::local_peer local;
    local.socket_type = options.type;
    local.routing_id = options.routing_id;
    local.properties = options.metadata;
    local.must_authenticate = !options.security.zap_domain.empty();
    return local;
}

} // namespace

std::unique_ptr<engine::mechanism> make_mechanism(std::span<const mechanism_row> rows,
                                                  const socket_options& options,
                                                  const authenticator_function& make_authenticator)
{
    if (!speaks_zmtp(options))
        return nullptr;
    const mechanism_row& row = *choose_mechanism(rows, options);
    const authentication how = row.authenticates(options);
    return row.make(options, how == authentication::none ? nullptr : make_authenticator(how));
}

opening_stages make_stages(const socket_options& options, const transport_row& transport,
                           transport::upgrades upgrades,
                           std::unique_ptr<engine::mechanism> mechanism, bool has_connected)
{
    opening_stages stages;
    stages.upgrades = std::move(upgrades);
    if (mechanism) {
        engine::local_peer local = local_peer(options);
        if (transport.protocols)
            for (const auto& upgrade : stages.upgrades)
                upgrade->offer(transport.protocols(mechanism->name(), local.must_authenticate));
        stages.handshake =
            std::make_unique<engine::handshake>(std::move(local), std::move(mechanism));
    }
    if (transport.frame && !exchanges_plain_bytes(options, transport))
        stages.frame = [make = transport.frame, has_connected](std::string_view protocol) {
            return make(protocol, has_connected);
        };
    return stages;
}

bool carries_commands(const opening::ending& how) noexcept
{
    return how.remote.major >= 3 || how.codec;
}

engine::wire make_wire(const opening::ending& how, bool plain_bytes)
{
    engine::wire wire;
    wire.is_plain_bytes = plain_bytes;
    wire.cipher = how.cipher;
    if (!plain_bytes)
        wire.codec = how.codec ? how.codec : engine::codec_for(how.remote.major);
    return wire;
}

std::vector<std::byte> hello_frame(const socket_options& options)
{
    std::vector<std::byte> frame;
    if (const auto hello = hello_message(options); !hello.empty() && speaks_zmtp(options))
        engine::append_message_frame(frame, engine::as_bytes(hello));
    return frame;
}

} // namespace zlink::core
