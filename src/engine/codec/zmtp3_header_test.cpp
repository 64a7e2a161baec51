// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "engine/codec/zmtp3.hpp"
#include "engine/handshake/handshake_script_for_tests.hpp"

namespace zlink::test {
namespace {

using namespace engine::zmtp3;

std::string encoded(std::uint8_t flags, std::uint64_t body_bytes)
{
    std::byte out[long_header_bytes];
    const auto size = encode_header(out, flags, body_bytes);
    EXPECT_EQ(size, header_bytes_for(body_bytes));
    return to_hex(std::span(out, size));
}

TEST(zmtp3_header, encodes_short_up_to_255_and_long_above)
{
    EXPECT_EQ(encoded(0, 0), "0000");
    EXPECT_EQ(encoded(0, 5), "0005");
    EXPECT_EQ(encoded(flag_more, 1), "0101");
    EXPECT_EQ(encoded(flag_command, 255), "04ff");
    EXPECT_EQ(encoded(flag_command, 256), "060000000000000100");
    EXPECT_EQ(encoded(0, 300), "02000000000000012c");
    EXPECT_EQ(encoded(0, std::numeric_limits<std::uint64_t>::max()), "02ffffffffffffffff");
}

TEST(zmtp3_header, the_long_bit_of_the_caller_does_not_count)
{
    EXPECT_EQ(encoded(flag_long | flag_more, 1), "0101");
    EXPECT_EQ(encoded(flag_long, 256), "020000000000000100");
}

TEST(zmtp3_header, decodes_every_form_once_complete)
{
    struct row {
        std::string_view bytes;
        frame_header expected;
    };
    for (const auto& [bytes, expected] : {
             row{"0000", {0, 2, 0}},
             row{"01ff", {1, 2, 255}},
             row{"0529", {5, 2, 0x29}},
             row{"f800", {0xf8, 2, 0}},
             row{"020000000000000001", {2, 9, 1}},
             row{"060000000000000124", {6, 9, 0x124}},
             row{"020102030405060708", {2, 9, 0x0102030405060708}},
             row{"ffffffffffffffffff", {0xff, 9, std::numeric_limits<std::uint64_t>::max()}},
         }) {
        const auto header = hex(bytes);
        frame_header decoded{7, 7, 7};
        for (std::size_t available = 0; available < header.size(); ++available) {
            EXPECT_FALSE(decode_header(header.data(), available, decoded)) << bytes;
            EXPECT_EQ(decoded.body_bytes, 7u) << "touched before the header was complete";
        }
        ASSERT_TRUE(decode_header(header.data(), header.size(), decoded)) << bytes;
        EXPECT_EQ(decoded.flags, expected.flags) << bytes;
        EXPECT_EQ(decoded.header_bytes, expected.header_bytes) << bytes;
        EXPECT_EQ(decoded.body_bytes, expected.body_bytes) << bytes;
    }
}

TEST(zmtp3_header, sees_what_lies_behind_a_message_within_few_frames)
{
    struct row {
        std::string_view behind; ///< a frame that was found
        bool more;               ///< another one belongs to its message
        bool continues;
    };
    for (const auto& [behind, more, continues] : {
             row{"", false, false}, row{"00", false, true}, // the beginning of a frame
             row{"", true, false},                          // the message is not whole
             row{"000161", true, false},                    // it is, and nothing is behind
             row{"00016100", true, true},                   //
             row{"000261", true, false},                    // not whole
             row{"010161000162", true, false},              // two frames more
             row{"01016100016200", true, true},
             row{"01016101016200016300", true, false}, // three are too many
         }) {
        const auto bytes = hex(behind);
        EXPECT_EQ(continues,
                  continues_behind_message(bytes.data(), bytes.data() + bytes.size(), more, 2))
            << behind;
    }
}

} // namespace
} // namespace zlink::test
