// SPDX-License-Identifier: Apache-2.0
#include "core/socket.hpp"

#include "core/context.hpp"
#include "core/endpoint.hpp"

#include <algorithm>
#include <cerrno>
#include <zmq.h>

namespace zlink::core {

static_assert(EAGAIN == 11);

int socket::term_error() noexcept
{
    return ETERM;
}

namespace {

// Datagrams exist for types that are not built: not for any of ours.
int unknown_scheme(std::string_view scheme) noexcept
{
    return scheme == "udp" ? ENOCOMPATPROTO : EPROTONOSUPPORT;
}

} // namespace

socket::socket(context& owner, const pattern_row& row, socket_options defaults,
               std::shared_ptr<void> context_hold)
    : context_(owner),
      options_(std::move(defaults)),
      box_(std::make_shared<base::mailbox>()),
      link_(std::make_shared<socket_link>()),
      pattern_(row.make(*this))
{
    options_.type = row.type;
    if (options_.linger_ms == -1)
        options_.linger_ms = pattern_->default_linger_ms();
    link_->box = box_;
    link_->subscriptions = pattern_->subscriptions();
    link_->context_hold = std::move(context_hold);
}

socket::~socket() = default;

const metadata* socket::source_metadata() const noexcept
{
    const pipe_end* pipe = pattern_->source();
    return pipe ? pipe->properties().get() : nullptr;
}

// --- waiting -----------------------------------------------------------------------------------

template <class Operation>
int socket::wait_until(Operation operation, int timeout_ms)
{
    if (timeout_ms == 0)
        return EAGAIN;
    const base::deadline until = base::deadline_after_ms(timeout_ms);
    for (;;) {
        if (box_->interrupted())
            return ETERM;
        const std::uint32_t seen = waiter_.count();
        if (box_->prepare_sleep(waiter_)) {
            const base::wait_result woken = waiter_.wait(seen, until);
            const bool signalled = box_->finish_sleep();
            if (signalled)
                waiter_.absorb(seen, 1);
            else if (woken != base::wait_result::signalled)
                return woken == base::wait_result::timeout ? EAGAIN : EINTR;
        }
        process_mail();
        const int result = operation();
        if (result != EAGAIN)
            return after_operation(result);
    }
}

int socket::wait_to_send(const frame& part, bool dont_wait)
{
    after_operation(0);
    return wait_until([&] { return pattern_->send(part); },
                      dont_wait ? 0 : options_.send_timeout_ms);
}

int socket::wait_to_receive(frame& part, bool dont_wait)
{
    after_operation(0);
    const int result = wait_until([&] { return pattern_->receive(part); },
                                  dont_wait ? 0 : options_.receive_timeout_ms);
    if (result == 0)
        more_ = part.more();
    return result;
}

int socket::events(int& out)
{
    box_->clear_descriptor();
    if (box_->interrupted())
        return ETERM;
    process_mail();
    out = (pattern_->can_receive() ? ZMQ_POLLIN : 0) | (pattern_->can_send() ? ZMQ_POLLOUT : 0);
    after_operation(0);
    return 0;
}

// --- pipes -------------------------------------------------------------------------------------

void socket::process_mail()
{
    box_->clear_descriptor();
    box_->collect([this](const std::shared_ptr<void>& owner, base::mail& item,
                         std::uint32_t events) { handle_mail(owner, item, events); });
    after_operation(0);
}

void socket::handle_mail(const std::shared_ptr<void>& owner, base::mail& item, std::uint32_t events)
{
    auto& pipe = static_cast<pipe_end&>(item);
    if (pipe.closed_here())
        return;
    if (events & pipe_end::attached)
        adopt(std::static_pointer_cast<pipe_end>(owner));
    if (events & pipe_end::identified) {
        const peer_info info = pipe.take_peer();
        pipe.set_properties(info.properties);
        pattern_->identified(pipe, info);
    }
    if (events & pipe_end::readable)
        pattern_->readable(pipe);
    if (events & pipe_end::writable)
        pattern_->writable(pipe);
    if (events & pipe_end::closed) {
        pipe.mark_other_gone();
        pattern_->readable(pipe);
        finish_pipe(pipe);
    }
}

void socket::adopt(std::shared_ptr<pipe_end> pipe)
{
    if (free_numbers_.empty()) {
        pipe->number = static_cast<std::uint32_t>(pipes_.size());
        pipes_.push_back(pipe);
    } else {
        pipe->number = free_numbers_.back();
        free_numbers_.pop_back();
        pipes_[pipe->number] = pipe;
    }
    pipe->set_limits(options_.send_hwm, options_.receive_hwm);
    pattern_->attach(*pipe);
}

// The peer is gone: nothing more is written; what can still be read keeps the pipe.
void socket::finish_pipe(pipe_end& pipe)
{
    pipe.mark_other_closed();
    pattern_->peer_closed(pipe);
    frame unread;
    if (!pattern_->reads_from(pipe) || !pipe.peek(unread))
        drop(pipe);
}

void socket::drop_pipes()
{
    while (!dropped_.empty()) {
        pipe_end& pipe = *dropped_.back();
        dropped_.pop_back();
        if (!pipe.closed_here())
            close_pipe(pipe, options_.linger_ms);
    }
}

void socket::close_pipe(pipe_end& pipe, int linger_ms)
{
    pattern_->detach(pipe);
    if (pipe.is_inproc && pipe.connected_side)
        context_.inproc().cancel(pipe);
    pipe.close(linger_ms);
    std::erase(dropped_, &pipe);
    free_numbers_.push_back(pipe.number);
    pipes_[pipe.number].reset();
}

void socket::close()
{
    for (const auto& endpoint : bound_)
        if (!endpoint.listening)
            context_.inproc().unbind(endpoint.endpoint.substr(9), *link_);
    box_->close([this](const std::shared_ptr<void>& owner, base::mail& item, std::uint32_t events) {
        handle_mail(owner, item, events);
    });
    for (std::size_t i = 0; i < pipes_.size(); ++i)
        if (const auto pipe = pipes_[i])
            close_pipe(*pipe, options_.linger_ms);
    for (const auto& endpoint : bound_)
        if (endpoint.listening)
            endpoint.listening->close();
    for (const auto& endpoint : connected_)
        if (endpoint.connection)
            endpoint.connection->close(options_.linger_ms);
    link_.reset();
}

// --- endpoints ---------------------------------------------------------------------------------

void socket::snapshot_options()
{
    if (!endpoint_options_)
        endpoint_options_ = std::make_shared<const socket_options>(options_);
}

int socket::bind(std::string_view text)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    endpoint_text endpoint;
    if (const int error = parse_endpoint(text, endpoint))
        return error;
    if (endpoint.scheme == "inproc") {
        if (const int error =
                context_.inproc().bind(std::string(endpoint.address), {link_, &options_}))
            return error;
        bound_.push_back({std::string(text), std::string(text), nullptr});
        last_endpoint_ = text;
        process_mail();
        return 0;
    }
    const transport::scheme* scheme = context_.find_scheme(endpoint.scheme);
    if (!scheme)
        return unknown_scheme(endpoint.scheme);
    runtime::io_thread* thread = context_.choose_thread(options_.affinity);
    if (!thread)
        return EMTHREAD;
    transport::error_code error;
    auto acceptor = scheme->listen(thread->context(), endpoint.address, options_.transport, error);
    if (!acceptor)
        return error.value();
    snapshot_options();
    auto listening = std::make_shared<listener>(context_.pool(), *thread, link_, endpoint_options_,
                                                std::move(acceptor));
    last_endpoint_ = listening->endpoint();
    bound_.push_back({last_endpoint_, std::string(text), listening});
    listening->start();
    return 0;
}

