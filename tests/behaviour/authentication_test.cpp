// SPDX-License-Identifier: Apache-2.0
// NULL with a domain and PLAIN: what a handler of ZAP (RFC 27) is asked, and what becomes of its
// answer on both sides.
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string handler_address = "inproc://zeromq.zap.01";

const auto null_with_domain = [](test_socket& socket) { socket.set(ZMQ_ZAP_DOMAIN, "global"); };

const auto plain_server = [](test_socket& socket) {
    socket.set(ZMQ_PLAIN_SERVER, 1);
    socket.set(ZMQ_ZAP_DOMAIN, "global");
};

const auto plain_client = [](test_socket& socket) {
    socket.set(ZMQ_PLAIN_USERNAME, "admin");
    socket.set(ZMQ_PLAIN_PASSWORD, "secret");
};

/// Where the handler hears that peers of this process come from.
std::string own_address(transport kind)
{
    if (kind == transport::tcp)
        return "127.0.0.1";
    return "localhost:" + std::to_string(getuid()) + ":" + std::to_string(getgid()) + ":" +
           std::to_string(getpid());
}

std::string property_of_next_message(test_socket& socket, const char* name)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    EXPECT_NE(-1, zmq_msg_recv(&message, socket, 0)) << zmq_strerror(zmq_errno());
    const char* const value = zmq_msg_gets(&message, name);
    std::string result = value ? value : "(none)";
    zmq_msg_close(&message);
    return result;
}

/// A server that asks a handler, and a client, both with monitors; the test is the handler.
class Authentication : public transport_test {
protected:
    ~Authentication() override { close(); }

    void bind_handler(int type = ZMQ_REP)
    {
        handler_ = test_socket(context_, type);
        handler_.bind(handler_address);
    }
    void begin(const configuration& configure_server, const configuration& configure_client = {})
    {
        configure_server(server_);
        client_.set(ZMQ_RECONNECT_IVL, 20);
        if (configure_client)
            configure_client(client_);
        at_server_.emplace(context_, server_,
                           ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                               ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_DISCONNECTED);
        at_client_.emplace(context_, client_,
                           ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                               ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_DISCONNECTED |
                               ZMQ_EVENT_CONNECT_RETRIED);
        client_.connect(server_.bind_and_resolve(fresh_bind_address(GetParam())));
    }
    void answer(std::string_view status, std::string_view user_id = "",
                std::string_view metadata = "")
    {
        handler_.send_parts(
            {"1.0", "1", std::string(status), "", std::string(user_id), std::string(metadata)});
    }
    void expect_value(std::optional<listening_post>& post, std::uint64_t event, std::uint64_t value)
    {
        EXPECT_EQ(value, post->expect(event).values.at(0));
    }
    void expect_admitted()
    {
        expect_value(at_server_, ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0);
        expect_value(at_client_, ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0);
        client_.send("hello");
        EXPECT_EQ("hello", server_.recv());
    }
    /// The server tells of this, the client only that it has been left, and tries again.
    void expect_refused_for_now(std::uint64_t event, std::uint64_t value)
    {
        expect_value(at_server_, event, value);
        at_server_->expect(ZMQ_EVENT_DISCONNECTED);
        const told failed = at_client_->expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        EXPECT_TRUE(failed.values.at(0) == EPIPE || failed.values.at(0) == ECONNRESET);
        at_client_->expect(ZMQ_EVENT_DISCONNECTED);
        at_client_->expect(ZMQ_EVENT_CONNECT_RETRIED);
    }
    void close()
    {
        for (test_socket* const each : {&client_, &server_, &handler_})
            if (static_cast<void*>(*each))
                each->close();
    }

    test_socket handler_;
    test_socket server_{context_, ZMQ_PULL};
    test_socket client_{context_, ZMQ_PUSH};
    std::optional<listening_post> at_server_;
    std::optional<listening_post> at_client_;
};

