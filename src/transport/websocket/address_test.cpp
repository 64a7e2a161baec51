// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/address.hpp"

#include <gtest/gtest.h>
#include <string>

namespace zlink::transport::websocket {
namespace {

std::string parts_of(std::string_view text)
{
    const auto parts = split(text);
    return parts ? parts->tcp + " " + parts->path : "none";
}

TEST(WebsocketAddress, has_a_host_and_a_path)
{
    EXPECT_EQ("127.0.0.1:80 /zeromq", parts_of("127.0.0.1:80/zeromq"));
    EXPECT_EQ("*:* /", parts_of("*:*/"));
    EXPECT_EQ("[::1]:5 /a/b/", parts_of("[::1]:5/a/b/"));
    EXPECT_EQ("lo:1;host:2 /a;b", parts_of("lo:1;host:2/a;b"));
    EXPECT_EQ("h:1 /a?b=/c:1&d=%20", parts_of("h:1/a?b=/c:1&d=%20"));
}

TEST(WebsocketAddress, has_the_root_for_a_path_if_it_names_none)
{
    EXPECT_EQ("host:80 /", parts_of("host:80"));
    EXPECT_EQ(" /", parts_of(""));
}

TEST(WebsocketAddress, takes_no_path_that_a_request_cannot_carry)
{
    for (const std::string bad : {" ", "\r\n", "\t", "\x7f", "\xc3\xa4", "#top"})
        EXPECT_EQ("none", parts_of("h:1/a" + bad)) << bad;
    EXPECT_EQ("none", parts_of(std::string("h:1/a\0b", 7)));
}

TEST(WebsocketAddress, limits_the_path)
{
    const std::string longest = '/' + std::string(most_path_bytes - 1, 'p');
    EXPECT_EQ("h:1 " + longest, parts_of("h:1" + longest));
    EXPECT_EQ("none", parts_of("h:1" + longest + 'p'));
}

TEST(WebsocketAddress, names_the_host_for_a_request)
{
    EXPECT_EQ("example.com:8080", host_field("example.com:8080", "80"));
    EXPECT_EQ("example.com", host_field("example.com:80", "80"));
    EXPECT_EQ("example.com:80", host_field("example.com:80", "443"));
    EXPECT_EQ("10.0.0.1:5", host_field("eth0:0;10.0.0.1:5", "80"));
    EXPECT_EQ("[::1]:5", host_field("[::1]:5", "80"));
    EXPECT_EQ("[fe80::1]", host_field("[fe80::1%eth0]:80", "80"));
    EXPECT_EQ("", host_field("nothing", "80"));
}

} // namespace
} // namespace zlink::transport::websocket
