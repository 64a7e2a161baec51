// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/joined_for_tests.hpp"

#include "support/scarce_memory.hpp"

#include <new>

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE

namespace zlink::transport::tls_parts {
namespace {

// Who has no stream left takes its connection for lost already, and does not connect again.
TEST(tls_upgrade, leaves_the_stream_where_it_is_without_memory)
{
    tls_settings settings;
    settings.verify = false;
    error_code error;
    boost::asio::io_context io;
    const auto upgrade = make_upgrade(context::make(side::client, settings, "localhost", error));
    std::unique_ptr<stream> below = std::make_unique<memory_stream>();
    {
        const test::no_memory none;
        EXPECT_THROW(upgrade->wrap(std::move(below), io), std::bad_alloc);
    }
    EXPECT_TRUE(below);
    EXPECT_TRUE(upgrade->wrap(std::move(below), io));
}

} // namespace
} // namespace zlink::transport::tls_parts

#endif
