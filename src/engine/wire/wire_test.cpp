// SPDX-License-Identifier: Apache-2.0
#include "engine/wire/wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "engine/bytes.hpp"
#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/traffic/command_handlers_for_tests.hpp"
#include "engine/wire/wires_for_tests.hpp"
#include "support/memory_stream.hpp"

namespace zlink::test {
namespace {

using namespace engine;

/// Writes what the stream takes now.
void write(write_batch& batch, transport::stream& to)
{
    iovec entries[64];
    while (!batch.empty()) {
        std::size_t offered = 0;
        const std::size_t count = batch.list(entries, offered);
        const auto result = to.write_some(entries, static_cast<int>(count));
        batch.written(result.bytes);
        if (result.bytes < offered)
            return;
    }
}

inbound_error feed(decoder& in, std::span<const std::byte> bytes, std::size_t piece)
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
        bytes = bytes.subspan(moved);
        error = in.received(moved);
    }
    return error;
}

std::string take_body(base::byte_queue& queue)
{
    if (!queue.load())
        return "nothing";
    zmtp3::frame_header header;
    zmtp3::decode_header(queue.read_begin(),
                         static_cast<std::size_t>(queue.read_end() - queue.read_begin()), header);
    queue.consume(header.header_bytes);
    const bool apart = header.body_bytes != 0 && queue.read_begin() == queue.read_end();
    if (apart)
        queue.load();
    const std::string body(as_text({queue.read_begin(), header.body_bytes}));
    if (apart)
        queue.consume_body();
    else
        queue.consume(header.body_bytes);
    return body;
}

std::string repeated(const std::string& text, int times)
{
    std::string all;
    for (int i = 0; i < times; ++i)
        all += text;
    return all;
}

std::string encoded(const wire& how, std::uint8_t flags, std::string_view body)
{
    write_batch out;
    frame_encoder(how, out).put({flags, as_bytes(body), nullptr, 0});
    return to_hex(out.copies());
}

TEST(Wire, frames_of_every_version_of_zmtp)
{
    const std::string b(254, 'b');
    const std::string c(253, 'c');
    const wire one = make_wire(wire_kind::zmtp1);
    EXPECT_EQ(encoded(one, zmtp3::flag_more, "a"), "020161");
    EXPECT_EQ(encoded(one, zmtp3::flag_more, b), "ff00000000000000ff01" + repeated("62", 254));
    EXPECT_EQ(encoded(one, 0, c), "fe00" + repeated("63", 253));
    for (const wire_kind kind : {wire_kind::zmtp2, wire_kind::zmtp3}) {
        EXPECT_EQ(encoded(make_wire(kind), zmtp3::flag_more, "a"), "010161");
        EXPECT_EQ(encoded(make_wire(kind), 0, b + "bb"),
                  "020000000000000100" + repeated("62", 256));
    }
}

TEST(Wire, commands_for_peers_that_know_none_are_left_out)
{
    for (const wire_kind kind : all_wires) {
        const wire how = make_wire(kind);
        EXPECT_EQ(encoded(how, zmtp3::flag_command, "\4PING").empty(), !has_commands(kind)) << kind;
    }
}

TEST(Wire, ping_becomes_a_control_frame_of_the_codec_if_it_has_any)
{
    for (const wire_kind kind : all_wires) {
        std::vector<std::byte> ping;
        append_traffic_command(ping, {traffic_command_kind::ping, as_bytes("ctx"), 500});
        const wire how = make_wire(kind);
        write_batch out;
        frame_encoder(how, out).put_own(ping);
        EXPECT_EQ(out.copies().size(), bytes_on_wire(make_wire(kind), ping)) << kind;
        const auto* const toy = dynamic_cast<const toy_codec*>(how.codec.get());
        EXPECT_EQ(toy != nullptr, !out.empty() && out.copies()[0] == std::byte{0x20}) << kind;
    }
}

