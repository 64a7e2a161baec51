// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/accept_filter.hpp"

#include <gtest/gtest.h>

namespace zlink::transport {
namespace {

bool in(const char* address, const char* net)
{
    return filters_admit({net}, boost::asio::ip::make_address(address));
}

TEST(AcceptFilter, reads_addresses_and_networks)
{
    for (const char* good : {"127.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "1.2.3.4/32"}) {
        EXPECT_TRUE(parse_network(good, false)) << good;
        EXPECT_TRUE(parse_network(good, true)) << good;
    }
    for (const char* good : {"::1", "fe80::/10", "[fe80::]/10", "[::1]", "::/0", "::1/128"}) {
        EXPECT_FALSE(parse_network(good, false)) << good;
        EXPECT_TRUE(parse_network(good, true)) << good;
    }
    for (const char* bad : {"", "/", "10.0.0.0/", "/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x",
                            "10.0.0/8", "localhost", "::1/129", "10.0.0.0/8/8", "eth0"})
        EXPECT_FALSE(parse_network(bad, true)) << bad;
}

TEST(AcceptFilter, compares_the_bits_of_the_prefix)
{
    EXPECT_TRUE(in("10.255.1.2", "10.0.0.0/8"));
    EXPECT_FALSE(in("11.0.0.0", "10.0.0.0/8"));
    EXPECT_TRUE(in("192.168.1.127", "192.168.1.0/25"));
    EXPECT_FALSE(in("192.168.1.128", "192.168.1.0/25"));
    EXPECT_TRUE(in("1.2.3.4", "1.2.3.4"));
    EXPECT_FALSE(in("1.2.3.5", "1.2.3.4"));
    EXPECT_TRUE(in("200.1.1.1", "0.0.0.0/0"));
    EXPECT_TRUE(in("fe80::5", "fe80::/10"));
    EXPECT_FALSE(in("fec0::5", "fe80::/10"));
    EXPECT_TRUE(in("::1", "::1/128"));
    EXPECT_FALSE(in("::2", "::1/128"));
}

TEST(AcceptFilter, takes_mapped_addresses_for_what_they_are)
{
    EXPECT_TRUE(in("::ffff:10.1.2.3", "10.0.0.0/8"));
    EXPECT_FALSE(in("::ffff:11.1.2.3", "10.0.0.0/8"));
    EXPECT_TRUE(in("::ffff:10.1.2.3", "::ffff:0:0/96"));
    EXPECT_FALSE(in("::1", "0.0.0.0/0"));
    EXPECT_FALSE(in("127.0.0.1", "::/0"));
}

TEST(AcceptFilter, needs_one_network_that_fits)
{
    const auto address = boost::asio::ip::make_address("10.1.2.3");
    EXPECT_TRUE(filters_admit({}, address));
    EXPECT_TRUE(filters_admit({"127.0.0.1", "10.1.0.0/16"}, address));
    EXPECT_FALSE(filters_admit({"127.0.0.1", "10.2.0.0/16"}, address));
}

} // namespace
} // namespace zlink::transport
