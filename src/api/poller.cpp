// SPDX-License-Identifier: Apache-2.0
#include "api/objects.hpp"
#include "core/wait/poll.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <vector>
#include <zmq.h>

namespace zlink::api {
namespace {

constexpr int no_descriptor = -1;
constexpr short all_events = ZMQ_POLLIN | ZMQ_POLLOUT | ZMQ_POLLERR | ZMQ_POLLPRI;

/// The sockets and descriptors of a zmq_poller, in the order of registration. While sockets that
/// many threads use are among them, it has a descriptor, from when it is asked for: that is
/// readable while one of these may be ready, and is made unreadable by wait(). Thread safety: one
/// thread at a time.
class poller {
public:
    poller() = default;
    ~poller() { unwatch_all(); }
    poller(const poller&) = delete;
    poller& operator=(const poller&) = delete;

    int size() const noexcept { return static_cast<int>(items_.size()); }

    int add(void* socket, int fd, void* user_data, short events)
    {
        if (!known(events) || find(socket, fd) != items_.end())
            return EINVAL;
        core::socket_gate* const gate = is_shared(socket) ? sockets().gate(socket) : nullptr;
        items_.push_back({socket, fd, user_data, events, 0, gate}); // never destroyed, the gate
        if (gate && watching_) {
            try {
                gate->watch(alarm_);
            } catch (...) {
                items_.pop_back();
                throw;
            }
        }
        look_at(items_.back());
        return 0;
    }

    int modify(const void* socket, int fd, short events)
    {
        const auto item = find(socket, fd);
        if (!known(events) || item == items_.end())
            return EINVAL;
        item->events = events;
        look_at(*item);
        return 0;
    }

    int remove(const void* socket, int fd) noexcept
    {
        const auto item = find(socket, fd);
        if (item == items_.end())
            return EINVAL;
        if (item->gate)
            item->gate->unwatch(alarm_);
        items_.erase(item);
        return 0;
    }

    /// 0, EINVAL without sockets that many threads use, or the errno of a descriptor that cannot be
    /// had.
    int descriptor(int& out)
    {
        if (std::ranges::none_of(items_, [](const item& each) { return each.gate; }))
            return EINVAL;
        if (const int error = alarm_.open())
            return error;
        if (!watching_)
            watch_all();
        out = alarm_.descriptor();
        return 0;
    }

    /// Fills `events` from the beginning with what is ready, at most `capacity`. 0, EAGAIN (nothing
    /// in time), EFAULT (nothing to wait for, for ever), or the error of the wait.
    int wait(zmq_poller_event_t* events, int capacity, long timeout_ms, int& found)
    {
        const bool nothing = std::ranges::all_of(items_, [](const item& i) { return !i.events; });
        if (nothing && timeout_ms < 0)
            return EFAULT;
        if (capacity == 0)
            return EAGAIN;
        std::vector<std::shared_ptr<socket_object>> kept;
        core::poll_set set(items_.size());
        for (item& each : items_) {
            each.ready = 0;
            if (!each.socket) {
                if (each.events)
                    set.add_descriptor(each.fd, each.events, each.ready);
                continue;
            }
            core::socket* const polled = socket_to_wait_for(each.socket, kept);
            if (!polled)
                return no_socket(each.socket);
            set.add_socket(*polled, each.events, each.ready);
        }
        if (watching_)
            alarm_.clear(); // whatever comes from now on is signalled again
        int ready = 0;
        int error = 0;
        try {
            error = set.wait(timeout_ms, ready);
        } catch (...) {
            if (watching_)
                alarm_.signal(); // what there is was not looked at
            throw;
        }
        // A socket that is ready tells no more until it was found not to be.
        if (watching_ && (error || ready))
            alarm_.signal();
        else if (watching_) // mail that came during the last look is not signalled by itself
            for (const item& each : items_)
                look_at(each);
        if (error)
            return error;
        found = 0;
        for (const item& each : items_) {
            if (found == capacity)
                break;
            if (each.ready)
                events[found++] = {each.socket, each.fd, each.user_data, each.ready};
        }
        return found ? 0 : EAGAIN;
    }

private:
    struct item {
        void* socket; ///< null: a descriptor
        int fd;
        void* user_data;
        short events;
        short ready;
        core::socket_gate* gate; ///< of a socket that many threads use
    };

    // From now on news of the socket are signalled; what there is already is signalled here.
    void look_at(const item& changed)
    {
        if (!changed.gate || !watching_)
            return;
        constexpr int most_looks = 16; // mail may come for ever
        const auto object = sockets().share(changed.socket);
        std::uint32_t mail = 1;
        for (int looks = 0; mail != 0 && looks < most_looks; ++looks) {
            int now = 0;
            mail = 0;
            if (!object || object->socket->poll_events(changed.events, now, mail) != 0 ||
                (now & changed.events) != 0)
                return alarm_.signal(); // what is wrong is for wait() to tell
        }
        if (mail)
            alarm_.signal();
    }

