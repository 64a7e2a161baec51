// SPDX-License-Identifier: Apache-2.0
#include "engine/wire/websocket_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/traffic/wire_inbound.hpp"
#include "engine/wire/toy_wire_for_tests.hpp"
#include "engine/wire/wire.hpp"

namespace zlink::test {
namespace {

using namespace engine;
using namespace std::string_literals;
using side = websocket_codec::side;

wire wire_of(side which)
{
    wire how;
    how.codec = std::make_shared<websocket_codec>(which);
    return how;
}

/// What one side sends for a frame.
std::string encoded(const wire& how, std::uint8_t flags, std::string_view body)
{
    write_batch out;
    frame_encoder(how, out).put({flags, as_bytes(body), nullptr, 0});
    return bytes_of(out);
}

std::string encoded_hex(const wire& how, std::uint8_t flags, std::string_view body)
{
    return to_hex(as_bytes(encoded(how, flags, body)));
}

/// A frame as the peer sends it; `key` empty = not masked. The length is written in `length_bytes`
/// bytes behind the first two, if it is given.
std::string frame(int first, std::string payload, const std::string& key = "",
                  int length_bytes = -1)
{
    const std::size_t length = payload.size();
    if (length_bytes < 0)
        length_bytes = length < 126 ? 0 : length < 65536 ? 2 : 8;
    std::string bytes(1, static_cast<char>(first));
    const int mask = key.empty() ? 0 : 0x80;
    bytes += static_cast<char>(mask | (length_bytes == 0   ? static_cast<int>(length)
                                       : length_bytes == 2 ? 126
                                                           : 127));
    for (int shift = 8 * (length_bytes - 1); shift >= 0; shift -= 8)
        bytes += static_cast<char>(length >> shift);
    bytes += key;
    for (std::size_t i = 0; i < payload.size() && !key.empty(); ++i)
        payload[i] = static_cast<char>(payload[i] ^ key[i % 4]);
    return bytes + payload;
}

const std::string key = "\x12\x34\xab\xff";

/// What comes of bytes.
struct received : command_handler {
    explicit received(side which, std::int64_t max_message_bytes = -1)
        : how(wire_of(which)),
          in(channel, how, message_rules(max_message_bytes, kept_commands::none), *this)
    {}
    void on_command(std::span<const std::byte> body) override
    {
        const auto command = parse_traffic_command(body);
        commands += command.kind == traffic_command_kind::ping   ? "ping("
                    : command.kind == traffic_command_kind::pong ? "pong("
                                                                 : "other(";
        commands += std::string(as_text(command.argument)) + ")";
    }
    inbound_error feed(std::string_view bytes, std::size_t piece = SIZE_MAX)
    {
        auto error = inbound_error::none;
        while (!bytes.empty() && error == inbound_error::none) {
            iovec space[decoder::most_entries];
            const int count = in.prepare(space);
            std::size_t moved = 0;
            for (int i = 0; i < count; ++i) {
                const std::size_t some =
                    std::min({space[i].iov_len, bytes.size() - moved, piece - moved});
                if (some != 0)
                    std::memcpy(space[i].iov_base, bytes.data() + moved, some);
                moved += some;
            }
            bytes.remove_prefix(moved);
            error = in.received(moved);
        }
        return error;
    }
    /// The next part with its flags in front, or "nothing".
    std::string next()
    {
        base::byte_queue& queue = channel.queue;
        if (!queue.load())
            return "nothing";
        zmtp3::frame_header header;
        zmtp3::decode_header(queue.read_begin(),
                             static_cast<std::size_t>(queue.read_end() - queue.read_begin()),
                             header);
        queue.consume(header.header_bytes);
        const bool apart = header.body_bytes != 0 && queue.read_begin() == queue.read_end();
        if (apart)
            queue.load();
        std::string body(as_text({queue.read_begin(), header.body_bytes}));
        apart ? queue.consume_body() : queue.consume(header.body_bytes);
        return std::to_string(header.flags & 5) + ":" + body;
    }
    std::string farewell_hex(farewell why)
    {
        std::vector<std::byte> out;
        how.codec->encode_farewell(out, why);
        return to_hex(out);
    }