ZLINK_LINKS_WITH(Authentication, has_plain_zmtp);

/// What libzmq does otherwise, or needs the addresses of closed sockets at once.
class ZlinkOnlyAuthentication : public Authentication {};

ZLINK_LINKS_WITH(ZlinkOnlyAuthentication, has_plain_zmtp);

// --- the question

TEST_P(Authentication, a_handler_is_told_where_a_peer_without_credentials_comes_from)
{
    bind_handler();
    begin(null_with_domain);
    EXPECT_EQ((parts{"1.0", "1", "global", own_address(GetParam()), "", "NULL"}),
              handler_.recv_parts());
    answer("200");
    expect_admitted();
}

TEST_P(Authentication, a_handler_is_told_name_and_password)
{
    bind_handler();
    begin(plain_server, plain_client);
    EXPECT_EQ(
        (parts{"1.0", "1", "global", own_address(GetParam()), "", "PLAIN", "admin", "secret"}),
        handler_.recv_parts());
    answer("200");
    expect_admitted();
}

TEST_P(Authentication, credentials_may_be_empty_or_as_long_as_they_can_be)
{
    bind_handler();
    begin(plain_server,
          [](test_socket& client) { client.set(ZMQ_PLAIN_USERNAME, std::string(255, 'u')); });
    const parts request = handler_.recv_parts();
    ASSERT_EQ(8u, request.size());
    EXPECT_EQ(std::string(255, 'u'), request[6]);
    EXPECT_EQ("", request[7]);
    answer("200");
    expect_admitted();
}

TEST_P(Authentication, a_handler_is_told_the_routing_id_of_the_server)
{
    bind_handler();
    begin([](test_socket& server) {
        server.set(ZMQ_ROUTING_ID, "the server");
        null_with_domain(server);
    });
    EXPECT_EQ("the server", handler_.recv_parts().at(4));
    answer("200");
    expect_admitted();
}

TEST_P(Authentication, a_router_can_be_the_handler)
{
    bind_handler(ZMQ_ROUTER);
    begin(plain_server, plain_client);
    parts request = handler_.recv_parts();
    ASSERT_EQ(10u, request.size());
    EXPECT_EQ("", request[1]);
    handler_.send_parts({request[0], "", "1.0", "1", "200", "OK", "", ""});
    expect_admitted();
}

TEST_P(ZlinkOnlyAuthentication, the_handler_is_looked_for_when_a_peer_comes)
{
    begin(plain_server, plain_client);
    expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EFAULT);
    bind_handler();
    handler_.recv_parts();
    answer("200");
    client_.send("hello");
    EXPECT_EQ("hello", server_.recv());
}

TEST_P(ZlinkOnlyAuthentication, each_connection_is_asked_for_anew)
{
    bind_handler();
    begin(plain_server, plain_client);
    for (int i = 0; i < 3; ++i) {
        handler_.recv_parts();
        answer("200");
        client_.send("hello");
        EXPECT_EQ("hello", server_.recv());
        const std::string address = server_.last_endpoint();
        server_.unbind(address);
        EXPECT_FALSE(server_.readable(0ms)); // enters the socket, which ends the connections
        server_.bind(address);
    }
}

// --- the answer

TEST_P(Authentication, the_answer_belongs_to_each_message)
{
    bind_handler();
    begin(plain_server, plain_client);
    handler_.recv_parts();
    answer("200", "alice", "\5Hello\0\0\0\5World\3Odd\0\0\0\0"s);
    for (const auto& [name, value] :
         {std::pair{"User-Id", "alice"}, std::pair{"Hello", "World"}, std::pair{"Odd", ""},
          std::pair{"Socket-Type", "PUSH"}, std::pair{"hello", "(none)"}}) {
        client_.send("message");
        EXPECT_EQ(value, property_of_next_message(server_, name)) << name;
    }
}

