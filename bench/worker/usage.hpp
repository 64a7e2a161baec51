// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace zlink::bench::worker {

/// Monotonic time in nanoseconds.
std::int64_t now_ns();

/// Largest resident size this process has had so far (VmHWM), in KiB; 0 if unknown.
std::uint64_t peak_memory_kib();

/// Resident size of this process now (VmRSS), in KiB; 0 if unknown.
std::uint64_t resident_memory_kib();

/// Raises the limit of open descriptors as far as this process may, and throws `failure` if that is
/// not enough for so many sockets with connections between them.
void require_descriptors_for(int sockets);

/// Binds the calling thread to one CPU; throws `failure` if that CPU cannot be used.
void pin_this_thread(int cpu);

} // namespace zlink::bench::worker
