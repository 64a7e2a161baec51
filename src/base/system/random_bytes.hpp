// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace zlink::base {

/// Fills `out` with bytes of the system's generator, which nobody can foresee. False if the system
/// gives none: `out` is as it was then, at least in part.
/// Thread safety: any thread.
bool fill_random(std::span<std::byte> out) noexcept;

} // namespace zlink::base
