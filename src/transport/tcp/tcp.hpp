// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"

namespace zlink::transport {

/// "tcp://host:port".
extern const scheme tcp;

} // namespace zlink::transport
