// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/mechanisms/null.hpp"

#include <gtest/gtest.h>

#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/handshake/socket_types.hpp"

namespace zlink::test {
namespace {

using namespace engine;

struct exchange {
    null_mechanism mechanism;
    negotiation state{{socket_types::pair, "", {}}, {}, ""};

    std::string send()
    {
        std::vector<std::byte> body;
        return mechanism.next_command(state, body) ? to_hex(body) : "nothing";
    }
    handshake_error receive(std::string_view body)
    {
        return mechanism.process_command(state, hex(body));
    }
};

constexpr std::string_view pair_ready = "0552454144590b536f636b65742d547970650000000450414952";

TEST(null_mechanism, announces_itself)
{
    EXPECT_EQ(null_mechanism().name(), "NULL");
    EXPECT_FALSE(null_mechanism().as_server());
}

TEST(null_mechanism, sends_ready_once_without_waiting)
{
    exchange test;
    EXPECT_EQ(test.send(), pair_ready);
    EXPECT_EQ(test.send(), "nothing");
    EXPECT_EQ(test.mechanism.status(), mechanism_status::handshaking);
    EXPECT_EQ(test.receive(pair_ready), handshake_error::none);
    EXPECT_EQ(test.mechanism.status(), mechanism_status::ready);
    EXPECT_EQ(test.state.remote.socket_type, socket_types::pair);
}

TEST(null_mechanism, may_receive_ready_before_sending_it)
{
    exchange test;
    EXPECT_EQ(test.receive(pair_ready), handshake_error::none);
    EXPECT_EQ(test.mechanism.status(), mechanism_status::handshaking);
    EXPECT_EQ(test.send(), pair_ready);
    EXPECT_EQ(test.mechanism.status(), mechanism_status::ready);
}

TEST(null_mechanism, a_second_ready_is_unexpected)
{
    exchange test;
    EXPECT_EQ(test.receive(pair_ready), handshake_error::none);
    EXPECT_EQ(test.receive(pair_ready), handshake_error::unexpected_command);
}

TEST(null_mechanism, names_are_exact)
{
    for (const auto name : {"ready", "READ", "READYX", "HELLO", "MESSAGE", "PING"}) {
        exchange test;
        std::vector<std::byte> body;
        append_command_body(body, name);
        EXPECT_EQ(test.receive(to_hex(body)), handshake_error::unexpected_command) << name;
    }
}

} // namespace
} // namespace zlink::test
