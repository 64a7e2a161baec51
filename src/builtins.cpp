// SPDX-License-Identifier: Apache-2.0
#include "builtins.hpp"

#include "engine/mechanisms/null.hpp"
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

constexpr std::array patterns{
    core::pattern_row{ZMQ_PAIR, sockets::make_pair},
    core::pattern_row{ZMQ_PUB, sockets::make_pub},
    core::pattern_row{ZMQ_SUB, sockets::make_sub},
    core::pattern_row{ZMQ_REQ, sockets::make_req},
    core::pattern_row{ZMQ_REP, sockets::make_rep},
    core::pattern_row{ZMQ_DEALER, sockets::make_dealer},
    core::pattern_row{ZMQ_ROUTER, sockets::make_router},
    core::pattern_row{ZMQ_PULL, sockets::make_pull},
    core::pattern_row{ZMQ_PUSH, sockets::make_push},
    core::pattern_row{ZMQ_XPUB, sockets::make_xpub},
    core::pattern_row{ZMQ_XSUB, sockets::make_xsub},
    core::pattern_row{ZMQ_DGRAM, sockets::make_dgram},
    core::pattern_row{ZMQ_STREAM, sockets::make_stream},
    core::pattern_row{ZMQ_SERVER, sockets::make_server, true},
    core::pattern_row{ZMQ_CLIENT, sockets::make_client, true},
    core::pattern_row{ZMQ_RADIO, sockets::make_radio, true},
    core::pattern_row{ZMQ_DISH, sockets::make_dish, true},
    core::pattern_row{ZMQ_GATHER, sockets::make_gather, true},
    core::pattern_row{ZMQ_SCATTER, sockets::make_scatter, true},
    core::pattern_row{ZMQ_PEER, sockets::make_peer, true},
    core::pattern_row{ZMQ_CHANNEL, sockets::make_channel, true},
};

constexpr core::builtins parts{transports, mechanisms, patterns, datagram_schemes};

} // namespace

const core::builtins& built_in() noexcept
{
    return parts;
}

} // namespace zlink
