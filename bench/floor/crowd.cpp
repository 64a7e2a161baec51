// SPDX-License-Identifier: Apache-2.0
#include "floor/crowd.hpp"

#include "worker/usage.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace zlink::bench {

bool has_crowd_floor(const cell& what, transport carrier)
{
    return what.mechanism == mechanism::null && bare::can_connect(carrier) &&
           !(what.pattern == pattern::connections && carrier == transport::tls);
}

worker::crowd_report measure_crowd_floor(const crowd_run& wanted)
{
    worker::require_descriptors_for(party_count(wanted.what));
    switch (wanted.what.pattern) {
    case pattern::broker:
        return measure_bare_broker(wanted);
    case pattern::connections:
        return measure_bare_connects(wanted);
    default:
        return measure_many_streams(wanted);
    }
}

std::thread start_guarded(std::function<void()> body)
{
    return std::thread([body = std::move(body)] {
        try {
            body();
        } catch (const std::exception& error) {
            fmt::print(stderr, "zlink_bench_floor: {}\n", error.what());
            std::fflush(stderr);
            std::_Exit(1);
        }
    });
}

} // namespace zlink::bench
