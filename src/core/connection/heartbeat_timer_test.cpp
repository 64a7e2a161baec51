// SPDX-License-Identifier: Apache-2.0
#include "core/connection/heartbeat_timer.hpp"

#include <gtest/gtest.h>

namespace zlink::core {
namespace {

using namespace std::chrono_literals;

class HeartbeatTimer : public ::testing::Test {
protected:
    HeartbeatTimer() { heartbeat_.begin(); }
    void due(heartbeat_timer::action what)
    {
        if (what == heartbeat_timer::action::ping) {
            ++pings_;
            heartbeat_.ping_sent();
        } else if (what == heartbeat_timer::action::pong) {
            ++pongs_;
        } else {
            ++deaths_;
            heartbeat_.stop();
        }
    }

    boost::asio::io_context io_;
    std::shared_ptr<int> owner_ = std::make_shared<int>();
    int pings_ = 0;
    int pongs_ = 0;
    int deaths_ = 0;
    heartbeat_timer heartbeat_{io_, [this](heartbeat_timer::action what) { due(what); }};
};

TEST_F(HeartbeatTimer, pings_until_the_peer_is_dead)
{
    heartbeat_.start({.interval_ms = 10, .timeout_ms = 35}, owner_);
    EXPECT_TRUE(heartbeat_.judges());
    EXPECT_EQ(owner_.use_count(), 2);
    io_.run();
    EXPECT_GT(pings_, 0);
    EXPECT_EQ(deaths_, 1);
    EXPECT_FALSE(heartbeat_.judges());
    EXPECT_EQ(owner_.use_count(), 1);
}

TEST_F(HeartbeatTimer, goes_on_while_the_peer_answers)
{
    heartbeat_.start({.interval_ms = 2, .timeout_ms = 10'000}, owner_);
    while (pings_ < 10 && deaths_ == 0) {
        io_.run_one();
        heartbeat_.received();
    }
    EXPECT_EQ(deaths_, 0);
}

TEST_F(HeartbeatTimer, sees_death_for_a_peer_that_asked_for_it)
{
    EXPECT_FALSE(heartbeat_.judges());
    heartbeat_.ping_received(10ms, owner_);
    EXPECT_TRUE(heartbeat_.judges());
    io_.run();
    EXPECT_EQ(pings_, 0);
    EXPECT_EQ(deaths_, 1);
}

TEST_F(HeartbeatTimer, concludes_nothing_from_silence_while_it_is_paused)
{
    heartbeat_.ping_received(5ms, owner_);
    heartbeat_.pause(owner_);
    EXPECT_TRUE(heartbeat_.paused());
    while (pongs_ < 3 && deaths_ == 0)
        io_.run_one();
    EXPECT_EQ(deaths_, 0);
    heartbeat_.resume(owner_);
    EXPECT_FALSE(heartbeat_.paused());
    io_.restart();
    io_.run();
    EXPECT_EQ(deaths_, 1);
}

TEST_F(HeartbeatTimer, does_nothing_once_it_is_stopped)
{
    heartbeat_.start({.interval_ms = 1}, owner_);
    heartbeat_.stop();
    io_.run();
    EXPECT_EQ(pings_ + deaths_, 0);
    EXPECT_EQ(owner_.use_count(), 1);
}

TEST_F(HeartbeatTimer, has_nothing_to_say_without_heartbeats)
{
    heartbeat_.pause(owner_);
    heartbeat_.received();
    EXPECT_FALSE(heartbeat_.paused());
    EXPECT_EQ(io_.run(), 0u);
}

} // namespace
} // namespace zlink::core
