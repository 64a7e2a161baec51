// SPDX-License-Identifier: Apache-2.0
#include "builtins.hpp"

#include "engine/handshake/mechanisms/null.hpp"
#include "sockets/patterns.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/udp/udp.hpp"

#include <array>
#include <memory>
#include <zmq.h>

namespace zlink {
namespace {

constexpr std::array transports{
    core::transport_row{&transport::tcp},
    core::transport_row{&transport::ipc},
};

constexpr std::array<const transport::datagram_scheme*, 1> datagram_schemes{&transport::udp};

std::unique_ptr<engine::mechanism> make_null(const core::socket_options&)
{
    return std::make_unique<engine::null_mechanism>();
}

constexpr std::array mechanisms{
    core::mechanism_row{ZMQ_NULL, make_null},
};

} // namespace

const core::builtins& built_in() noexcept
{
    static const core::builtins parts{transports, mechanisms, sockets::all_patterns(),
                                      datagram_schemes};
    return parts;
}

} // namespace zlink
