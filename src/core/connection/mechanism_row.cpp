// SPDX-License-Identifier: Apache-2.0
#include "core/connection/mechanism_row.hpp"

#include "core/options/options.hpp"

#include <algorithm>

namespace zlink::core {

const mechanism_row* choose_mechanism(std::span<const mechanism_row> rows,
                                      const socket_options& options) noexcept
{
    const auto row = std::ranges::find(rows, options.security.mechanism, &mechanism_row::number);
    return row == rows.end() ? nullptr : &*row;
}

} // namespace zlink::core
