// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/zws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <zmq.h>

#include "engine/handshake/handshake.hpp"
#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/handshake/mechanisms/null.hpp"
#include "engine/handshake/mechanisms/plain.hpp"
#include "support/bytes.hpp"

namespace zlink::test {
namespace {

using namespace engine;

std::unique_ptr<handshake>
side_of(std::string_view protocol, bool has_connected, std::string routing_id = "",
        int type = ZMQ_DEALER,
        std::unique_ptr<mechanism> security = std::make_unique<null_mechanism>())
{
    auto made = std::make_unique<handshake>(
        local_peer{.socket_type = type, .routing_id = std::move(routing_id), .properties = {}},
        std::move(security));
    made->frame_by(zws_framing(protocol, has_connected));
    made->start();
    return made;
}

/// Feeds bytes in pieces; returns how many were taken.
std::size_t feed(handshake& to, std::string_view bytes, std::size_t piece = 1)
{
    std::size_t taken = 0;
    while (taken < bytes.size() && !to.done() && !to.failed())
        taken += to.feed(as_bytes(bytes.substr(taken, piece)));
    return taken;
}

void connect(handshake& one, handshake& other, std::size_t piece = 1)
{
    for (bool busy = true; busy;) {
        const std::string from_one = take_output(one);
        const std::string from_other = take_output(other);
        feed(other, from_one, piece);
        feed(one, from_other, piece);
        busy = !from_one.empty() || !from_other.empty();
    }
}

TEST(Zws, offers_what_goes_with_the_mechanism)
{
    using names = std::vector<std::string>;
    EXPECT_EQ((names{"ZWS2.0/NULL", "ZWS2.0"}), zws_protocols("NULL", false));
    EXPECT_EQ((names{"ZWS2.0/NULL"}), zws_protocols("NULL", true));
    EXPECT_EQ((names{"ZWS2.0/PLAIN"}), zws_protocols("PLAIN", false));
    EXPECT_EQ((names{"ZWS2.0/CURVE"}), zws_protocols("CURVE", true));
}

TEST(Zws, begins_with_commands_if_there_is_a_mechanism)
{
    for (const std::size_t piece : {1, 5, 1000}) {
        const auto client = side_of("ZWS2.0/NULL", true, "me", ZMQ_DEALER);
        const auto server = side_of("ZWS2.0/NULL", false, "", ZMQ_ROUTER);
        EXPECT_EQ("82", to_hex(client->output().first(1)));
        EXPECT_EQ("822a02055245414459", to_hex(server->output().first(9)));
        connect(*client, *server, piece);
        ASSERT_TRUE(client->done());
        ASSERT_TRUE(server->done());
        EXPECT_EQ("me", server->remote().routing_id);
        EXPECT_EQ(ZMQ_DEALER, server->remote().socket_type);
        EXPECT_EQ(ZMQ_ROUTER, client->remote().socket_type);
        EXPECT_EQ(3, client->remote().major);
        EXPECT_EQ(0, client->remote().minor);
        EXPECT_NE(nullptr, client->own_codec());
    }
}

TEST(Zws, goes_through_the_steps_of_a_mechanism)
{
    const auto client = side_of("ZWS2.0/PLAIN", true, "", ZMQ_PUSH,
                                std::make_unique<plain_client>("me", base::secret("word")));
    const auto server =
        side_of("ZWS2.0/PLAIN", false, "", ZMQ_PULL, std::make_unique<plain_server>(nullptr));
    EXPECT_TRUE(server->output().empty());
    connect(*client, *server);
    EXPECT_TRUE(client->done());
    EXPECT_TRUE(server->done());
    EXPECT_EQ(ZMQ_PUSH, server->remote().socket_type);
}

TEST(Zws, begins_with_routing_ids_if_there_is_none)
{
    const auto client = side_of("ZWS2.0", true, "me");
    const auto server = side_of("ZWS2.0", false);
    EXPECT_EQ("820100", to_hex(server->output()));
    connect(*client, *server);
    ASSERT_TRUE(client->done());
    ASSERT_TRUE(server->done());
    EXPECT_EQ("me", server->remote().routing_id);
    EXPECT_EQ("", client->remote().routing_id);
    EXPECT_EQ(-1, server->remote().socket_type);
    EXPECT_EQ(nullptr, server->make_cipher());
}

TEST(Zws, leaves_what_follows)
{
    const auto client = side_of("ZWS2.0", true);
    EXPECT_EQ(5u, feed(*client, std::string("\x82\3\0id\x82\2\0x", 9), 9));
    EXPECT_TRUE(client->done());
    EXPECT_EQ("id", client->remote().routing_id);
}

TEST(Zws, limits_the_routing_id)
{
    const auto fits = side_of("ZWS2.0", true);
    feed(*fits, std::string("\x82\x7e\1\0\0", 5) + std::string(255, 'i'));
    EXPECT_TRUE(fits->done());
    const auto longer = side_of("ZWS2.0", true);
    feed(*longer, std::string("\x82\x7e\1\1\0", 5) + std::string(256, 'i'));
    EXPECT_EQ(handshake_error::invalid_metadata, longer->error());
}

TEST(Zws, does_not_do_without_a_mechanism_where_peers_are_authenticated)
{
    handshake server(
        {.socket_type = ZMQ_PULL, .routing_id = {}, .properties = {}, .must_authenticate = true},
        std::make_unique<null_mechanism>());
    server.frame_by(zws_framing("ZWS2.0", false));
    server.start();
    EXPECT_EQ(handshake_error::unsupported_version, server.error());
    EXPECT_TRUE(server.output().empty());
}

TEST(Zws, answers_pings_between_the_frames)
{
    const auto client = side_of("ZWS2.0", false);
    take_output(*client);
    // A ping in the middle of a routing id that comes in two frames, all masked by zeros.
    feed(*client, std::string("\x02\x82\0\0\0\0\0i", 8));
    feed(*client, std::string("\x89\x81\0\0\0\0?", 7));
    EXPECT_EQ("8a013f", to_hex(client->output()));
    feed(*client, std::string("\x80\x81\0\0\0\0d", 7));
    EXPECT_TRUE(client->done());
    EXPECT_EQ("id", client->remote().routing_id);
}

TEST(Zws, answers_a_close_and_ends)
{
    const auto server = side_of("ZWS2.0/NULL", false);
    take_output(*server);
    feed(*server, std::string("\x88\x82\0\0\0\0\3\xe8", 8));
    EXPECT_EQ(handshake_error::closed_by_peer, server->error());
    EXPECT_EQ("880203e8", to_hex(server->output()));
}

TEST(Zws, tells_what_is_no_frame)
{
    const auto server = side_of("ZWS2.0/NULL", false);
    take_output(*server);
    feed(*server, "\x81");
    EXPECT_TRUE(server->failed());
    EXPECT_EQ("880203eb", to_hex(server->output()));
}

} // namespace
} // namespace zlink::test
