// SPDX-License-Identifier: Apache-2.0
#include "worker/endpoints.hpp"

#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <cctype>

namespace zlink::bench::worker {

namespace {

// zmq_has() of libzmq 4.3.5 knows WebSockets by their names in capitals.
bool library_has(std::string_view capability)
{
    std::string text(capability);
    if (zmq_has(text.c_str()) == 1) {
        return true;
    }
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    return zmq_has(text.c_str()) == 1;
}

} // namespace

std::string endpoint_to_bind(transport over, std::string_view ipc_directory, std::string_view name)
{
    switch (over) {
    case transport::ipc:
        return fmt::format("ipc://{}/{}", ipc_directory, name);
    case transport::inproc:
        return fmt::format("inproc://{}", name);
    default:
        return fmt::format("{}://127.0.0.1:*", bench::name(over));
    }
}

void require_transport(transport over)
{
    const bool is_optional = over == transport::ws || has_tls(over);
    if (is_optional && !library_has(name(over))) {
        throw unsupported(fmt::format("the library has no transport {}", name(over)));
    }
}

} // namespace zlink::bench::worker
