// SPDX-License-Identifier: Apache-2.0
#include "core/connection/opening_setup.hpp"

#include "engine/handshake/authenticator_for_tests.hpp"
#include "engine/handshake/mechanisms/null.hpp"
#include "engine/handshake/socket_types.hpp"
#include "engine/wire/toy_wire_for_tests.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
using texts = std::vector<std::string>;

/// An upgrade that does nothing but note the protocols that it is offered.
class noting_upgrade final : public transport::upgrade {
public:
    explicit noting_upgrade(texts& offered) : offered_(offered) {}
    std::span<const std::byte> output() const noexcept override { return {}; }
    void consume_output(std::size_t) noexcept override {}
    std::size_t feed(std::span<const std::byte>) override { return 0; }
    state current_state() const noexcept override { return state::done; }
    int error() const noexcept override { return 0; }
    void offer(std::vector<std::string> names) override { offered_ = std::move(names); }

private:
    texts& offered_;
};

std::vector<std::string> protocols_of(std::string_view mechanism, bool must_authenticate)
{
    return {std::string(mechanism), must_authenticate ? "authenticated" : "open"};
}

/// Where the peer is told apart by the side that has connected.
engine::framing framed_by_side(std::string_view, bool has_connected)
{
    return {.begins_with =
                has_connected ? engine::introduction::commands : engine::introduction::routing_ids};
}

constexpr transport_row plain_row{nullptr};
constexpr transport_row framing_row{
    .scheme = nullptr, .frame = framed_by_side, .protocols = protocols_of};
constexpr transport_row framing_all_row{.scheme = nullptr,
                                        .frame = framed_by_side,
                                        .protocols = protocols_of,
                                        .frames_plain_bytes = true};

class OpeningSetup : public ::testing::Test {
protected:
    opening_stages stages(const transport_row& row, int upgrades, bool has_connected = true)
    {
        transport::upgrades all;
        for (int i = 0; i < upgrades; ++i)
            all.push_back(std::make_unique<noting_upgrade>(offered_));
        return make_stages(options_, row, std::move(all),
                           speaks_zmtp(options_) ? std::make_unique<engine::null_mechanism>()
                                                 : nullptr,
                           has_connected);
    }

    socket_options options_;
    texts offered_;
};

