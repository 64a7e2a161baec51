// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/traffic_commands.hpp"

#include <gtest/gtest.h>

#include "engine/handshake/handshake_script_for_tests.hpp"

namespace zlink::test {
namespace {

using namespace engine;
using kind = traffic_command_kind;

struct frame_row {
    std::string frame;
    kind command;
    std::string argument;
    std::uint32_t ttl_ms;
};

std::string repeated(std::string_view text, int count)
{
    std::string all;
    for (int i = 0; i < count; ++i) {
        all += text;
    }
    return all;
}

const std::vector<frame_row> frames{
    {"040f09535542534352494245746f706963", kind::subscribe, text_hex("topic"), 0},
    {"040a09535542534352494245", kind::subscribe, "", 0},
    {"060000000000000136"
     "09535542534352494245" +
         repeated("54", 300),
     kind::subscribe, repeated("54", 300), 0},
    {"04ff"
     "09535542534352494245" +
         repeated("54", 245),
     kind::subscribe, repeated("54", 245), 0},
    {"060000000000000100"
     "09535542534352494245" +
         repeated("54", 246),
     kind::subscribe, repeated("54", 246), 0},
    {"040c0643414e43454c746f706963", kind::cancel, text_hex("topic"), 0},
    {"04070450494e470000", kind::ping, "", 0},
    {"04070450494e47000a", kind::ping, "", 1000},
    {"04070450494e470290", kind::ping, "", 65'600},
    {"04070450494e47ffff", kind::ping, "", 6'553'500},
    {"040f0450494e4700006162636465666768", kind::ping, text_hex("abcdefgh"), 0},
    {"040d04504f4e476162636465666768", kind::pong, text_hex("abcdefgh"), 0},
    {"040504504f4e47", kind::pong, "", 0},
    {"040b044a4f494e4d6f76696573", kind::join, text_hex("Movies"), 0},
    {"040c054c454156454d6f76696573", kind::leave, text_hex("Movies"), 0},
};

std::string appended(kind command, std::string_view argument_hex, std::uint32_t ttl_ms)
{
    const auto argument = hex(argument_hex);
    std::vector<std::byte> out;
    append_traffic_command(out, {command, argument, ttl_ms});
    return to_hex(out);
}

TEST(traffic_commands, builds_the_frames_peers_send)
{
    for (const auto& row : frames) {
        EXPECT_EQ(appended(row.command, row.argument, row.ttl_ms), row.frame);
    }
}

TEST(traffic_commands, reads_the_frames_peers_send)
{
    for (const auto& row : frames) {
        const auto frame = hex(row.frame);
        const std::size_t header_bytes = row.frame.starts_with("06") ? 9 : 2;
        const auto parsed = parse_traffic_command(std::span(frame).subspan(header_bytes));
        EXPECT_EQ(parsed.kind, row.command) << row.frame;
        EXPECT_EQ(to_hex(parsed.argument), row.argument);
        EXPECT_EQ(parsed.ttl_ms, row.ttl_ms);
    }
}

TEST(traffic_commands, writes_into_memory_of_exactly_the_right_size_and_no_smaller)
{
    for (const auto& row : frames) {
        const auto argument = hex(row.argument);
        const traffic_command command{row.command, argument, row.ttl_ms};
        std::vector<std::byte> out(traffic_command_frame_bytes(command));
        ASSERT_EQ(write_traffic_command(out, command), out.size());
        EXPECT_EQ(to_hex(out), row.frame);
        const std::vector<std::byte> untouched(out.size() - 1);
        auto small = untouched;
        EXPECT_EQ(write_traffic_command(small, command), 0u);
        EXPECT_EQ(small, untouched);
    }
}

TEST(traffic_commands, unknown_and_malformed_commands_are_other)
{
    for (const auto* body :
         {"", "00", "05", "0450494e", "0450494e47", "0450494e4700", "0470696e670000",
          "055245414459", "0a535542534352494245", "08535542534352494245", "034a4f49"}) {
        const auto bytes = hex(body);
        const auto parsed = parse_traffic_command(bytes);
        EXPECT_EQ(parsed.kind, kind::other) << body;
        EXPECT_TRUE(parsed.argument.empty());
    }
    EXPECT_EQ(appended(kind::other, "aa", 0), "");
    EXPECT_EQ(traffic_command_frame_bytes({}), 0u);
}

TEST(traffic_commands, contexts_are_cut_to_125_bytes_both_ways)
{
    const auto body = hex("0450494e470001" + repeated("63", 126));
    EXPECT_EQ(parse_traffic_command(body).argument.size(), 125u);
    const auto pong = hex("04504f4e47" + repeated("63", 140));
    EXPECT_EQ(parse_traffic_command(pong).argument.size(), 125u);
    EXPECT_EQ(appended(kind::pong, repeated("63", 126), 0), "048204504f4e47" + repeated("63", 125));
}

TEST(traffic_commands, only_a_codec_says_that_the_connection_is_to_end)
{
    EXPECT_EQ(appended(kind::close, "", 0), "");
    EXPECT_EQ(parse_traffic_command(hex("05434c4f5345")).kind, kind::other);
}

TEST(traffic_commands, a_time_to_live_is_rounded_down_and_capped)
{
    EXPECT_EQ(appended(kind::ping, "", 199), "04070450494e470001");
    EXPECT_EQ(appended(kind::ping, "", 99), "04070450494e470000");
    EXPECT_EQ(appended(kind::ping, "", 6'553'599), "04070450494e47ffff");
    EXPECT_EQ(appended(kind::ping, "", 0xffffffff), "04070450494e47ffff");
}

TEST(traffic_commands, appending_keeps_what_is_there)
{
    auto out = hex("0102");
    append_traffic_command(out, {kind::pong});
    EXPECT_EQ(to_hex(out), "0102040504504f4e47");
}

} // namespace
} // namespace zlink::test
