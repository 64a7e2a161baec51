// SPDX-License-Identifier: Apache-2.0
#include "core/connection/listener.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <new>
#include <utility>
#include <zmq.h>

namespace zlink::core {
namespace {

// No descriptors or memory left for another connection: the next try.
constexpr std::chrono::milliseconds pause_after_failure{50};

// With fewer sessions than this those that have ended need not be looked for.
constexpr std::size_t fewest_sessions = 16;

} // namespace

listener::listener(runtime::io_pool& pool, runtime::io_thread& thread,
                   std::shared_ptr<socket_side> side, std::shared_ptr<const socket_options> options,
                   const transport_row& transport,
                   std::shared_ptr<const transport::bind_endpoint> address,
                   std::unique_ptr<transport::acceptor> acceptor)
    : pool_(pool),
      thread_(thread),
      side_(std::move(side)),
      options_(std::move(options)),
      transport_(transport),
      address_(std::move(address)),
      acceptor_(std::move(acceptor)),
      endpoint_(acceptor_->endpoint())
{
    ++thread_.load();
}

void listener::ask(request what) noexcept
{
    thread_.ask(*this, static_cast<unsigned>(what), shared_from_this());
}

void listener::do_request(unsigned number)
{
    switch (static_cast<request>(number)) {
    case request::begin:
        return wait();
    case request::end:
        return end();
    }
}

void listener::wait()
{
    if (closed_)
        return;
    if (acceptor_->has_collected())
        return accept_soon();
    try {
        acceptor_->async_wait([self = shared_from_this()](const transport::error_code& error) {
            if (self->closed_)
                return;
            if (error)
                return self->pause(error.value());
            self->accept();
        });
    } catch (const std::bad_alloc&) {
        wait_later();
    }
}

// Needs no memory.
void listener::wait_later() noexcept
{
    thread_.ask_later(*this, static_cast<unsigned>(request::begin), shared_from_this());
}

// What is taken into traffic in a call is little beside what may be calling at once: the kernel's
// queue is emptied first, so that none of those has to call again a second later.
void listener::accept()
{
    acceptor_->collect();
    for (int accepted = 0; accepted < tuning::turn::operations_per_call; ++accepted) {
        runtime::io_thread* target = pool_.choose(options_->affinity);
        if (!target)
            target = &thread_;
        int error = 0;
        try {
            auto result = acceptor_->accept(target->context());
            if (result.error == boost::asio::error::would_block)
                break;
            error = result.error.value();
            if (result.passed)
                target = pool_.find(*result.passed->home); // ports are shared within a context
            if (result.connection)
                begin_session(*target, std::move(result));
        } catch (const std::bad_alloc&) {
            error = ENOMEM;
        }
        if (error != 0)
            return pause(error);
    }
    wait();
}

// After what else there is to do in the I/O thread by now.
void listener::accept_soon()
{
    try {
        boost::asio::post(thread_.context(), [self = shared_from_this()] {
            if (!self->closed_)
                self->accept();
        });
    } catch (const std::bad_alloc&) {
        pause(ENOMEM);
    }
}

void listener::begin_session(runtime::io_thread& target, transport::acceptor::result accepted)
{
    auto through =
        accepted.passed ? std::move(accepted.passed->through) : address_->make_upgrades();
    auto fresh = std::make_shared<session>(target, side_, options_, endpoint_, transport_,
                                           std::move(through), std::move(accepted));
    if (sessions_.size() >= sessions_until_look_) {
        std::erase_if(sessions_, [](const auto& entry) { return entry.expired(); });
        sessions_until_look_ = std::max(fewest_sessions, 2 * sessions_.size());
    }
    sessions_.push_back(fresh);
    fresh->start();
}

// There are no descriptors for another connection, or no memory.
void listener::pause(int error) noexcept
{
    side_->events.emit({ZMQ_EVENT_ACCEPT_FAILED,
                        monitor_event::number(error),
                        monitor_event::side::bound,
                        endpoint_,
                        {}});
    try {
        pause_.emplace(thread_.context());
        pause_->expires_after(pause_after_failure);
        pause_->async_wait([self = shared_from_this()](const transport::error_code& stopped) {
            if (!stopped)
                self->wait();
        });
    } catch (const std::bad_alloc&) {
        wait_later();
    }
}

void listener::close() noexcept
{
    ask(request::end);
    thread_.await(ended_); // the address must be free when zmq_unbind returns
}

void listener::end()
{
    if (closed_)
        return;
    closed_ = true;
    --thread_.load();
    pause_.reset();
    const int fd = acceptor_->descriptor();
    acceptor_->close();
    acceptor_.reset();
    side_->events.emit(
        {ZMQ_EVENT_CLOSED, monitor_event::number(fd), monitor_event::side::bound, endpoint_, {}});
    for (const auto& entry : sessions_)
        if (const auto live = entry.lock())
            live->close_before_traffic();
    sessions_.clear();
    side_.reset();
    ended_.store(true);
    ended_.notify_all();
}

} // namespace zlink::core
