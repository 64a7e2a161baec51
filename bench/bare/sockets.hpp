// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace zlink::bench::bare {

/// Throws std::system_error for a negative result of a system call.
template <class Result>
Result checked(Result result, const char* call)
{
    if (result < 0) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return result;
}

/// Owns a file descriptor; -1: none.
class descriptor {
public:
    explicit descriptor(int fd) : fd_(fd) {}
    ~descriptor();
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    int get() const noexcept { return fd_; }

private:
    int fd_;
};

/// Listens on a free port of the loopback interface, which is stored in `port`.
descriptor listen_on_loopback(std::uint16_t& port);

/// Connects to a port of the loopback interface, with TCP_NODELAY.
descriptor connect_to_loopback(std::uint16_t port);

/// Takes the next connection, with TCP_NODELAY.
descriptor accept_from(const descriptor& listener);

/// Listens within the machine for one kind of connection or the other, and connects to itself.
class meeting_place {
public:
    enum class kind { tcp, local };

    /// tcp on a free port of the loopback interface, local at a name that the kernel makes up.
    explicit meeting_place(kind chosen);

    /// Any thread may call this.
    descriptor connect() const;

    /// Takes the next connection without waiting; an empty descriptor if there is none.
    descriptor try_accept() const;

    int handle() const noexcept { return listener_.get(); }

private:
    kind kind_;
    std::uint16_t port_ = 0;
    descriptor listener_;
};

/// Tells which of many descriptors have input, or room for output again.
class watcher {
public:
    struct event {
        std::size_t index; ///< what add() was told
        bool has_input;    ///< or the connection has ended
        bool has_room;
    };

    watcher();

    /// `index` names the descriptor in events.
    void add(int fd, std::size_t index);

    /// Whether room for output counts too.
    void want_room(int fd, std::size_t index, bool wanted);

    /// Waits until there are events. They are valid until the next call. Before it sleeps it tries
    /// for so long, and lets other threads run between the tries.
    std::span<const event> wait(std::chrono::nanoseconds tries_for = {});

private:
    /// False if there are no events within the time.
    bool collect(int timeout_ms);

    descriptor epoll_;
    std::vector<event> events_;
};

} // namespace zlink::bench::bare