    void watch_all()
    {
        try {
            for (const item& each : items_)
                if (each.gate)
                    each.gate->watch(alarm_);
        } catch (...) {
            unwatch_all();
            throw;
        }
        watching_ = true;
        for (const item& each : items_)
            look_at(each);
    }

    void unwatch_all() noexcept
    {
        for (const item& each : items_)
            if (each.gate)
                each.gate->unwatch(alarm_);
    }

    static bool known(short events) noexcept { return (events & ~all_events) == 0; }

    std::vector<item>::iterator find(const void* socket, int fd) noexcept
    {
        return std::ranges::find_if(items_, [&](const item& each) {
            return each.socket == socket && (socket || each.fd == fd);
        });
    }

    std::vector<item> items_;
    base::descriptor_wakeup alarm_;
    bool watching_ = false; ///< the descriptor has been asked for: gates signal it
};

constinit base::lasting<handle_table<poller>> all_pollers;

handle_table<poller>& pollers() noexcept
{
    return all_pollers.value;
}

[[maybe_unused]] const bool kept_over_fork = keep_over_fork<pollers>();

int no_poller(const void* handle) noexcept
{
    return error_of(pollers(), handle, EFAULT);
}

/// Runs `body(poller&)`, which returns 0 or an errno value.
template <class Body>
int with_poller(const void* handle, Body body)
{
    poller* const found = pollers().get(handle);
    if (!found)
        return fail(no_poller(handle));
    try {
        return result(body(*found));
    } catch (const std::exception&) { // and nothing else, which passes when the thread is cancelled
        return fail(ENOMEM);
    }
}

// A socket that was registered and then closed can still be taken out.
int unless_registered(int error, const void* socket) noexcept
{
    return error && !sockets().get(socket) ? no_socket(socket) : error;
}

template <class Body>
int with_poller_of_socket(const void* poller, const void* socket, Body body)
{
    return with_poller(
        poller, [&](auto& p) { return sockets().get(socket) ? body(p) : no_socket(socket); });
}

} // namespace
} // namespace zlink::api

using namespace zlink::api;

extern "C" {

void* zmq_poller_new(void)
{
    try {
        if (void* handle = pollers().add(std::make_shared<poller>()))
            return handle;
    } catch (...) {
        // reported below
    }
    errno = ENOMEM;
    return nullptr;
}

int zmq_poller_destroy(void** poller_p)
{
    if (!poller_p || !(pollers().remove(*poller_p) || pollers().forget(*poller_p)))
        return fail(EFAULT);
    *poller_p = nullptr;
    return 0;
}

int zmq_poller_size(void* poller)
{
    const auto* const found = pollers().get(poller);
    return found ? found->size() : fail(no_poller(poller));
}

int zmq_poller_add(void* poller, void* socket, void* user_data, short events)
{
    return with_poller_of_socket(
        poller, socket, [&](auto& p) { return p.add(socket, no_descriptor, user_data, events); });
}

int zmq_poller_modify(void* poller, void* socket, short events)
{
    return with_poller_of_socket(poller, socket,
                                 [&](auto& p) { return p.modify(socket, no_descriptor, events); });
}

int zmq_poller_remove(void* poller, void* socket)
{
    const int failed = with_poller(poller, [&](auto& p) {
        return unless_registered(socket ? p.remove(socket, no_descriptor) : ENOTSOCK, socket);
    });
    return unless_inherited(pollers(), poller, failed);
}

int zmq_poller_add_fd(void* poller, zmq_fd_t fd, void* user_data, short events)
{
    return with_poller(poller, [&](auto& p) {
        return fd == no_descriptor ? EBADF : p.add(nullptr, fd, user_data, events);
    });
}

int zmq_poller_modify_fd(void* poller, zmq_fd_t fd, short events)
{
    return with_poller(poller, [&](auto& p) {
        return fd == no_descriptor ? EBADF : p.modify(nullptr, fd, events);
    });
}

int zmq_poller_remove_fd(void* poller, zmq_fd_t fd)
{
    const int failed = with_poller(
        poller, [&](auto& p) { return fd == no_descriptor ? EBADF : p.remove(nullptr, fd); });
    return unless_inherited(pollers(), poller, failed);
}

int zmq_poller_wait(void* poller, zmq_poller_event_t* event, long timeout)
{
    return zmq_poller_wait_all(poller, event, 1, timeout) < 0 ? -1 : 0;
}

int zmq_poller_wait_all(void* poller, zmq_poller_event_t* events, int n_events, long timeout)
{
    int found = 0;
    const int error = with_poller(poller, [&](auto& p) {
        if (!events)
            return EFAULT;
        if (n_events < 0)
            return EINVAL;
        const int failed = p.wait(events, n_events, timeout, found);
        std::fill(events + found, events + n_events,
                  zmq_poller_event_t{nullptr, no_descriptor, nullptr, 0});
        return failed;
    });
    return error ? -1 : found;
}

int zmq_poller_fd(void* poller, zmq_fd_t* fd)
{
    return with_poller(poller, [&](auto& p) { return fd ? p.descriptor(*fd) : EFAULT; });
}

} // extern "C"
