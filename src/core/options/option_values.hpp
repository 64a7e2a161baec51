// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// The values of options, as the C API passes them. 0 or EINVAL: the size does not fit.
///
/// Thread safety: pure functions on caller memory.
namespace zlink::core {

int read_int(const void* value, std::size_t bytes, int& out) noexcept;
int write_int(int from, void* value, std::size_t* bytes) noexcept;
int write_text(std::string_view from, void* value, std::size_t* bytes) noexcept;
/// An int option that must not be negative; non-zero = on.
int read_flag(const void* value, std::size_t bytes, bool& out) noexcept;

} // namespace zlink::core