// A body of this size is handed from thread to thread while the two copy it.
TEST_P(Authentication, a_large_answer_is_read_when_all_of_it_is_there)
{
    bind_handler();
    plain_server(server_);
    const std::string address = server_.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int round = 0; round < 30; ++round) {
        const std::string value(0x010000, static_cast<char>('a' + round % 26));
        test_socket client(context_, ZMQ_PUSH);
        plain_client(client);
        client.connect(address);
        handler_.recv_parts();
        answer("200", "alice", "\5Large\0\1\0\0"s + value + "\4Last\0\0\0\3end"s);
        client.send("message");
        ASSERT_TRUE(value == property_of_next_message(server_, "Large")) << round;
        client.send("message");
        ASSERT_EQ("end", property_of_next_message(server_, "Last")) << round;
    }
}

TEST_P(Authentication, the_answer_counts_before_what_the_peer_says_of_itself)
{
    bind_handler();
    begin(null_with_domain,
          [](test_socket& client) { client.set(ZMQ_METADATA, "X-Group:administrators"); });
    handler_.recv_parts();
    answer("200", "bob", "\7X-Group\0\0\0\6guests"s);
    client_.send("message");
    EXPECT_EQ("guests", property_of_next_message(server_, "X-Group"));
    client_.send("message");
    EXPECT_EQ(own_address(GetParam()), property_of_next_message(server_, "Peer-Address"));
}

TEST_P(ZlinkOnlyAuthentication, a_denied_peer_is_told_and_does_not_come_again)
{
    for (const auto& [status, code] : {std::pair{"400", 400U}, std::pair{"500", 500U}}) {
        SCOPED_TRACE(status);
        close();
        server_ = test_socket(context_, ZMQ_PULL);
        client_ = test_socket(context_, ZMQ_PUSH);
        bind_handler();
        begin(plain_server, plain_client);
        handler_.recv_parts();
        answer(status);
        expect_value(at_server_, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, code);
        at_server_->expect(ZMQ_EVENT_DISCONNECTED);
        expect_value(at_client_, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, code);
        at_client_->expect(ZMQ_EVENT_DISCONNECTED);
        EXPECT_TRUE(at_client_->quiet());
        EXPECT_TRUE(at_server_->quiet());
    }
}

TEST_P(Authentication, a_denied_peer_without_credentials_is_told_as_well)
{
    bind_handler();
    begin(null_with_domain);
    handler_.recv_parts();
    answer("400");
    expect_value(at_server_, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, 400);
    expect_value(at_client_, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, 400);
    at_client_->expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_TRUE(at_client_->quiet());
}

TEST_P(ZlinkOnlyAuthentication, a_peer_denied_for_now_tries_again)
{
    bind_handler();
    begin(plain_server, plain_client);
    handler_.recv_parts();
    answer("300");
    expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, 300);
    handler_.recv_parts();
    answer("200");
    expect_admitted();
}

TEST_P(ZlinkOnlyAuthentication, refused_peers_back_off)
{
    bind_handler();
    begin(plain_server, [](test_socket& client) {
        plain_client(client);
        client.set(ZMQ_RECONNECT_IVL, 1);
        client.set(ZMQ_RECONNECT_IVL_MAX, 16);
    });
    for (const std::uint64_t interval_ms : {1U, 2U, 4U, 8U, 16U, 16U}) {
        handler_.recv_parts();
        answer("300");
        at_client_->expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        at_client_->expect(ZMQ_EVENT_DISCONNECTED);
        expect_value(at_client_, ZMQ_EVENT_CONNECT_RETRIED, interval_ms);
    }
}

