// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/peer.hpp"

#include <gtest/gtest.h>

#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/handshake/socket_types.hpp"

namespace zlink::test {
namespace {

using namespace engine;

std::string announced(const local_peer& local)
{
    std::vector<std::byte> list;
    append_local_metadata(list, local);
    return to_hex(list);
}

std::vector<std::byte> list_of(const std::vector<property>& properties)
{
    std::vector<std::byte> list;
    for (const auto& property : properties) {
        EXPECT_TRUE(append_property(list, property.name, property.value));
    }
    return list;
}

TEST(peer, announces_type_identity_and_sorted_properties)
{
    const local_peer local{socket_types::dealer, "ID1", {{"X-Foo", "bar"}, {"X-Alpha", "1:2"}}};
    EXPECT_EQ(announced(local), "0b536f636b65742d54797065000000064445414c4552"
                                "084964656e7469747900000003494431"
                                "07582d416c70686100000003313a32"
                                "05582d466f6f00000003626172");
}

TEST(peer, a_routing_id_is_announced_by_some_types_only)
{
    EXPECT_EQ(announced({socket_types::rep, "ID1", {}}), "0b536f636b65742d5479706500000003524550");
    EXPECT_EQ(announced({socket_types::req, "", {}}),
              "0b536f636b65742d5479706500000003524551084964656e7469747900000000");
}

TEST(peer, properties_that_cannot_be_sent_are_left_out)
{
    const local_peer local{socket_types::pub, "", {{"", "x"}, {std::string(256, 'n'), "x"}}};
    EXPECT_EQ(announced(local), announced({socket_types::pub, "", {}}));
}

TEST(peer, keeps_everything_the_other_side_announces)
{
    const std::vector<property> properties{
        {"X-Foo", "bar"}, {"Identity", std::string("\0id", 3)}, {"Socket-Type", "ROUTER"}};
    remote_peer remote;
    const auto list = list_of(properties);
    EXPECT_EQ(accept_remote_metadata(list, {socket_types::dealer, "", {}}, remote),
              handshake_error::none);
    EXPECT_EQ(remote.socket_type, socket_types::router);
    EXPECT_EQ(remote.routing_id, std::string("\0id", 3));
    EXPECT_EQ(remote.properties, properties);
}

TEST(peer, a_type_need_not_be_announced_and_names_are_exact)
{
    remote_peer remote;
    const auto list = list_of({{"socket-type", "SUB"}, {"identity", "x"}});
    EXPECT_EQ(accept_remote_metadata(list, {socket_types::dealer, "", {}}, remote),
              handshake_error::none);
    EXPECT_EQ(remote.socket_type, -1);
    EXPECT_EQ(remote.routing_id, "");
    EXPECT_EQ(remote.properties.size(), 2u);
}

TEST(peer, the_first_property_of_a_name_wins)
{
    remote_peer remote;
    const auto list = list_of(
        {{"Socket-Type", "ROUTER"}, {"Socket-Type", "SUB"}, {"Identity", "a"}, {"Identity", "b"}});
    EXPECT_EQ(accept_remote_metadata(list, {socket_types::dealer, "", {}}, remote),
              handshake_error::none);
    EXPECT_EQ(remote.socket_type, socket_types::router);
    EXPECT_EQ(remote.routing_id, "a");
}

TEST(peer, types_that_may_not_talk_to_ours_are_refused)
{
    for (const auto* type : {"PUB", "FOO", "", "dealer", "STREAM"}) {
        remote_peer remote;
        EXPECT_EQ(accept_remote_metadata(list_of({{"Socket-Type", type}}),
                                         {socket_types::dealer, "", {}}, remote),
                  handshake_error::incompatible_socket_type)
            << type;
    }
}

TEST(peer, identities_have_at_most_255_bytes)
{
    for (const std::size_t size : {0u, 255u, 256u, 300u}) {
        remote_peer remote;
        const auto list = list_of({{"Identity", std::string(size, 'i')}});
        EXPECT_EQ(accept_remote_metadata(list, {socket_types::router, "", {}}, remote),
                  size > 255 ? handshake_error::invalid_metadata : handshake_error::none)
            << size;
    }
}

TEST(peer, broken_lists_are_invalid)
{
    remote_peer remote;
    EXPECT_EQ(accept_remote_metadata(hex("01"), {socket_types::router, "", {}}, remote),
              handshake_error::invalid_metadata);
    EXPECT_TRUE(remote.properties.empty());
}

} // namespace
} // namespace zlink::test
