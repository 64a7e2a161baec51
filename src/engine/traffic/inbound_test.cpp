// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/inbound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "core/pipe/pipe.hpp"
#include "engine/codec/zmtp1.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/traffic/command_handlers_for_tests.hpp"
#include "engine/wire/wires_for_tests.hpp"
#include "support/scarce_memory.hpp"

namespace zlink::test {
namespace {

using namespace engine;
using message = std::vector<std::string>;

struct received {
    std::vector<message> messages; ///< kept commands too: they are parts that begin with '/'
    inbound_error error = inbound_error::none;
    int commands = 0;

    friend bool operator==(const received&, const received&) = default;
};

/// How the decoder is made.
struct setup {
    wire_kind kind = wire_kind::zmtp3;
    kept_commands keep = kept_commands::none;
    bool groups = false; ///< require_group()
};

/// Feeds `bytes`, the first `cut` of them and then the others in pieces of `piece` bytes.
template <class Receive>
received feed(const setup& how, std::span<const std::byte> bytes, std::size_t cut,
              std::size_t piece, std::int64_t max_message_bytes, Receive receive)
{
    auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end reader(channels, false, nullptr);
    counted_commands commands;
    message_rules rules(max_message_bytes, how.keep);
    if (how.groups)
        rules.require_group();
    std::unique_ptr<decoder> decoder;
    if (how.kind == wire_kind::zmtp3)
        decoder = std::make_unique<inbound>(channels->a_to_b, rules, commands);
    else
        decoder =
            std::make_unique<wire_inbound>(channels->a_to_b, make_wire(how.kind), rules, commands);
    engine::decoder& in = *decoder;
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
        result.error = receive(in, moved);
        most = piece;
    }
    core::frame part;
    message parts;
    while (reader.in.peek(part)) {
        const bool inside = !parts.empty() && part.command();
        parts.push_back((part.command() ? "/" : "") + std::string(part.text()));
        EXPECT_FALSE(part.command() && part.more());
        const bool more = part.more() || inside;
        reader.in.pop();
        if (!more)
            result.messages.push_back(std::exchange(parts, {}));
    }
    EXPECT_TRUE(parts.empty());
    EXPECT_EQ(in.messages(), result.messages.size());
    result.commands = commands.count;
    return result;
}

received feed(const setup& how, std::span<const std::byte> bytes, std::size_t cut,
              std::size_t piece, std::int64_t max_message_bytes = -1)
{
    return feed(how, bytes, cut, piece, max_message_bytes,
                [](decoder& in, std::size_t some) { return in.received(some); });
}

/// Feeds `text` cut in every place, and byte by byte: it must give the same each time.
received feed_in_every_way(const setup& how, const std::string& text,
                           std::int64_t max_message_bytes = -1)
{
    const auto bytes = hex(text);
    const received whole = feed(how, bytes, bytes.size(), 1, max_message_bytes);
    for (std::size_t cut = 1; cut < bytes.size(); ++cut)
        EXPECT_EQ(feed(how, bytes, cut, bytes.size(), max_message_bytes), whole) << cut;
    EXPECT_EQ(feed(how, bytes, 1, 1, max_message_bytes), whole);
    return whole;
}

received feed_in_every_way(wire_kind kind, const std::string& text,
                           std::int64_t max_message_bytes = -1)
{
    return feed_in_every_way(setup{kind}, text, max_message_bytes);
}

/// Hex of a header, in the form that `flags` say.
std::string header(unsigned flags, std::uint64_t body_bytes)
{
    std::string bytes(1, static_cast<char>(flags));
    for (int shift = flags & zmtp3::flag_long ? 56 : 0; shift >= 0; shift -= 8)
        bytes += static_cast<char>(body_bytes >> shift);
    return text_hex(bytes);
}

std::string frame(unsigned flags, const std::string& body)
{
    return header(flags, body.size()) + text_hex(body);
}

std::string body_of(const std::string& name, const std::string& argument)
{
    return static_cast<char>(name.size()) + name + argument;
}

/// A command of each kind: those which the decoder keeps, and those which it does not.
struct commands_row {
    kept_commands keep;
    std::vector<std::string> kept;
    std::vector<std::string> told;
};

std::vector<commands_row> commands_by_what_is_kept()
{
    const std::string subscribe = body_of("SUBSCRIBE", "t");
    const std::string cancel = body_of("CANCEL", "");
    const std::string join = body_of("JOIN", "g");
    const std::string leave = body_of("LEAVE", "g");
    const std::string ping = body_of("PING", std::string("\0\1c", 3));
    return {{kept_commands::none, {}, {subscribe, cancel, join, leave, ping, ""}},
            {kept_commands::subscriptions, {subscribe, cancel}, {join, leave, ping, ""}},
            {kept_commands::groups, {join, leave}, {subscribe, cancel, ping, ""}}};
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
        wire_kind::zmtp1, "0100 020161 ff00000000000000ff01" + repeated("62", 254) + "fe00" +
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
        EXPECT_EQ(feed({wire_kind::zmtp1}, bytes, piece, piece).messages, expected) << piece;
}

TEST(inbound, a_length_of_0_in_zmtp_1_0_ends_it_after_what_came_before)
{
    for (const std::string bad : {"00", "ff0000000000000000 00"}) {
        const received got = feed_in_every_way(wire_kind::zmtp1, "020061 020162" + bad);
        EXPECT_EQ(got.messages, std::vector<message>{{"a"}});
        EXPECT_EQ(got.error, inbound_error::no_frame);
    }
}

TEST(inbound, a_head_that_is_none_may_have_been_damaged_where_frames_are_sealed)
{
    const std::string too_large = header(zmtp3::flag_long, std::uint64_t{1} << 63);
    EXPECT_EQ(feed_in_every_way(wire_kind::zmtp3, too_large).error, inbound_error::no_frame);
    EXPECT_EQ(feed_in_every_way(wire_kind::toy_cipher, too_large).error,
              inbound_error::not_authentic);
    const std::string unknown_kind = "00 00000000";
    EXPECT_EQ(feed_in_every_way(wire_kind::toy_codec, unknown_kind).error, inbound_error::no_frame);
    EXPECT_EQ(feed_in_every_way(wire_kind::toy_both, unknown_kind).error,
              inbound_error::not_authentic);
}

TEST(inbound, the_size_limit_holds_in_every_framing)
{
    const received one = feed_in_every_way(wire_kind::zmtp1, "0400616161 0500", 3);
    EXPECT_EQ(one.messages, std::vector<message>{{"aaa"}});
    EXPECT_EQ(one.error, inbound_error::too_large);
    const received two = feed_in_every_way(wire_kind::zmtp2, "0003616161 0004", 3);
    EXPECT_EQ(two.messages, std::vector<message>{{"aaa"}});
    EXPECT_EQ(two.error, inbound_error::too_large);
    EXPECT_NE(feed_in_every_way(wire_kind::zmtp1, "ffffffffffffffffff00").error,
              inbound_error::none);
}

TEST(inbound, zmtp_2_0_has_no_commands)
{
    const std::string ping = "04070450494e470000";
    const received two =
        feed_in_every_way(wire_kind::zmtp2, ping + "050161 000162 06000000000000000163");
    EXPECT_EQ(two.messages,
              (std::vector<message>{{std::string("\4PING\0\0", 7)}, {"a", "b"}, {"c"}}));
    EXPECT_EQ(two.commands, 0);
    const received three = feed_in_every_way(wire_kind::zmtp3, ping + "000162");
    EXPECT_EQ(three.messages, std::vector<message>{{"b"}});
    EXPECT_EQ(three.commands, 1);
}

TEST(inbound, keeps_commands_between_messages_as_messages)
{
    for (const auto& row : commands_by_what_is_kept()) {
        std::string bytes = frame(0, "first");
        std::vector<message> expected{{"first"}};
        for (const std::string& body : row.told)
            bytes += frame(zmtp3::flag_command, body);
        for (const std::string& body : row.kept) {
            bytes += frame(zmtp3::flag_command, body) + frame(0, "next");
            expected.insert(expected.end(), {{"/" + body}, {"next"}});
        }
        const received got = feed_in_every_way({.keep = row.keep}, bytes);
        EXPECT_EQ(got.messages, expected);
        EXPECT_EQ(got.commands, static_cast<int>(row.told.size()));
        EXPECT_EQ(got.error, inbound_error::none);
    }
}

TEST(inbound, keeps_commands_between_the_parts_of_a_message_without_an_end_of_it)
{
    for (const auto& row : commands_by_what_is_kept()) {
        std::string bytes = frame(zmtp3::flag_more, "first");
        message expected{"first"};
        for (const std::string& body : row.told)
            bytes += frame(zmtp3::flag_command, body);
        for (const std::string& body : row.kept) {
            bytes += frame(zmtp3::flag_command, body) + frame(zmtp3::flag_more, "") +
                     frame(zmtp3::flag_command, body);
            expected.insert(expected.end(), {"/" + body, "", "/" + body});
        }
        bytes += frame(0, "last") + frame(0, "next");
        expected.push_back("last");
        const received got = feed_in_every_way({.keep = row.keep}, bytes);
        EXPECT_EQ(got.messages, (std::vector<message>{expected, {"next"}}));
        EXPECT_EQ(got.commands, static_cast<int>(row.told.size()));
        EXPECT_EQ(got.error, inbound_error::none);
    }
}

// The other bits mean nothing, that of a further part among them.
TEST(inbound, takes_commands_with_any_bits_set_and_small_ones_in_the_long_form)
{
    for (const auto& row : commands_by_what_is_kept())
        for (const unsigned reserved : {0x00u, 0x08u, 0x80u, 0xf8u})
            for (unsigned flags = zmtp3::flag_command; flags < 8; ++flags) {
                std::string bytes;
                message expected;
                for (const auto* bodies : {&row.told, &row.kept})
                    for (const std::string& body : *bodies)
                        bytes += frame(reserved | flags, body);
                for (const std::string& body : row.kept)
                    expected.push_back("/" + body);
                const received got = feed_in_every_way(
                    {.keep = row.keep}, bytes + frame(1, "a") + bytes + frame(0, "b") + bytes);
                std::vector<message> messages;
                const auto add_each = [&] {
                    for (const std::string& command : expected)
                        messages.push_back({command});
                };
                add_each();
                messages.push_back({"a"});
                messages.back().insert(messages.back().end(), expected.begin(), expected.end());
                messages.back().push_back("b");
                add_each();
                EXPECT_EQ(got.messages, messages) << (reserved | flags);
                EXPECT_EQ(got.commands, static_cast<int>(3 * row.told.size()));
                EXPECT_EQ(got.error, inbound_error::none);
            }
}

TEST(inbound, keeps_large_commands_in_one_piece)
{
    for (const std::size_t size : {246u, 8191u, 24u * 1024, 100'000u}) {
        const std::string body = body_of("SUBSCRIBE", std::string(size, 't'));
        const std::string large(size, 'x');
        const auto bytes = hex(frame(6, body) + frame(3, large) + frame(7, body) + frame(2, large));
        const std::vector<message> expected{{"/" + body}, {large, "/" + body, large}};
        for (const std::size_t piece : {1u, 7u, 1000u, 8192u, 100'000u, 1'000'000u})
            EXPECT_EQ(feed({.keep = kept_commands::subscriptions}, bytes, piece, piece).messages,
                      expected)
                << size << " " << piece;
    }
}

TEST(inbound, does_not_limit_commands_as_messages)
{
    const std::string subscription = body_of("SUBSCRIBE", "topic");
    const std::string ping = body_of("PING", std::string(2, 0));
    for (const unsigned flags : {4u, 5u, 6u}) {
        const received got =
            feed_in_every_way(setup{.keep = kept_commands::subscriptions},
                              frame(flags, ping) + frame(flags, subscription) + frame(0, "a"), 1);
        EXPECT_EQ(got.messages.size(), 2u);
        EXPECT_EQ(got.commands, 1);
        EXPECT_EQ(got.error, inbound_error::none);
    }
}

TEST(inbound, limits_commands_to_64_kib_or_as_much_as_messages)
{
    constexpr std::int64_t least = 64 * 1024;
    for (const std::int64_t limit : {std::int64_t{0}, least, least + 1000}) {
        const auto most = static_cast<std::size_t>(std::max(limit, least));
        for (const std::size_t bytes : {most, most + 1}) {
            std::string body = body_of("SUBSCRIBE", "");
            body.resize(bytes, 't');
            const auto text = hex(frame(6, body));
            for (const std::size_t piece : {std::size_t{1000}, text.size()}) {
                const received got =
                    feed({.keep = kept_commands::subscriptions}, text, piece, piece, limit);
                EXPECT_EQ(got.messages.size(), bytes == most ? 1u : 0u);
                EXPECT_EQ(got.error,
                          bytes == most ? inbound_error::none : inbound_error::too_large);
            }
        }
    }
}

TEST(inbound, keeps_no_commands_of_zmtp_2_0)
{
    const std::string body = body_of("SUBSCRIBE", "t");
    for (const unsigned flags : {4u, 6u, 0xfcu}) {
        const received got = feed_in_every_way({wire_kind::zmtp2, kept_commands::subscriptions},
                                               frame(1, "a") + frame(flags, body));
        EXPECT_EQ(got.messages, (std::vector<message>{{"a", body}}));
        EXPECT_EQ(got.commands, 0);
    }
}

TEST(inbound, takes_messages_of_a_group_and_one_part_with_commands_anywhere)
{
    const setup how{.keep = kept_commands::groups, .groups = true};
    const std::string join = body_of("JOIN", "g");
    const std::string leave = body_of("LEAVE", "");
    const std::string longest(255, 'g');
    const std::string begin = frame(4, join) + frame(1, longest) + frame(5, leave) +
                              frame(4, "PING") + frame(0, "body") + frame(4, leave);
    const std::vector<message> expected{
        {"/" + join}, {longest, "/" + leave, "body"}, {"/" + leave}};
    const received good = feed_in_every_way(how, begin + frame(1, "") + frame(0, ""));
    EXPECT_EQ(good.messages.size(), 4u);
    EXPECT_EQ(good.commands, 1);
    EXPECT_EQ(good.error, inbound_error::none);
    for (const std::string& bad :
         {frame(0, "alone"), frame(1, "g") + frame(4, join) + frame(1, "more"),
          frame(3, std::string(256, 'g')), header(3, 1'000'000)}) {
        const received got = feed_in_every_way(how, begin + bad);
        EXPECT_EQ(got.messages, expected) << bad;
        EXPECT_EQ(got.error, inbound_error::bad_envelope) << bad;
    }
}

/// A decoder that keeps subscriptions, and the consumer of its channel.
class open_decoder {
public:
    void take(const std::string& text)
    {
        const auto bytes = hex(text);
        iovec space[2];
        in.prepare(space);
        std::memcpy(space[0].iov_base, bytes.data(), bytes.size());
        EXPECT_EQ(in.received(bytes.size()), inbound_error::none);
    }

    /// The parts that can be had now.
    message visible()
    {
        message parts;
        core::frame part;
        for (; reader_.in.peek(part); reader_.in.pop())
            parts.emplace_back(part.text());
        return parts;
    }

private:
    std::shared_ptr<core::channel_pair> channels_ = std::make_shared<core::channel_pair>();
    core::pipe_end reader_{channels_, false, nullptr};
    counted_commands commands_;

public:
    inbound in{channels_->a_to_b, {-1, kept_commands::subscriptions}, commands_};
};

TEST(inbound, shows_kept_commands_at_once_but_inside_a_message_with_its_end)
{
    open_decoder decoder;
    const std::string body = body_of("SUBSCRIBE", "t");
    decoder.take(frame(4, body));
    EXPECT_EQ(decoder.visible(), message{body});
    decoder.take(frame(5, body));
    EXPECT_FALSE(decoder.in.in_message());
    EXPECT_EQ(decoder.visible(), message{body});
    decoder.take(frame(1, "a") + frame(4, body));
    EXPECT_TRUE(decoder.in.in_message());
    EXPECT_EQ(decoder.visible(), message{});
    decoder.take(frame(0, "b"));
    EXPECT_EQ(decoder.visible(), (message{"a", body, "b"}));
}

TEST(inbound, drops_kept_commands_with_the_message_that_was_not_completed)
{
    open_decoder decoder;
    const std::string body = body_of("SUBSCRIBE", "t");
    decoder.take(frame(4, body) + frame(1, "a") + frame(4, body));
    decoder.in.reset();
    decoder.take(frame(0, "next"));
    EXPECT_EQ(decoder.visible(), (message{body, "next"}));
}

// A sanitizer ends the program that asks for so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(inbound, refuses_sizes_that_no_memory_is_enough_for_with_the_header)
{
    constexpr std::uint64_t quarter = SIZE_MAX / 4;
    for (const std::uint64_t size :
         {std::uint64_t{1} << 47, std::uint64_t{1} << 50, std::uint64_t{1} << 61, quarter - 9,
          quarter, quarter + 1, quarter + 2, quarter * 2, quarter * 2 + 2, SIZE_MAX - 8,
          SIZE_MAX}) {
        const auto expect_refused = [&](const setup& how, const std::string& bytes,
                                        std::uint64_t body_bytes) {
            const received got = feed_in_every_way(how, bytes);
            EXPECT_EQ(got.messages, std::vector<message>{{"a"}}) << bytes;
            EXPECT_EQ(got.error, body_bytes > zmtp3::max_body_bytes ? inbound_error::no_frame
                                                                    : inbound_error::out_of_memory)
                << bytes;
        };
        const std::string first = frame(0, "a");
        const std::string begun = first + frame(1, "part");
        for (const unsigned flags : {2u, 3u, 6u, 7u, 0xfeu})
            for (const std::string& before : {first, begun}) {
                const std::string bytes = before + header(flags, size);
                expect_refused({wire_kind::zmtp2}, bytes, size);
                for (const kept_commands keep :
                     {kept_commands::none, kept_commands::subscriptions, kept_commands::groups})
                    expect_refused({.keep = keep}, bytes, size);
            }
        // Its length counts the flags, which come last.
        for (const char* flags : {"00", "01", "fe"})
            expect_refused({wire_kind::zmtp1},
                           "020061" + ("ff" + header(2, size).substr(2)) + flags, size - 1);
    }
}
#endif

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
// Refuses each allocation that received() makes, one after the other.
TEST(inbound, goes_on_where_it_had_no_memory)
{
    const std::string x(40'000, 'x');
    const std::string large = frame(3, x) + frame(2, x);
    const std::string commands = frame(4, body_of("PING", "c")) + frame(0, "a") +
                                 frame(5, body_of("SUBSCRIBE", "t")) + frame(2, x.substr(0, 3000));
    const std::string old_header = "ff" + header(zmtp3::flag_long, x.size() + 1).substr(2);
    const struct {
        setup how;
        std::string text;
    } rows[] = {
        {{}, large + commands + large + commands},
        {{.keep = kept_commands::subscriptions}, commands + large + commands + large},
        {{.keep = kept_commands::groups, .groups = true},
         frame(1, "g") + frame(2, x) + frame(4, body_of("PING", "")) + frame(1, "g") + frame(2, x)},
        {{wire_kind::zmtp2}, large + commands + large},
        {{wire_kind::zmtp1},
         "020061 ff000000000000000200 62" + old_header + "00" + text_hex(x) + "020163" +
             old_header + "00" + text_hex(x)},
    };
    for (const auto& row : rows)
        for (const std::size_t piece : {1u, 100u, 2000u, 10'000u, 1'000'000u}) {
            const auto bytes = hex(row.text);
            const received expected = feed(row.how, bytes, piece, piece);
            EXPECT_EQ(expected.error, inbound_error::none);
            bool refused = true;
            for (long before = 0; refused; ++before) {
                refused = false;
                const auto got =
                    feed(row.how, bytes, piece, piece, -1, [&](decoder& in, auto some) {
                        const memory_but_once scarce(before);
                        const inbound_error error = in.received(some);
                        refused |= scarce.was_refused();
                        return error == inbound_error::out_of_memory ? in.go_on() : error;
                    });
                EXPECT_TRUE(got == expected) << before << " " << piece;
                EXPECT_TRUE(refused || before != 0);
            }
        }
}
#endif

// As handlers of commands may, for want of memory.
TEST(inbound, goes_on_with_the_command_that_its_handler_has_thrown_at)
{
    class handler final : public command_handler {
    public:
        void on_command(std::span<const std::byte>) override
        {
            if (++calls == 1)
                throw std::bad_alloc();
        }
        int calls = 0;
    } commands;
    auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end reader(channels, false, nullptr);
    inbound in(channels->a_to_b, {-1, kept_commands::none}, commands);
    const auto bytes = hex(frame(0, "a") + frame(4, body_of("PING", "")) + frame(0, "b"));
    iovec space[2];
    in.prepare(space);
    std::memcpy(space[0].iov_base, bytes.data(), bytes.size());
    EXPECT_THROW(in.received(bytes.size()), std::bad_alloc);
    EXPECT_EQ(in.go_on(), inbound_error::none);
    EXPECT_EQ(commands.calls, 2);
    core::frame part;
    for (const char* const expected : {"a", "b"}) {
        ASSERT_TRUE(reader.in.peek(part));
        EXPECT_EQ(part.text(), expected);
        reader.in.pop();
    }
    EXPECT_FALSE(reader.in.peek(part));
}

TEST(inbound, tells_whether_a_message_has_begun)
{
    auto channels = std::make_shared<core::channel_pair>();
    counted_commands commands;
    inbound in(channels->a_to_b, {-1, engine::kept_commands::none}, commands);
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
