// SPDX-License-Identifier: Apache-2.0
#include "builtins.hpp"

#include "sockets/patterns.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/tcp/tcp.hpp"

#include <array>
#include <zmq.h>

namespace zlink {
namespace {

constexpr std::array<const transport::scheme*, 2> schemes{&transport::tcp, &transport::ipc};

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
};

constexpr core::builtins parts{schemes, patterns};

} // namespace

const core::builtins& built_in() noexcept
{
    return parts;
}

} // namespace zlink
