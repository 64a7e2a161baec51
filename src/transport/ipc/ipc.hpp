// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"

namespace zlink::transport {

/// "ipc://path", "ipc://@abstract-name" and, to bind, "ipc://*".
extern const scheme ipc;

} // namespace zlink::transport
