// SPDX-License-Identifier: Apache-2.0
#include "bare/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace zlink::bench::bare {

namespace {

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

void write_at_once(int fd)
{
    const int on = 1;
    checked(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
}

descriptor make_socket()
{
    return descriptor(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
}

} // namespace

descriptor::~descriptor()
{
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

descriptor listen_on_loopback(std::uint16_t& port)
{
    descriptor listener = make_socket();
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(listener.get(), generic, size), "bind");
    checked(::getsockname(listener.get(), generic, &size), "getsockname");
    checked(::listen(listener.get(), SOMAXCONN), "listen");
    port = ntohs(address.sin_port);
    return listener;
}

descriptor connect_to_loopback(std::uint16_t port)
{
    descriptor made = make_socket();
    const sockaddr_in address = loopback(port);
    checked(::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            "connect");
    write_at_once(made.get());
    return made;
}

descriptor accept_from(const descriptor& listener)
{
    descriptor accepted(
        checked(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
    write_at_once(accepted.get());
    return accepted;
}

namespace {

/// Listens at an address of the abstract name space, which the kernel chooses.
descriptor listen_locally()
{
    descriptor listener(
        checked(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    checked(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address.sun_family),
            "bind");
    checked(::listen(listener.get(), SOMAXCONN), "listen");
    return listener;
}

descriptor connect_locally(int listener)
{
    sockaddr_un address{};
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    checked(::getsockname(listener, generic, &size), "getsockname");
    descriptor made(checked(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    checked(::connect(made.get(), generic, size), "connect");
    return made;
}

} // namespace

meeting_place::meeting_place(kind chosen)
    : kind_(chosen), listener_(chosen == kind::tcp ? listen_on_loopback(port_) : listen_locally())
{
    checked(::fcntl(listener_.get(), F_SETFL, O_NONBLOCK), "O_NONBLOCK");
}

descriptor meeting_place::connect() const
{
    return kind_ == kind::tcp ? connect_to_loopback(port_) : connect_locally(listener_.get());
}

descriptor meeting_place::try_accept() const
{
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 && (errno == EAGAIN || errno == EINTR)) {
        return descriptor(-1);
    }
    descriptor accepted(checked(fd, "accept"));
    if (kind_ == kind::tcp) {
        write_at_once(fd);
    }
    return accepted;
}

watcher::watcher() : epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {}

void watcher::add(int fd, std::size_t index)
{
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u64 = index;
    checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted), "epoll_ctl");
}

void watcher::want_room(int fd, std::size_t index, bool wanted)
{
    epoll_event changed{};
    changed.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
    changed.data.u64 = index;
    checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &changed), "epoll_ctl");
}

std::span<const watcher::event> watcher::wait(std::chrono::nanoseconds tries_for)
{
    using clock = std::chrono::steady_clock;
    events_.clear();
    if (tries_for.count() != 0) {
        const auto until = clock::now() + tries_for;
        do {
            if (collect(0)) {
                return events_;
            }
            std::this_thread::yield();
        } while (clock::now() < until);
    }
    collect(-1 /* no limit */);
    return events_;
}

bool watcher::collect(int timeout_ms)
{
    std::array<epoll_event, 256> found{};
    const int count =
        ::epoll_wait(epoll_.get(), found.data(), static_cast<int>(found.size()), timeout_ms);
    if (count < 0 && errno == EINTR) {
        return false;
    }
    checked(count, "epoll_wait");
    for (const epoll_event& each : std::span(found).first(static_cast<std::size_t>(count))) {
        events_.push_back({static_cast<std::size_t>(each.data.u64),
                           (each.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0,
                           (each.events & EPOLLOUT) != 0});
    }
    return count != 0;
}

} // namespace zlink::bench::bare
