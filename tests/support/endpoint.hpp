// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/link_kind.hpp"

namespace zlink::test {

/// A directory of this process for socket files; removed with everything in it at process exit.
const std::string& scratch_directory();

/// An address to bind that nobody else uses. Where there are ports: a wildcard, ask LAST_ENDPOINT
/// for the real one.
std::string fresh_bind_address(link_kind kind);

/// An address that is known before anybody binds it (a port that was free a moment ago,
/// outside of the range from which the system hands out ephemeral ports).
std::string known_address(link_kind kind);

} // namespace zlink::test
