// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "engine/codec/zmtp1.hpp"
#include "engine/handshake/handshake_script_for_tests.hpp"

namespace zlink::test {
namespace {

using namespace engine::zmtp1;
using engine::zmtp3::frame_header;

std::string encoded(bool more, std::uint64_t body_bytes)
{
    std::byte out[long_header_bytes];
    return to_hex(std::span(out, encode_header(out, more, body_bytes)));
}

TEST(zmtp1_header, the_length_counts_the_flags_and_255_is_the_escape)
{
    EXPECT_EQ(encoded(false, 0), "0100");
    EXPECT_EQ(encoded(true, 1), "0201");
    EXPECT_EQ(encoded(false, 253), "fe00");
    EXPECT_EQ(encoded(true, 254), "ff00000000000000ff01");
    EXPECT_EQ(encoded(false, 255), "ff000000000000010000");
    EXPECT_EQ(encoded(false, std::numeric_limits<std::uint64_t>::max() - 1),
              "ffffffffffffffffff00");
}

struct row {
    const char* bytes;
    std::uint64_t body_bytes;
    unsigned flags;
};

TEST(zmtp1_header, decodes_every_form_once_complete)
{
    for (const auto& [text, body_bytes, flags] :
         {row{"0100", 0, 0}, row{"02ff", 1, 1}, row{"027e", 1, 0}, row{"fe01", 253, 1},
          row{"ff000000000000000100", 0, 0}, row{"ff000000000000000a01", 9, 1},
          row{"ffffffffffffffffff00", std::numeric_limits<std::uint64_t>::max() - 1, 0}}) {
        SCOPED_TRACE(text);
        const auto bytes = hex(text);
        frame_header header;
        for (std::size_t some = 0; some < bytes.size(); ++some)
            EXPECT_EQ(engine::zmtp1::decode_header(bytes.data(), some, header),
                      decoded::incomplete);
        EXPECT_EQ(header.header_bytes, 0);
        ASSERT_EQ(engine::zmtp1::decode_header(bytes.data(), bytes.size(), header),
                  decoded::header);
        EXPECT_EQ(header.header_bytes, bytes.size());
        EXPECT_EQ(header.body_bytes, body_bytes);
        EXPECT_EQ(header.flags, flags);
    }
}

TEST(zmtp1_header, a_length_of_0_is_no_frame)
{
    frame_header header;
    EXPECT_EQ(engine::zmtp1::decode_header(hex("00").data(), 1, header), decoded::no_frame);
    EXPECT_EQ(engine::zmtp1::decode_header(hex("ff000000000000000000").data(), 10, header),
              decoded::no_frame);
}

} // namespace
} // namespace zlink::test
