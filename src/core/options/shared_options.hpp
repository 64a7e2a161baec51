// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options/options.hpp"

#include <memory>

namespace zlink::core {

/// Options equal to these that another socket has, or these, which others may get from now on: a
/// program with many sockets mostly sets the same options of each. Only the last few are known.
///
/// Thread safety: any thread. Nobody changes them any more.
/// Errors: none.
std::shared_ptr<const socket_options>
share_options(std::shared_ptr<const socket_options> own) noexcept;

} // namespace zlink::core
