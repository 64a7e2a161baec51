// SPDX-License-Identifier: Apache-2.0
#include "core/context/context.hpp"
#include "base/system/no_cancellation.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <zmq.h>

namespace zlink::core {
context::context(const builtins& parts) : parts_(parts)
{
    options_.threads.stepped = parts.steps_io_threads;
}

context::~context()
{
    pool_.stop();
}

int context::set_option(int id, int value)
{
    std::lock_guard lock(mutex_);
    return core::set_option(options_, id, value);
}

int context::get_option(int id, int& error) const
{
    std::lock_guard lock(mutex_);
    return core::get_option(options_, id, error);
}

int context::set_name_prefix(std::string_view prefix)
{
    if (prefix.empty() || prefix.size() > 16)
        return EINVAL;
    std::lock_guard lock(mutex_);
    options_.threads.name_prefix = prefix;
    return 0;
}

std::string context::name_prefix() const
{
    std::lock_guard lock(mutex_);
    return options_.threads.name_prefix;
}

const transport_row* context::find_transport(std::string_view scheme) const noexcept
{
    for (const transport_row& row : parts_.transports)
        if (row.scheme->name == scheme)
            return &row;
    return nullptr;
}

const transport::datagram_scheme*
context::find_datagram_scheme(std::string_view name) const noexcept
{
    for (const transport::datagram_scheme* scheme : parts_.datagram_schemes)
        if (scheme->name == name)
            return scheme;
    return nullptr;
}

std::shared_ptr<void> context::make_hold()
{
    {
        std::lock_guard lock(hold_mutex_);
        ++holds_;
    }
    return std::shared_ptr<void>(nullptr, [this](void*) { released(); });
}

void context::released() noexcept
{
    std::lock_guard lock(hold_mutex_);
    // Signalled under the lock: terminate() may destroy the object as soon as it has seen 0.
    if (--holds_ == 0)
        ended_.signal();
}

std::shared_ptr<socket> context::open_socket(int type, int& error)
{
    std::lock_guard lock(mutex_);
    if (shut_down_) {
        error = ETERM;
        return nullptr;
    }
    const auto row = std::ranges::find(parts_.patterns, type,
                                       [](const pattern_row& each) { return each.traits.number; });
    if (row == parts_.patterns.end()) {
        error = EINVAL;
        return nullptr;
    }
    if (!started_) {
        error = pool_.start(options_.io_threads, options_.threads);
        // So many threads, or descriptors in an epoll, are not to be had.
        if (error == EAGAIN || error == ENOSPC)
            error = EMFILE;
        if (error)
            return nullptr;
        alarms_.fill();
        started_ = true;
        socket_slots_ = options_.max_sockets;
    }
    if (static_cast<int>(sockets_.size()) >= socket_slots_) {
        error = EMFILE;
        return nullptr;
    }
    if (!defaults_.options || defaults_.options->type != type || defaults_.ipv6 != options_.ipv6 ||
        defaults_.blocky != options_.blocky) {
        if (!ports_)
            ports_ = std::make_unique<transport::shared_ports>();
        auto fresh = std::make_shared<socket_options>();
        fresh->transport.ipv6 = options_.ipv6;
        fresh->transport.ports = ports_.get();
        if (!options_.blocky)
            fresh->linger_ms = 0;
        defaults_ = {std::move(fresh), options_.ipv6, options_.blocky};
    }
    auto opened = std::make_shared<socket>(*this, *row, defaults_.options, make_hold());
    defaults_.options = opened->shared_options();
    sockets_.insert(opened);
    return opened;
}

void context::close_socket(const std::shared_ptr<socket>& closing)
{
    closing->close();
    std::shared_ptr<socket> last;
    std::lock_guard lock(mutex_);
    if (const auto at = sockets_.find(closing); at != sockets_.end()) {
        last = *at;
        sockets_.erase(at);
        ended_.signal();
    }
}

void context::shutdown()
{
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    for (const auto& open : sockets_)
        open->shut_down();
}

int context::terminate()
{
    shutdown();
    for (;;) {
        const std::uint32_t seen = ended_.count();
        {
            std::scoped_lock lock(mutex_, hold_mutex_);
            if (sockets_.empty() && holds_ == 0)
                break;
        }
        if (ended_.wait(seen, base::no_deadline) == base::wait_result::interrupted)
            return EINTR;
    }
    const base::no_cancellation whole;
    std::lock_guard lock(mutex_); // it may be called in two threads at once
    pool_.stop();
    return 0;
}

} // namespace zlink::core
