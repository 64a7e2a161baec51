// SPDX-License-Identifier: Apache-2.0
// What monitors tell of handshakes, and of connections that a peer spoils.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

/// A socket and a raw peer, over tcp unless it is told otherwise.
class HandshakeEvents : public ::testing::Test {
protected:
    explicit HandshakeEvents(transport kind = transport::tcp) : kind_(kind) {}

    /// A socket that a raw peer connects to, and its events from then on.
    void accept_raw(const configuration& configure = {})
    {
        if (configure)
            configure(socket_);
        post_.emplace(context_, socket_);
        peer_ = raw_peer(socket_.bind_and_resolve(fresh_bind_address(kind_)));
        post_->expect(ZMQ_EVENT_LISTENING);
        begun_ = post_->expect(ZMQ_EVENT_ACCEPTED);
    }
    void connect_raw(const configuration& configure = {})
    {
        socket_.set(ZMQ_RECONNECT_IVL, 10);
        if (configure)
            configure(socket_);
        post_.emplace(context_, socket_);
        socket_.connect(listener_.endpoint());
        peer_ = listener_.accept();
        begun_ = expect_connection();
    }
    told expect_connection()
    {
        if (kind_ == transport::tcp) // ipc connects at once
            post_->expect(ZMQ_EVENT_CONNECT_DELAYED);
        return post_->expect(ZMQ_EVENT_CONNECTED);
    }
    void expect_another_try()
    {
        EXPECT_EQ(listener_.endpoint(), post_->expect(ZMQ_EVENT_CONNECT_RETRIED).local);
        expect_connection();
    }
    void expect_failure(std::uint64_t event, const std::vector<std::uint64_t>& possible)
    {
        const told failed = post_->expect(event);
        EXPECT_NE(possible.end(), std::ranges::find(possible, failed.values.at(0)))
            << failed.values.at(0);
        EXPECT_EQ(begun_.local, failed.local);
        EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
    }
    void expect_failure(std::uint64_t event, std::uint64_t value)
    {
        expect_failure(event, std::vector{value});
    }

    const transport kind_;
    test_context context_;
    test_socket socket_{context_, ZMQ_DEALER};
    raw_listener listener_{kind_};
    raw_peer peer_;
    std::optional<listening_post> post_;
    told begun_;
};

class MonitorHandshake : public HandshakeEvents, public ::testing::WithParamInterface<transport> {
protected:
    MonitorHandshake() : HandshakeEvents(GetParam()) {}
};

TEST_P(MonitorHandshake, that_the_peer_leaves_is_told_and_tried_again)
{
    connect_raw();
    peer_.send(zmtp::greeting().substr(0, 20));
    peer_.recv(10);
    peer_.close();
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, {EPIPE, ECONNRESET});
    expect_another_try();
}

TEST_P(MonitorHandshake, that_the_peer_leaves_is_told_at_the_bound_side)
{
    accept_raw();
    peer_.close();
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, {EPIPE, ECONNRESET});
    EXPECT_TRUE(post_->quiet());
}

TEST_P(MonitorHandshake, time_running_out_is_told_and_tried_again)
{
    connect_raw([](test_socket& socket) { socket.set(ZMQ_HANDSHAKE_IVL, 30); });
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EAGAIN);
    expect_another_try();
}

TEST_P(MonitorHandshake, time_running_out_is_told_at_the_bound_side)
{
    accept_raw([](test_socket& socket) { socket.set(ZMQ_HANDSHAKE_IVL, 30); });
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EAGAIN);
    EXPECT_TRUE(post_->quiet());
}

