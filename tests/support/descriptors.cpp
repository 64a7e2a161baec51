// SPDX-License-Identifier: Apache-2.0
#include "support/descriptors.hpp"

#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace zlink::test {

descriptor_pair::descriptor_pair()
{
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0)
        throw std::runtime_error("socketpair");
}

descriptor_pair::~descriptor_pair()
{
    ::close(ends_[0]);
    hang_up();
}

void descriptor_pair::write() const
{
    if (::write(ends_[1], "x", 1) != 1)
        throw std::runtime_error("write");
}

void descriptor_pair::hang_up()
{
    if (ends_[1] >= 0)
        ::close(std::exchange(ends_[1], -1));
}

readable_watch::readable_watch(int fd, trigger how) : epoll_(::epoll_create1(EPOLL_CLOEXEC))
{
    epoll_event event{};
    event.events = EPOLLIN | (how == trigger::edge ? EPOLLET : 0u);
    if (epoll_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
        throw std::runtime_error("epoll");
}

readable_watch::~readable_watch()
{
    ::close(epoll_);
}

bool readable_watch::wait(std::chrono::milliseconds window) const
{
    epoll_event event{};
    int count = 0;
    do
        count = ::epoll_wait(epoll_, &event, 1, static_cast<int>(window.count()));
    while (count < 0 && errno == EINTR);
    return count == 1;
}

no_descriptors::no_descriptors()
{
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::open("/dev/null", O_RDONLY);
    ::close(next);
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(next);
    ::setrlimit(RLIMIT_NOFILE, &now);
}

no_descriptors::~no_descriptors()
{
    ::setrlimit(RLIMIT_NOFILE, &before_);
}

} // namespace zlink::test
