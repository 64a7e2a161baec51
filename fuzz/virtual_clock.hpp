// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

/// The clock of a program that has virtual_clock.cpp in it: std::chrono::steady_clock, which the
/// library and Asio ask, shows what the program says.
/// Thread safety: none.
namespace zlink::fuzz {

/// Begins anew; each look at the clock takes `look`, so that loops that wait for a time end.
void begin_virtual_time(std::chrono::nanoseconds look);
void advance_virtual_time(std::chrono::nanoseconds by);
/// Does not take time.
std::chrono::nanoseconds virtual_time();

} // namespace zlink::fuzz
