// SPDX-License-Identifier: Apache-2.0
#include "worker/proxy_service.hpp"

#include <zmq.h>

namespace zlink::bench::worker {

void start_proxy(stage& scene, const socket& frontend, const socket& backend)
{
    scene.start_service([front = frontend.handle(), back = backend.handle()] {
        zmq_proxy(front, back, nullptr);
        if (zmq_errno() != ETERM) {
            throw_zmq_error("zmq_proxy");
        }
    });
}

} // namespace zlink::bench::worker
