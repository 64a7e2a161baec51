// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/draft.hpp"

#include <cstddef>

namespace zlink::test {

/// Bodies whose content tells whether they are whole, and whose memory is counted.
class churn_body {
public:
    /// From here on a body says what it should be.
    static constexpr std::size_t smallest_checked_bytes = 1000;

    static void fill(void* data, std::size_t bytes);
    /// Is it as fill() made it? Shorter ones may be anything.
    static bool whole(const void* data, std::size_t bytes);
    /// A message whose memory is given back through a function. False if there is no memory.
    static bool wrap(zmq_msg_t& message, std::size_t bytes);
    /// Bodies of wrap() that were not given back yet.
    static long outstanding();
};

} // namespace zlink::test
