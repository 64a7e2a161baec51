// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/socket_types.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace zlink::test {
namespace {

using namespace engine;

const std::map<int, std::string> names{
    {0, "PAIR"},    {1, "PUB"},      {2, "SUB"},     {3, "REQ"},      {4, "REP"},
    {5, "DEALER"},  {6, "ROUTER"},   {7, "PULL"},    {8, "PUSH"},     {9, "XPUB"},
    {10, "XSUB"},   {12, "SERVER"},  {13, "CLIENT"}, {14, "RADIO"},   {15, "DISH"},
    {16, "GATHER"}, {17, "SCATTER"}, {19, "PEER"},   {20, "CHANNEL"},
};

const std::map<std::string, std::set<std::string>> accepted{
    {"PAIR", {"PAIR"}},
    {"PUB", {"SUB", "XSUB"}},
    {"XPUB", {"SUB", "XSUB"}},
    {"SUB", {"PUB", "XPUB"}},
    {"XSUB", {"PUB", "XPUB"}},
    {"REQ", {"REP", "ROUTER"}},
    {"REP", {"REQ", "DEALER"}},
    {"DEALER", {"REP", "DEALER", "ROUTER"}},
    {"ROUTER", {"REQ", "DEALER", "ROUTER"}},
    {"PUSH", {"PULL"}},
    {"PULL", {"PUSH"}},
    {"SERVER", {"CLIENT"}},
    {"CLIENT", {"SERVER"}},
    {"RADIO", {"DISH"}},
    {"DISH", {"RADIO"}},
    {"GATHER", {"SCATTER"}},
    {"SCATTER", {"GATHER"}},
    {"PEER", {"PEER"}},
    {"CHANNEL", {"CHANNEL"}},
};

TEST(socket_types, numbers_and_names_map_both_ways)
{
    for (int number = -3; number < 40; ++number) {
        const auto known = names.find(number);
        const std::string expected = known != names.end() ? known->second : "";
        EXPECT_EQ(socket_type_name(number), expected) << number;
        EXPECT_EQ(socket_type_number(expected), known != names.end() ? number : -1);
    }
}

TEST(socket_types, names_are_compared_exactly)
{
    for (const auto* name : {"", "sub", "SUBX", "SU", "DGRAM", "STREAM"}) {
        EXPECT_EQ(socket_type_number(name), -1) << name;
    }
}

TEST(socket_types, every_pair_of_types_is_accepted_or_refused_as_documented)
{
    for (const auto& [local, local_name] : names) {
        for (const auto& [remote, remote_name] : names) {
            EXPECT_EQ(compatible_socket_types(local, remote),
                      accepted.at(local_name).contains(remote_name))
                << local_name << " and " << remote_name;
        }
    }
}

TEST(socket_types, unknown_types_match_nothing)
{
    for (const int unknown : {-1, 11, 18, 21, 32, 64, 1000, -1000}) {
        for (const auto& [known, name] : names) {
            EXPECT_FALSE(compatible_socket_types(unknown, known)) << unknown << ' ' << name;
            EXPECT_FALSE(compatible_socket_types(known, unknown)) << name << ' ' << unknown;
        }
    }
}

TEST(socket_types, only_req_dealer_and_router_announce_a_routing_id)
{
    for (int number = -3; number < 40; ++number) {
        EXPECT_EQ(announces_routing_id(number), number == 3 || number == 5 || number == 6);
    }
}

} // namespace
} // namespace zlink::test