TEST(Wire, brings_back_every_frame_in_pieces_of_any_size)
{
    std::vector<std::byte> ping;
    append_traffic_command(ping, {traffic_command_kind::ping, as_bytes("ctx"), 500});
    for (const wire_kind kind : all_wires) {
        for (const std::size_t piece : {1u, 7u, 1'000u, 100'000u, 1'000'000u}) {
            const wire to = make_wire(kind);
            write_batch batch;
            frame_encoder encoder(to, batch);
            std::vector<std::string> bodies;
            for (const std::size_t size : {0u, 1u, 255u, 256u, 2'100u, 24'000u, 24'576u, 100'000u})
                bodies.emplace_back(size, static_cast<char>('a' + size % 26));
            for (const std::string& body : bodies) {
                encoder.put_frame(zmtp3::flag_more, as_bytes(body), nullptr);
                encoder.put_own(ping);
            }
            encoder.put_frame(0, {}, nullptr);
            ASSERT_FALSE(encoder.failed());
            memory_stream stream;
            write(batch, stream);
            base::channel channel;
            noted_commands commands;
            wire_inbound in(channel, make_wire(kind), {-1, kept_commands::none}, commands);
            ASSERT_EQ(inbound_error::none, feed(in, as_bytes(stream.written), piece)) << kind;
            EXPECT_EQ(1u, channel.credit.sent());
            EXPECT_FALSE(in.in_message());
            EXPECT_EQ(has_commands(kind) ? bodies.size() : 0u, commands.bodies.size()) << kind;
            // The control frames of WebSockets have no time to live.
            const std::string told(is_websocket(kind) ? "\4PING\0\0ctx" : "\4PING\0\5ctx", 10);
            for (const std::string& body : commands.bodies)
                EXPECT_EQ(told, body) << kind;
            for (const std::string& body : bodies)
                ASSERT_TRUE(body == take_body(channel.queue)) << kind << ' ' << body.size();
        }
    }
}

