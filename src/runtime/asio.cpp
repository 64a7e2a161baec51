// SPDX-License-Identifier: Apache-2.0
// What of Asio is no template, compiled here and nowhere else: see BOOST_ASIO_SEPARATE_COMPILATION
// in CMakeLists.txt. Its calls of epoll go through functions of this file.
#include "base/system/owned_descriptor.hpp"
#include "runtime/input_watch.hpp"
#include "runtime/reactor.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <utility>

namespace {

/// The last calls of this thread that added a descriptor to an epoll.
struct epoll_additions {
    int refusal = 0; ///< the last errno with which the kernel refused one; 0 if it has refused none
    int epoll = -1;  ///< where the last one was added
};
#ifdef __GLIBC__ // which gets others their memory at the first use, and ends the process without
[[gnu::tls_model("initial-exec")]]
#endif
constinit thread_local epoll_additions additions;

int watched_epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event)
{
    const int result = ::epoll_ctl(epoll, operation, descriptor, event);
    if (operation == EPOLL_CTL_ADD) {
        additions.epoll = epoll;
        if (result != 0)
            additions.refusal = errno;
    }
    return result;
}

// The events of input watches are not for Asio.
int watched_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms)
{
    return zlink::runtime::take_watched(events, ::epoll_wait(epoll, events, most, timeout_ms));
}

} // namespace

// Asio looks whether sockets could be added, but not whether its own descriptors could.
#define epoll_ctl watched_epoll_ctl
#define epoll_wait watched_epoll_wait
#include <boost/asio/impl/src.hpp>
#undef epoll_ctl
#undef epoll_wait

namespace zlink::runtime {

int make_reactor(boost::asio::io_context& io)
{
    additions.refusal = 0;
    try {
        const boost::asio::steady_timer first(io);
        prepare_watches(io);
    } catch (const boost::system::system_error&) {
        if (additions.refusal == 0)
            throw;
    }
    return std::exchange(additions.refusal, 0);
}

int epoll_of(boost::asio::io_context& io)
{
    base::owned_descriptor probe(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    boost::system::error_code error;
    if (probe.get() < 0)
        error.assign(errno, boost::system::system_category());
    boost::asio::posix::stream_descriptor added(io);
    if (!error)
        added.assign(probe.get(), error);
    if (error)
        throw boost::system::system_error(error);
    added.release();
    return additions.epoll;
}

} // namespace zlink::runtime