TEST_F(OpeningSetup, has_the_stages_that_options_and_transport_ask_for)
{
    static const struct {
        wire_format wire;
        const transport_row& row;
        int upgrades;
        bool is_empty, has_handshake, has_frame, is_plain_bytes;
    } rows[] = {
        {wire_format::zmtp, plain_row, 0, false, true, false, false},
        {wire_format::zmtp, plain_row, 2, false, true, false, false},
        {wire_format::zmtp, framing_row, 1, false, true, true, false},
        {wire_format::zmtp, framing_all_row, 1, false, true, true, false},
        {wire_format::raw, plain_row, 0, true, false, false, true},
        {wire_format::raw, plain_row, 1, false, false, false, true},
        {wire_format::raw, framing_row, 1, false, false, false, true},
        {wire_format::raw, framing_all_row, 1, false, false, true, false},
        {wire_format::raw_with_notices, plain_row, 0, true, false, false, true},
        {wire_format::raw_with_notices, framing_all_row, 1, false, false, true, false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(&row - rows);
        options_.wire = row.wire;
        const opening_stages made = stages(row.row, row.upgrades);
        EXPECT_EQ(row.is_empty, made.empty());
        EXPECT_EQ(row.has_handshake, made.handshake != nullptr);
        EXPECT_EQ(row.has_frame, made.frame != nullptr);
        EXPECT_EQ(row.is_plain_bytes, exchanges_plain_bytes(options_, row.row));
        EXPECT_EQ(static_cast<std::size_t>(row.upgrades), made.upgrades.size());
    }
}

TEST_F(OpeningSetup, offers_the_protocols_of_the_mechanism)
{
    stages(framing_row, 1);
    EXPECT_EQ((texts{"NULL", "open"}), offered_);
    options_.security.zap_domain = "domain";
    stages(framing_row, 1);
    EXPECT_EQ((texts{"NULL", "authenticated"}), offered_);
}

TEST_F(OpeningSetup, offers_no_protocols_without_a_mechanism)
{
    options_.wire = wire_format::raw;
    stages(framing_all_row, 1);
    EXPECT_EQ(texts{}, offered_);
}

TEST_F(OpeningSetup, frames_each_side_as_the_transport_says)
{
    EXPECT_EQ(engine::introduction::commands, stages(framing_row, 1, true).frame("").begins_with);
    EXPECT_EQ(engine::introduction::routing_ids,
              stages(framing_row, 1, false).frame("").begins_with);
}

TEST_F(OpeningSetup, begins_the_handshake_with_what_the_options_say_of_this_side)
{
    options_.type = types::dealer;
    options_.routing_id = "me";
    options_.metadata = {{"X-Name", "value"}};
    const opening_stages one = stages(plain_row, 0);
    const opening_stages other = stages(plain_row, 0);
    for (engine::handshake* each : {one.handshake.get(), other.handshake.get()})
        each->start();
    while (!other.handshake->done() && !other.handshake->failed())
        for (const auto& [from, to] : {std::pair(&one, &other), std::pair(&other, &one)}) {
            const auto output = from->handshake->output();
            const std::vector<std::byte> sent(output.begin(), output.end());
            from->handshake->consume_output(sent.size());
            to->handshake->feed(sent);
        }
    ASSERT_TRUE(other.handshake->done());
    const engine::remote_peer& seen = other.handshake->remote();
    EXPECT_EQ(types::dealer, seen.socket_type);
    EXPECT_EQ("me", seen.routing_id);
    ASSERT_FALSE(seen.properties.empty());
    EXPECT_EQ("X-Name", seen.properties.back().name);
}

TEST_F(OpeningSetup, chooses_the_mechanism_and_asks_only_where_the_row_says_so)
{
    static std::shared_ptr<engine::authenticator> passed;
    const auto make =
        [](const socket_options&,
           std::shared_ptr<engine::authenticator> asked) -> std::unique_ptr<engine::mechanism> {
        passed = std::move(asked);
        return std::make_unique<engine::null_mechanism>();
    };
    const mechanism_row rows[] = {
        {1, [](const socket_options&) noexcept { return authentication::none; }, make},
        {2, [](const socket_options&) noexcept { return authentication::required; }, make},
    };
    std::vector<authentication> asked;
    const auto ask = [&asked](authentication how) {
        asked.push_back(how);
        return std::make_shared<test::answering_at_once>();
    };
    options_.security.mechanism = 1;
    EXPECT_NE(nullptr, make_mechanism(rows, options_, ask));
    EXPECT_EQ(nullptr, passed);
    EXPECT_TRUE(asked.empty());
    options_.security.mechanism = 2;
    EXPECT_NE(nullptr, make_mechanism(rows, options_, ask));
    EXPECT_NE(nullptr, passed);
    EXPECT_EQ(std::vector{authentication::required}, asked);
    passed.reset();
}

opening::ending succeeded(std::uint8_t major, std::shared_ptr<engine::frame_codec> codec = nullptr)
{
    opening::ending how{.kind = opening::end_kind::succeeded};
    how.remote.major = major;
    how.codec = std::move(codec);
    return how;
}

TEST_F(OpeningSetup, makes_the_wire_of_the_version_or_of_the_transport)
{
    const auto own = std::make_shared<test::toy_codec>();
    EXPECT_EQ(engine::zmtp1_codec(), make_wire(succeeded(1), false).codec);
    EXPECT_EQ(engine::zmtp2_codec(), make_wire(succeeded(2), false).codec);
    EXPECT_EQ(engine::zmtp3_codec(), make_wire(succeeded(3), false).codec);
    EXPECT_EQ(own, make_wire(succeeded(3, own), false).codec);
    EXPECT_TRUE(make_wire(succeeded(0), true).is_plain_bytes);
    EXPECT_FALSE(make_wire(succeeded(3), false).is_plain_bytes);
    opening::ending secret = succeeded(3);
    secret.cipher = std::make_shared<test::toy_cipher>();
    EXPECT_EQ(secret.cipher, make_wire(secret, false).cipher);
}

TEST_F(OpeningSetup, knows_which_connections_carry_commands)
{
    EXPECT_FALSE(carries_commands(succeeded(1)));
    EXPECT_FALSE(carries_commands(succeeded(2)));
    EXPECT_TRUE(carries_commands(succeeded(3)));
    EXPECT_TRUE(carries_commands(succeeded(0, std::make_shared<test::toy_codec>())));
}

TEST_F(OpeningSetup, says_hello_where_the_type_does)
{
    static constexpr socket_type_traits greeting{.says_hello = true};
    options_.hello_message = "hello";
    EXPECT_TRUE(hello_frame(options_).empty());
    options_.traits = &greeting;
    const std::vector<std::byte> frame = hello_frame(options_);
    EXPECT_EQ(std::string("\0\5hello", 7),
              std::string(reinterpret_cast<const char*>(frame.data()), frame.size()));
    options_.wire = wire_format::raw;
    EXPECT_TRUE(hello_frame(options_).empty());
}

} // namespace
} // namespace zlink::core
