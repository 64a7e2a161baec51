// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options/option_values.hpp"
#include "core/pipe/pipe.hpp"

namespace zlink::sockets {

/// ZMQ_PROBE_ROUTER: an empty message tells each new peer the routing id, before any other.
class router_probe {
public:
    int set(const void* value, std::size_t bytes) { return core::read_flag(value, bytes, wanted_); }
    void greet(core::pipe_end& pipe) const
    {
        if (wanted_)
            pipe.out.write({});
    }

private:
    bool wanted_ = false;
};

} // namespace zlink::sockets
