// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string_view>

namespace zlink::core {

/// "scheme://address", as views into the text.
struct endpoint_text {
    std::string_view scheme;
    std::string_view address;
};

/// 0, or EINVAL if either part is missing.
inline int parse_endpoint(std::string_view text, endpoint_text& out) noexcept
{
    const auto at = text.find("://");
    if (at == std::string_view::npos || at == 0 || at + 3 == text.size())
        return EINVAL;
    out = {text.substr(0, at), text.substr(at + 3)};
    return 0;
}

} // namespace zlink::core
