// SPDX-License-Identifier: Apache-2.0
#include "common/cell.hpp"

#include <gtest/gtest.h>

namespace zlink::bench {
namespace {

cell broker_cell(int clients, int workers, int window)
{
    cell what;
    what.pattern = pattern::broker;
    what.extents = {clients, workers, window};
    return what;
}

TEST(cell, names_its_extents_and_what_is_not_the_default)
{
    cell what = broker_cell(4, 2, 100);
    EXPECT_EQ(label(what), "broker 4x2x100");
    what.io_threads = 2;
    what.api = api::msg;
    EXPECT_EQ(label(what), "broker 4x2x100, 2 I/O threads, msg");
    what.mechanism = mechanism::curve;
    EXPECT_EQ(label(what), "broker 4x2x100, 2 I/O threads, msg, curve");
    EXPECT_EQ(label(cell{}), "pair");
}

TEST(cell, has_the_extents_of_its_pattern_and_no_others)
{
    const cell what = broker_cell(4, 2, 100);
    EXPECT_EQ(extent(what, dimension::clients), 4);
    EXPECT_EQ(extent(what, dimension::workers), 2);
    EXPECT_EQ(extent(what, dimension::window), 100);
    EXPECT_EQ(extent(what, dimension::peers), 1);
    EXPECT_EQ(extent(cell{}, dimension::clients), 1);
}

TEST(cell, counts_the_sockets_of_the_side_that_is_many)
{
    EXPECT_EQ(party_count(broker_cell(4, 2, 100)), 4);
    cell what;
    what.pattern = pattern::from_many_push;
    what.extents = {3, 50};
    EXPECT_EQ(party_count(what), 150);
    what.pattern = pattern::to_many_pub;
    what.extents = {1000};
    EXPECT_EQ(party_count(what), 1000);
}

TEST(cell, exists_in_the_modes_that_say_something)
{
    const auto exists_as = [](pattern which, mode how) {
        cell what;
        what.pattern = which;
        what.mode = how;
        return exists(what);
    };
    EXPECT_TRUE(exists_as(pattern::push_pull, mode::latency));
    EXPECT_FALSE(exists_as(pattern::push_pull, mode::loaded));
    EXPECT_TRUE(exists_as(pattern::to_many_push, mode::loaded));
    EXPECT_FALSE(exists_as(pattern::to_many_push, mode::latency));
    EXPECT_TRUE(exists_as(pattern::broker, mode::latency));
    EXPECT_FALSE(exists_as(pattern::connections, mode::loaded));
}

TEST(cell, has_curve_where_there_are_connections_of_zmtp)
{
    cell what;
    what.mechanism = mechanism::curve;
    EXPECT_TRUE(exists(what));
    what.pattern = pattern::stream;
    EXPECT_FALSE(exists(what));
    what.pattern = pattern::pair;
    what.transport = transport::inproc;
    EXPECT_FALSE(exists(what));
}

TEST(cell, has_records_of_STREAM_where_bytes_flow_as_they_are)
{
    cell what;
    what.pattern = pattern::stream;
    for (const auto& [text, which] : transport_names()) {
        what.transport = which;
        EXPECT_EQ(exists(what), text == "tcp" || text == "tls") << text;
    }
}

TEST(cell, is_the_same_over_another_transport)
{
    cell over_tcp = broker_cell(4, 2, 100);
    cell over_tls = over_tcp;
    over_tls.transport = transport::tls;
    EXPECT_TRUE(same_but_for_transport(over_tcp, over_tls));
    over_tls.extents.back() = 1;
    EXPECT_FALSE(same_but_for_transport(over_tcp, over_tls));
    over_tls = over_tcp;
    over_tls.mode = mode::latency;
    EXPECT_FALSE(same_but_for_transport(over_tcp, over_tls));
}

TEST(cell, has_a_count_that_is_enough_for_the_slowest)
{
    // One request at a time needs a wake-up for each hop; a hundred share them.
    EXPECT_LT(default_count(broker_cell(1, 1, 1)), default_count(broker_cell(4, 4, 100)) / 10);
    for (const auto& [text, which] : pattern_names()) {
        cell what;
        what.pattern = which;
        what.extents.assign(dimensions_of(which).size(), 10);
        EXPECT_EQ(name(which), text);
        EXPECT_GE(default_count(what), 10u) << text;
    }
}

} // namespace
} // namespace zlink::bench