int socket::connect_inproc(std::string_view name, const std::string& endpoint)
{
    auto pipe = context_.inproc().connect(std::string(name), {link_, &options_});
    connected_.push_back({endpoint, nullptr, pipe});
    adopt(pipe);
    const peer_info info = pipe->take_peer();
    if (info.socket_type >= 0)
        pattern_->identified(*pipe, info);
    return after_operation(0);
}

int socket::connect(std::string_view text)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    endpoint_text endpoint;
    if (const int error = parse_endpoint(text, endpoint))
        return error;
    const std::string given(text);
    if (const int error = pattern_->check_connect())
        return error;
    if (endpoint.scheme == "inproc") {
        last_endpoint_ = given;
        return connect_inproc(endpoint.address, given);
    }
    const transport::scheme* scheme = context_.find_scheme(endpoint.scheme);
    if (!scheme)
        return unknown_scheme(endpoint.scheme);
    if (const auto error = scheme->check_connect(endpoint.address, options_.transport))
        return error.value();
    if (pattern_->connects_once() &&
        std::ranges::find(connected_, given, &connected_endpoint::endpoint) != connected_.end())
        return 0;
    runtime::io_thread* thread = context_.choose_thread(options_.affinity);
    if (!thread)
        return EMTHREAD;
    snapshot_options();
    auto connection = std::make_shared<session>(*thread, link_, endpoint_options_, given, *scheme,
                                                std::string(endpoint.address));
    connected_.push_back({given, connection, {}});
    if (!options_.immediate) {
        auto pipe = connection->make_pipe();
        connected_.back().pipe = pipe;
        adopt(pipe);
    }
    connection->start();
    last_endpoint_ = given;
    return after_operation(0);
}

