// SPDX-License-Identifier: Apache-2.0
// What of Asio is no template, compiled here and nowhere else: see BOOST_ASIO_SEPARATE_COMPILATION
// in CMakeLists.txt.
#include "runtime/reactor.hpp"

#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <sys/epoll.h>
#include <utility>

namespace {

/// The last errno with which the kernel refused to add a descriptor of this thread to an epoll; 0
/// if it has refused none.
#ifdef __GLIBC__ // which gets others their memory at the first use, and ends the process without
[[gnu::tls_model("initial-exec")]]
#endif
constinit thread_local int refusal = 0;

int watched_epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event)
{
    const int result = ::epoll_ctl(epoll, operation, descriptor, event);
    if (result != 0 && operation == EPOLL_CTL_ADD)
        refusal = errno;
    return result;
}

} // namespace

// Asio looks whether sockets could be added, but not whether its own descriptors could.
#define epoll_ctl watched_epoll_ctl
#include <boost/asio/impl/src.hpp>
#undef epoll_ctl

namespace zlink::runtime {

int make_reactor(boost::asio::io_context& io)
{
    refusal = 0;
    const boost::asio::steady_timer first(io);
    return std::exchange(refusal, 0);
}

} // namespace zlink::runtime
