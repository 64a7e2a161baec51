// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/stage.hpp"

namespace zlink::bench::worker {

/// Runs zmq_proxy between two sockets of the stage until its services end.
void start_proxy(stage& scene, const socket& frontend, const socket& backend);

} // namespace zlink::bench::worker
