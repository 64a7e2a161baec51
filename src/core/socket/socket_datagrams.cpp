// SPDX-License-Identifier: Apache-2.0
// Endpoints of datagram transports: the part of a socket that knows them.
#include "core/connection/datagram_session.hpp"
#include "core/socket/socket.hpp"
#include "core/socket/socket_services.hpp"

#include <cerrno>
#include <zmq.h>

namespace zlink::core {

// There are no datagrams over streams.
bool socket::wants_other_transport(std::string_view scheme) const noexcept
{
    return options_->traits->datagrams_only &&
           (scheme == "inproc" || context_.find_transport(scheme));
}

int socket::open_datagrams(const transport::datagram_scheme& scheme, endpoint_role role,
                           std::string_view text, std::string_view address)
{
    const auto head = datagram_head_for(*options_->traits, role);
    if (!head)
        return ENOCOMPATPROTO;
    runtime::io_thread* const thread = context_.choose_thread(options_->affinity);
    if (!thread)
        return EMTHREAD;
    transport::error_code error;
    const auto open = role == endpoint_role::bound ? scheme.bind : scheme.connect;
    auto opened = open(thread->context(), address, options_->transport, error);
    if (!opened)
        return error.value();
    shared_text name(opened->endpoint());
    snapshot_options();
    endpoints_.reserve_one<datagram_endpoint>();
    datagram_endpoint made{name, std::string(text), role, nullptr, {}};
    const auto session = std::make_shared<datagram_session>(*thread, side_, options_, *head, role,
                                                            std::move(opened));
    const auto pipe = session->make_pipe();
    try {
        adopt_made(pipe);
    } catch (...) {
        session->settle(); // the address is free again
        throw;
    }
    // From here on nothing needs memory.
    made.session = session;
    made.pipe = pipe;
    endpoints_.add(std::move(made));
    last_endpoint_ = std::move(name);
    session->start();
    return after_operation(0);
}

int socket::end_datagrams(endpoint_role role, std::string_view text)
{
    const auto ending = endpoints_.take_datagrams(role, text);
    for (const datagram_endpoint& one : ending) {
        if (const auto pipe = one.pipe.lock(); pipe && !pipe->closed_here())
            close_pipe(*pipe, options_->linger_ms);
        one.session->settle();
    }
    return ending.empty() ? ENOENT : after_operation(0);
}

} // namespace zlink::core