TEST_P(Authentication, malformed_answers_are_told_apart)
{
    struct {
        parts reply;
        std::uint64_t code;
    } const cases[] = {
        {{"1.0", "1", "200", "OK", ""}, ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY},
        {{"1.0", "1", "200", "OK", "", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY},
        {{"1.0"}, ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY},
        {parts(1000, "1.0"), ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY},
        {{"9.9", "42", "201", "OK", "", "\5"}, ZMQ_PROTOCOL_ERROR_ZAP_BAD_VERSION},
        {{"1.0", "42", "201", "OK", "", "\5"}, ZMQ_PROTOCOL_ERROR_ZAP_BAD_REQUEST_ID},
        {{"1.0", "1", "201", "OK", "", "\5"}, ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE},
        {{"1.0", "1", "600", "OK", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE},
        {{"1.0", "1", "20", "OK", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE},
        {{"1.0", "1", "", "OK", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE},
        {{"1.0", "1", "200", "OK", "", "\5"}, ZMQ_PROTOCOL_ERROR_ZAP_INVALID_METADATA},
    };
    bind_handler();
    begin(plain_server, plain_client);
    for (const auto& [reply, code] : cases) {
        handler_.recv_parts();
        handler_.send_parts(reply);
        expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, code);
    }
    handler_.recv_parts();
    answer("200");
    expect_admitted();
}

TEST_P(Authentication, an_answer_without_an_empty_delimiter_is_malformed)
{
    bind_handler(ZMQ_ROUTER);
    begin(plain_server, plain_client);
    const parts request = handler_.recv_parts();
    handler_.send_parts({request[0], "x", "1.0", "1", "200", "OK", "", ""});
    expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZAP_UNSPECIFIED);
}

TEST_P(Authentication, a_socket_type_in_the_answer_has_to_fit)
{
    bind_handler();
    begin(plain_server, plain_client);
    handler_.recv_parts();
    answer("200", "", "\13Socket-Type\0\0\0\3PUB"s);
    expect_value(at_server_, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                 ZMQ_PROTOCOL_ERROR_ZAP_INVALID_METADATA);
    at_server_->expect(ZMQ_EVENT_DISCONNECTED);
}

// --- handlers that do not answer

TEST_P(Authentication, a_silent_handler_is_waited_for_as_long_as_a_handshake_may_take)
{
    bind_handler();
    begin(
        [](test_socket& server) {
            plain_server(server);
            server.set(ZMQ_HANDSHAKE_IVL, 100);
        },
        plain_client);
    expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EAGAIN);
}

TEST_P(ZlinkOnlyAuthentication, a_handler_that_closes_while_it_is_asked_refuses)
{
    bind_handler();
    begin(plain_server, plain_client);
    handler_.recv_parts();
    handler_.close();
    expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EFAULT);
    while (true) { // until the new one is bound the client may be refused again
        try {
            bind_handler();
            break;
        } catch (const call_failed&) {
        }
    }
    handler_.recv_parts();
    answer("200");
    client_.send("hello");
    EXPECT_EQ("hello", server_.recv());
}

TEST_P(ZlinkOnlyAuthentication, a_socket_that_cannot_be_a_handler_is_none)
{
    for (const int type : {ZMQ_PAIR, ZMQ_PULL, ZMQ_PUB, ZMQ_DEALER}) {
        SCOPED_TRACE(type);
        close();
        server_ = test_socket(context_, ZMQ_PULL);
        client_ = test_socket(context_, ZMQ_PUSH);
        bind_handler(type);
        begin(plain_server, plain_client);
        expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EFAULT);
    }
}

TEST_P(Authentication, nothing_else_waits_for_a_slow_handler)
{
    bind_handler();
    begin(plain_server, plain_client);
    handler_.recv_parts();
    const connected_pair others = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    const_cast<test_socket&>(others.peer).send("meanwhile");
    EXPECT_EQ("meanwhile", const_cast<test_socket&>(others.bound).recv());
    answer("200");
    expect_admitted();
}

