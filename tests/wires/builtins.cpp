// SPDX-License-Identifier: Apache-2.0
// The composition root of libraries for tests: their connections have a toy codec, a toy cipher or
// both, which change all they carry. ZLINK_TOY_CODEC and ZLINK_TOY_CIPHER (0 or 1) say which.
#include "builtins.hpp"

#include "engine/handshake/mechanisms/null.hpp"
#include "engine/wire/toy_wire_for_tests.hpp"
#include "sockets/patterns.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/udp/udp.hpp"

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
    if (ZLINK_TOY_CIPHER)
        return std::make_unique<toy_mechanism>();
    return std::make_unique<engine::null_mechanism>();
}

constexpr auto frame = ZLINK_TOY_CODEC ? frame_by_toy_codec : nullptr;

constexpr std::array transports{
    core::transport_row{&transport::tcp, frame},
    core::transport_row{&transport::ipc, frame},
};

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
