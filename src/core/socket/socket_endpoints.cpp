// SPDX-License-Identifier: Apache-2.0
// What a socket is bound and connected to: how endpoints begin and end.
#include "core/connection/inproc.hpp"
#include "core/connection/listener.hpp"
#include "core/connection/session.hpp"
#include "core/socket/endpoint.hpp"
#include "core/socket/socket.hpp"
#include "core/socket/socket_services.hpp"

#include <cerrno>
#include <memory>
#include <utility>
#include <zmq.h>

namespace zlink::core {

std::shared_ptr<const transport::options> socket::transport_options() const noexcept
{
    return {options_, &options_->transport};
}

int socket::bind_failed(std::string_view address, std::string_view endpoint, int error,
                        std::unique_ptr<transport::acceptor> opened)
{
    if (opened) {
        const int fd = opened->descriptor();
        opened.reset();
        side_->events.emit({ZMQ_EVENT_CLOSED,
                            monitor_event::number(fd),
                            monitor_event::side::bound,
                            endpoint,
                            {}});
    }
    side_->events.emit({ZMQ_EVENT_BIND_FAILED,
                        monitor_event::number(error),
                        monitor_event::side::bound,
                        address,
                        {}});
    return error;
}

int socket::bind_inproc(std::string_view name, std::string_view text)
{
    shared_text last{std::string(text)};
    bound_endpoint made{last, nullptr};
    endpoints_.reserve_one<bound_endpoint>(); // before the name is known: memory may run out
    if (const int error = context_.inproc().bind(std::string(name), {side_, options_.get()}))
        return error;
    endpoints_.add(std::move(made));
    last_endpoint_ = std::move(last);
    try {
        process_mail();
    } catch (const std::bad_alloc&) { // it is bound: the next call looks at the mail
    }
    return 0;
}

// What the calls begin with that take an endpoint.
int socket::begin_call(std::string_view text, endpoint_text& endpoint)
{
    const int error = begin_call();
    return error ? error : parse_endpoint(text, endpoint);
}

int socket::bind(std::string_view text)
{
    endpoint_text endpoint;
    if (const int error = begin_call(text, endpoint))
        return error;
    if (wants_other_transport(endpoint.scheme))
        return ENOCOMPATPROTO;
    if (const auto* const datagrams = context_.find_datagram_scheme(endpoint.scheme))
        return open_datagrams(*datagrams, endpoint_role::bound, text, endpoint.address);
    if (endpoint.scheme == "inproc")
        return bind_inproc(endpoint.address, text);
    const transport_row* const row = context_.find_transport(endpoint.scheme);
    if (!row)
        return EPROTONOSUPPORT;
    if (!choose_mechanism(context_.mechanisms(), *options_))
        return ENOTSUP;
    runtime::io_thread* thread = context_.choose_thread(options_->affinity);
    if (!thread)
        return EMTHREAD;
    transport::error_code error;
    std::unique_ptr<transport::acceptor> acceptor;
    auto address = row->scheme->parse_bind(endpoint.address, transport_options(), error);
    if (!error)
        acceptor = address->listen(thread->context(), error);
    if (error)
        return bind_failed(endpoint.address, row->scheme->known_unbound ? text : std::string_view(),
                           error.value(), std::move(acceptor));
    snapshot_options();
    endpoints_.reserve_one<bound_endpoint>();
    const int fd = acceptor->descriptor();
    shared_text bound(acceptor->endpoint());
    bound_endpoint made{bound, nullptr};
    const auto listening = std::make_shared<listener>(
        context_.pool(), *thread, side_, options_, *row, std::move(address), std::move(acceptor));
    // From here on nothing needs memory.
    made.listening = listening;
    endpoints_.add(std::move(made));
    last_endpoint_ = std::move(bound);
    side_->events.emit({ZMQ_EVENT_LISTENING,
                        monitor_event::number(fd),
                        monitor_event::side::bound,
                        last_endpoint_,
                        {}});
    listening->start();
    return 0;
}

int socket::connect_inproc(std::string_view name, const shared_text& endpoint)
{
    endpoints_.reserve_one<connected_endpoint>();
    const auto pipe = context_.inproc().connect(std::string(name), {side_, options_.get()});
    adopt_made(pipe);
    endpoints_.add(connected_endpoint{endpoint, nullptr, pipe});
    last_endpoint_ = endpoint;
    return after_operation(0);
}

int socket::connect(std::string_view text)
{
    endpoint_text endpoint;
    if (const int error = begin_call(text, endpoint))
        return error;
    if (wants_other_transport(endpoint.scheme))
        return ENOCOMPATPROTO;
    if (const auto* const datagrams = context_.find_datagram_scheme(endpoint.scheme))
        return open_datagrams(*datagrams, endpoint_role::connected, text, endpoint.address);
    const shared_text given{std::string(text)};
    name_rules* const names = pattern_->names();
    if (const int error = names ? names->check_connect() : 0)
        return error;
    if (endpoint.scheme == "inproc")
        return connect_inproc(endpoint.address, given);
    const transport_row* const row = context_.find_transport(endpoint.scheme);
    if (!row)
        return EPROTONOSUPPORT;
    if (!choose_mechanism(context_.mechanisms(), *options_))
        return ENOTSUP;
    transport::error_code error;
    auto address = row->scheme->parse_connect(endpoint.address, transport_options(), error);
    if (error)
        return error.value();
    if (options_->traits->connects_once && endpoints_.has_connection_to(given))
        return 0;
    runtime::io_thread* thread = context_.choose_thread(options_->affinity);
    if (!thread)
        return EMTHREAD;
    snapshot_options();
    endpoints_.reserve_one<connected_endpoint>();
    const auto connection =
        std::make_shared<session>(*thread, side_, options_, given, *row, std::move(address));
    std::shared_ptr<pipe_end> pipe;
    if (!options_->immediate) {
        pipe = connection->make_pipe();
        adopt_made(pipe);
    }
    // From here on nothing needs memory.
    endpoints_.replace_ended(given);
    endpoints_.add(connected_endpoint{given, connection, pipe});
    connection->start();
    last_endpoint_ = given;
    return after_operation(0);
}

int socket::connect_peer(std::string_view text, std::uint32_t& routing_id)
{
    if (box_->is_shut_down())
        return ETERM;
    if (!options_->traits->connects_to_peers)
        return ENOTSUP;
    if (options_->immediate)
        return EFAULT; // there is no peer before the connection
    if (const int error = connect(text))
        return error;
    routing_id = pattern_->numbers()->newest_peer();
    return 0;
}

int socket::unbind(std::string_view text)
{
    return end_endpoints(endpoint_role::bound, text);
}

int socket::disconnect(std::string_view text)
{
    return end_endpoints(endpoint_role::connected, text);
}

// Both calls end what they find under the name, of whatever role: `role` is only what they look for
// first, which matters where inproc has both.
int socket::end_endpoints(endpoint_role role, std::string_view text)
{
    endpoint_text endpoint;
    if (const int error = begin_call(text, endpoint))
        return error;
    if (context_.find_datagram_scheme(endpoint.scheme))
        return end_datagrams(role, text);
    bool found;
    if (endpoint.scheme == "inproc") {
        found = role == endpoint_role::bound ? end_bound(text) || end_connected(text)
                                             : end_connected(text) || end_bound(text);
    } else {
        const transport_row* const row = context_.find_transport(endpoint.scheme);
        if (!row)
            return EPROTONOSUPPORT;
        found = end_bound(text);
        found = end_connected(text) || found;
        if (!found && !endpoints_.has_no_streams()) {
            // Another way to write it; may have to resolve a name.
            const auto number = row->scheme->canonical(endpoint.address, options_->transport);
            found = end_bound(number);
            found = end_connected(number) || found;
        }
    }
    return found ? after_operation(0) : ENOENT;
}

bool socket::end_bound(std::string_view text)
{
    bool found = false;
    while (const auto ended = endpoints_.take_bound(text)) {
        found = true;
        if (!ended->listening) {
            context_.inproc().unbind(inproc_name(ended->endpoint), *side_);
            continue; // pipes that exist stay
        }
        ended->listening->close();
        context_.pool().catch_up(); // a connection is ended by now, or the socket is told of it
        process_mail();
        end_accepted(ended->endpoint);
    }
    return found;
}

// What has come over these connections can still be received. Nothing comes any more when this
// returns: a peer whose messages went on arriving could not know which of them are the last.
void socket::end_accepted(std::string_view endpoint)
{
    const auto for_each_accepted = [&](auto what) {
        pipes_.for_each_kept([&](pipe_end& pipe) {
            if (!pipe.origin.connected_side && pipe.origin.endpoint.get() == endpoint)
                what(pipe);
        });
    };
    for_each_accepted([&](pipe_end& pipe) {
        end_own_reading(pipe);
        pipe.end_output(pipe_ending::left);
        pipe.hang_up(options_->linger_ms);
    });
    context_.pool().catch_up();
    for_each_accepted([&](pipe_end& pipe) { finish_pipe(pipe); });
}

bool socket::end_connected(std::string_view text)
{
    bool found = false;
    while (const auto ended = endpoints_.take_connected(text)) {
        found = true;
        if (ended->connection)
            ended->connection->stop_if_disconnected();
        const auto pipe = ended->pipe.lock();
        if (pipe && !pipe->closed_here()) {
            if (more_ && pattern_->source() == pipe.get()) {
                pipe->hang_up(options_->linger_ms); // the message that is being read goes on
                finish_pipe(*pipe);
            } else {
                close_pipe(*pipe, options_->linger_ms);
            }
        }
        if (!ended->connection)
            continue;
        if (!pipe) // IMMEDIATE=1: those of its connections; else there are no others
            end_pipes_of(*ended);
        ended->connection->close(options_->linger_ms);
    }
    return found;
}

void socket::end_pipes_of(const connected_endpoint& ended)
{
    read_leased(); // what has come can be received at once, also if it is this thread that reads
    pipes_.for_each_kept([&](pipe_end& pipe) {
        if (!pipe.origin.connected_side || pipe.origin.endpoint != ended.endpoint ||
            !pipe.belongs_to(*ended.connection))
            return;
        if (pipe.leave()) {
            pipe.slot.last_words_follow = true;
            end_own_reading(pipe); // its I/O thread takes that back
            pattern_->peer_closed(pipe);
        } else {
            finish_pipe(pipe);
        }
    });
}

} // namespace zlink::core