TEST_P(ZlinkOnlyAuthentication, a_handler_that_reads_nothing_is_asked_by_a_limited_number_of_peers)
{
    constexpr int most_questions = 4096;
    bind_handler();
    begin(
        [](test_socket& socket) {
            null_with_domain(socket);
            socket.set(ZMQ_HANDSHAKE_IVL, 50);
        },
        [](test_socket& socket) { socket.set(ZMQ_RECONNECT_IVL, -1); });
    // The client is none of the peers that are counted.
    while (at_server_->next().event != ZMQ_EVENT_DISCONNECTED) {
    }
    const std::string address = server_.last_endpoint();
    // The connections end when the handshake has taken too long; what was asked about them takes
    // memory until the handler's socket does something.
    constexpr int at_a_time = 100;
    int refused = 0;
    for (int asked = 0; refused == 0 && asked < 3 * most_questions; asked += at_a_time) {
        std::vector<raw_peer> peers;
        for (int peer = 0; peer < at_a_time; ++peer) {
            peers.emplace_back(address);
            peers.back().send(zmtp::greeting() + zmtp::ready("PUSH"));
        }
        for (int ended = 0; ended < at_a_time;) {
            const told event = at_server_->next();
            ended += event.event == ZMQ_EVENT_DISCONNECTED;
            if (event.event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
                EXPECT_EQ(300u, event.values.at(0));
                ++refused;
            }
        }
    }
    EXPECT_GT(refused, 0);
    EXPECT_FALSE(handler_.try_recv_parts(0ms)) << "nobody wants to know any more";
}

TEST_P(ZlinkOnlyAuthentication, a_peer_that_leaves_is_let_go_and_nobody_is_asked_about_it)
{
    bind_handler(ZMQ_ROUTER);
    begin([](test_socket& socket) {
        null_with_domain(socket);
        socket.set(ZMQ_HANDSHAKE_IVL, 0);
    });
    EXPECT_EQ(1, poll_socket(handler_, ZMQ_POLLIN, patience)); // about the client
    for (int peer = 0; peer < 20; ++peer) {
        raw_peer leaving(server_.last_endpoint());
        leaving.send(zmtp::greeting() + zmtp::ready("PUSH"));
        handler_.events(); // may find the question or not
        leaving.close();
        at_server_->expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        at_server_->expect(ZMQ_EVENT_DISCONNECTED);
    }
    const parts question = handler_.recv_parts();
    EXPECT_FALSE(handler_.try_recv_parts());
    handler_.send_parts({question.at(0), "", "1.0", question.at(3), "200", "", "", ""});
    expect_admitted();
}

TEST_P(Authentication, sockets_can_be_closed_while_a_handler_is_asked)
{
    bind_handler();
    begin(plain_server, plain_client);
    handler_.recv_parts();
    server_.close();
    answer("200"); // to nobody
    close();
    at_server_.reset();
    at_client_.reset();
    context_.term();
}

TEST_P(Authentication, a_context_ends_while_a_handler_is_asked)
{
    bind_handler();
    begin(plain_server, plain_client);
    handler_.recv_parts();
    zmq_ctx_shutdown(context_);
    EXPECT_TRUE(fails_with(ETERM, zmq_send(handler_, "", 0, 0)));
}

// --- who is asked

TEST_P(ZlinkOnlyAuthentication, without_a_domain_nobody_is_asked_of_peers_without_credentials)
{
    for (const int enforced : {0, 1}) {
        SCOPED_TRACE(enforced);
        close();
        server_ = test_socket(context_, ZMQ_PULL);
        client_ = test_socket(context_, ZMQ_PUSH);
        bind_handler();
        begin([&](test_socket& server) { server.set(ZMQ_ZAP_ENFORCE_DOMAIN, enforced); });
        expect_admitted();
        EXPECT_FALSE(handler_.readable(0ms));
    }
}

// Whoever has a domain asks, each its own question.
TEST_P(ZlinkOnlyAuthentication, both_sides_may_ask_about_peers_without_credentials)
{
    bind_handler();
    begin(null_with_domain,
          [](test_socket& client) { client.set(ZMQ_ZAP_DOMAIN, "of the client"); });
    std::vector<std::string> domains;
    for (int i = 0; i < 2; ++i) {
        domains.push_back(handler_.recv_parts().at(2));
        answer("200");
    }
    std::ranges::sort(domains);
    EXPECT_EQ((std::vector<std::string>{"global", "of the client"}), domains);
    expect_admitted();
}

