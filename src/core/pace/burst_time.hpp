// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace zlink::core {

using burst_clock = std::chrono::steady_clock;

/// So old the oldest thing that a thread holds back, a message or a wake-up, may become while it
/// goes on sending.
inline constexpr std::chrono::nanoseconds most_held_back{90'000};

} // namespace zlink::core
