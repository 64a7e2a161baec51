// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace zlink::bench::worker {

/// Monotonic time in nanoseconds.
std::int64_t now_ns();

/// Largest resident size this process has had so far (VmHWM), in KiB; 0 if unknown.
std::uint64_t peak_memory_kib();

/// Binds the calling thread to one CPU; throws `failure` if that CPU cannot be used.
void pin_this_thread(int cpu);

} // namespace zlink::bench::worker