int socket::unbind(std::string_view text)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    endpoint_text endpoint;
    if (const int error = parse_endpoint(text, endpoint))
        return error;
    std::string wanted(text);
    if (endpoint.scheme != "inproc") {
        const transport::scheme* scheme = context_.find_scheme(endpoint.scheme);
        if (!scheme)
            return EPROTONOSUPPORT;
        if (const std::string canonical = scheme->canonical(endpoint.address, options_.transport);
            !canonical.empty() &&
            std::ranges::find(bound_, canonical, &bound_endpoint::endpoint) != bound_.end())
            wanted = canonical;
    }
    bool found = false;
    for (auto at = bound_.begin(); at != bound_.end();) {
        if (at->endpoint != wanted && at->as_given != wanted) {
            ++at;
            continue;
        }
        found = true;
        const bound_endpoint ended = *at;
        at = bound_.erase(at);
        if (!ended.listening) {
            context_.inproc().unbind(std::string(endpoint.address), *link_);
            continue; // pipes that exist stay
        }
        ended.listening->close();
        process_mail();
        for (std::size_t i = 0; i < pipes_.size(); ++i)
            if (const auto pipe = pipes_[i];
                pipe && !pipe->connected_side && pipe->endpoint == ended.endpoint)
                finish_pipe(*pipe);
    }
    after_operation(0);
    return found ? 0 : ENOENT;
}

int socket::disconnect(std::string_view text)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    endpoint_text endpoint;
    if (const int error = parse_endpoint(text, endpoint))
        return error;
    if (endpoint.scheme != "inproc" && !context_.find_scheme(endpoint.scheme))
        return EPROTONOSUPPORT;
    bool found = false;
    for (auto at = connected_.begin(); at != connected_.end();) {
        if (at->endpoint != text) {
            ++at;
            continue;
        }
        found = true;
        const connected_endpoint ended = *at;
        at = connected_.erase(at);
        const auto pipe = ended.pipe.lock();
        if (pipe && !pipe->closed_here())
            close_pipe(*pipe, options_.linger_ms);
        if (!ended.connection)
            continue;
        for (std::size_t i = 0; i < pipes_.size(); ++i) // IMMEDIATE=1: pipes of its connections
            if (const auto other = pipes_[i]; other && other->connected_side &&
                                              other->endpoint == ended.endpoint &&
                                              other->belongs_to(*ended.connection))
                close_pipe(*other, options_.linger_ms);
        ended.connection->close(options_.linger_ms);
    }
    return found ? after_operation(0) : ENOENT;
}

// --- options -----------------------------------------------------------------------------------

int socket::set_option(int id, const void* value, std::size_t bytes)
{
    if (box_->interrupted())
        return ETERM;
    process_mail();
    int error = pattern_->set_option(id, value, bytes);
    if (error == EINVAL)
        error = core::set_option(options_, id, value, bytes);
    else if (error == 0)
        return after_operation(0);
    if (error == 0) {
        endpoint_options_.reset();
        if (id == ZMQ_SNDHWM || id == ZMQ_RCVHWM) {
            for (const auto& pipe : pipes_) {
                if (!pipe)
                    continue;
                pipe->set_limits(options_.send_hwm, options_.receive_hwm);
                pattern_->writable(*pipe);
            }
        }
    }
    return after_operation(error);
}

int socket::get_option(int id, void* value, std::size_t* bytes)
{
    if (box_->interrupted())
        return ETERM;
    switch (id) {
    case ZMQ_RCVMORE:
        return write_int(more_ ? 1 : 0, value, bytes);
    case ZMQ_FD: {
        const int fd = box_->descriptor();
        return fd < 0 ? errno : write_int(fd, value, bytes);
    }
    case ZMQ_EVENTS: {
        if (*bytes < sizeof(int))
            return EINVAL;
        int now = 0;
        const int error = events(now);
        return error ? error : write_int(now, value, bytes);
    }
    case ZMQ_LAST_ENDPOINT:
        return write_text(last_endpoint_, value, bytes);
    default:
        break;
    }
    const int error = pattern_->get_option(id, value, bytes);
    return error == EINVAL ? core::get_option(options_, id, value, bytes) : error;
}

} // namespace zlink::core
