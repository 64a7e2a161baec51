// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/command.hpp"
#include "engine/handshake/command_frames.hpp"

#include <gtest/gtest.h>

#include "engine/handshake/handshake_script_for_tests.hpp"

namespace zlink::test {
namespace {

using namespace engine;

TEST(command, splits_name_and_data)
{
    const auto body = hex("055245414459 0102");
    const auto command = parse_command(body);
    ASSERT_TRUE(command);
    EXPECT_EQ(command->name, "READY");
    EXPECT_EQ(to_hex(command->data), "0102");
    EXPECT_EQ(parse_command(hex("055245414459"))->data.size(), 0u);
}

TEST(command, refuses_bodies_without_a_readable_name)
{
    for (const auto* body : {"", "00", "0041", "01", "0552454144", "ff"}) {
        EXPECT_FALSE(parse_command(hex(body))) << body;
    }
}

TEST(command, builds_bodies_and_frames)
{
    std::vector<std::byte> body;
    append_command_body(body, "ERROR", hex("03343030"));
    std::vector<std::byte> frame;
    append_frame(frame, zmtp3::flag_command, body, *zmtp3_codec());
    EXPECT_EQ(to_hex(frame), "040a054552524f5203343030");
}

TEST(command, frames_above_255_bytes_are_long)
{
    std::vector<std::byte> frame;
    append_frame(frame, zmtp3::flag_command, std::vector<std::byte>(256), *zmtp3_codec());
    EXPECT_EQ(to_hex(std::span(frame).first(9)), "060000000000000100");
    EXPECT_EQ(frame.size(), 9u + 256u);
}

TEST(command, error_reasons_are_read_to_their_length)
{
    std::string reason = "unchanged";
    EXPECT_EQ(read_error_command(hex("03343030"), reason), handshake_error::refused_by_peer);
    EXPECT_EQ(reason, "400");
    EXPECT_EQ(read_error_command(hex("0334303078"), reason), handshake_error::refused_by_peer);
    EXPECT_EQ(reason, "400");
    EXPECT_EQ(read_error_command(hex("00"), reason), handshake_error::refused_by_peer);
    EXPECT_EQ(reason, "");
}

TEST(command, broken_error_reasons_leave_the_text_alone)
{
    for (const auto* data : {"", "01", "04343030", "ff"}) {
        std::string reason = "unchanged";
        EXPECT_EQ(read_error_command(hex(data), reason), handshake_error::malformed_error_command);
        EXPECT_EQ(reason, "unchanged");
    }
}

TEST(command_reader, stops_at_the_end_of_each_frame)
{
    command_reader reader(10, zmtp3_codec());
    const auto bytes = hex("0402 aabb 0000 060000000000000001 cc 04");
    std::span<const std::byte> rest(bytes);
    std::vector<std::string> bodies;
    while (!rest.empty()) {
        const auto taken = reader.feed(rest);
        rest = rest.subspan(taken);
        if (reader.complete()) {
            EXPECT_EQ(reader.feed(rest), 0u) << "a complete frame must be taken away first";
            bodies.push_back(to_hex(reader.body()));
            reader.next();
        }
    }
    EXPECT_EQ(bodies, (std::vector<std::string>{"aabb", "", "cc"}));
    EXPECT_EQ(reader.buffered_bytes(), 1u);
    EXPECT_FALSE(reader.complete());
}

TEST(command_reader, keeps_nothing_of_a_frame_above_the_limit)
{
    for (const auto* bytes : {"040b aa", "06000000000000000b aa", "06ffffffffffffffff aa"}) {
        command_reader reader(10, zmtp3_codec());
        const auto frame = hex(bytes);
        EXPECT_EQ(reader.feed(frame), frame.size() - 1) << bytes;
        EXPECT_TRUE(reader.too_large());
        EXPECT_FALSE(reader.complete());
        EXPECT_LE(reader.buffered_bytes(), 9u);
        EXPECT_EQ(reader.feed(frame), 0u);
    }
}

TEST(command_reader, a_body_of_exactly_the_limit_is_taken)
{
    command_reader reader(3, zmtp3_codec());
    EXPECT_EQ(reader.feed(hex("0403aabbcc")), 5u);
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.buffered_bytes(), 5u);
    reader.next();
    EXPECT_FALSE(reader.complete());
    EXPECT_EQ(reader.buffered_bytes(), 0u);
}

TEST(command_reader, an_announced_size_alone_reserves_no_memory)
{
    command_reader reader(max_handshake_command_bytes, zmtp3_codec());
    reader.feed(hex("060000000000010000"));
    EXPECT_FALSE(reader.too_large());
    EXPECT_EQ(reader.buffered_bytes(), 9u);
}

} // namespace
} // namespace zlink::test
