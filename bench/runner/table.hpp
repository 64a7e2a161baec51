// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace zlink::bench::runner {

/// Text in rows and columns.
struct table {
    std::string title;
    std::size_t left_columns = 1; ///< columns aligned to the left; the others hold numbers
    std::vector<std::string> headers;
    std::vector<std::vector<std::string>> rows; ///< each as long as `headers`
};

/// With columns padded with spaces.
std::string to_text(const table& shown);

/// As a pipe table under a heading of the third level.
std::string to_markdown(const table& shown);

} // namespace zlink::bench::runner
