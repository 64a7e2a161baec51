// SPDX-License-Identifier: Apache-2.0
// The public header where the system lacks error numbers, included by its old name and without the
// draft API.
#include <cerrno>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#undef ENOTSUP
#undef EPROTONOSUPPORT
#undef ENOBUFS
#undef ENETDOWN
#undef EADDRINUSE
#undef EADDRNOTAVAIL
#undef ECONNREFUSED
#undef EINPROGRESS
#undef ENOTSOCK
#undef EMSGSIZE
#undef EAFNOSUPPORT
#undef ENETUNREACH
#undef ECONNABORTED
#undef ECONNRESET
#undef ENOTCONN
#undef ETIMEDOUT
#undef EHOSTUNREACH
#undef ENETRESET
#undef ZMQ_BUILD_DRAFT_API
#include <zmq_utils.h>

// Would not compile if the header declared it; check_exports.py sees to the functions.
using zmq_poller_event_t = void;

namespace {

TEST(header_alone, fills_the_gaps_of_the_platform)
{
    int number = 156384712;
    for (const int value :
         {ENOTSUP, EPROTONOSUPPORT, ENOBUFS, ENETDOWN, EADDRINUSE, EADDRNOTAVAIL, ECONNREFUSED,
          EINPROGRESS, ENOTSOCK, EMSGSIZE, EAFNOSUPPORT, ENETUNREACH, ECONNABORTED, ECONNRESET,
          ENOTCONN, ETIMEDOUT, EHOSTUNREACH, ENETRESET})
        EXPECT_EQ(value, ++number);
    EXPECT_EQ(ZMQ_HAUSNUMERO + 51, EFSM);
}

TEST(header_alone, declares_no_drafts)
{
#if defined ZMQ_HAVE_POLLER || defined ZMQ_SERVER || defined ZMQ_CHANNEL ||                        \
    defined ZMQ_ZERO_COPY_RECV || defined ZMQ_METADATA || defined ZMQ_NORM_PUSH ||                 \
    defined ZMQ_EVENT_PIPES_STATS || defined ZMQ_NOTIFY_CONNECT ||                                 \
    defined ZMQ_RECONNECT_STOP_CONN_REFUSED || defined ZMQ_MSG_PROPERTY_USER_ID
    FAIL();
#endif
}

} // namespace
