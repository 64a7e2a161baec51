// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zlink::test {

/// What a peer of PLAIN says in tests.
inline constexpr const char* plain_username = "admin";
inline constexpr const char* plain_password = "secret";

/// From now on a handler of ZAP answers in this context, to the end of it: of the peers that use
/// PLAIN it admits those with this name and password, and all others. Does nothing if there is a
/// handler already. Throws call_failed. Thread safety: any thread.
void admit_plain_peers(void* context);

} // namespace zlink::test
