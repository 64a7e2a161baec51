// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/outgoing.hpp"

#include "base/tuning.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/wire/websocket_codec.hpp"

#include <array>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::test {
namespace {

using namespace engine;
using namespace std::string_literals;

/// A pipe and what sends its messages.
struct sender {
    void commit(std::string_view body)
    {
        EXPECT_TRUE(end.out.write(
            {reinterpret_cast<const std::byte*>(body.data()), body.size(), nullptr, 0}));
    }
    outgoing::offer next(bool may_begin) { return out.next(entries, may_begin); }
    std::size_t next_bytes() { return next(true).bytes; }
    /// The bytes that come next.
    std::string text()
    {
        std::string bytes;
        const std::size_t count = next(true).count;
        for (const iovec& each : std::span(entries).first(count))
            bytes.append(static_cast<const char*>(each.iov_base), each.iov_len);
        return bytes;
    }

    std::shared_ptr<core::channel_pair> channels = std::make_shared<core::channel_pair>();
    core::pipe_end end{channels, true, nullptr};
    outgoing out{channels->a_to_b};
    std::array<iovec, tuning::writing::max_pieces> entries{};
};

wire masked()
{
    wire how;
    how.codec = std::make_shared<websocket_codec>(websocket_codec::side::client);
    return how;
}

// A second write with the little that is left would cost as much as the first.
TEST(outgoing, takes_what_a_sending_thread_commits_for_one_write_together)
{
    constexpr std::size_t committed_bytes = 62 * 1024;
    constexpr std::size_t body_bytes = 64;
    constexpr std::size_t messages = committed_bytes / (body_bytes + 2);
    sender from;
    from.out.begin({}, masked(), {});
    for (std::size_t i = 0; i < messages; ++i)
        from.commit(std::string(body_bytes, 'x'));
    const std::size_t frame_bytes = 2 + 4 + 1 + body_bytes;
    EXPECT_EQ(messages * frame_bytes, from.next_bytes());
    from.out.taken(messages * frame_bytes);
    EXPECT_TRUE(from.out.all_taken());
    from.out.end();
}

using offer_kind = outgoing::offer_kind;

std::span<const std::byte> bytes_of(std::string_view text)
{
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TEST(outgoing, gives_the_first_bytes_then_frames_of_its_own_then_messages)
{
    for (const wire& how : {wire{}, masked()}) {
        sender from;
        std::vector<std::byte> opening;
        append_traffic_command(opening, {traffic_command_kind::subscribe, bytes_of("topic"), 0});
        from.commit("message");
        from.out.begin(bytes_of("as it is"), how, opening);
        EXPECT_EQ(from.text(), "as it is");
        from.out.taken(3);
        EXPECT_EQ(from.text(), "it is");
        from.out.taken(5);
        const std::size_t opening_bytes = bytes_on_wire(how, opening);
        const std::size_t next_bytes = from.next_bytes();
        if (how.encodes_queue_format()) {
            EXPECT_EQ(next_bytes, opening_bytes);
            EXPECT_TRUE(from.out.control_waits());
            from.out.taken(opening_bytes);
            EXPECT_FALSE(from.out.control_waits());
            EXPECT_EQ(from.text(), "\0\7message"s);
            from.out.taken(9);
        } else { // in one batch
            EXPECT_EQ(next_bytes, opening_bytes + 2 + 4 + 1 + 7);
            EXPECT_TRUE(from.out.control_waits());
            from.out.taken(next_bytes);
            EXPECT_FALSE(from.out.control_waits());
        }
        EXPECT_TRUE(from.out.all_taken());
        EXPECT_EQ(from.next(true).kind, offer_kind::nothing);
        from.out.end();
    }
}

TEST(outgoing, gives_a_command_between_two_messages)
{
    sender from;
    from.out.begin({}, wire{}, {});
    from.commit("first");
    from.commit("second");
    EXPECT_EQ(from.text(), "\0\5first\0\6second"s);
    from.out.taken(4);
    ASSERT_TRUE(from.out.add_command({traffic_command_kind::ping, {}, 0}));
    // The queue's bytes lie in one piece: the command follows behind them.
    EXPECT_EQ(from.text(), "rst\0\6second"s);
    from.out.taken(11);
    EXPECT_EQ(from.text(), "\4\7\4PING\0\0"s);
    EXPECT_FALSE(from.out.all_taken());
    from.out.taken(9);
    EXPECT_TRUE(from.out.all_taken());
    from.out.end();
}

TEST(outgoing, begins_nothing_when_it_may_not_but_finishes_what_has_begun)
{
    for (const wire& how : {wire{}, masked()}) {
        sender from;
        from.out.begin(bytes_of("begun"), how, {});
        EXPECT_EQ(from.next(false).bytes, 5u);
        from.out.taken(5);
        EXPECT_EQ(from.next(false).kind, offer_kind::nothing);
        from.commit("message");
        EXPECT_EQ(from.next(false).kind, offer_kind::pending);
        const auto whole = from.next(true);
        EXPECT_TRUE(whole.begins);
        from.out.taken(whole.bytes);
        EXPECT_EQ(from.next(false).kind, offer_kind::nothing);
        from.out.end();
    }
}

TEST(outgoing, begins_the_next_connection_with_the_message_that_was_not_taken_as_a_whole)
{
    for (const wire& how : {wire{}, masked()}) {
        sender from;
        from.out.begin({}, how, {});
        from.commit("first");
        from.commit("second");
        const std::size_t all = from.next_bytes();
        from.out.taken(all - 1);
        from.out.end();
        from.out.begin({}, wire{}, {});
        EXPECT_EQ(from.text(), "\0\6second"s);
        from.out.end();
    }
}

} // namespace
} // namespace zlink::test
