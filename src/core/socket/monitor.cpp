// SPDX-License-Identifier: Apache-2.0
#include "core/socket/monitor.hpp"

#include "base/system/owned_descriptor.hpp"
#include "core/connection/event_sink.hpp"
#include "core/socket/endpoint.hpp"
#include "core/socket/socket.hpp"
#include "core/socket/socket_services.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <new>
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

/// The internal socket of one registration, and what it could not take yet.
/// Thread safety: any thread.
/// Lifetime: keeps itself alive while it waits for the application to take the backlog.
class monitor_outlet final : public event_listener,
                             public std::enable_shared_from_this<monitor_outlet> {
public:
    monitor_outlet(socket_services& owner, std::shared_ptr<socket> out, int version)
        : owner_(owner), out_(std::move(out)), version_(version)
    {}

    void on_event(const monitor_event& event) override
    {
        event_message message = version_ == 1 ? version_1(event) : version_2(event);
        std::lock_guard lock(mutex_);
        if (closed_)
            return;
        if (backlog_.size() < backlog_limit)
            backlog_.push_back(std::move(message));
        if (!send_backlog())
            watch();
    }

    void end() noexcept override
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
    // False if some has to wait. A message that was begun is never left unfinished.
    bool send_backlog()
    {
        for (; !backlog_.empty(); backlog_.pop_front(), parts_sent_ = 0) {
            const event_message& message = backlog_.front();
            for (; parts_sent_ < message.size(); ++parts_sent_) {
                const bool more = parts_sent_ + 1 < message.size();
                const int error = out_->send(frame_of(message[parts_sent_], more), true);
                if (error == EAGAIN || error == ENOMEM)
                    return false;
                if (error)
                    break; // it cannot be sent at all
            }
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
            base::owned_descriptor fd(thread ? ::fcntl(out_->box().descriptor(), F_DUPFD_CLOEXEC, 0)
                                             : -1);
            if (fd.get() < 0)
                return; // the next event tries again
            watched_.emplace(thread->context(), fd.get());
            fd.release();
        }
        watched_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [self = shared_from_this()](const boost::system::error_code& error) {
                                 if (!error)
                                     self->go_on();
                             });
        watching_ = true;
    }

    void go_on() noexcept
    {
        std::lock_guard lock(mutex_);
        watching_ = false;
        // Without memory it is tried a second time, and then again with the next event.
        for (int tries = 0; tries < 2 && !watching_; ++tries) {
            try {
                int ignored = 0;
                if (closed_ || out_->events(ignored) != 0 || send_backlog())
                    return;
                watch();
            } catch (const std::bad_alloc&) {
            }
        }
    }

    socket_services& owner_;
    const std::shared_ptr<socket> out_;
    const int version_;
    std::mutex mutex_; ///< guards the rest, and out_ but for its end
    std::deque<event_message> backlog_;
    std::size_t parts_sent_ = 0; ///< of the first message in it
    std::optional<boost::asio::posix::stream_descriptor> watched_;
    bool watching_ = false;
    bool closed_ = false;
};

} // namespace

int start_monitor(socket& watched, const monitor_settings& settings)
{
    if (watched.is_shut_down())
        return ETERM;
    endpoint_text endpoint;
    if (const int error = parse_endpoint(settings.endpoint, endpoint))
        return error;
    if (endpoint.scheme != "inproc")
        return EPROTONOSUPPORT;
    watched.events_of_connections().stop();
    socket_services& owner = watched.services();
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
    watched.events_of_connections().start(std::move(outlet), settings.events);
    return 0;
}

int stop_monitor(socket& watched)
{
    if (watched.is_shut_down())
        return ETERM;
    watched.events_of_connections().stop();
    return 0;
}

} // namespace zlink::core
