// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/key.hpp"

#include "support/bytes.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace zlink::transport::websocket {
namespace {

using test::bytes_of;

std::string hex_sha1(std::string_view text)
{
    std::string hex;
    for (const std::byte byte : sha1(bytes_of(text))) {
        hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
        hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
    }
    return hex;
}

TEST(WebsocketKey, sha1_gives_the_digests_of_the_standard)
{
    EXPECT_EQ("da39a3ee5e6b4b0d3255bfef95601890afd80709", hex_sha1(""));
    EXPECT_EQ("a9993e364706816aba3e25717850c26c9cd0d89d", hex_sha1("abc"));
    EXPECT_EQ("84983e441c3bd26ebaae4aa1f95129e5e54670f1",
              hex_sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
    EXPECT_EQ("34aa973cd4c4daa4f61eeb2bdbad27316534016f", hex_sha1(std::string(1'000'000, 'a')));
}

TEST(WebsocketKey, sha1_pads_every_length)
{
    std::set<std::string> digests;
    for (std::size_t bytes = 0; bytes <= 130; ++bytes)
        digests.insert(hex_sha1(std::string(bytes, 'x')));
    EXPECT_EQ(131u, digests.size());
    EXPECT_EQ("c1c8bbdc22796e28c0e15163d20899b65621d65a", hex_sha1(std::string(55, 'a')));
    EXPECT_EQ("c2db330f6083854c99d4b5bfb6e8f29f201be699", hex_sha1(std::string(56, 'a')));
    EXPECT_EQ("0098ba824b5c16427bd7a1122a5a442a25ec644d", hex_sha1(std::string(64, 'a')));
}

TEST(WebsocketKey, base64_gives_the_texts_of_the_standard)
{
    EXPECT_EQ("", base64(bytes_of("")));
    EXPECT_EQ("Zg==", base64(bytes_of("f")));
    EXPECT_EQ("Zm8=", base64(bytes_of("fo")));
    EXPECT_EQ("Zm9v", base64(bytes_of("foo")));
    EXPECT_EQ("Zm9vYg==", base64(bytes_of("foob")));
    EXPECT_EQ("Zm9vYmE=", base64(bytes_of("fooba")));
    EXPECT_EQ("Zm9vYmFy", base64(bytes_of("foobar")));
    EXPECT_EQ("+/+/", base64(bytes_of("\xfb\xff\xbf")));
}

TEST(WebsocketKey, answers_a_key_as_the_example_of_the_rfc)
{
    EXPECT_EQ("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", accept_value("dGhlIHNhbXBsZSBub25jZQ=="));
}

TEST(WebsocketKey, is_fresh_each_time)
{
    const std::string key = fresh_key();
    EXPECT_EQ(24u, key.size());
    EXPECT_EQ("==", key.substr(22));
    EXPECT_NE(key, fresh_key());
}

} // namespace
} // namespace zlink::transport::websocket
