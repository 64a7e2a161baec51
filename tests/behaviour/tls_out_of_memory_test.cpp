// SPDX-License-Identifier: Apache-2.0
// Endpoints of tls that are made while memory runs out at some point: an error, or they work.
#define ZMQ_BUILD_DRAFT_API
#include "support/certificates.hpp"
#include "support/fixture.hpp"
#include "support/scarce_memory.hpp"

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE

#include <cerrno>

namespace zlink::test {
namespace {

class ZlinkOnlyTlsOutOfMemory : public ::testing::Test {
protected:
    ZlinkOnlyTlsOutOfMemory()
    {
        puller_.set(ZMQ_TLS_CERT, own_.text());
        puller_.set(ZMQ_TLS_KEY, own_.key());
        pusher_.set(ZMQ_TLS_CA, authority_.text());
    }

    /// Calls until there was memory enough, with a little more each time.
    template <class Call>
    static void call_until_it_succeeds(Call call)
    {
        long allocations = 0;
        for (int result = -1; result != 0; allocations += 1 + allocations / 50) {
            ASSERT_LT(allocations, 1'000'000);
            int error = 0;
            {
                const memory_for some(allocations);
                result = call();
                error = zmq_errno();
            }
            if (result != 0) {
                ASSERT_EQ(ENOMEM, error) << "memory for " << allocations;
            }
        }
    }

    const certificate authority_ = certificate::authority();
    const certificate own_ = authority_.sign();
    test_context context_;
    test_socket puller_{context_, ZMQ_PULL};
    test_socket pusher_{context_, ZMQ_PUSH};
};

TEST_F(ZlinkOnlyTlsOutOfMemory, endpoints_are_made_or_not)
{
    puller_.bind("tls://127.0.0.1:*"); // OpenSSL never recovers from no memory for its first steps
    puller_.set(ZMQ_TLS_MIN_VERSION, ZMQ_TLS_1_3); // another context
    call_until_it_succeeds([&] { return zmq_bind(puller_, "tls://127.0.0.1:*"); });
    const std::string address = puller_.last_endpoint();
    call_until_it_succeeds([&] { return zmq_connect(pusher_, address.c_str()); });
    pusher_.send("message");
    EXPECT_EQ("message", puller_.recv());
}

} // namespace
} // namespace zlink::test

#endif
