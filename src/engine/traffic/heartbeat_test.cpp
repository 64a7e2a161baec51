// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/heartbeat.hpp"

#include <gtest/gtest.h>

namespace zlink::test {
namespace {

using engine::heartbeat;
using action = heartbeat::action;
using std::chrono::milliseconds;

const heartbeat::clock::time_point start{std::chrono::hours(1)};

heartbeat::clock::time_point at(int ms)
{
    return start + milliseconds(ms);
}

heartbeat make(int interval_ms, int timeout_ms = -1)
{
    return heartbeat({interval_ms, timeout_ms, 0}, start);
}

TEST(heartbeat, without_interval_nothing_is_ever_due)
{
    auto beats = make(0);
    EXPECT_FALSE(beats.deadline());
    EXPECT_EQ(beats.due(at(1'000'000)), action::none);
}

TEST(heartbeat, asks_for_a_ping_in_every_interval)
{
    auto beats = make(100);
    EXPECT_EQ(beats.deadline(), at(100));
    EXPECT_EQ(beats.due(at(99)), action::none);
    EXPECT_EQ(beats.due(at(100)), action::ping);
    EXPECT_EQ(beats.due(at(100)), action::none);
    EXPECT_EQ(beats.deadline(), at(200));
    EXPECT_EQ(beats.due(at(200)), action::ping);
}

TEST(heartbeat, late_pings_are_not_made_up_for)
{
    auto beats = make(100);
    EXPECT_EQ(beats.due(at(350)), action::ping);
    EXPECT_EQ(beats.due(at(350)), action::none);
    EXPECT_EQ(beats.deadline(), at(450));
}

TEST(heartbeat, without_answer_the_connection_is_dead_after_the_interval)
{
    auto beats = make(100);
    EXPECT_EQ(beats.due(at(100)), action::ping);
    beats.ping_sent(at(100));
    EXPECT_EQ(beats.due(at(199)), action::none);
    EXPECT_EQ(beats.due(at(200)), action::unanswered);
}

TEST(heartbeat, other_signs_of_life_give_the_answer_its_full_time)
{
    auto beats = make(100, 150);
    EXPECT_EQ(beats.due(at(100)), action::ping);
    beats.ping_sent(at(100));
    EXPECT_EQ(beats.due(at(200)), action::ping);
    EXPECT_EQ(beats.due(at(250)), action::unanswered);
    beats.progressed(at(250));
    EXPECT_EQ(beats.due(at(300)), action::ping);
    EXPECT_EQ(beats.due(at(399)), action::none);
    EXPECT_EQ(beats.due(at(400)), action::unanswered);
}

TEST(heartbeat, a_timeout_of_its_own_counts_from_the_first_unanswered_ping)
{
    auto beats = make(100, 250);
    for (const int ms : {100, 200, 300}) {
        EXPECT_EQ(beats.due(at(ms)), action::ping);
        beats.ping_sent(at(ms));
    }
    EXPECT_EQ(beats.deadline(), at(350));
    EXPECT_EQ(beats.due(at(350)), action::unanswered);
}

TEST(heartbeat, anything_received_is_an_answer)
{
    auto beats = make(100, 30);
    EXPECT_EQ(beats.due(at(100)), action::ping);
    beats.ping_sent(at(100));
    EXPECT_EQ(beats.deadline(), at(130));
    beats.received();
    EXPECT_EQ(beats.due(at(130)), action::none);
    EXPECT_EQ(beats.deadline(), at(200));
    EXPECT_EQ(beats.due(at(200)), action::ping);
    beats.ping_sent(at(200));
    EXPECT_EQ(beats.due(at(230)), action::unanswered);
}

TEST(heartbeat, a_timeout_of_zero_waits_for_ever)
{
    auto beats = make(100, 0);
    for (int ms = 100; ms <= 10'000; ms += 100) {
        EXPECT_EQ(beats.due(at(ms)), action::ping) << ms;
        beats.ping_sent(at(ms));
    }
}

TEST(heartbeat, silence_beyond_the_time_to_live_is_death)
{
    auto beats = make(0);
    beats.ping_received(milliseconds(200), at(10));
    EXPECT_EQ(beats.deadline(), at(210));
    EXPECT_EQ(beats.due(at(209)), action::none);
    EXPECT_EQ(beats.due(at(210)), action::dead);
}

TEST(heartbeat, traffic_ends_a_time_to_live_and_the_next_ping_begins_another)
{
    auto beats = make(0);
    beats.ping_received(milliseconds(200), at(0));
    beats.received();
    EXPECT_FALSE(beats.deadline());
    EXPECT_EQ(beats.due(at(200)), action::none);
    beats.received();
    beats.ping_received(milliseconds(6'553'500), at(300));
    EXPECT_EQ(beats.due(at(6'553'799)), action::none);
    EXPECT_EQ(beats.due(at(6'553'800)), action::dead);
}

TEST(heartbeat, a_part_of_a_frame_prolongs_the_wait_but_does_not_end_it)
{
    auto beats = make(0);
    beats.ping_received(milliseconds(200), at(0));
    beats.progressed(at(150));
    EXPECT_EQ(beats.due(at(349)), action::none);
    EXPECT_EQ(beats.due(at(350)), action::dead);

    auto asking = make(100);
    EXPECT_EQ(asking.due(at(100)), action::ping);
    asking.ping_sent(at(100));
    EXPECT_TRUE(asking.awaits());
    asking.progressed(at(180));
    EXPECT_EQ(asking.due(at(200)), action::ping);
    EXPECT_EQ(asking.due(at(279)), action::none);
    EXPECT_EQ(asking.due(at(280)), action::unanswered);
    asking.received();
    EXPECT_FALSE(asking.awaits());
    asking.progressed(at(290));
    EXPECT_FALSE(asking.awaits());
}

TEST(heartbeat, the_earliest_deadline_counts)
{
    auto beats = make(100, 500);
    EXPECT_EQ(beats.due(at(100)), action::ping);
    beats.ping_sent(at(100));
    beats.ping_received(milliseconds(50), at(110));
    EXPECT_EQ(beats.deadline(), at(160));
    EXPECT_EQ(beats.due(at(160)), action::dead);
}

TEST(heartbeat, while_paused_pings_go_on_and_silence_proves_nothing)
{
    auto beats = make(100, 50);
    EXPECT_EQ(beats.due(at(100)), action::ping);
    beats.ping_sent(at(100));
    beats.ping_received(milliseconds(20), at(100));
    beats.received();
    beats.pause(at(100));
    EXPECT_EQ(beats.deadline(), at(125)) << "a PONG";
    EXPECT_EQ(beats.due(at(125)), action::pong);
    EXPECT_EQ(beats.due(at(149)), action::none);
    EXPECT_EQ(beats.due(at(200)), action::ping);
    beats.ping_sent(at(200));
    EXPECT_EQ(beats.due(at(300)), action::ping);
}

TEST(heartbeat, after_a_pause_everything_awaited_gets_its_full_time)
{
    auto beats = make(100, 50);
    EXPECT_EQ(beats.due(at(100)), action::ping);
    beats.ping_sent(at(100));
    beats.pause(at(110));
    EXPECT_TRUE(beats.paused());
    EXPECT_EQ(beats.due(at(200)), action::ping);
    beats.resume(at(210));
    EXPECT_FALSE(beats.paused());
    EXPECT_EQ(beats.deadline(), at(260));
    EXPECT_EQ(beats.due(at(259)), action::none);
    EXPECT_EQ(beats.due(at(260)), action::unanswered);
}

TEST(heartbeat, while_paused_the_peer_is_told_now_and_then_that_we_live)
{
    auto beats = make(0);
    beats.ping_received(milliseconds(0), at(100));
    EXPECT_FALSE(beats.judges());
    EXPECT_FALSE(beats.deadline());
    beats.pause(at(110));
    beats.pause(at(130)); // is no news
    for (const int ms : {135, 160, 185, 210, 235}) {
        EXPECT_EQ(beats.deadline(), at(ms));
        EXPECT_EQ(beats.due(at(ms - 1)), action::none);
        EXPECT_EQ(beats.due(at(ms)), action::pong);
    }
    beats.resume(at(239));
    beats.caught_up();
    EXPECT_EQ(beats.due(at(260)), action::pong) << "its PINGs may lie behind much else";
    beats.ping_received(milliseconds(0), at(270));
    EXPECT_FALSE(beats.deadline());
}

TEST(heartbeat, who_reads_a_little_between_pauses_tells_that_it_lives_as_well)
{
    auto beats = make(0);
    beats.ping_received(milliseconds(0), at(100));
    int pongs = 0;
    for (int ms = 110; ms < 310; ms += 10) {
        beats.pause(at(ms));
        pongs += beats.due(at(ms + 5)) == action::pong;
        beats.resume(at(ms + 5));
    }
    EXPECT_EQ(pongs, 200 / 30) << "every 25 ms, looked at every 10 ms";
}

TEST(heartbeat, pings_that_were_read_late_say_nothing_of_their_interval)
{
    auto beats = make(0);
    beats.ping_received(milliseconds(0), at(100));
    beats.pause(at(110));
    beats.resume(at(1000));
    for (int count = 0; count < 3; ++count)
        beats.ping_received(milliseconds(0), at(1000));
    beats.caught_up();
    beats.ping_received(milliseconds(0), at(1090)); // perhaps it had no room before
    beats.pause(at(1100));
    EXPECT_EQ(beats.deadline(), at(1125)) << "as before";
    beats.resume(at(1110));
    beats.caught_up();
    for (const int ms : {1150, 1350})
        beats.ping_received(milliseconds(0), at(ms));
    beats.pause(at(1400));
    EXPECT_EQ(beats.deadline(), at(1450)) << "what comes in time does";
}

TEST(heartbeat, a_first_ping_that_was_read_late_is_taken_for_a_frequent_one)
{
    auto beats = make(0);
    beats.pause(at(10));
    EXPECT_FALSE(beats.deadline());
    beats.resume(at(1000));
    beats.ping_received(milliseconds(0), at(1000));
    beats.pause(at(1001));
    EXPECT_EQ(beats.deadline(), at(1006));
}

TEST(heartbeat, a_peer_that_sends_no_ping_is_told_nothing)
{
    auto beats = make(0);
    beats.pause(at(10));
    EXPECT_FALSE(beats.deadline());
}

TEST(heartbeat, a_ping_shows_as_well_that_we_live)
{
    auto beats = make(100, 0);
    beats.ping_received(milliseconds(0), at(80));
    beats.pause(at(80));
    EXPECT_EQ(beats.due(at(100)), action::ping);
    EXPECT_EQ(beats.deadline(), at(120));
}

TEST(heartbeat, a_time_to_live_outlasts_a_pause)
{
    auto beats = make(0);
    beats.ping_received(milliseconds(200), at(0));
    EXPECT_TRUE(beats.judges());
    beats.pause(at(0));
    EXPECT_EQ(beats.due(at(1000)), action::pong);
    beats.resume(at(1000));
    EXPECT_NE(beats.due(at(1199)), action::dead);
    EXPECT_EQ(beats.due(at(1200)), action::dead);
}

} // namespace
} // namespace zlink::test
