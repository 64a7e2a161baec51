// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/context/context.hpp"

namespace zlink {

/// The composition root: every transport and socket type that is compiled in.
const core::builtins& built_in() noexcept;

} // namespace zlink