TEST(Wire, ends_the_connection_when_any_byte_of_a_sealed_frame_is_changed)
{
    const wire to = make_wire(wire_kind::toy_cipher);
    write_batch batch;
    frame_encoder(to, batch).put_frame(0, as_bytes("secret"), nullptr);
    const std::vector<std::byte> good(batch.copies().begin(), batch.copies().end());
    for (std::size_t i = 2; i < good.size(); ++i) {
        auto bad = good;
        bad[i] ^= std::byte{0x40};
        base::channel channel;
        noted_commands commands;
        wire_inbound in(channel, make_wire(wire_kind::toy_cipher), {-1, kept_commands::none},
                        commands);
        EXPECT_EQ(inbound_error::not_authentic, feed(in, bad, 1'000)) << i;
        EXPECT_EQ(0u, channel.credit.sent());
    }
}

TEST(Wire, ends_the_connection_when_a_sealed_frame_comes_twice_or_is_missing)
{
    const wire to = make_wire(wire_kind::toy_both);
    std::vector<std::vector<std::byte>> frames;
    for (const char* body : {"one", "two", "three"}) {
        write_batch batch;
        frame_encoder(to, batch).put_frame(0, as_bytes(body), nullptr);
        frames.emplace_back(batch.copies().begin(), batch.copies().end());
    }
    using order = std::vector<std::size_t>;
    for (const auto& [sent, brought] :
         {std::pair<order, std::uint64_t>{{0, 1, 2}, 3}, {{0, 0}, 1}, {{0, 2}, 1}, {{1}, 0}}) {
        base::channel channel;
        noted_commands commands;
        wire_inbound in(channel, make_wire(wire_kind::toy_both), {-1, kept_commands::none},
                        commands);
        auto error = inbound_error::none;
        for (const std::size_t each : sent)
            error = feed(in, frames[each], 1'000);
        EXPECT_EQ(brought == sent.size() ? inbound_error::none : inbound_error::not_authentic,
                  error);
        EXPECT_EQ(brought, channel.credit.sent());
    }
}

TEST(Wire, the_size_limit_is_one_of_the_plain_body)
{
    for (const wire_kind kind : all_wires) {
        for (const std::size_t size : {100u, 101u}) {
            const wire to = make_wire(kind);
            write_batch batch;
            frame_encoder(to, batch).put_frame(0, as_bytes(std::string(size, 'x')), nullptr);
            base::channel channel;
            noted_commands commands;
            wire_inbound in(channel, make_wire(kind), {100, kept_commands::none}, commands);
            EXPECT_EQ(size > 100 ? inbound_error::too_large : inbound_error::none,
                      feed(in, {batch.copies().begin(), batch.copies().end()}, 1'000))
                << kind;
        }
    }
}

TEST(Wire, a_control_frame_may_mean_nothing_but_not_be_large)
{
    for (const std::uint8_t size : {0, 4}) {
        base::channel channel;
        noted_commands commands;
        wire_inbound in(channel, make_wire(wire_kind::toy_codec), {-1, kept_commands::none},
                        commands);
        std::vector<std::byte> empty{std::byte{toy_codec::kind_empty}, std::byte{0},
                                     std::byte{size}, std::byte{0}, std::byte{0}};
        empty.resize(empty.size() + 256u * size);
        EXPECT_EQ(inbound_error::none, feed(in, empty, 1'000));
        EXPECT_TRUE(commands.bodies.empty());
        EXPECT_FALSE(in.in_message());
        empty[2] = std::byte{5};
        EXPECT_EQ(inbound_error::too_large, feed(in, empty, 1'000));
    }
}

TEST(write_batch, writes_copies_and_references_in_order_however_they_are_taken)
{
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        memory_stream stream;
        stream.random = &random;
        write_batch batch;
        std::vector<std::byte> expected;
        std::vector<base::buffer_ref> owners;
        for (unsigned pieces = random() % 200; pieces > 0; --pieces) {
            base::buffer_ref body(base::allocate_buffer(1 + random() % 5000));
            const std::size_t first = random();
            for (std::size_t i = 0; i < body->capacity_bytes; ++i)
                body->data[i] = static_cast<std::byte>(first + i);
            const std::span<const std::byte> bytes(body->data, body->capacity_bytes);
            append_bytes(expected, bytes);
            if (random() % 2 == 0)
                batch.append(bytes);
            else
                batch.append_body(bytes, body.get());
            owners.push_back(std::move(body));
        }
        while (!batch.empty())
            write(batch, stream);
        EXPECT_TRUE(stream.written == as_text(expected));
        for (const auto& owner : owners)
            EXPECT_TRUE(owner->unique()) << "a reference was kept";
    }
}

TEST(write_batch, knows_how_far_into_the_queue_it_has_been_written)
{
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
        memory_stream stream;
        stream.random = &random;
        write_batch batch;
        batch.begin_at(1'000);
        EXPECT_EQ(1'000u, batch.position_written());
        std::vector<std::size_t> ends; // of the messages, in the bytes written
        std::size_t bytes = 0;
        for (unsigned messages = 1 + random() % 20; messages > 0; --messages) {
            if (random() % 4 != 0) {
                const std::size_t size = 1 + random() % 5'000;
                const auto room = batch.extend(size);
                std::fill(room.begin(), room.end(), std::byte{1});
                bytes += size;
            }
            ends.push_back(bytes);
            batch.end_message(1'000 + ends.size());
        }
        while (!batch.empty()) {
            write(batch, stream);
            const auto whole = std::upper_bound(ends.begin(), ends.end(), stream.written.size());
            EXPECT_EQ(1'000u + static_cast<std::size_t>(whole - ends.begin()),
                      batch.position_written());
        }
        EXPECT_EQ(1'000u + ends.size(), batch.position_written());
    }
}

TEST(write_batch, gives_references_back_when_it_is_cleared)
{
    const base::buffer_ref body(base::allocate_buffer(100'000));
    write_batch batch;
    batch.append_body({body->data, 100'000}, body.get());
    EXPECT_FALSE(body->unique());
    EXPECT_TRUE(batch.full());
    batch.clear();
    EXPECT_TRUE(body->unique());
    EXPECT_TRUE(batch.empty());
    EXPECT_FALSE(batch.full());
}

} // namespace
} // namespace zlink::test
