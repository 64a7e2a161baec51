// SPDX-License-Identifier: Apache-2.0
// What the way out of a connection says of a peer that has not answered yet.
#include "core/connection/writer.hpp"
#include "engine/traffic/sending_progress.hpp"
#include "support/memory_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

namespace zlink::engine {
namespace {

constexpr std::size_t ping_bytes = 9;

sending_progress::state at(std::int64_t written, std::int64_t acknowledged,
                           bool control_waits = false, std::uint64_t made_room = 0)
{
    return {written, acknowledged, made_room, control_waits};
}

TEST(sending_progress, is_what_was_ahead_of_the_ping)
{
    sending_progress progress;
    progress.ping_sent(at(1009, 400), ping_bytes);
    EXPECT_TRUE(progress.look(at(1009, 900)));
    EXPECT_TRUE(progress.look(at(1009, 1009)));
    EXPECT_FALSE(progress.look(at(1009, 1009))); // it has the PING, and nothing more is due
}

TEST(sending_progress, is_none_where_nothing_is_acknowledged)
{
    sending_progress progress;
    progress.ping_sent(at(1009, 400), ping_bytes);
    EXPECT_FALSE(progress.look(at(5000, 400)));
    EXPECT_FALSE(progress.look(at(9000, 400)));
    progress.ping_sent(at(9000, 400, true), ping_bytes);
    EXPECT_FALSE(progress.look(at(9000, 400, true)));
}

TEST(sending_progress, is_anything_while_the_ping_waits)
{
    sending_progress progress;
    progress.ping_sent(at(1000, 400, true), 0);
    EXPECT_TRUE(progress.look(at(1200, 401, true)));
    EXPECT_TRUE(progress.look(at(1400, 1400, true)));
    EXPECT_TRUE(progress.look(at(1500, 1450)));
    EXPECT_TRUE(progress.look(at(1500, 1500)));
    EXPECT_FALSE(progress.look(at(1500, 1500)));
}

// A process that hangs: its kernel goes on taking what it is sent for as long as it has room.
TEST(sending_progress, is_not_what_a_kernel_takes_at_once)
{
    sending_progress progress;
    progress.ping_sent(at(1009, 1000), ping_bytes);
    EXPECT_FALSE(progress.look(at(2000, 2000)));
    EXPECT_FALSE(progress.look(at(3000, 2990)));
}

// The same over a long way: something is always on it.
TEST(sending_progress, counts_once_what_was_on_its_way_with_the_ping)
{
    sending_progress progress;
    progress.ping_sent(at(1009, 900), ping_bytes);
    EXPECT_TRUE(progress.look(at(2000, 1900)));
    EXPECT_FALSE(progress.look(at(3000, 2900)));
}

// The PING has reached the kernel of a peer, or of a relay, that has still much to read before it.
TEST(sending_progress, is_what_the_peer_is_behind_with_for_a_whole_timeout)
{
    sending_progress progress;
    progress.ping_sent(at(1009, 400), ping_bytes);
    EXPECT_TRUE(progress.look(at(3000, 900)));
    EXPECT_TRUE(progress.look(at(5000, 1500)));
    EXPECT_TRUE(progress.look(at(7000, 4000)));
    EXPECT_TRUE(progress.look(at(9000, 8000))); // has caught up with the last look
    EXPECT_FALSE(progress.look(at(9500, 9000)));
}

TEST(sending_progress, is_room_in_a_connection_that_was_full)
{
    sending_progress progress;
    progress.ping_sent(at(1009, 1009, false, 7), ping_bytes);
    EXPECT_TRUE(progress.look(at(1009, 1009, false, 8)));
    EXPECT_FALSE(progress.look(at(1009, 1009, false, 8)));
}

TEST(sending_progress, is_told_by_the_bytes_that_the_stream_holds)
{
    base::channel channel;
    core::writer out(channel);
    test::memory_stream stream;
    EXPECT_EQ(0, out.progress().written_bytes); // without a connection
    out.attach(stream, std::vector<std::byte>(100));
    stream.room = 60;
    EXPECT_EQ(core::writer_is::blocked, out.drain().who);
    EXPECT_EQ(60, out.progress().written_bytes);
    EXPECT_EQ(0, out.progress().acknowledged_bytes);
    EXPECT_TRUE(out.progress().control_waits);
    stream.held = 20;
    EXPECT_EQ(40, out.progress().acknowledged_bytes);
    EXPECT_EQ(0U, out.progress().times_made_room);
    stream.room = 40;
    EXPECT_EQ(core::writer_is::nobody, out.drain().who);
    EXPECT_EQ(100, out.progress().written_bytes);
    EXPECT_EQ(40, out.progress().acknowledged_bytes);
    EXPECT_EQ(1U, out.progress().times_made_room);
    EXPECT_FALSE(out.progress().control_waits);
    out.detach();
}

} // namespace
} // namespace zlink::engine
