// SPDX-License-Identifier: Apache-2.0
// Commands and sizes of frames after the handshake.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <map>

namespace zlink::test {
namespace {

using namespace std::string_literals;

/// In the LONG form, which is allowed for any size.
std::string long_frame(std::string_view body, int flags = 0)
{
    return std::string(1, static_cast<char>(flags | zmtp::long_size))
        .append(zmtp::big_endian(body.size(), 8))
        .append(body);
}

class Commands : public ::testing::Test {
protected:
    test_context context_;
};

TEST_F(Commands, that_are_malformed_or_out_of_place_are_ignored)
{
    raw_link at(context_, ZMQ_PULL);
    zmtp::shake_hands(at.peer, "PUSH");
    const std::string name_beyond_the_end = zmtp::frame("\xc8PING", zmtp::command_bit);
    for (const std::string& ignored :
         {zmtp::frame("", zmtp::command_bit), zmtp::frame("\0"s, zmtp::command_bit),
          name_beyond_the_end, zmtp::command("UNKNOWN", "data"), zmtp::ready("PUSH"),
          zmtp::refusal("400"), zmtp::command("HELLO"), zmtp::command("WELCOME"),
          zmtp::command("INITIATE"), zmtp::command("MESSAGE", "x"), zmtp::command("ping", "\0\0"s),
          zmtp::command("UNKNOWN", std::string(300, 'x'))}) {
        at.peer.send(ignored + zmtp::frame("next"));
        ASSERT_EQ(parts{"next"}, at.socket.recv_parts()) << testing::PrintToString(ignored);
    }
}

class ZlinkOnlyCommands : public Commands, public ::testing::WithParamInterface<int> {};

TEST_P(ZlinkOnlyCommands, of_subscribers_and_dishes_are_no_messages)
{
    const std::map<int, const char*> peers{
        {ZMQ_PAIR, "PAIR"}, {ZMQ_PULL, "PUSH"}, {ZMQ_DEALER, "DEALER"}, {ZMQ_ROUTER, "DEALER"},
        {ZMQ_XPUB, "XSUB"}, {ZMQ_XSUB, "XPUB"}, {ZMQ_REP, "REQ"}};
    raw_link at(context_, GetParam());
    zmtp::shake_hands(at.peer, peers.at(GetParam()));
    for (const char* name : {"SUBSCRIBE", "CANCEL", "JOIN", "LEAVE"})
        if (GetParam() != ZMQ_XPUB || *name == 'J' || *name == 'L')
            at.peer.send(zmtp::command(name, "a"));
    if (GetParam() == ZMQ_XSUB)
        at.socket.send("\1");
    at.peer.send(zmtp::frame("", zmtp::more) + zmtp::frame("next"));
    parts received = at.socket.recv_parts();
    if (GetParam() == ZMQ_ROUTER)
        received.erase(received.begin());
    EXPECT_EQ((GetParam() == ZMQ_REP ? parts{"next"} : parts{"", "next"}), received);
}

INSTANTIATE_TEST_SUITE_P(To, ZlinkOnlyCommands,
                         ::testing::Values(ZMQ_PAIR, ZMQ_PULL, ZMQ_DEALER, ZMQ_ROUTER, ZMQ_XPUB,
                                           ZMQ_XSUB, ZMQ_REP));

TEST_F(Commands, with_the_bit_of_a_further_part_are_commands)
{
    raw_link at(context_, ZMQ_PULL);
    zmtp::shake_hands(at.peer, "PUSH");
    at.peer.send(zmtp::frame("first", zmtp::more) + zmtp::ping(0, "1", zmtp::more) +
                 zmtp::frame("second") + zmtp::ping(0, "2", zmtp::more) + zmtp::frame("next"));
    for (const char* context : {"1", "2"})
        EXPECT_EQ(zmtp::pong(context), zmtp::recv_frame(at.peer));
    EXPECT_EQ((parts{"first", "second"}), at.socket.recv_parts());
    EXPECT_EQ(parts{"next"}, at.socket.recv_parts());
}

TEST_F(Commands, with_reserved_bits_or_in_the_long_form_are_commands)
{
    raw_link at(context_, ZMQ_PULL);
    zmtp::shake_hands(at.peer, "PUSH");
    for (const auto& frame_of : {zmtp::frame, long_frame})
        for (const int flags : {0x04, 0xfc, 0xfd}) {
            const std::string context = std::to_string(flags);
            const std::string body = zmtp::ping(0, context).substr(2);
            at.peer.send(zmtp::frame("first", zmtp::more) + frame_of(body, flags) +
                         zmtp::frame("second"));
            EXPECT_EQ(zmtp::pong(context), zmtp::recv_frame(at.peer));
            EXPECT_EQ((parts{"first", "second"}), at.socket.recv_parts());
        }
}

class ZlinkOnlySubscriptionCommands : public Commands {};

TEST_F(ZlinkOnlySubscriptionCommands, with_any_bits_set_or_in_the_long_form_are_obeyed)
{
    raw_link at(context_, ZMQ_XPUB);
    zmtp::shake_hands(at.peer, "SUB");
    const std::string subscribe = zmtp::command("SUBSCRIBE", "t").substr(2);
    const std::string cancel = zmtp::command("CANCEL", "t").substr(2);
    for (const auto& frame_of : {zmtp::frame, long_frame})
        for (const int flags : {0x04, 0x05, 0xfc, 0xfd}) {
            at.peer.send(frame_of(subscribe, flags));
            ASSERT_EQ(parts{"\1t"}, at.socket.recv_parts()) << flags;
            at.socket.send("t wanted");
            EXPECT_EQ(zmtp::frame("t wanted"), zmtp::recv_frame(at.peer));
            at.peer.send(frame_of(cancel, flags));
            ASSERT_EQ(parts{"\0t"s}, at.socket.recv_parts()) << flags;
            at.socket.send("t not wanted");
        }
}

// They come first: a message stays in one piece.
TEST_F(Commands, of_subscribers_between_the_parts_of_a_message_leave_it_whole)
{
    raw_link at(context_, ZMQ_XPUB);
    zmtp::shake_hands(at.peer, "XSUB");
    at.peer.send(zmtp::frame("first") + zmtp::frame("a", zmtp::more) +
                 zmtp::command("SUBSCRIBE", "s") + zmtp::frame("b", zmtp::more) +
                 zmtp::command("SUBSCRIBE", "t") + zmtp::command("CANCEL", "s") + zmtp::frame("c") +
                 zmtp::command("SUBSCRIBE", "u"));
    for (const parts& expected :
         {parts{"first"}, {"\1s"}, {"\1t"}, {std::string("\0s", 2)}, {"a", "b", "c"}, {"\1u"}})
        EXPECT_EQ(expected, at.socket.recv_parts());
    at.socket.send("topic");
    EXPECT_EQ(zmtp::frame("topic"), zmtp::recv_frame(at.peer));
}

// As the XSUB of other libraries sends them.
TEST_F(Commands, subscriptions_in_one_message_are_all_granted)
{
    raw_link at(context_, ZMQ_XPUB);
    zmtp::shake_hands(at.peer, "XSUB");
    at.peer.send(zmtp::frame("\1a", zmtp::more) + zmtp::frame("\1b", zmtp::more) +
                 zmtp::frame("message") + zmtp::frame("\1c", zmtp::more) +
                 zmtp::frame(std::string("\0b", 2)));
    for (const char* const expected : {"\1a", "\1b", "message", "\1c"})
        EXPECT_EQ(parts{expected}, at.socket.recv_parts());
    EXPECT_EQ(parts{std::string("\0b", 2)}, at.socket.recv_parts());
    for (const char* const topic : {"a", "b", "c"})
        at.socket.send(topic);
    for (const char* const topic : {"a", "c"})
        EXPECT_EQ(zmtp::frame(topic), zmtp::recv_frame(at.peer));
}

constexpr std::uint64_t sizes_without_memory[] = {std::uint64_t{1} << 47, std::uint64_t{1} << 50,
                                                  std::uint64_t{1} << 62,
                                                  (std::uint64_t{1} << 63) - 1};

TEST_F(Commands, that_no_memory_is_enough_for_end_the_connection_at_once)
{
    for (const int flags : {0, zmtp::command_bit})
        for (const std::uint64_t bytes : sizes_without_memory) {
            raw_link at(context_, ZMQ_PULL);
            zmtp::shake_hands(at.peer, "PUSH");
            at.peer.send(std::string(1, static_cast<char>(flags | zmtp::long_size)) +
                         zmtp::big_endian(bytes, 8));
            EXPECT_TRUE(at.peer.ended()) << flags << " " << bytes;
        }
}

/// What every version of ZMTP but one begins with.
const std::string signature = zmtp::greeting().substr(0, 10);

struct older_version {
    const char* name;
    std::string opening; ///< of a PUSH without identity, and a message
    std::size_t answer_bytes;
    std::string before_size; ///< of a frame in the long form
    std::string after_size;
};

class FramesOfOlderPeers : public Commands, public ::testing::WithParamInterface<older_version> {};

TEST_P(FramesOfOlderPeers, that_no_memory_is_enough_for_end_the_connection_at_once)
{
    const older_version& version = GetParam();
    for (const std::uint64_t bytes : sizes_without_memory) {
        raw_link at(context_, ZMQ_PULL);
        at.peer.send(version.opening);
        at.peer.recv(version.answer_bytes);
        ASSERT_EQ(parts{"before"}, at.socket.recv_parts());
        at.peer.send(version.before_size + zmtp::big_endian(bytes, 8) + version.after_size);
        EXPECT_TRUE(at.peer.ended()) << bytes;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, FramesOfOlderPeers,
    ::testing::Values(
        older_version{"zmtp_1_0", "\1\0\7\0before"s, 10, "\xff", "\0"s},
        older_version{"revision_0", signature + "\0\x8\1\0\7\0before"s, 14, "\xff", "\0"s},
        older_version{"zmtp_2_0", signature + "\1\x8\0\0\0\6before"s, 14, "\2", ""},
        // What means a command today is a bit without meaning.
        older_version{"zmtp_2_0_command_bit", signature + "\1\x8\0\0\0\6before"s, 14, "\6", ""}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(Commands, have_64_KiB_whatever_messages_may_have)
{
    constexpr std::size_t most_bytes = 64 * 1024;
    constexpr std::size_t name_bytes = 8; // "UNKNOWN" with its length
    raw_link at(context_, ZMQ_PULL, [](test_socket& socket) { limit_messages(socket, 100); });
    zmtp::shake_hands(at.peer, "PUSH");
    at.peer.send(zmtp::command("UNKNOWN", std::string(most_bytes - name_bytes, 'x')) +
                 zmtp::ping());
    EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(at.peer));
    at.peer.send(zmtp::command("UNKNOWN", std::string(most_bytes - name_bytes + 1, 'x')));
    EXPECT_TRUE(at.peer.ended());
}

TEST(SizeLimit, is_that_of_a_part)
{
    test_context context;
    raw_link at(context, ZMQ_PULL, [](test_socket& socket) { limit_messages(socket, 100); });
    zmtp::shake_hands(at.peer, "PUSH");
    const std::string part(100, 'p');
    at.peer.send(zmtp::frame(part, zmtp::more) + zmtp::frame(part, zmtp::more) + zmtp::frame(part));
    EXPECT_EQ((parts{part, part, part}), at.socket.recv_parts());
}

} // namespace
} // namespace zlink::test
