// SPDX-License-Identifier: Apache-2.0
// Names only: what sessions that end do to the list is seen in tests/behaviour/dead_endpoint_test.
#include "core/socket/endpoint_list.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace zlink::core {
namespace {

std::shared_ptr<pipe_end> make_pipe()
{
    return std::make_shared<pipe_end>(std::make_shared<channel_pair>(), true, nullptr);
}

TEST(EndpointList, gives_what_was_bound_by_its_name)
{
    endpoint_list list;
    EXPECT_TRUE(list.has_no_streams());
    EXPECT_FALSE(list.take_bound("inproc://a"));
    list.add(bound_endpoint{"inproc://a", nullptr});
    list.add(bound_endpoint{"inproc://b", nullptr});
    EXPECT_FALSE(list.has_no_streams());
    EXPECT_FALSE(list.take_connected("inproc://a")) << "it is not of that kind";
    const auto taken = list.take_bound("inproc://b");
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->endpoint, "inproc://b");
    EXPECT_FALSE(list.take_bound("inproc://b"));
    ASSERT_EQ(list.bound().size(), 1u);
    EXPECT_EQ(list.bound()[0].endpoint, "inproc://a");
}

TEST(EndpointList, gives_the_oldest_of_several_connections_first)
{
    endpoint_list list;
    const std::vector<std::shared_ptr<pipe_end>> pipes = {make_pipe(), make_pipe(), make_pipe()};
    const shared_text a{std::string("inproc://a")};
    list.add(connected_endpoint{a, nullptr, pipes[0]});
    list.add(connected_endpoint{shared_text{std::string("inproc://b")}, nullptr, pipes[1]});
    list.add(connected_endpoint{a, nullptr, {}}).pipe = pipes[2];
    EXPECT_FALSE(list.has_connection_to(a)) << "inproc has no session";
    EXPECT_EQ(list.take_connected("inproc://a")->pipe.lock(), pipes[0]);
    EXPECT_EQ(list.take_connected("inproc://a")->pipe.lock(), pipes[2]);
    EXPECT_FALSE(list.take_connected("inproc://a"));
    EXPECT_EQ(list.connected().size(), 1u);
    list.clear();
    EXPECT_TRUE(list.has_no_streams());
}

TEST(EndpointList, keeps_names_that_zmq_disconnect_may_ask_for)
{
    endpoint_list list;
    const shared_text a{std::string("inproc://a")};
    list.add(connected_endpoint{a, nullptr, {}});
    list.replace_ended(a);
    list.forget_given_up(1);
    EXPECT_EQ(list.connected().size(), 1u) << "it never had a session that could have ended";
}

TEST(EndpointList, knows_datagrams_by_two_names)
{
    endpoint_list list;
    const auto add = [&](const char* endpoint, const char* as_given, endpoint_role role) {
        list.add(datagram_endpoint{endpoint, as_given, role, nullptr, {}});
    };
    add("udp://127.0.0.1:4000", "udp://localhost:4000", endpoint_role::bound);
    add("udp://127.0.0.1:5000", "udp://localhost:5000", endpoint_role::bound);
    add("udp://127.0.0.1:4000", "udp://localhost:4000", endpoint_role::connected);
    add("udp://127.0.0.1:4000", "udp://127.0.0.1:4000", endpoint_role::connected);
    EXPECT_TRUE(list.has_no_streams());
    EXPECT_EQ(list.take_datagrams(endpoint_role::connected, "udp://127.0.0.1:4000").size(), 2u);
    EXPECT_EQ(list.take_datagrams(endpoint_role::connected, "udp://127.0.0.1:4000").size(), 0u);
    EXPECT_EQ(list.take_datagrams(endpoint_role::bound, "udp://localhost:4000").size(), 1u);
    ASSERT_EQ(list.datagrams().size(), 1u);
    EXPECT_EQ(list.datagrams()[0].as_given, "udp://localhost:5000");
}

} // namespace
} // namespace zlink::core
