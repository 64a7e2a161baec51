// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/origin.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace zlink::transport::websocket {
namespace {

using namespace std::string_literals;

TEST(Origin, is_a_scheme_a_host_and_perhaps_a_port)
{
    for (const char* good :
         {"null", "http://localhost", "https://example.org", "https://example.org:8443",
          "HTTPS://Example.ORG", "http://127.0.0.1:65535", "http://[::1]",
          "https://[2001:DB8::1]:1", "chrome-extension://abcdef", "a+b.c-1://my_host.internal"})
        EXPECT_TRUE(is_origin(good)) << good;
    for (const std::string& bad : {""s,
                                   "*"s,
                                   "Null"s,
                                   "example.org"s,
                                   "://example.org"s,
                                   "1://example.org"s,
                                   "https://"s,
                                   "https:example.org"s,
                                   "https://example.org/"s,
                                   "https://example.org/path"s,
                                   "https://*.example.org"s,
                                   "https://user@example.org"s,
                                   "https://example.org:"s,
                                   "https://example.org:0"s,
                                   "https://example.org:65536"s,
                                   "https://example.org:000443"s,
                                   "https://example.org:x"s,
                                   "https://example.org:443x"s,
                                   "https://example.org:-1"s,
                                   "https://[::1"s,
                                   "https://::1"s,
                                   "https://[example.org]"s,
                                   "https://[::1]x"s,
                                   "https://[::1\0]"s,
                                   "https://[]"s,
                                   "https://example.org?x"s,
                                   "https://example.org "s,
                                   "https://example.org\0"s,
                                   "https://ex\xc3\xa4mple.org"s,
                                   "https://a,https://b"s,
                                   "https://"s + std::string(most_origin_bytes, 'x')})
        EXPECT_FALSE(is_origin(bad)) << bad;
}

TEST(Origin, lists_have_commas_or_white_space_between)
{
    for (const char* good : {"null", "https://a,https://b", "https://a https://b",
                             " https://a ,\thttps://b, null ", "https://a,,https://b,"})
        EXPECT_TRUE(is_origin_list(good)) << good;
    for (const char* bad : {"", " ", ",", "https://a;https://b", "https://a, *", "https://a, b",
                            "https://a/ https://b", "https://a\nhttps://b"})
        EXPECT_FALSE(is_origin_list(bad)) << bad;
}

TEST(Origin, is_admitted_where_it_is_listed_however_it_is_written)
{
    const std::string_view list = "https://example.org, http://LOCALHOST:80\tws://[::1]:81";
    for (const char* listed :
         {"https://example.org", "https://EXAMPLE.org:443", "HTTPS://example.org:0443",
          "http://localhost", "http://localhost:80", "ws://[0:0:0:0:0:0:0:1]:81"})
        EXPECT_TRUE(admits_origin(list, listed)) << listed;
    for (const char* other :
         {"http://example.org", "https://example.org:444", "https://example.org.evil.example",
          "https://evil.example.org", "https://example.or", "https://example.org.", "null", "",
          "http://localhost:443", "ws://[::1]", "ws://[::2]:81", "https://example.org/",
          "https://example.org https://example.org", "https://example.org,http://localhost",
          "example.org", "*"})
        EXPECT_FALSE(admits_origin(list, other)) << other;
}

TEST(Origin, null_is_admitted_only_if_it_is_listed)
{
    EXPECT_TRUE(admits_origin("https://a, null", "null"));
    EXPECT_FALSE(admits_origin("https://null", "null"));
    EXPECT_FALSE(admits_origin("null", "https://null"));
    EXPECT_FALSE(admits_origin("null", ""));
    EXPECT_FALSE(admits_origin("null", "NULL"));
}

} // namespace
} // namespace zlink::transport::websocket