    base::channel channel;
    wire how;
    wire_inbound in;
    std::string commands;
};

TEST(WebsocketCodec, server_frames_are_the_vectors)
{
    const wire server = wire_of(side::server);
    EXPECT_EQ("82020161", encoded_hex(server, zmtp3::flag_more, "a"));
    EXPECT_EQ("8203006263", encoded_hex(server, 0, "bc"));
    EXPECT_EQ("82060068656c6c6f", encoded_hex(server, 0, "hello"));
    EXPECT_EQ("820100", encoded_hex(server, 0, ""));
    EXPECT_EQ("82050001746f70", encoded_hex(server, 0, "\1top"));
    EXPECT_EQ("82020278", encoded_hex(server, zmtp3::flag_command, "x"));
}

TEST(WebsocketCodec, a_body_alone_is_the_payload)
{
    using payload = websocket_codec::payload;
    wire server;
    server.codec = std::make_shared<websocket_codec>(side::server, payload::body_only);
    EXPECT_EQ("820161", encoded_hex(server, 0, "a"));
    EXPECT_EQ("8200", encoded_hex(server, 0, ""));
    EXPECT_EQ("820161", encoded_hex(server, zmtp3::flag_more, "a"));
    wire client;
    client.codec = std::make_shared<websocket_codec>(side::client, payload::body_only);
    const std::string bytes = encoded(client, 0, "a");
    ASSERT_EQ(7u, bytes.size());
    EXPECT_EQ('a', bytes[6] ^ bytes[2]);
    frame_head head;
    EXPECT_EQ(frame_codec::decoded::head,
              server.codec->decode_head(as_bytes(bytes).data(), bytes.size(), head));
    EXPECT_EQ(6u, head.head_bytes);
    EXPECT_EQ(1u, head.body_bytes);
    EXPECT_EQ(0u, head.flags);
}

TEST(WebsocketCodec, server_bodies_are_not_copied)
{
    const wire server = wire_of(side::server);
    EXPECT_EQ(nullptr, server.codec->traits().sent_bodies);
    EXPECT_NE(nullptr, wire_of(side::client).codec->traits().sent_bodies);
    const base::buffer_ref body(base::allocate_buffer(100'000));
    std::memset(body->data, 'x', 100'000);
    write_batch out;
    frame_encoder(server, out).put({0, {body->data, 100'000}, body.get(), 0});
    iovec entries[4];
    std::size_t total = 0;
    ASSERT_EQ(2u, out.list(entries, total));
    EXPECT_EQ(body->data, entries[1].iov_base);
}

TEST(WebsocketCodec, client_frames_are_masked_each_with_another_key)
{
    const wire client = wire_of(side::client);
    const std::string one = encoded(client, 0, "hello");
    const std::string other = encoded(client, 0, "hello");
    ASSERT_EQ(12u, one.size());
    EXPECT_EQ("\x82\x86", one.substr(0, 2));
    EXPECT_NE(one.substr(2, 4), other.substr(2, 4));
    EXPECT_EQ(frame(0x82, "\0hello"s, one.substr(2, 4)), one);
    EXPECT_EQ(frame(0x82, "\0hello"s, other.substr(2, 4)), other);
}

TEST(WebsocketCodec, all_lengths_come_back_split_anywhere)
{
    for (const std::size_t bytes :
         {0, 1, 2, 7, 8, 9, 123, 124, 125, 126, 65533, 65534, 65535, 65536, 70000}) {
        std::string body(bytes, '\0');
        for (std::size_t i = 0; i < bytes; ++i)
            body[i] = static_cast<char>(i * 7 + i / 256);
        for (const side from : {side::client, side::server}) {
            const std::string sent =
                encoded(wire_of(from), zmtp3::flag_more, body) + encoded(wire_of(from), 0, "end");
            EXPECT_EQ(wire_of(from).codec->head_bytes(bytes) + bytes +
                          wire_of(from).codec->head_bytes(3) + 3,
                      sent.size());
            const std::size_t step = bytes < 1000 ? 1 : 4999;
            for (std::size_t split = 0; split <= sent.size();
                 split += split < 20 || split + 20 > sent.size() ? 1 : step) {
                received to(from == side::client ? side::server : side::client);
                EXPECT_EQ(inbound_error::none, to.feed(sent.substr(0, split)));
                EXPECT_EQ(inbound_error::none, to.feed(sent.substr(split)));
                ASSERT_EQ("1:" + body, to.next()) << split;
                ASSERT_EQ("0:end", to.next()) << split;
            }
        }
    }
}

TEST(WebsocketCodec, comes_back_byte_by_byte)
{
    received to(side::server);
    const std::string sent = frame(0x82, "\1one"s, key) + frame(0x82, "\0"s, key) +
                             frame(0x89, "?", key) +
                             frame(0x82, "\0"s + std::string(300, 'x'), key);
    EXPECT_EQ(inbound_error::none, to.feed(sent, 1));
    EXPECT_EQ("1:one", to.next());
    EXPECT_EQ("0:", to.next());
    EXPECT_EQ("0:" + std::string(300, 'x'), to.next());
    EXPECT_EQ("nothing", to.next());
    EXPECT_EQ("ping(?)", to.commands);
}

TEST(WebsocketCodec, unknown_flags_mean_nothing)
{
    received to(side::client);
    EXPECT_EQ(inbound_error::none, to.feed(frame(0x82, "\xfd"
                                                       "a") +
                                           frame(0x82, "\xf8"
                                                       "b")));
    EXPECT_EQ("1:a", to.next());
    EXPECT_EQ("0:b", to.next());
}

TEST(WebsocketCodec, ping_and_pong_are_control_frames)
{
    std::vector<std::byte> frames;
    append_traffic_command(frames, {traffic_command_kind::ping, {}, 500});
    append_traffic_command(frames, {traffic_command_kind::pong, as_bytes("abc"), 0});
    write_batch out;
    frame_encoder(wire_of(side::server), out).put_own(frames);
    EXPECT_EQ("89008a03616263", to_hex(out.copies()));
    write_batch masked;
    frame_encoder(wire_of(side::client), masked).put_own(frames);
    received to(side::server);
    EXPECT_EQ(inbound_error::none, to.feed(as_text(masked.copies())));
    EXPECT_EQ("ping()pong(abc)", to.commands);
}

TEST(WebsocketCodec, the_longest_ping_comes_and_goes_whole)
{
    const std::string longest(125, 'p');
    received to(side::client);
    EXPECT_EQ(inbound_error::none, to.feed(frame(0x89, longest)));
    EXPECT_EQ("ping(" + longest + ")", to.commands);
    std::vector<std::byte> pong;
    append_traffic_command(pong, {traffic_command_kind::pong, as_bytes(longest), 0});
    write_batch out;
    frame_encoder(wire_of(side::server), out).put_own(pong);
    EXPECT_EQ(frame(0x8a, longest), std::string(as_text(out.copies())));
}

TEST(WebsocketCodec, fragments_become_one_body)
{
    const std::string sent = frame(0x02, "\1ab"s, key) + frame(0x00, "", key) +
                             frame(0x00, "cde", key) + frame(0x80, "f", key) +
                             frame(0x82, "\0next"s, key);
    for (std::size_t piece = 1; piece <= sent.size(); ++piece) {
        received to(side::server);
        EXPECT_EQ(inbound_error::none, to.feed(sent, piece));
        EXPECT_EQ("1:abcdef", to.next()) << piece;
        EXPECT_EQ("0:next", to.next()) << piece;
    }
}

TEST(WebsocketCodec, the_flags_come_in_the_first_fragment_that_is_not_empty)
{
    const std::string sent = frame(0x02, "", key) + frame(0x89, "p", key) + frame(0x00, "", key) +
                             frame(0x00, "\1"s, key) + frame(0x00, "", key) +
                             frame(0x80, "ab", key) + frame(0x02, "", key) +
                             frame(0x80, "\0whole"s, key) + frame(0x82, "\0next"s, key);
    for (std::size_t piece = 1; piece <= sent.size(); ++piece) {
        received to(side::server);
        EXPECT_EQ(inbound_error::none, to.feed(sent, piece));
        EXPECT_EQ("1:ab", to.next()) << piece;
        EXPECT_EQ("0:whole", to.next()) << piece;
        EXPECT_EQ("0:next", to.next()) << piece;
        EXPECT_EQ("ping(p)", to.commands) << piece;
    }
}

TEST(WebsocketCodec, control_frames_come_between_fragments)
{
    received to(side::server);
    EXPECT_EQ(inbound_error::none,
              to.feed(frame(0x02, "\0one "s, key) + frame(0x89, "a", key) + frame(0x8a, "b", key)));
    EXPECT_EQ("ping(a)pong(b)", to.commands);
    EXPECT_EQ("nothing", to.next());
    EXPECT_TRUE(to.in.in_message());
    EXPECT_EQ(inbound_error::none, to.feed(frame(0x00, "two ", key) + frame(0x89, "c", key) +
                                           frame(0x80, "three", key)));
    EXPECT_EQ("0:one two three", to.next());
    EXPECT_EQ("ping(a)pong(b)ping(c)", to.commands);
}

TEST(WebsocketCodec, large_fragments_become_one_body)
{
    const std::string large(100'000, 'L');
    received to(side::client);
    EXPECT_EQ(inbound_error::none, to.feed(frame(0x02, "\0"s + large) + frame(0x00, large) +
                                               frame(0x80, "end") + frame(0x82, "\0x"s),
                                           7000));
    EXPECT_EQ("0:" + large + large + "end", to.next());
    EXPECT_EQ("0:x", to.next());
}

TEST(WebsocketCodec, a_command_may_come_in_fragments)
{
    received to(side::client);
    EXPECT_EQ(inbound_error::none, to.feed(frame(0x02, "\2\4PI") + frame(0x80, "NG"s + "\0\0ctx"s) +
                                           frame(0x82, "\0x"s)));
    EXPECT_EQ("ping(ctx)", to.commands);
    EXPECT_EQ("0:x", to.next());
}

TEST(WebsocketCodec, reset_forgets_fragments)
{
    received to(side::client);
    EXPECT_EQ(inbound_error::none, to.feed(frame(0x02, "\0ab"s)));
    to.in.reset();
    EXPECT_FALSE(to.in.in_message());
}

TEST(WebsocketCodec, the_limit_is_one_for_all_fragments)
{
    received fits(side::client, 6);
    EXPECT_EQ(inbound_error::none, fits.feed(frame(0x02, "\0abc"s) + frame(0x80, "def")));
    EXPECT_EQ("0:abcdef", fits.next());
    received large(side::client, 6);
    EXPECT_EQ(inbound_error::too_large, large.feed(frame(0x02, "\0abc"s) + frame(0x80, "defg")));
    received huge(side::client, 6);
    EXPECT_EQ(inbound_error::none, huge.feed(frame(0x02, "\0abc"s)));
    EXPECT_EQ(inbound_error::too_large, huge.feed("\x80\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"s));
}

TEST(WebsocketCodec, the_limit_leaves_out_the_flags)
{
    received fits(side::client, 5);
    EXPECT_EQ(inbound_error::none, fits.feed(frame(0x82, "\0hello"s)));
    received large(side::client, 5);
    EXPECT_EQ(inbound_error::too_large, large.feed(frame(0x82, "\0hello!"s)));
    EXPECT_EQ("880203f1", [] {
        received server(side::server);
        return server.farewell_hex(farewell::too_large);
    }());
}

struct wrong {
    const char* what;
    side at;
    std::string bytes;
    const char* farewell; ///< to who is a server; a client masks it
};

// What is wrong must be seen when the byte is there that is wrong, and say so with this code.
TEST(WebsocketCodec, what_is_no_frame_is_refused_with_its_code)
{
    const wrong rows[] = {
        {"text", side::server, frame(0x81, "hi", key), "880203eb"},
        {"text in fragments", side::server, frame(0x01, "hi", key), "880203eb"},
        {"continuation of nothing", side::server, frame(0x80, "hi", key), "880203ea"},
        {"continuation after the last", side::server,
         frame(0x02, "\0a"s, key) + frame(0x80, "b", key) + frame(0x80, "c", key), "880203ea"},
        {"message in a message", side::server, frame(0x02, "\0a"s, key) + frame(0x82, "\0b"s, key),
         "880203ea"},
        {"text in a message", side::server, frame(0x02, "\0a"s, key) + frame(0x81, "b", key),
         "880203ea"},
        {"unmasked", side::server, frame(0x82, "\0hi"s), "880203ea"},
        {"unmasked ping", side::server, frame(0x89, ""), "880203ea"},
        {"empty", side::server, frame(0x82, "", key), "880203ea"},
        {"empty in fragments", side::server,
         frame(0x02, "", key) + frame(0x00, "", key) + frame(0x80, "", key), "880203ea"},
        {"message after an empty fragment", side::server,
         frame(0x02, "", key) + frame(0x82, "\0b"s, key), "880203ea"},
        {"reserved bit 1", side::server, frame(0xc2, "\0a"s, key), "880203ea"},
        {"reserved bit 2", side::server, frame(0xa2, "\0a"s, key), "880203ea"},
        {"reserved bit 3", side::server, frame(0x92, "\0a"s, key), "880203ea"},
        {"reserved bit of a ping", side::server, frame(0xc9, "", key), "880203ea"},
        {"opcode 3", side::server, frame(0x83, "\0a"s, key), "880203ea"},
        {"opcode 7", side::server, frame(0x87, "\0a"s, key), "880203ea"},
        {"opcode 11", side::server, frame(0x8b, "", key), "880203ea"},
        {"opcode 15", side::server, frame(0x8f, "", key), "880203ea"},
        {"ping in fragments", side::server, frame(0x09, "", key), "880203ea"},
        {"close in fragments", side::server, frame(0x08, "", key), "880203ea"},
        {"long ping", side::server, frame(0x89, std::string(126, 'p'), key), "880203ea"},
        {"length in 2 bytes for 1", side::server, frame(0x82, "\0a"s, key, 2), "880203ea"},
        {"length in 8 bytes for 2", side::server, frame(0x82, std::string(200, 'a'), key, 8),
         "880203ea"},
        {"length beyond 63 bits", side::server, "\x82\xff\x80\0\0\0\0\0\0\0"s + key, "880203ea"},
        {"masked by a server", side::client, frame(0x82, "\0hi"s, key), nullptr},
    };
    for (const wrong& row : rows) {
        received whole(row.at);
        EXPECT_EQ(inbound_error::no_frame, whole.feed(row.bytes)) << row.what;
        received slow(row.at);
        EXPECT_EQ(inbound_error::no_frame, slow.feed(row.bytes, 1)) << row.what;
        if (row.farewell) {
            EXPECT_EQ(row.farewell, slow.farewell_hex(farewell::no_frame)) << row.what;
        }
    }
}

TEST(WebsocketCodec, a_wrong_first_byte_is_refused_alone)
{
    received to(side::server);
    EXPECT_EQ(inbound_error::no_frame, to.feed("\xff"));
    received second(side::server);
    EXPECT_EQ(inbound_error::no_frame, second.feed("\x82\x05"));
}

TEST(WebsocketCodec, a_close_is_answered_with_its_code)
{
    const std::pair<std::string, const char*> rows[] = {
        {"", "8800"},
        {"\x03\xe8", "880203e8"},
        {"\x03\xe9going away", "880203e9"},
        {"\x0f\xa0", "88020fa0"},
        // codes that nobody may send
        {"\x03", "880203ea"},
        {"\x03\xed", "880203ea"},
        {"\x03\xe7", "880203ea"},
        {"\x13\x88", "880203ea"},
        // reasons that are UTF-8, and such that are not
        {"\x03\xe8\xc2\x80 \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf", "880203e8"},
        {"\x03\xe8\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "880203e8"},
        {"\x03\xe8\x80", "880203ef"},
        {"\x03\xe8\xff", "880203ef"},
        {"\x03\xe8\xc1\xbf", "880203ef"},         // a detour, here and in the next rows
        {"\x03\xe8\xe0\x9f\xbf", "880203ef"},     //
        {"\x03\xe8\xf0\x8f\xbf\xbf", "880203ef"}, //
        {"\x03\xe8\xed\xa0\x80", "880203ef"},     // a surrogate
        {"\x03\xe8\xf4\x90\x80\x80", "880203ef"}, // beyond Unicode
        {"\x03\xe8\xe2\x82", "880203ef"},         // cut
        {"\x03\xe8\xe2\x82\x41", "880203ef"},     // interrupted
        {"\x03\xe8\xf0\x90\x80\xc0", "880203ef"}, //
        {"\x03\xe7\xff", "880203ea"},             // the code is wrong before it
    };
    for (const auto& [payload, answer] : rows) {
        received to(side::server);
        EXPECT_EQ(inbound_error::closed,
                  to.feed(frame(0x82, "\0x"s, key) + frame(0x88, payload, key)));
        EXPECT_EQ("0:x", to.next());
        EXPECT_EQ(answer, to.farewell_hex(farewell::closed)) << payload;
    }
    received client(side::client);
    EXPECT_EQ(inbound_error::closed, client.feed(frame(0x88, "\x03\xe8")));
    const std::string answer = client.farewell_hex(farewell::closed);
    EXPECT_EQ("8882", answer.substr(0, 4));
    EXPECT_EQ(16u, answer.size());
}

TEST(WebsocketCodec, a_close_ends_what_comes_behind_it)
{
    received to(side::client);
    EXPECT_EQ(inbound_error::closed, to.feed(frame(0x88, "") + frame(0x82, "\0x"s)));
    EXPECT_EQ("nothing", to.next());
}

// --- runs

/// Messages as they lie in a queue: of one part and of several, of all lengths.
std::vector<std::string> queued_messages()
{
    std::vector<std::string> messages;
    for (const std::size_t bytes : {0, 1, 15, 16, 17, 64, 124, 125, 126, 255, 256, 2047}) {
        std::vector<std::byte> one;
        append_message_frame(one, as_bytes(std::string(bytes, 'a')));
        messages.push_back(std::string(as_text(one)));
        messages.push_back("\x01\x00\x01\x02id"s + std::string(as_text(one)));
    }
    return messages;
}

std::string joined(const std::vector<std::string>& texts)
{
    std::string all;
    for (const auto& each : texts)
        all += each;
    return all;
}

struct run_result : frame_run {
    std::string written;
    std::vector<message_end> ends;
};

run_result encode_run(websocket_codec& codec, std::string_view frames, std::size_t room = 100'000,
                      std::size_t most_messages = 100)
{
    run_result result;
    result.written.resize(room);
    result.ends.resize(most_messages);
    static_cast<frame_run&>(result) = codec.traits().runs->encode_run(
        as_bytes(frames), std::as_writable_bytes(std::span(result.written)), result.ends);
    result.written.resize(result.bytes_written);
    result.ends.resize(result.messages);
    return result;
}

run_result decode_run(websocket_codec& codec, std::string_view bytes, std::size_t room = 100'000,
                      std::uint64_t max_body_bytes = UINT64_MAX)
{
    run_result result;
    result.written.resize(room);
    static_cast<frame_run&>(result) = codec.traits().runs->decode_run(
        as_bytes(bytes), std::as_writable_bytes(std::span(result.written)), max_body_bytes);
    result.written.resize(result.bytes_written);
    return result;
}

TEST(WebsocketRun, is_written_as_frames_one_by_one)
{
    const auto messages = queued_messages();
    const std::string frames = joined(messages);
    websocket_codec server(side::server);
    const auto run = encode_run(server, frames);
    EXPECT_EQ(frames.size(), run.bytes_read);
    EXPECT_EQ(messages.size(), run.messages);
    EXPECT_FALSE(run.more);
    std::string expected;
    std::size_t read = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        zmtp3::for_each_frame(as_bytes(messages[i]), [&](std::uint8_t flags, auto body) {
            expected += encoded(wire_of(side::server), flags, as_text(body));
        });
        read += messages[i].size();
        EXPECT_EQ(read, run.ends[i].bytes_read) << i;
        EXPECT_EQ(expected.size(), run.ends[i].bytes_written) << i;
    }
    EXPECT_EQ(expected, run.written);
}

TEST(WebsocketRun, comes_back_as_it_was)
{
    const std::string frames = joined(queued_messages());
    for (const auto from : {side::client, side::server}) {
        websocket_codec sender(from);
        websocket_codec receiver(from == side::client ? side::server : side::client);
        const std::string bytes = encode_run(sender, frames).written;
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            const auto begin = decode_run(receiver, std::string_view(bytes).substr(0, cut));
            const auto rest =
                decode_run(receiver, std::string_view(bytes).substr(begin.bytes_read));
            ASSERT_EQ(bytes.size(), begin.bytes_read + rest.bytes_read) << cut;
            ASSERT_EQ(frames, begin.written + rest.written) << cut;
            ASSERT_EQ(queued_messages().size(), begin.messages + rest.messages) << cut;
            // What is behind the last whole message are the first parts of the next.
            const std::string parts = begin.written.substr(begin.message_bytes_written);
            ASSERT_EQ(begin.more ? "\x01\x00\x01\x02id"s.substr(0, parts.size()) : "", parts);
        }
    }
}

TEST(WebsocketRun, has_whole_messages_as_far_as_there_is_room_for_them)
{
    websocket_codec server(side::server);
    const std::string one = "\x00\x03"
                            "one"s;
    const std::string two = "\x01\x01"
                            "t\x00\x02wo"s;
    for (std::size_t room = 0; room < 100; ++room) {
        const auto run = encode_run(server, one + two + one, room);
        const bool is_whole = run.bytes_read == 0 || run.bytes_read == one.size() ||
                              run.bytes_read == (one + two).size() ||
                              run.bytes_read == (one + two + one).size();
        EXPECT_TRUE(is_whole) << room << ": " << run.bytes_read;
        EXPECT_LE(run.bytes_written, room);
    }
    EXPECT_EQ(3u, encode_run(server, one + two + one, 100).messages);
    EXPECT_EQ(2u, encode_run(server, one + two + one, 100, 2).messages);
    EXPECT_EQ(0u, encode_run(server, one + two + one, 100, 0).bytes_read);
    EXPECT_EQ(one.size(), encode_run(server, one + two.substr(0, two.size() - 1)).bytes_read);
    EXPECT_EQ(one.size(), encode_run(server, one + two.substr(0, 3)).bytes_read);

    websocket_codec client(side::client);
    const std::string bytes = encode_run(server, one + two + one).written;
    for (std::size_t room = 0; room < 100; ++room) {
        const auto run = decode_run(client, bytes, room);
        EXPECT_LE(run.bytes_written, room);
        EXPECT_EQ(run.bytes_read == bytes.size(), run.needed_bytes == 0) << room;
        EXPECT_EQ(
            bytes.size() - run.bytes_read,
            decode_run(client, std::string_view(bytes).substr(run.bytes_read), 100).bytes_read);
    }
    EXPECT_EQ(bytes.size(), decode_run(client, bytes, 100).bytes_read);
}

TEST(WebsocketRun, ends_before_what_is_no_small_message)
{
    websocket_codec server(side::server);
    const std::string one = "\x00\x03"
                            "one"s;
    std::vector<std::byte> large;
    append_message_frame(large, as_bytes(std::string(2048, 'x')));
    EXPECT_EQ(one.size(), encode_run(server, one + std::string(as_text(large))).bytes_read);
    EXPECT_EQ(one.size(), encode_run(server, one + "\x04\x05\x04PING"s).bytes_read);

    websocket_codec client(side::client);
    const std::string good = frame(0x82, "\0one"s);
    const std::string others[] = {
        frame(0x89, "ping"),        frame(0x8a, ""),
        frame(0x88, "\x03\xe8"),    frame(0x02, "\0x"s),
        frame(0x80, "\0x"s),        frame(0x81, "\0x"s),
        frame(0xc2, "\0x"s),        frame(0x82, ""),
        frame(0x82, "\2\4PING"),    frame(0x82, "\0x"s, key),
        frame(0x82, "\0x"s, "", 2), frame(0x82, "\0"s + std::string(2048, 'x')),
    };
    for (const auto& other : others) {
        const auto run = decode_run(client, good + other);
        EXPECT_EQ(good.size(), run.bytes_read) << to_hex(as_bytes(other.substr(0, 8)));
        EXPECT_EQ(one, run.written);
    }
    EXPECT_EQ(good.size(), decode_run(client, good, 100, 3).bytes_read);
    EXPECT_EQ(0u, decode_run(client, good, 100, 2).bytes_read);
}

TEST(WebsocketRun, of_parts_with_control_frames_between_them_comes_whole_however_it_is_cut)
{
    for (const auto from : {side::client, side::server}) {
        const wire how = wire_of(from);
        std::vector<std::byte> ping;
        how.codec->encode_control(ping,
                                  {traffic_command_kind::ping, as_bytes(std::string_view("p")), 0});
        const std::string control(as_text(ping));
        const std::string bytes = encoded(how, 1, "id") + encoded(how, 1, "") + control +
                                  encoded(how, 0, "body") + control + encoded(how, 1, "next") +
                                  control + control + encoded(how, 0, std::string(300, 'x')) +
                                  encoded(how, 0, "last");
        const side at = from == side::client ? side::server : side::client;
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            received to(at);
            ASSERT_EQ(inbound_error::none, to.feed(std::string_view(bytes).substr(0, cut)));
            ASSERT_EQ(inbound_error::none, to.feed(std::string_view(bytes).substr(cut)));
            for (const auto& part : {"1:id"s, "1:"s, "0:body"s, "1:next"s,
                                     "0:" + std::string(300, 'x'), "0:last"s, "nothing"s})
                ASSERT_EQ(part, to.next()) << cut;
            ASSERT_EQ("ping(p)ping(p)ping(p)ping(p)", to.commands) << cut;
            ASSERT_EQ(3u, to.in.messages()) << cut;
        }
    }
}

TEST(WebsocketRun, does_not_begin_between_fragments)
{
    websocket_codec client(side::client);
    const std::string begin = frame(0x02, "\0be"s);
    frame_head head;
    ASSERT_TRUE((client.decode_head(as_bytes(begin).data(), begin.size(), head) ==
                 frame_codec::decoded::head));
    EXPECT_EQ(0u, decode_run(client, frame(0x82, "\0one"s)).bytes_read);
}

TEST(WebsocketRun, has_bodies_only_where_payloads_are_that)
{
    websocket_codec server(side::server, websocket_codec::payload::body_only);
    websocket_codec client(side::client, websocket_codec::payload::body_only);
    const std::string frames = "\x00\x03one\x00\x00"s;
    const auto run = encode_run(server, frames);
    EXPECT_EQ("\x82\x03one\x82\x00"s, run.written);
    EXPECT_EQ(frames, decode_run(client, run.written).written);
}

} // namespace
} // namespace zlink::test
