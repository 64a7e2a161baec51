// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <array>

namespace zlink::test {

/// Keys of CURVE as texts, made anew; empty if the library has no CURVE.
struct key_pair {
    std::array<char, 41> public_key{};
    std::array<char, 41> secret_key{};

    key_pair() { zmq_curve_keypair(public_key.data(), secret_key.data()); }
};

} // namespace zlink::test
