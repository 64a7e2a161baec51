// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/reading_lease.hpp"
#include "core/connection/traffic_for_tests.hpp"

namespace zlink::test {

/// The way in of the pipe: reads when there is room, as a link does.
class reading_inlet final : public idle_inlet {
public:
    explicit reading_inlet(core::reading_lease& lease) : lease_(lease) {}
    void made_room() noexcept override
    {
        ++told_of_room;
        asked |= lease_.read_for_room() == core::reading_lease::request::read;
    }

    int told_of_room = 0;
    bool asked = false; ///< the I/O thread has to read

private:
    core::reading_lease& lease_;
};

} // namespace zlink::test
