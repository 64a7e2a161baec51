// SPDX-License-Identifier: Apache-2.0
// What TLS shows of a peer: properties of its messages, and what a handler of ZAP is asked.
#define ZMQ_BUILD_DRAFT_API
#include "support/certificates.hpp"
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <map>

namespace zlink::test {
namespace {

using namespace std::string_literals;
using properties = std::map<std::string, std::string>;

const certificate& authority()
{
    static const certificate made = certificate::authority();
    return made;
}

class ZlinkOnlyTlsPeer : public ::testing::Test {
protected:
    static void show(test_socket& socket, const certificate& own)
    {
        socket.set(ZMQ_TLS_CERT, own.text());
        socket.set(ZMQ_TLS_KEY, own.key());
    }
    void link(const std::string& address = "tls://127.0.0.1:*")
    {
        show(server_, server_certificate_);
        server_.set(ZMQ_TLS_CA, authority().text());
        server_.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
        client_.set(ZMQ_TLS_CA, authority().text());
        client_.connect(server_.bind_and_resolve(address));
    }
    /// What the next message tells of its sender.
    static properties told_by(test_socket& socket)
    {
        zmq_msg_t message;
        zmq_msg_init(&message);
        EXPECT_NE(-1, zmq_msg_recv(&message, socket, 0)) << zmq_strerror(zmq_errno());
        properties found;
        for (const char* name : {"TLS-Version", "Peer-CN", "Peer-SAN", "Peer-Fingerprint"})
            if (const char* const value = zmq_msg_gets(&message, name))
                found[name] = value;
        zmq_msg_close(&message);
        return found;
    }
    properties of_client()
    {
        client_.send("to the server");
        return told_by(server_);
    }
    properties of_server()
    {
        server_.send("to the client");
        return told_by(client_);
    }

    test_context context_;
    test_socket server_{context_, ZMQ_PAIR};
    test_socket client_{context_, ZMQ_PAIR};
    const certificate server_certificate_ = authority().sign();
};

TEST_F(ZlinkOnlyTlsPeer, is_told_by_its_messages)
{
    const certificate own = authority().sign(
        {.name = "robot 7",
         .other_names =
             "DNS:robot.example,IP:192.0.2.1,IP:2001:db8::1,email:a@b.example,URI:spiffe://x/y"});
    show(client_, own);
    link();
    EXPECT_EQ((properties{
                  {"TLS-Version", "TLSv1.3"},
                  {"Peer-CN", "robot 7"},
                  {"Peer-SAN", "DNS:robot.example,IP:192.0.2.1,IP:2001:db8::1,email:a@b.example,"
                               "URI:spiffe://x/y"},
                  {"Peer-Fingerprint", own.fingerprint()},
              }),
              of_client());
    EXPECT_EQ((properties{
                  {"TLS-Version", "TLSv1.3"},
                  {"Peer-CN", "localhost"},
                  {"Peer-SAN", "DNS:localhost,IP:127.0.0.1,IP:::1"},
                  {"Peer-Fingerprint", server_certificate_.fingerprint()},
              }),
              of_server());
}

TEST_F(ZlinkOnlyTlsPeer, is_told_over_wss_as_well)
{
    show(client_, authority().sign({.name = "browser"}));
    link("wss://127.0.0.1:*");
    EXPECT_EQ("browser", of_client()["Peer-CN"]);
}

TEST_F(ZlinkOnlyTlsPeer, without_a_certificate_has_a_version_only)
{
    client_.set(ZMQ_TLS_MIN_VERSION, 0x0303);
    link();
    EXPECT_EQ((properties{{"TLS-Version", "TLSv1.3"}}), of_client());
}

// Its name is what anybody may have written.
TEST_F(ZlinkOnlyTlsPeer, that_was_not_examined_has_no_name)
{
    const certificate own = certificate::self_signed({.name = "admin"});
    show(server_, own);
    client_.set(ZMQ_TLS_VERIFY, 0);
    client_.connect(server_.bind_and_resolve("tls://127.0.0.1:*"));
    EXPECT_EQ((properties{{"TLS-Version", "TLSv1.3"}, {"Peer-Fingerprint", own.fingerprint()}}),
              of_server());
}

TEST_F(ZlinkOnlyTlsPeer, has_no_name_with_control_characters)
{
    show(client_, authority().sign({.name = "two\nlines", .other_names = "DNS:good.example"}));
    link();
    const properties found = of_client();
    EXPECT_EQ(0u, found.count("Peer-CN"));
    EXPECT_EQ("DNS:good.example", found.at("Peer-SAN"));
}

TEST(ZlinkOnlyTcpPeer, cannot_say_what_only_tls_can_show)
{
    test_context context;
    test_socket pull(context, ZMQ_PULL);
    raw_peer peer(pull.bind_and_resolve("tcp://127.0.0.1:*"));
    peer.send(
        zmtp::greeting() +
        zmtp::ready("PUSH", zmtp::property("Peer-CN", "admin") + zmtp::property("X-Else", "said")) +
        zmtp::frame("hello"));
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_NE(-1, zmq_msg_recv(&message, pull, 0));
    EXPECT_STREQ("said", zmq_msg_gets(&message, "X-Else"));
    EXPECT_EQ(nullptr, zmq_msg_gets(&message, "Peer-CN"));
    zmq_msg_close(&message);
}

// --- ZAP

class ZlinkOnlyTlsAuthentication : public ZlinkOnlyTlsPeer {
protected:
    ZlinkOnlyTlsAuthentication()
    {
        handler_.bind("inproc://zeromq.zap.01");
        server_.set(ZMQ_ZAP_DOMAIN, "robots");
    }
    void answer(const std::string& status)
    {
        handler_.send_parts({"1.0", "1", status, "", "", ""});
    }

    test_socket handler_{context_, ZMQ_REP};
};

TEST_F(ZlinkOnlyTlsAuthentication, is_asked_for_what_the_certificate_says)
{
    const certificate own = authority().sign({.name = "robot 7", .other_names = "DNS:r7.example"});
    show(client_, own);
    link();
    const parts request = handler_.recv_parts();
    EXPECT_EQ((parts{"1.0", "1", "robots", "127.0.0.1", "", "NULL"}),
              parts(request.begin(), request.begin() + 6));
    ASSERT_EQ(7u, request.size());
    EXPECT_EQ(zmtp::property("TLS-Version", "TLSv1.3") +
                  zmtp::property("Peer-Fingerprint", own.fingerprint()) +
                  zmtp::property("Peer-CN", "robot 7") +
                  zmtp::property("Peer-SAN", "DNS:r7.example"),
              request.back());
    answer("200");
    EXPECT_EQ("robot 7", of_client()["Peer-CN"]);
}

TEST_F(ZlinkOnlyTlsAuthentication, refuses_whom_the_handler_refuses)
{
    listening_post here(context_, server_, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    link();
    EXPECT_EQ(zmtp::property("TLS-Version", "TLSv1.3"), handler_.recv_parts().back());
    answer("400");
    EXPECT_EQ(400u, here.expect(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH).values.at(0));
}

} // namespace
} // namespace zlink::test