TEST(AuthenticationOfInproc, is_not_asked_for)
{
    test_context context;
    test_socket handler(context, ZMQ_REP);
    handler.bind(handler_address);
    test_socket bound(context, ZMQ_PAIR);
    plain_server(bound);
    bound.set(ZMQ_ZAP_ENFORCE_DOMAIN, 1);
    bound.bind("inproc://peers");
    test_socket peer(context, ZMQ_PAIR);
    peer.connect("inproc://peers");
    peer.send("hello");
    EXPECT_EQ("hello", bound.recv());
    EXPECT_FALSE(handler.readable(0ms));
}

TEST_P(ZlinkOnlyAuthentication, a_domain_without_a_handler_admits_all_unless_it_is_enforced)
{
    begin(null_with_domain);
    expect_admitted();
    close();
    server_ = test_socket(context_, ZMQ_PULL);
    client_ = test_socket(context_, ZMQ_PUSH);
    begin([](test_socket& server) {
        null_with_domain(server);
        server.set(ZMQ_ZAP_ENFORCE_DOMAIN, 1);
    });
    expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EFAULT);
}

TEST_P(Authentication, passwords_are_always_examined)
{
    bind_handler();
    begin([](test_socket& server) { server.set(ZMQ_PLAIN_SERVER, 1); }, plain_client);
    EXPECT_EQ("", handler_.recv_parts().at(2));
    answer("200");
    expect_admitted();
}

TEST_P(ZlinkOnlyAuthentication, an_enforced_domain_that_is_not_set_admits_nobody_by_a_password)
{
    bind_handler();
    begin(
        [](test_socket& server) {
            server.set(ZMQ_PLAIN_SERVER, 1);
            server.set(ZMQ_ZAP_ENFORCE_DOMAIN, 1);
        },
        plain_client);
    expect_refused_for_now(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EFAULT);
    EXPECT_FALSE(handler_.readable(0ms));
}

TEST_P(Authentication, the_server_may_be_the_side_that_connects)
{
    bind_handler();
    plain_client(server_); // which binds
    plain_server(client_);
    client_.connect(server_.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ("admin", handler_.recv_parts().at(6));
    answer("200");
    client_.send("hello");
    EXPECT_EQ("hello", server_.recv());
}

// --- mechanisms that do not fit

TEST_P(ZlinkOnlyAuthentication, sides_with_other_mechanisms_refuse_each_other)
{
    begin(plain_server);
    for (auto* const post : {&at_server_, &at_client_}) {
        expect_value(*post, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                     ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
        (*post)->expect(ZMQ_EVENT_DISCONNECTED);
        EXPECT_TRUE((*post)->quiet());
    }
}

TEST_P(Authentication, two_clients_refuse_each_other)
{
    begin(plain_client, plain_client);
    const told at_server = at_server_->next();
    const told at_client = at_client_->next();
    // The one that sees it first closes.
    EXPECT_TRUE(at_server.event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
                at_client.event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    for (const told& each : {at_server, at_client})
        if (each.event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) {
            EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND),
                      each.values.at(0));
        }
}

TEST_P(Authentication, two_servers_give_up_when_the_handshake_has_taken_too_long)
{
    const auto impatient = [](test_socket& socket) {
        plain_server(socket);
        socket.set(ZMQ_HANDSHAKE_IVL, 100);
    };
    begin(impatient, impatient);
    const told failed = at_server_->expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    EXPECT_TRUE(failed.values.at(0) == EAGAIN || failed.values.at(0) == EPIPE ||
                failed.values.at(0) == ECONNRESET);
}

} // namespace
} // namespace zlink::test
