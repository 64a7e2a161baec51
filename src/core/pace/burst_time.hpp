// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace zlink::core {

using burst_clock = std::chrono::steady_clock;

} // namespace zlink::core
