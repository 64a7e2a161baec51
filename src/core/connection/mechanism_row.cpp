// SPDX-License-Identifier: Apache-2.0
#include "core/connection/mechanism_row.hpp"

namespace zlink::core {

// No option chooses another than NULL yet.
const mechanism_row& choose_mechanism(std::span<const mechanism_row> rows,
                                      const socket_options&) noexcept
{
    return rows.front();
}

} // namespace zlink::core
