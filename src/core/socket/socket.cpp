// SPDX-License-Identifier: Apache-2.0
// How a socket begins and ends, and what it passes to its pattern and its monitor.
#include "core/socket/socket.hpp"
#include "base/system/no_cancellation.hpp"
#include "core/pace/fan_out_writes.hpp"
#include "core/socket/socket_services.hpp"

#include <cerrno>
#include <new>
#include <zmq.h>

namespace zlink::core {

socket::socket(socket_services& owner, const pattern_row& row,
               std::shared_ptr<const socket_options> defaults, std::shared_ptr<void> context_hold)
    : context_(owner),
      options_(std::move(defaults)),
      box_(std::make_shared<base::mailbox>()),
      side_(std::make_shared<socket_side>()),
      pattern_(row.make(*this)),
      thread_safe_(row.traits.thread_safe)
{
    if (options_->type != row.traits.number) {
        socket_options& own = change_options();
        own.type = row.traits.number;
        own.traits = &row.traits;
        if (own.linger_ms == -1)
            own.linger_ms = row.traits.default_linger_ms;
        own.wire = pattern_->wire();
    }
    side_->box = box_;
    side_->mechanisms = context_.mechanisms();
    side_->inproc = &context_.inproc();
    side_->subscriptions = pattern_->subscriptions();
    side_->fan_out = std::make_shared<fan_out_writes>();
    side_->fan_out->sends_to_many = row.traits.fans_out;
    side_->context_hold = std::move(context_hold);
}

socket::~socket() = default;

void socket::close() noexcept
{
    closed_ = true;
    for (const auto& endpoint : endpoints_.bound())
        if (!endpoint.listening)
            context_.inproc().unbind(inproc_name(endpoint.endpoint), *side_);
    box_->close([this](const std::shared_ptr<void>& owner, base::mail& item, std::uint32_t events) {
        try {
            handle_mail(owner, item, events);
        } catch (const std::bad_alloc&) { // a new pipe that the socket does not have now has to end
            auto& pipe = static_cast<pipe_end&>(item);
            if (!pipes_.contains(pipe))
                pipe.close(options_->linger_ms);
        }
    });
    pipes_.for_each_kept([this](pipe_end& pipe) {
        try {
            close_pipe(pipe, options_->linger_ms);
        } catch (const std::bad_alloc&) {
            pipe.close(options_->linger_ms);
        }
    });
    for (const auto& endpoint : endpoints_.bound())
        if (endpoint.listening)
            endpoint.listening->close();
    for (const auto& endpoint : endpoints_.datagrams())
        endpoint.session->settle();
    for (const auto& endpoint : endpoints_.connected())
        if (endpoint.connection)
            endpoint.connection->close(options_->linger_ms);
    endpoints_.clear();
    side_->events.stop();
    side_.reset();
}

wait_mark::wait_mark(socket* waited_for) noexcept
    : socket_(waited_for && !waited_for->gate() ? waited_for : nullptr)
{
    if (socket_)
        socket_->begin_wait();
}

wait_mark::~wait_mark()
{
    if (socket_ && socket_->end_wait())
        socket_->close_if_requested();
}

bool socket::defer_close(const std::shared_ptr<void>& owner) noexcept
{
    box_->fire_and_wait(); // nothing is called any more once zmq_close has returned
    switch (deferred_close_.request(owner)) {
    case base::deferred_close::closer::requester:
        return false;
    case base::deferred_close::closer::waiting_thread:
        shut_down();
        break;
    case base::deferred_close::closer::claimant:
        break;
    }
    return true;
}

void socket::close_if_requested() noexcept
{
    const base::no_cancellation whole;
    const std::shared_ptr<void> owner = deferred_close_.claim();
    if (!owner)
        return;
    try {
        context_.close_socket(std::shared_ptr<socket>(owner, this));
    } catch (...) {
        // Memory ran out while closing: what could not be told to the I/O threads ends with them.
    }
}

int socket::end_waiting_call(int error) noexcept
{
    has_waited_ = false;
    if (!end_wait())
        return error;
    close_if_requested();
    return ENOTSOCK;
}

int socket::disconnect_peer(std::uint32_t routing_id)
{
    if (const int error = begin_call())
        return error;
    number_rules* const numbers = pattern_->numbers();
    return after_operation(numbers ? numbers->drop_peer(routing_id) : ENOTSUP);
}

int socket::join(std::string_view group)
{
    if (const int error = begin_call())
        return error;
    group_rules* const groups = pattern_->groups();
    return after_operation(groups ? groups->join(group) : ENOTSUP);
}

int socket::leave(std::string_view group)
{
    if (const int error = begin_call())
        return error;
    group_rules* const groups = pattern_->groups();
    return after_operation(groups ? groups->leave(group) : ENOTSUP);
}

int socket::report_pipes()
{
    if (const int error = begin_call())
        return error;
    if (!side_->events.wants(ZMQ_EVENT_PIPES_STATS))
        return EINVAL;
    bool any = false;
    pipes_.for_each([&](pipe_end& pipe) {
        any = true;
        const pipe_origin& from = pipe.origin;
        monitor_event lengths{ZMQ_EVENT_PIPES_STATS,
                              {{pipe.out.unread_messages(), pipe.in.unread_messages()}, 2},
                              monitor_event::side::bound,
                              from.endpoint,
                              from.far_end};
        if (from.connected_side) {
            lengths.own = monitor_event::side::connected;
            lengths.local = {};
            lengths.remote = from.endpoint;
        }
        side_->events.emit(lengths);
    });
    return any ? 0 : EAGAIN;
}

} // namespace zlink::core
