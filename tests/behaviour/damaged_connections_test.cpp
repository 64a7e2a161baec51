// SPDX-License-Identifier: Apache-2.0
// What somebody on the way does to frames that CURVE has sealed: it is refused and told of, nothing
// of it is delivered, and nobody else suffers.
#include "support/relayed.hpp"
#include "support/zmtp.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::uint64_t unexpected_command = ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND;
constexpr std::uint64_t invalid_sequence = ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_SEQUENCE;
constexpr std::uint64_t malformed_message = ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_MESSAGE;
constexpr std::uint64_t cryptographic = ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC;

// Where the parts of a sealed frame begin whose size has one byte.
constexpr std::size_t name_at = 2;
constexpr std::size_t counter_at = 10;
constexpr std::size_t tag_at = 18;
constexpr std::size_t flags_and_body_at = 34;

/// Frames to the server or to the client are damaged.
class damaged_test : public relayed_test {
protected:
    void SetUp() override
    {
        if (!zmq_has("curve"))
            GTEST_SKIP() << "the library has no CURVE";
        begin(curve_server(), curve_client());
    }
    void send(direction way, const std::string& text)
    {
        if (way == direction::to_server)
            client_.send(text);
        else
            server_.send_parts({"relayed", text});
    }
    std::string receive(direction way)
    {
        return way == direction::to_server ? server_.recv_parts().at(1) : client_.recv();
    }
    /// Goes on when the connection has been lost, with this event where the frame came, and there
    /// is another one, which works. 0: without such an event.
    void expect_refused(direction way, std::uint64_t code)
    {
        expect_loss(*at_server_, way == direction::to_server ? code : 0);
        expect_loss(*at_client_, way == direction::to_client ? code : 0);
        relay_->set({});
        expect_health("after it");
    }
    void expect_quiet()
    {
        EXPECT_FALSE(at_server_->socket().readable(0ms));
        EXPECT_FALSE(at_client_->socket().readable(0ms));
    }

private:
    /// Of server and client. The server may hear of the next connection before the end of the one
    /// before it.
    void expect_loss(listening_post& post, std::uint64_t code)
    {
        if (code != 0) {
            EXPECT_EQ(code, post.expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
        }
        std::vector<std::uint64_t> told;
        std::vector<std::uint64_t> expected{ZMQ_EVENT_HANDSHAKE_SUCCEEDED, ZMQ_EVENT_DISCONNECTED};
        if (&post == &*at_client_)
            expected.push_back(ZMQ_EVENT_CONNECT_RETRIED);
        while (told.size() < expected.size())
            told.push_back(post.next().event);
        std::ranges::sort(told);
        std::ranges::sort(expected);
        EXPECT_EQ(expected, told);
    }
};

/// With monitors attached, libzmq keeps a connection after such a frame, and reads no more.
class ZlinkOnlyDamagedFrame : public damaged_test {
protected:
    void SetUp() override
    {
        damaged_test::SetUp();
        if (!IsSkipped())
            connect_client(true);
    }
    /// Damages one message in each direction.
    template <class Change>
    void damage(const Change& change, std::uint64_t code, const std::string& text = "damaged")
    {
        for (const auto way : {direction::to_server, direction::to_client}) {
            SCOPED_TRACE(way == direction::to_server ? "to the server" : "to the client");
            relay_->set(next_frame(way, change));
            send(way, text);
            expect_refused(way, code);
        }
    }
};

ZLINK_LINKS_WITH(ZlinkOnlyDamagedFrame, has_plain_zmtp);

TEST_P(ZlinkOnlyDamagedFrame, is_refused_wherever_a_byte_has_changed)
{
    const std::size_t bytes = flags_and_body_at + 1 + std::string("damaged").size();
    for (std::size_t at = name_at; at < bytes && !HasFatalFailure(); ++at) {
        // Flips of the counter are upwards here, and what was sealed with another one is no box.
        const unsigned mask = at < counter_at ? 1 : 0x80;
        SCOPED_TRACE("byte " + std::to_string(at));
        damage([&](const std::string& frame) { return flipped(frame, at, mask); },
               at < counter_at ? unexpected_command : cryptographic);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_if_its_counter_goes_backwards)
{
    damage([](std::string frame) { return frame.replace(counter_at, 8, 8, '\0'); },
           invalid_sequence);
}

TEST_P(ZlinkOnlyDamagedFrame, is_delivered_if_only_bits_have_changed_that_say_nothing)
{
    for (const unsigned mask : {1u, 4u, 8u, 16u, 32u, 64u, 128u}) {
        for (const auto way : {direction::to_server, direction::to_client}) {
            relay_->set(
                next_frame(way, [&](const std::string& frame) { return flipped(frame, 0, mask); }));
            send(way, "the same");
            EXPECT_EQ("the same", receive(way)) << mask;
        }
    }
    expect_health("all of it");
    expect_quiet();
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_if_it_is_said_to_be_smaller)
{
    constexpr std::size_t least = 33;
    for (std::size_t size = 0; size < least + 7 && !HasFatalFailure(); ++size) {
        SCOPED_TRACE(size);
        damage(
            [&](std::string frame) {
                frame[1] = static_cast<char>(size);
                return frame;
            },
            size < 8       ? unexpected_command
            : size < least ? malformed_message
                           : cryptographic);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_if_it_is_cut)
{
    for (const std::size_t left : {2U, 9U, 10U, 17U, 34U, 35U, 41U}) {
        SCOPED_TRACE(left);
        damage(
            [&](std::string frame) {
                frame.resize(left);
                frame[1] = static_cast<char>(left - 2);
                return frame;
            },
            left < name_at + 8    ? unexpected_command
            : left < name_at + 33 ? malformed_message
                                  : cryptographic);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_when_what_it_lacks_is_filled_up)
{
    for (const std::size_t left : {1U, 2U, 9U, 10U, 17U, 20U, 41U}) {
        SCOPED_TRACE(left);
        // Not with the byte that it lacks: it may be the last one, and the frame is whole again.
        damage(
            [&](const std::string& frame) {
                return frame.substr(0, left) + std::string(300, static_cast<char>(~frame[left]));
            },
            left < counter_at ? unexpected_command : cryptographic);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, takes_those_behind_it_along_if_it_is_said_to_be_larger)
{
    for (const unsigned mask : {0x10u, 0x40u, 0x80u}) {
        for (const auto way : {direction::to_server, direction::to_client}) {
            SCOPED_TRACE(mask);
            relay_->set([&, held = std::string(), done = false](const frame& next) mutable {
                if (next.way != way || done)
                    return passed(next.bytes);
                held += held.empty() ? flipped(next.bytes, 1, mask) : next.bytes;
                done = held.size() > 200;
                return passed(done ? held : "");
            });
            for (int i = 0; i < 5; ++i)
                send(way, "damaged");
            expect_refused(way, cryptographic);
        }
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_if_its_large_size_has_changed)
{
    const std::string text(1000, 'd'); // sealed: 0x409 bytes
    const auto damage_at = [&](std::size_t at, unsigned mask, std::uint64_t code) {
        SCOPED_TRACE("byte " + std::to_string(at) + " xor " + std::to_string(mask));
        damage([&](const std::string& frame) { return flipped(frame, at, mask) + text; }, code,
               text);
    };
    damage_at(0, 2, unexpected_command);
    damage_at(1, 0x80, cryptographic); // larger than a frame can be
    damage_at(1, 0x20, 0);             // larger than the memory
    damage_at(7, 1, cryptographic);
    damage_at(7, 4, malformed_message);
    damage_at(8, 1, cryptographic);
    damage_at(8, 0x80, cryptographic);
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_wherever_a_large_one_has_changed)
{
    for (const std::size_t bytes : {300U, 5'000U, 70'000U}) {
        const std::string text(bytes, 'd');
        for (const std::size_t at : {bytes / 3, bytes / 2, bytes - 1}) {
            SCOPED_TRACE(std::to_string(at) + " of " + std::to_string(bytes));
            damage([&](const std::string& frame) { return flipped(frame, at + 9, 4); },
                   cryptographic, text);
        }
    }
}

TEST_P(ZlinkOnlyDamagedFrame, delivers_no_part_of_a_message_before_it)
{
    for (const std::size_t damaged_part : {0U, 1U, 2U}) {
        SCOPED_TRACE(damaged_part);
        const std::size_t connection = relay_->connections() - 1;
        std::optional<std::size_t> first;
        relay_->set([&](const frame& next) {
            if (next.way != direction::to_server || next.connection != connection)
                return passed(next.bytes);
            if (!first)
                first = next.number;
            return passed(next.number - *first == damaged_part
                              ? flipped(next.bytes, next.bytes.size() - 1, 1)
                              : next.bytes);
        });
        client_.send_parts({"one", "two", "three"});
        expect_refused(direction::to_server, cryptographic);
    }
}

// --- frames that were sealed, but not for this place

TEST_P(ZlinkOnlyDamagedFrame, is_refused_when_it_comes_twice)
{
    for (const auto way : {direction::to_server, direction::to_client}) {
        relay_->set(next_frame(way, [](const std::string& frame) { return frame + frame; }));
        send(way, "once");
        EXPECT_EQ("once", receive(way));
        expect_refused(way, invalid_sequence);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_when_it_comes_again_later)
{
    for (const auto way : {direction::to_server, direction::to_client}) {
        std::string first;
        relay_->set(next_frame(way, [&](const std::string& frame) { return first = frame; }));
        for (const char* text : {"first", "second", "third"}) {
            send(way, text);
            EXPECT_EQ(text, receive(way));
        }
        relay_->set(next_frame(way, [&](const std::string& frame) { return first + frame; }));
        send(way, "lost");
        expect_refused(way, invalid_sequence);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_when_it_comes_before_its_turn)
{
    for (const auto way : {direction::to_server, direction::to_client}) {
        relay_->set([&, first = std::string(), done = false](const frame& next) mutable {
            if (next.way != way || done)
                return passed(next.bytes);
            if (first.empty()) {
                first = next.bytes;
                return passed("");
            }
            done = true;
            return passed(next.bytes + first);
        });
        send(way, "first");
        send(way, "second");
        expect_refused(way, invalid_sequence);
    }
}

// libzmq does not notice it.
TEST_P(ZlinkOnlyDamagedFrame, is_missed_when_the_next_one_comes)
{
    for (const auto way : {direction::to_server, direction::to_client}) {
        relay_->set(next_frame(way, [](const std::string&) { return std::string(); }));
        send(way, "missing");
        send(way, "behind it");
        expect_refused(way, invalid_sequence);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_by_the_side_that_has_sealed_it)
{
    // The counter of what comes back has to be one that has not come before.
    for (const auto way : {direction::to_server, direction::to_client}) {
        const auto back = way == direction::to_server ? direction::to_client : direction::to_server;
        std::string own;
        relay_->set([&](const frame& next) {
            if (next.way == back)
                own = next.bytes;
            return passed(next.bytes);
        });
        for (int i = 0; i < 3; ++i) {
            send(back, "own");
            EXPECT_EQ("own", receive(back));
        }
        relay_->set(next_frame(way, [&](const std::string&) { return own; }));
        send(way, "lost");
        expect_refused(way, cryptographic);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_by_another_connection)
{
    for (const auto way : {direction::to_server, direction::to_client}) {
        std::string earlier;
        relay_->set([&](const frame& next) {
            if (next.way == way)
                earlier = next.bytes;
            return passed(next.bytes);
        });
        for (int i = 0; i < 10; ++i) {
            send(way, "earlier");
            EXPECT_EQ("earlier", receive(way));
        }
        relay_->set(next_frame(
            way, [&](const std::string& frame) { return passed(frame.substr(0, 20), true); }));
        send(way, "lost");
        expect_refused(way, 0);
        relay_->set(next_frame(way, [&](const std::string&) { return earlier; }));
        send(way, "lost");
        expect_refused(way, cryptographic);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_if_it_was_not_sealed)
{
    for (const std::string& open :
         {zmtp::frame(""), zmtp::frame("hello"), zmtp::frame("first", zmtp::more),
          zmtp::frame("a longer message that looks like none"), zmtp::ping(), zmtp::pong(),
          zmtp::command("SUBSCRIBE", "topic"), zmtp::refusal("400"), zmtp::ready("DEALER"),
          zmtp::frame("\7MESSAGF" + std::string(60, 'x')), zmtp::frame(std::string(70'000, 'x'))}) {
        SCOPED_TRACE(testing::PrintToString(open.substr(0, 20)));
        damage([&](const std::string& frame) { return open + frame; }, unexpected_command);
    }
}

TEST_P(ZlinkOnlyDamagedFrame, is_refused_if_it_only_looks_sealed)
{
    const std::string name = "\7MESSAGE";
    damage([&](const std::string&) { return zmtp::command("MESSAGE"); }, malformed_message);
    damage([&](const std::string&) { return zmtp::frame(name + std::string(24, '\xff')); },
           malformed_message);
    damage([&](const std::string&) { return zmtp::frame(name + std::string(25, '\xff')); },
           cryptographic);
    damage([&](const std::string&) { return zmtp::frame(name + std::string(25, '\0')); },
           invalid_sequence);
    damage([&](const std::string&) { return zmtp::frame(name + std::string(70'000, '\xff')); },
           cryptographic);
}

// --- the end in the middle of a frame, which is a lost connection like any other

TEST_P(ZlinkOnlyDamagedFrame, that_ends_too_early_is_as_if_it_had_not_come)
{
    for (const std::size_t left : {1U, 2U, 9U, 17U, 33U, 34U, 41U}) {
        SCOPED_TRACE(left);
        damage([&](const std::string& frame) { return passed(frame.substr(0, left), true); }, 0);
    }
}

// --- in traffic

/// As it is with libzmq too, without monitors.
class DamagedFrame : public damaged_test {
protected:
    void SetUp() override
    {
        damaged_test::SetUp();
        if (!IsSkipped())
            connect_client(false);
    }
};

ZLINK_LINKS_WITH(DamagedFrame, has_plain_zmtp);

TEST_P(DamagedFrame, ends_what_arrives_and_the_next_connection_goes_on)
{
    constexpr int messages = 600;
    int frames = 0;
    relay_->set([&](const frame& next) {
        const bool damages = next.way == direction::to_server && ++frames % 50 == 0;
        const std::size_t at = static_cast<std::size_t>(frames) % next.bytes.size();
        return passed(damages && at > 1 ? flipped(next.bytes, at, 0x40) : next.bytes);
    });
    for (int i = 1; i <= messages; ++i)
        client_.send("message " + std::to_string(i));
    // In the end an honest relay, so that something is sure to come.
    ASSERT_TRUE(wait_until([&] { return relay_->connections() > 1; }));
    relay_->set({});
    client_.send("last");
    std::vector<int> arrived;
    bool last = false;
    // What two connections have brought is received in turns.
    while (auto message = server_.try_recv_parts(last ? quiet_window : patience)) {
        const std::string& text = message->at(1);
        last = last || text == "last";
        if (text == "last")
            continue;
        ASSERT_TRUE(text.starts_with("message ")) << text;
        arrived.push_back(std::stoi(text.substr(8)));
        EXPECT_EQ("message " + std::to_string(arrived.back()), text);
    }
    EXPECT_TRUE(last);
    EXPECT_GE(arrived.size(), 49u);
    EXPECT_LT(arrived.size(), static_cast<std::size_t>(messages));
    std::ranges::sort(arrived);
    EXPECT_TRUE(std::ranges::adjacent_find(arrived) == arrived.end()) << "each at most once";
    expect_health("after it");
}

// --- the handshake of another connection

TEST_P(DamagedFrame, of_a_recorded_connection_are_worth_nothing)
{
    std::vector<std::string> recorded;
    relay_->set([&](const frame& next) {
        if (next.way == direction::to_server && next.connection == 1)
            recorded.push_back(next.bytes);
        return passed(next.bytes);
    });
    test_socket watched = make_client("watched");
    watched.connect(relay_->endpoint());
    exchange(watched, "watched", "a secret");
    exchange(watched, "watched", "another");
    relay_->set({});
    ASSERT_EQ(4u, recorded.size());
    const raw_peer step_by_step(address_);
    step_by_step.send(zmtp::greeting(1, "CURVE"));
    step_by_step.recv(64);
    step_by_step.send(recorded[0]);
    EXPECT_EQ(170u, zmtp::recv_frame(step_by_step).size());
    step_by_step.send(recorded[1] + recorded[2] + recorded[3]);
    EXPECT_TRUE(step_by_step.ended());
    const raw_peer at_once(address_);
    at_once.send(zmtp::greeting(1, "CURVE") + recorded[0] + recorded[1] + recorded[2]);
    at_once.recv_to_end();
    EXPECT_FALSE(server_.readable(0ms));
    exchange(watched, "watched", "still the same");
    expect_health("after it");
}

} // namespace
} // namespace zlink::test
