// SPDX-License-Identifier: Apache-2.0
#include "core/socket/monitor.hpp"
#include "api/objects.hpp"
#include "base/system/no_cancellation.hpp"

#include <zmq.h>

using namespace zlink::api;
namespace core = zlink::core;

namespace {

int check(std::uint64_t events, int version, int type) noexcept
{
    if (version != 1 && version != 2)
        return EINVAL;
    if (type != ZMQ_PAIR && type != ZMQ_PUB && type != ZMQ_PUSH)
        return EINVAL;
    const std::uint64_t known = version == 1 ? ZMQ_EVENT_ALL_V1 : ZMQ_EVENT_ALL_V2;
    return (events & ~known) != 0 ? EINVAL : 0;
}

} // namespace

extern "C" {

int zmq_socket_monitor(void* socket, const char* addr, int events)
{
    return zmq_socket_monitor_versioned(socket, addr, static_cast<std::uint64_t>(events), 1,
                                        ZMQ_PAIR);
}

int zmq_socket_monitor_versioned(void* socket, const char* addr, uint64_t events, int event_version,
                                 int type)
{
    const zlink::base::no_cancellation whole;
    const int failed = with_usable_socket(socket, [&](core::socket& s) {
        if (!addr)
            return core::stop_monitor(s);
        if (const int error = check(events, event_version, type))
            return error;
        return core::start_monitor(s, {addr, events, event_version, type});
    });
    return addr ? failed : unless_inherited(sockets(), socket, failed);
}

int zmq_socket_monitor_pipes_stats(void* socket)
{
    const zlink::base::no_cancellation whole;
    return with_socket(socket, [](core::socket& s) { return s.report_pipes(); });
}

} // extern "C"
