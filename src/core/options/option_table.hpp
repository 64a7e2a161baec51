// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options/option_values.hpp"
#include "core/options/options.hpp"

#include <cstddef>

namespace zlink::core {

/// Sets a general option. 0 or errno: EINVAL for unknown options and bad values, ENOTSUP for those
/// whose feature is not built.
int set_option(socket_options& options, int id, const void* value, std::size_t bytes);

/// Reads a general option into `value` (`*bytes`: room in, length out). 0 or errno.
int get_option(const socket_options& options, int id, void* value, std::size_t* bytes);

} // namespace zlink::core
