// SPDX-License-Identifier: Apache-2.0
#include "core/wait/proxy.hpp"
#include "api/objects.hpp"

#include <exception>
#include <memory>
#include <vector>
#include <zmq.h>

using namespace zlink::api;
namespace core = zlink::core;

namespace {

int run_proxy(void* frontend, void* backend, void* capture, void* control)
{
    if (!frontend || !backend)
        return fail(EFAULT);
    try {
        std::vector<std::shared_ptr<socket_object>> kept; // others may close them meanwhile
        int missing = 0;
        const auto find = [&](const void* handle) -> core::socket* {
            if (!handle)
                return nullptr;
            core::socket* const found = socket_to_wait_for(handle, kept);
            if (!found && !missing)
                missing = no_socket(handle);
            return found;
        };
        core::socket* const front = find(frontend);
        core::socket* const back = find(backend);
        core::socket* const copies = find(capture);
        core::socket* const commands = find(control);
        if (missing)
            return fail(missing);
        const int error = core::proxy(*front, *back, copies, commands).run();
        kept.clear();
        return result(error);         // only now: what was kept may end and change errno
    } catch (const std::exception&) { // and nothing else, which passes when the thread is cancelled
        return fail(ENOMEM);
    }
}

} // namespace

extern "C" {

int zmq_proxy(void* frontend, void* backend, void* capture)
{
    return run_proxy(frontend, backend, capture, nullptr);
}

int zmq_proxy_steerable(void* frontend, void* backend, void* capture, void* control)
{
    return run_proxy(frontend, backend, capture, control);
}

int zmq_device(int, void* frontend, void* backend)
{
    return run_proxy(frontend, backend, nullptr, nullptr);
}

} // extern "C"
