// SPDX-License-Identifier: Apache-2.0
// I/O threads for which the kernel has no room in an epoll.
#include "support/fixture.hpp"

#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <set>

namespace zlink::test {
namespace {

std::atomic<int> before_refusal{-1}; ///< descriptors that are added before; -1: none is refused
std::atomic<int> refused_with{0};    ///< errno

} // namespace
} // namespace zlink::test

// Takes the place of the system's function, also for the library.
extern "C" int epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event)
{
    using namespace zlink::test;
    static const auto real =
        reinterpret_cast<decltype(&epoll_ctl)>(::dlsym(RTLD_NEXT, "epoll_ctl"));
    if (operation == EPOLL_CTL_ADD && before_refusal >= 0 && before_refusal-- == 0) {
        errno = refused_with;
        return -1;
    }
    return real(epoll, operation, descriptor, event);
}

namespace zlink::test {
namespace {

/// Opens a socket when one of the descriptors that its context adds is refused, until all are
/// there.
void open_with_each_refused(int error, int said)
{
    refused_with = error;
    int refusals = 0;
    for (;; ++refusals) {
        test_context context;
        zmq_ctx_set(context, ZMQ_IO_THREADS, 2);
        before_refusal = refusals;
        void* const refused = zmq_socket(context, ZMQ_PULL);
        const int code = zmq_errno();
        const bool is_over = before_refusal.exchange(-1) >= 0;
        if (is_over) {
            EXPECT_EQ(0, zmq_close(refused));
            break;
        }
        ASSERT_EQ(nullptr, refused) << "descriptor " << refusals;
        EXPECT_EQ(said, code) << "descriptor " << refusals;
        // There is room again.
        connected_pair pair = link(context, transport::tcp, ZMQ_PULL, ZMQ_PUSH);
        pair.peer.send("x");
        EXPECT_EQ("x", pair.bound.recv());
    }
    EXPECT_LE(2, refusals); // two I/O threads have added something
}

TEST(NoReactor, is_reported_by_the_first_socket)
{
    open_with_each_refused(ENOSPC, EMFILE);
    open_with_each_refused(ENOMEM, ENOMEM);
}

// One of the two ends cannot wait for input.
TEST(NoReactor, for_a_connection_has_it_made_again)
{
    test_context context;
    test_socket pull(context, ZMQ_PULL);
    const std::string endpoint = pull.bind_and_resolve(fresh_bind_address(transport::tcp));
    refused_with = ENOSPC;
    for (const int refusal : {0, 1, 0}) {
        before_refusal = refusal;
        test_socket push(context, ZMQ_PUSH);
        push.set(ZMQ_RECONNECT_IVL, 1);
        push.connect(endpoint);
        push.send("x");
        EXPECT_EQ("x", pull.recv());
        EXPECT_GT(0, before_refusal.exchange(-1)) << "end " << refusal;
    }
}

} // namespace
} // namespace zlink::test
