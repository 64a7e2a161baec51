// SPDX-License-Identifier: Apache-2.0
#include "core/monitor.hpp"

#include "core/context.hpp"
#include "core/endpoint.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <optional>
#include <string>
#include <vector>
#include <zmq.h>

namespace zlink::core {
namespace {

// So many events wait for an application that has not connected yet, or is behind, after the
// queues of the two sockets are full.
constexpr std::size_t backlog_limit = 1000;

using event_message = std::vector<std::string>;

template <class Value>
void append(std::string& to, Value value)
{
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    to.append(bytes, sizeof bytes);
}

template <class Value>
std::string bytes_of(Value value)
{
    std::string bytes;
    append(bytes, value);
    return bytes;
}

event_message version_1(const monitor_event& event)
{
    std::string first = bytes_of(static_cast<std::uint16_t>(event.id));
    append(first, static_cast<std::uint32_t>(event.value.at[0]));
    return {std::move(first),
            std::string(event.own == monitor_event::side::bound ? event.local : event.remote)};
}

event_message version_2(const monitor_event& event)
{
    event_message parts{bytes_of(event.id),
                        bytes_of(static_cast<std::uint64_t>(event.value.count))};
    for (std::size_t i = 0; i < event.value.count; ++i)
        parts.push_back(bytes_of(event.value.at[i]));
    parts.emplace_back(event.local);
    parts.emplace_back(event.remote);
    return parts;
}

} // namespace

/// The internal socket of one registration, and what it could not take yet.
/// Thread safety: any thread.
/// Lifetime: keeps itself alive while it waits for the application to take the backlog.
class monitor_outlet : public std::enable_shared_from_this<monitor_outlet> {
public:
    monitor_outlet(context& owner, std::shared_ptr<socket> out, int version)
        : owner_(owner), out_(std::move(out)), version_(version)
    {}

    void send(const monitor_event& event)
    {
        event_message message = version_ == 1 ? version_1(event) : version_2(event);
        std::lock_guard lock(mutex_);
        if (closed_)
            return;
        if (backlog_.empty() && try_send(message))
            return;
        if (backlog_.size() < backlog_limit)
            backlog_.push_back(std::move(message));
        watch();
    }

    void close() noexcept
    {
        {
            std::lock_guard lock(mutex_);
            closed_ = true;
            boost::system::error_code ignored;
            if (watched_)
                watched_->close(ignored);
        }
        owner_.close_socket(out_);
    }

private:
    // True unless the message has to wait. One that cannot be sent at all is dropped.
    bool try_send(const event_message& message)
    {
        for (std::size_t i = 0; i < message.size(); ++i) {
            const int error = out_->send(frame_of(message[i], i + 1 < message.size()), true);
            if (error)
                return error != EAGAIN;
        }
        return true;
    }

    // The internal socket has no thread of its own: an I/O thread hears when it can go on.
    void watch()
    {
        if (watching_)
            return;
        if (!watched_) {
            runtime::io_thread* const thread = owner_.choose_thread(0);
            const int fd = thread ? ::fcntl(out_->box().descriptor(), F_DUPFD_CLOEXEC, 0) : -1;
            if (fd < 0)
                return; // the next event tries again
            watched_.emplace(thread->context(), fd);
        }
        watching_ = true;
        watched_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [self = shared_from_this()](const boost::system::error_code& error) {
                                 if (!error)
                                     self->go_on();
                             });
    }

    void go_on()
    {
        std::lock_guard lock(mutex_);
        watching_ = false;
        int ignored = 0;
        if (closed_ || out_->events(ignored) != 0)
            return;
        while (!backlog_.empty() && try_send(backlog_.front()))
            backlog_.pop_front();
        if (!backlog_.empty())
            watch();
    }

    context& owner_;
    const std::shared_ptr<socket> out_;
    const int version_;
    std::mutex mutex_; ///< guards the rest, and out_ but for its end
    std::deque<event_message> backlog_;
    std::optional<boost::asio::posix::stream_descriptor> watched_;
    bool watching_ = false;
    bool closed_ = false;
};

monitor::monitor() = default;
monitor::~monitor() = default;

int monitor::start(context& owner, const monitor_settings& settings)
{
    endpoint_text endpoint;
    if (const int error = parse_endpoint(settings.endpoint, endpoint))
        return error;
    if (endpoint.scheme != "inproc")
        return EPROTONOSUPPORT;
    stop();
    int error = 0;
    const std::shared_ptr<socket> out = owner.open_socket(settings.socket_type, error);
    if (!out)
        return error;
    std::shared_ptr<monitor_outlet> outlet;
    try {
        outlet = std::make_shared<monitor_outlet>(owner, out, settings.version);
        error = out->bind(settings.endpoint);
    } catch (...) {
        owner.close_socket(out); // the end of the context would wait for it
        throw;
    }
    if (error) {
        owner.close_socket(out);
        return error;
    }
    std::lock_guard lock(mutex_);
    outlet_ = std::move(outlet);
    wanted_.store(settings.events, std::memory_order_relaxed);
    return 0;
}

void monitor::stop() noexcept
{
    if (!outlet_) // changed by this thread only
        return;
    emit({ZMQ_EVENT_MONITOR_STOPPED, {}, monitor_event::side::bound, {}, {}});
    std::shared_ptr<monitor_outlet> ended;
    {
        std::lock_guard lock(mutex_);
        wanted_.store(0, std::memory_order_relaxed);
        ended = std::move(outlet_);
    }
    ended->close();
}

void monitor::emit(const monitor_event& event) noexcept
{
    if (!wants(event.id))
        return;
    try {
        std::lock_guard lock(mutex_);
        if (outlet_)
            outlet_->send(event);
    } catch (...) {
        // Without memory for it the event is dropped.
    }
}

} // namespace zlink::core
