// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

namespace zlink::test {

/// The transports every pattern must work over.
enum class transport { tcp, ipc, inproc };

/// Name of a transport as it appears before `://`.
const char* name_of(transport kind);

/// Lets GoogleTest print the parameter of a test.
void PrintTo(transport kind, std::ostream* out);

/// A directory of this process for socket files; removed with everything in it at process exit.
const std::string& scratch_directory();

/// An address to bind that nobody else uses. tcp: a wildcard port, ask LAST_ENDPOINT for the real
/// one.
std::string fresh_bind_address(transport kind);

/// An address that is known before anybody binds it (tcp: a port that was free a moment ago,
/// outside of the range from which the system hands out ephemeral ports).
std::string known_address(transport kind);

} // namespace zlink::test
