// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace zlink::bench {

/// What libsodium alone takes for a message of CURVE, with the key of the connection at hand.
struct sealing_times {
    double seal_ns; ///< crypto_box_easy_afternm
    double open_ns; ///< crypto_box_open_easy_afternm
};

/// Times messages of `bytes` one after the other, for some tenths of a second. Nothing if the
/// project was built without libsodium.
std::optional<sealing_times> time_sealing(std::size_t bytes);

} // namespace zlink::bench
