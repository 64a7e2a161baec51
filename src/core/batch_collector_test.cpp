// SPDX-License-Identifier: Apache-2.0
#include "core/batch_collector.hpp"

#include <gtest/gtest.h>

namespace zlink::core {
namespace {

TEST(BatchCollector, looks_until_nothing_is_left)
{
    boost::asio::io_context io;
    batch_collector collector(io);
    int looks = 0;
    const auto collect = [&] { return ++looks % 5 != 0; };
    collector.begin(collect);
    collector.begin([] { return true; }); // it is running
    EXPECT_TRUE(collector.running());
    io.run();
    EXPECT_EQ(looks, 5);
    EXPECT_FALSE(collector.running());
    collector.begin(collect);
    io.restart();
    io.run();
    EXPECT_EQ(looks, 10);
}

TEST(BatchCollector, can_be_stopped_while_it_looks)
{
    boost::asio::io_context io;
    batch_collector collector(io);
    int looks = 0;
    collector.begin([&] {
        if (++looks == 3)
            collector.stop();
        return true;
    });
    io.run();
    EXPECT_EQ(looks, 3);
    EXPECT_FALSE(collector.running());
}

TEST(BatchCollector, does_not_look_once_it_is_stopped)
{
    boost::asio::io_context io;
    batch_collector collector(io);
    int looks = 0;
    collector.begin([&] { return ++looks < 3; });
    collector.stop();
    io.run();
    EXPECT_EQ(looks, 0);
}

} // namespace
} // namespace zlink::core
