// SPDX-License-Identifier: Apache-2.0
#include "engine/inbound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/pipe.hpp"
#include "engine/script_test.hpp"

namespace zlink::test {
namespace {

using namespace engine;
using message = std::vector<std::string>;

class counted_commands final : public inbound::command_handler {
public:
    void on_command(std::span<const std::byte>) override { ++count; }
    int count = 0;
};

struct received {
    std::vector<message> messages;
    inbound_error error = inbound_error::none;
    int commands = 0;

    friend bool operator==(const received&, const received&) = default;
};

/// Feeds `bytes`, the first `cut` of them and then the others in pieces of `piece` bytes.
received feed(framing frames, std::span<const std::byte> bytes, std::size_t cut, std::size_t piece,
              std::int64_t max_message_bytes = -1)
{
    auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end reader(channels, false, nullptr);
    counted_commands commands;
    inbound in(channels->a_to_b, max_message_bytes, engine::kept_commands::none, commands);
    in.expect(frames);
    received result;
    std::size_t most = cut;
    while (!bytes.empty() && result.error == inbound_error::none) {
        iovec space[2];
        const int count = in.prepare(space);
        std::size_t moved = 0;
        most = std::min(most, bytes.size());
        for (int i = 0; i < count && moved < most; ++i) {
            const std::size_t some = std::min(space[i].iov_len, most - moved);
            std::memcpy(space[i].iov_base, bytes.data() + moved, some);
            moved += some;
        }
        bytes = bytes.subspan(moved);
        result.error = in.received(moved);
        most = piece;
    }
    core::frame part;
    message parts;
    while (reader.peek(part)) {
        parts.emplace_back(part.text());
        EXPECT_FALSE(part.command());
        const bool more = part.more();
        reader.pop();
        if (!more)
            result.messages.push_back(std::exchange(parts, {}));
    }
    EXPECT_TRUE(parts.empty());
    result.commands = commands.count;
    return result;
}

/// Feeds `text` cut in every place, and byte by byte: it must give the same each time.
received feed_in_every_way(framing frames, const std::string& text,
                           std::int64_t max_message_bytes = -1)
{
    const auto bytes = hex(text);
    const received whole = feed(frames, bytes, bytes.size(), 1, max_message_bytes);
    for (std::size_t cut = 1; cut < bytes.size(); ++cut)
        EXPECT_EQ(feed(frames, bytes, cut, bytes.size(), max_message_bytes), whole) << cut;
    EXPECT_EQ(feed(frames, bytes, 1, 1, max_message_bytes), whole);
    return whole;
}

std::string repeated(const std::string& text, int times)
{
    std::string all;
    for (int i = 0; i < times; ++i)
        all += text;
    return all;
}

TEST(inbound, frames_of_zmtp_1_0)
{
    const std::string long_b(254, 'b');
    const std::string c(253, 'c');
    const received got = feed_in_every_way(
        framing::zmtp1, "0100 020161 ff00000000000000ff01" + repeated("62", 254) + "fe00" +
                            repeated("63", 253) +
                            "0200 64 ff000000000000000200 65 ff0000000000000001fe");
    EXPECT_EQ(got.messages, (std::vector<message>{{""}, {"a", long_b, c}, {"d"}, {"e"}, {""}}));
    EXPECT_EQ(got.error, inbound_error::none);
}

TEST(inbound, large_frames_of_zmtp_1_0)
{
    const auto large = [](std::size_t body_bytes) {
        std::vector<std::byte> bytes(10);
        bytes.resize(zmtp1::encode_header(bytes.data(), false, body_bytes));
        bytes.resize(bytes.size() + body_bytes, std::byte{'x'});
        return bytes;
    };
    std::vector<std::byte> bytes;
    std::vector<message> expected;
    for (const std::size_t size : {100u, 8191u, 8192u, 100'000u, 3u, 300'000u, 254u}) {
        append_bytes(bytes, large(size));
        expected.push_back({std::string(size, 'x')});
    }
    for (const std::size_t piece : {1u, 7u, 1000u, 8192u, 100'000u, 1'000'000u})
        EXPECT_EQ(feed(framing::zmtp1, bytes, piece, piece).messages, expected) << piece;
}

TEST(inbound, a_length_of_0_in_zmtp_1_0_ends_it_after_what_came_before)
{
    for (const std::string bad : {"00", "ff0000000000000000 00"}) {
        const received got = feed_in_every_way(framing::zmtp1, "020061 020162" + bad);
        EXPECT_EQ(got.messages, std::vector<message>{{"a"}});
        EXPECT_EQ(got.error, inbound_error::no_frame);
    }
}

TEST(inbound, the_size_limit_holds_in_every_framing)
{
    const received one = feed_in_every_way(framing::zmtp1, "0400616161 0500", 3);
    EXPECT_EQ(one.messages, std::vector<message>{{"aaa"}});
    EXPECT_EQ(one.error, inbound_error::too_large);
    const received two = feed_in_every_way(framing::zmtp2, "0003616161 0004", 3);
    EXPECT_EQ(two.messages, std::vector<message>{{"aaa"}});
    EXPECT_EQ(two.error, inbound_error::too_large);
    EXPECT_NE(feed_in_every_way(framing::zmtp1, "ffffffffffffffffff00").error, inbound_error::none);
}

TEST(inbound, zmtp_2_0_has_no_commands)
{
    const std::string ping = "04070450494e470000";
    const received two =
        feed_in_every_way(framing::zmtp2, ping + "050161 000162 06000000000000000163");
    EXPECT_EQ(two.messages,
              (std::vector<message>{{std::string("\4PING\0\0", 7)}, {"a", "b"}, {"c"}}));
    EXPECT_EQ(two.commands, 0);
    const received three = feed_in_every_way(framing::zmtp3, ping + "000162");
    EXPECT_EQ(three.messages, std::vector<message>{{"b"}});
    EXPECT_EQ(three.commands, 1);
}

TEST(inbound, tells_whether_a_message_has_begun)
{
    auto channels = std::make_shared<core::channel_pair>();
    counted_commands commands;
    inbound in(channels->a_to_b, -1, engine::kept_commands::none, commands);
    const auto take = [&](const std::string& text) {
        const auto bytes = hex(text);
        iovec space[2];
        in.prepare(space);
        std::memcpy(space[0].iov_base, bytes.data(), bytes.size());
        EXPECT_EQ(in.received(bytes.size()), inbound_error::none);
        return in.in_message();
    };
    EXPECT_FALSE(in.in_message());
    EXPECT_FALSE(take("000161"));
    EXPECT_TRUE(take("00"));   // a part of a header
    EXPECT_TRUE(take("0261")); // and of a body
    EXPECT_FALSE(take("62"));
    EXPECT_TRUE(take("010161")); // more to follow
    EXPECT_FALSE(take("000162"));
    EXPECT_TRUE(take("020000000000004000")); // a large body is to come
    EXPECT_TRUE(take("61"));
    in.reset();
    EXPECT_FALSE(in.in_message());
}

} // namespace
} // namespace zlink::test
