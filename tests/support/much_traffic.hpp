// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/link_kind.hpp"
#include "support/sanitizers.hpp"

namespace zlink::test {

/// The rows for suites that move many messages: all, but with a sanitizer only those that encrypt
/// and mask nothing; each of the others would take a minute.
inline std::vector<link_kind> links_for_much_traffic()
{
    if (is_sanitized())
        return {link_kind::tcp, link_kind::ipc, link_kind::inproc};
    return all_links();
}

} // namespace zlink::test
