// SPDX-License-Identifier: Apache-2.0
#include "api/objects.hpp"
#include "base/system/no_cancellation.hpp"
#include "core/pace/flush_list.hpp"

#include <zlink.h>

using namespace zlink::api;
namespace core = zlink::core;

extern "C" {

int zlink_flush(void)
{
    const zlink::base::no_cancellation whole;
    core::flush_list::flush_this_thread();
    return 0;
}

int zlink_arm(void* socket, zlink_wakeup_fn* wake, void* argument)
{
    const zlink::base::no_cancellation whole;
    bool is_armed = false;
    const int failed = with_socket(socket, [&](core::socket& s) {
        if (s.gate())
            return ENOTSUP;
        if (wake)
            return s.arm(*wake, argument, is_armed);
        s.box().disarm();
        return 0;
    });
    if (!wake)
        return unless_inherited(sockets(), socket, failed);
    return failed || is_armed ? failed : 1;
}

} // extern "C"
