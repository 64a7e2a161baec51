// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zlink::engine {

/// How frames lie on the wire.
enum class framing : std::uint8_t {
    zmtp1, ///< ZMTP 1.0: codec/zmtp1.hpp
    zmtp2, ///< ZMTP 2.0, without commands: codec/zmtp3.hpp
    zmtp3, ///< ZMTP 3.x, as in the channels: codec/zmtp3.hpp
};

} // namespace zlink::engine