TEST_P(MonitorHandshake, another_mechanism_is_told_and_not_tried_again)
{
    connect_raw();
    peer_.send(zmtp::greeting(1, "PLAIN"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
    EXPECT_TRUE(post_->quiet());
}

TEST_P(MonitorHandshake, another_mechanism_is_told_at_the_bound_side)
{
    accept_raw();
    peer_.send(zmtp::greeting(1, "PLAIN"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
    EXPECT_TRUE(post_->quiet());
}

TEST_P(MonitorHandshake, a_command_out_of_place_is_told)
{
    accept_raw();
    peer_.send(zmtp::greeting() + zmtp::command("HELLO"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND);
}

TEST_P(MonitorHandshake, a_malformed_error_command_is_told)
{
    accept_raw();
    peer_.send(zmtp::greeting() + zmtp::command("ERROR"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                   ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR);
}

TEST_P(MonitorHandshake, a_socket_type_that_does_not_fit_is_told)
{
    accept_raw();
    peer_.send(zmtp::greeting() + zmtp::ready("PUB"));
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED);
}

TEST_P(MonitorHandshake, of_an_older_protocol_is_not_told)
{
    accept_raw();
    const std::string signature = zmtp::greeting().substr(0, 10);
    peer_.send(signature + "\1\5"s + zmtp::frame("") + zmtp::frame("x")); // no identity, a message
    EXPECT_EQ("x", socket_.recv());
    peer_.close();
    EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
}

TEST_P(MonitorHandshake, a_reason_beyond_its_command_is_malformed)
{
    accept_raw();
    zmtp::play(peer_, {zmtp::greeting(), zmtp::command("ERROR", "\4" + "400"s)});
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                   ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR);
}

TEST_P(MonitorHandshake, a_frame_above_the_limit_is_told_as_a_lost_connection)
{
    connect_raw([](test_socket& socket) { limit_messages(socket, 100); });
    zmtp::shake_hands(peer_, "ROUTER");
    post_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    peer_.send(zmtp::frame(std::string(101, 'x')));
    EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
    post_->expect(ZMQ_EVENT_CONNECT_RETRIED);
}

TEST_P(MonitorHandshake, silence_is_told_as_a_lost_connection)
{
    connect_raw([](test_socket& socket) { socket.set(ZMQ_HEARTBEAT_IVL, 20); });
    zmtp::shake_hands(peer_, "ROUTER");
    post_->expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(begun_.values, post_->expect(ZMQ_EVENT_DISCONNECTED).values);
    post_->expect(ZMQ_EVENT_CONNECT_RETRIED);
}

TEST_P(MonitorHandshake, another_protocol_is_an_identity_that_never_ends)
{
    accept_raw();
    peer_.send("GET / HTTP/1.1\r\n\r\n"); // 'G' announces 71 bytes
    EXPECT_EQ(zmtp::greeting().substr(0, 10), peer_.recv(10));
    EXPECT_EQ("", peer_.recv_at_most(1, quiet_window));
    EXPECT_FALSE(peer_.ended(0ms));
    EXPECT_TRUE(post_->quiet());
}

ZLINK_LINKS_WITH(MonitorHandshake, has_plain_zmtp);

class RefusedByPeer : public HandshakeEvents,
                      public ::testing::WithParamInterface<std::tuple<transport, int>> {
protected:
    RefusedByPeer() : HandshakeEvents(std::get<0>(GetParam())) {}

    const int code_ = std::get<1>(GetParam());
};

TEST_P(RefusedByPeer, is_told_with_its_code_and_not_tried_again)
{
    connect_raw();
    zmtp::play(peer_, {zmtp::greeting(), zmtp::refusal(std::to_string(code_))});
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, static_cast<std::uint64_t>(code_));
    EXPECT_TRUE(post_->quiet());
}

INSTANTIATE_TEST_SUITE_P(
    With, RefusedByPeer,
    ::testing::Combine(::testing::ValuesIn(links_with(&link_traits::has_plain_zmtp)),
                       ::testing::Values(300, 400, 500)));

struct refused_opening {
    const char* name;
    std::vector<std::string> steps;
    std::uint64_t value; ///< of ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
    const char* domain = "";
};

void PrintTo(const refused_opening& opening, std::ostream* out)
{
    *out << opening.name;
}

class Refusal : public HandshakeEvents, public ::testing::WithParamInterface<refused_opening> {
protected:
    static void configure(test_socket& socket)
    {
        limit_messages(socket, 100);
        if (*GetParam().domain)
            socket.set(ZMQ_ZAP_DOMAIN, GetParam().domain);
    }
};

TEST_P(Refusal, is_told_and_not_tried_again)
{
    connect_raw(configure);
    zmtp::play(peer_, GetParam().steps);
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, GetParam().value);
    EXPECT_TRUE(post_->quiet());
}

TEST_P(Refusal, is_told_at_the_bound_side)
{
    accept_raw(configure);
    zmtp::play(peer_, GetParam().steps);
    expect_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, GetParam().value);
    EXPECT_TRUE(post_->quiet());
}

refused_opening with_command(const char* name, const std::string& bytes, std::uint64_t value)
{
    return {name, {zmtp::greeting(), bytes}, value};
}

INSTANTIATE_TEST_SUITE_P(
    Of, Refusal,
    ::testing::Values(
        with_command("no_reason", zmtp::refusal(""), ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED),
        with_command("another_reason", zmtp::refusal("404"), ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED),
        with_command("a_longer_reason", zmtp::refusal("4000"), ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED),
        with_command("a_stray_byte", zmtp::ready("ROUTER", "\7"),
                     ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA),
        with_command("a_value_beyond_the_end", zmtp::ready("ROUTER", "\1X\0\0\0\2x"s),
                     ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA),
        with_command("a_long_routing_id",
                     zmtp::ready("ROUTER", zmtp::property("Identity", std::string(256, 'x'))),
                     ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA),
        with_command("a_type_that_does_not_fit", zmtp::ready("PUB"),
                     ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED),
        with_command("a_large_command",
                     zmtp::ready("ROUTER", zmtp::property("X", std::string(70'000, 'x'))),
                     ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_UNSPECIFIED),
        refused_opening{
            "a_long_routing_id_of_zmtp_2_0",
            {zmtp::greeting().substr(0, 10) + "\1\6\2\0\0\0\0\0\0\1\0"s + std::string(256, 'x')},
            ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA},
        refused_opening{"zmtp_2_0_with_a_domain",
                        {zmtp::greeting().substr(0, 10) + "\1\6\0\0"s},
                        ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED,
                        "domain"},
        refused_opening{"zmtp_1_0_with_a_domain",
                        {"\1\0\4\0abc\4\0def"s},
                        ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED,
                        "domain"}),
    [](const auto& info) { return info.param.name; });

/// Both ends are zlink's, of types that do not fit: each is told.
TEST(IncompatibleTypes, are_told_at_both_ends)
{
    test_context context;
    test_socket bound(context, ZMQ_PULL);
    test_socket connected(context, ZMQ_PUB);
    const std::string endpoint = bound.bind_and_resolve("tcp://127.0.0.1:*");
    listening_post here(context, bound, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    listening_post there(context, connected, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    connected.connect(endpoint);
    for (listening_post* post : {&here, &there})
        EXPECT_EQ(std::uint64_t{ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED},
                  post->expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).values.at(0));
}

} // namespace
} // namespace zlink::test
