// SPDX-License-Identifier: Apache-2.0
// Sockets that talk over TLS, and peers that are refused.
#define ZMQ_BUILD_DRAFT_API
#include "support/certificates.hpp"
#include "support/endpoint.hpp"
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <atomic>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* any_port = "tls://127.0.0.1:*";

const certificate& authority()
{
    static const certificate made = certificate::authority();
    return made;
}

class ZlinkOnlyTls : public ::testing::Test {
protected:
    static void show(test_socket& socket, const certificate& own)
    {
        socket.set(ZMQ_TLS_CERT, own.text());
        socket.set(ZMQ_TLS_KEY, own.key());
    }
    test_socket server(int type, const certificate& own = authority().sign())
    {
        test_socket socket(context_, type);
        show(socket, own);
        return socket;
    }
    test_socket client(int type, const certificate& trusted = authority())
    {
        test_socket socket(context_, type);
        socket.set(ZMQ_TLS_CA, trusted.text());
        return socket;
    }

    test_context context_;
};

TEST_F(ZlinkOnlyTls, carries_requests_and_replies)
{
    test_socket rep = server(ZMQ_REP);
    test_socket req = client(ZMQ_REQ);
    const std::string address = rep.bind_and_resolve(any_port);
    EXPECT_EQ(0U, address.find("tls://127.0.0.1:"));
    req.connect(address);
    for (int i = 0; i < 100; ++i) {
        req.send("question " + std::to_string(i));
        ASSERT_EQ("question " + std::to_string(i), rep.recv());
        rep.send_parts({"answer", std::to_string(i)});
        ASSERT_EQ((parts{"answer", std::to_string(i)}), req.recv_parts());
    }
}

TEST_F(ZlinkOnlyTls, carries_bodies_of_all_sizes_both_ways)
{
    test_socket bound = server(ZMQ_PAIR);
    test_socket peer = client(ZMQ_PAIR);
    peer.connect(bound.bind_and_resolve(any_port));
    for (const std::size_t bytes :
         {0, 1, 255, 256, 16'000, 16'384, 16'385, 65'536, 1'000'000, 30'000'000}) {
        std::string body(bytes, '\0');
        for (std::size_t i = 0; i < bytes; ++i)
            body[i] = static_cast<char>(i * 31 + i / 251);
        peer.send(body);
        bound.send(body);
        ASSERT_TRUE(body == bound.recv()) << bytes;
        ASSERT_TRUE(body == peer.recv()) << bytes;
    }
}

TEST_F(ZlinkOnlyTls, loses_nothing_of_many_messages)
{
    test_socket pull = server(ZMQ_PULL);
    test_socket push = client(ZMQ_PUSH);
    push.connect(pull.bind_and_resolve(any_port));
    constexpr int messages = 20'000;
    std::thread sender([&] {
        for (int i = 0; i < messages; ++i)
            push.send(std::to_string(i) + std::string(static_cast<std::size_t>(i % 300), 'x'));
    });
    for (int i = 0; i < messages; ++i)
        ASSERT_EQ(std::to_string(i) + std::string(static_cast<std::size_t>(i % 300), 'x'),
                  pull.recv());
    sender.join();
}

TEST_F(ZlinkOnlyTls, is_named_tls_tcp_as_well)
{
    test_socket pull = server(ZMQ_PULL);
    test_socket push = client(ZMQ_PUSH);
    const std::string address = pull.bind_and_resolve("tls+tcp://127.0.0.1:*");
    EXPECT_EQ(0U, address.find("tls://"));
    push.connect("tls+tcp" + address.substr(3));
    push.send("x");
    EXPECT_EQ("x", pull.recv());
}

TEST_F(ZlinkOnlyTls, takes_files_as_well_as_texts)
{
    const std::string at = scratch_directory() + "/tls_files_";
    const certificate own = authority().sign();
    std::ofstream(at + "cert.pem") << own.text();
    std::ofstream(at + "key.pem") << own.key("secret");
    std::ofstream(at + "ca.pem") << authority().text();
    test_socket pull(context_, ZMQ_PULL);
    pull.set(ZMQ_TLS_CERT, at + "cert.pem");
    pull.set(ZMQ_TLS_KEY, at + "key.pem");
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(pull, any_port))); // without the password
    pull.set(ZMQ_TLS_PASSWORD, "wrong");
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(pull, any_port)));
    pull.set(ZMQ_TLS_PASSWORD, "secret");
    test_socket push(context_, ZMQ_PUSH);
    push.set(ZMQ_TLS_CA, at + "ca.pem");
    push.connect(pull.bind_and_resolve(any_port));
    push.send("x");
    EXPECT_EQ("x", pull.recv());
    EXPECT_EQ(at + "cert.pem", pull.get_text(ZMQ_TLS_CERT));
}

TEST_F(ZlinkOnlyTls, shows_new_connections_what_a_changed_file_says)
{
    const std::string at = scratch_directory() + "/tls_renewed_";
    const auto write = [&](const certificate& own) {
        std::ofstream(at + "both.pem.new") << own.text() << own.key();
        ASSERT_EQ(0, std::rename((at + "both.pem.new").c_str(), (at + "both.pem").c_str()));
    };
    write(authority().sign());
    test_socket pull(context_, ZMQ_PULL);
    pull.set(ZMQ_TLS_CERT, at + "both.pem");
    pull.set(ZMQ_TLS_KEY, at + "both.pem");
    const std::string address = pull.bind_and_resolve(any_port);
    test_socket first = client(ZMQ_PUSH);
    first.connect(address);
    first.send("before");
    EXPECT_EQ("before", pull.recv());

    const certificate other = certificate::authority("another authority");
    write(other.sign());
    test_socket second = client(ZMQ_PUSH, other);
    second.connect(address);
    second.send("after");
    EXPECT_EQ("after", pull.recv());
    first.send("still there");
    EXPECT_EQ("still there", pull.recv());
}

TEST_F(ZlinkOnlyTls, shows_new_connections_the_certificate_that_is_set_again)
{
    test_socket pull = server(ZMQ_PULL);
    const std::string address = pull.bind_and_resolve(any_port);
    test_socket first = client(ZMQ_PUSH);
    first.connect(address);
    first.send("before");
    EXPECT_EQ("before", pull.recv());

    const certificate other = certificate::authority("another authority");
    const auto arrives_from_who_trusts = [&](const certificate& trusted, const std::string& body) {
        test_socket push = client(ZMQ_PUSH, trusted);
        push.connect(address);
        push.send(body);
        EXPECT_EQ(body, pull.recv());
    };
    const certificate renewed = other.sign();
    pull.set(ZMQ_TLS_CERT, renewed.text()); // does not fit the key that is there
    arrives_from_who_trusts(authority(), "between");
    pull.set(ZMQ_TLS_KEY, renewed.key());
    arrives_from_who_trusts(other, "after");

    // By the names of libzmq, with a key that is encrypted, and in the other order.
    const certificate again = authority().sign();
    pull.set(ZMQ_TLS_PASSWORD, "secret");
    pull.set(ZMQ_WSS_KEY_PEM, again.key("secret"));
    arrives_from_who_trusts(other, "between again");
    pull.set(ZMQ_WSS_CERT_PEM, again.text());
    arrives_from_who_trusts(authority(), "after again");

    first.send("still there");
    EXPECT_EQ("still there", pull.recv());
}

TEST_F(ZlinkOnlyTls, keeps_its_certificate_while_what_is_set_again_cannot_be_used)
{
    test_socket pull = server(ZMQ_PULL);
    const std::string address = pull.bind_and_resolve(any_port);
    for (const std::string wrong :
         {"", "/there/is/no/such/file", "-----BEGIN CERTIFICATE-----\n"}) {
        pull.set(ZMQ_TLS_CERT, wrong);
        pull.set(ZMQ_TLS_KEY, wrong);
        test_socket push = client(ZMQ_PUSH);
        push.connect(address);
        push.send(wrong);
        EXPECT_EQ(wrong, pull.recv());
        EXPECT_TRUE(fails_with(EINVAL, zmq_bind(pull, any_port))); // but other endpoints need one
    }
}

TEST_F(ZlinkOnlyTls, is_given_certificates_while_peers_connect)
{
    test_socket pull = server(ZMQ_PULL);
    const std::string address = pull.bind_and_resolve(any_port);
    std::atomic<bool> done{false};
    std::thread peers([&] {
        for (int i = 0; i < 50; ++i) {
            test_socket push = client(ZMQ_PUSH);
            push.set(ZMQ_LINGER, -1);
            push.connect(address);
            push.send("x");
        }
        done = true;
    });
    const certificate both[] = {authority().sign(), authority().sign()};
    int received = 0;
    for (std::size_t i = 0; !done || received < 50; ++i) {
        show(pull, both[i % 2]);
        if (pull.readable(1ms)) {
            EXPECT_EQ("x", pull.recv());
            ++received;
        }
    }
    peers.join();
    EXPECT_EQ(50, received);
}

TEST_F(ZlinkOnlyTls, endpoint_without_what_it_needs_is_invalid)
{
    test_socket socket(context_, ZMQ_PAIR);
    const certificate own = authority().sign();
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, any_port)));
    socket.set(ZMQ_TLS_CERT, own.text());
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, any_port)));
    socket.set(ZMQ_TLS_KEY, authority().sign().key()); // of another
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, any_port)));
    socket.set(ZMQ_TLS_KEY, "/there/is/no/such/file");
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, any_port)));
    const std::string fifo = scratch_directory() + "/fifo";
    ASSERT_EQ(0, ::mkfifo(fifo.c_str(), 0600));
    socket.set(ZMQ_TLS_KEY, fifo); // nobody writes to it
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, any_port)));
    const std::string damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    socket.set(ZMQ_TLS_KEY, own.key());
    socket.set(ZMQ_TLS_CERT, own.text() + damaged);
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, any_port)));
    socket.set(ZMQ_TLS_CERT, own.text());
    socket.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 2); // by whom?
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, any_port)));
    socket.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 0);
    socket.bind(any_port);

    test_socket peer(context_, ZMQ_PAIR);
    for (const std::string& ca : {std::string("/there/is/no/such/file"), scratch_directory(),
                                  damaged, authority().text() + damaged}) {
        peer.set(ZMQ_TLS_CA, ca);
        EXPECT_TRUE(fails_with(EINVAL, zmq_connect(peer, "tls://127.0.0.1:1")));
    }
    peer.set(ZMQ_TLS_CA, "");
    peer.set(ZMQ_TLS_TRUST_SYSTEM, 0);
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(peer, "tls://127.0.0.1:1"))); // trusts nobody
    peer.set(ZMQ_TLS_VERIFY, 0);
    // With the ciphers of the last list nobody would show a certificate.
    for (const char* const ciphers : {"NO_SUCH_CIPHER", "aNULL:@SECLEVEL=0"}) {
        peer.set(ZMQ_TLS_CIPHERS, ciphers);
        EXPECT_TRUE(fails_with(EINVAL, zmq_connect(peer, "tls://127.0.0.1:1")));
    }
    peer.set(ZMQ_TLS_CIPHERS, "");
    peer.set(ZMQ_TLS_PINNED, "0123");
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(peer, "tls://127.0.0.1:1")));
}

TEST_F(ZlinkOnlyTls, name_of_the_server_has_no_nul_but_at_its_end)
{
    const certificate own = authority().sign({.other_names = "DNS:example.org"});
    test_socket pull = server(ZMQ_PULL, own);
    const std::string address = pull.bind_and_resolve(any_port);
    test_socket push(context_, ZMQ_PUSH);
    push.set(ZMQ_TLS_CA, authority().text());
    for (const std::string& name : {std::string("example.org\0.test", 17), std::string(2, '\0')}) {
        push.set(ZMQ_TLS_HOSTNAME, name);
        EXPECT_TRUE(fails_with(EINVAL, zmq_connect(push, address.c_str())));
    }
    push.set(ZMQ_TLS_HOSTNAME, std::string("example.org\0", 12));
    push.connect(address);
    push.send("x");
    EXPECT_EQ("x", pull.recv());
}

TEST_F(ZlinkOnlyTls, name_of_the_server_does_not_begin_with_a_dot)
{
    test_socket push(context_, ZMQ_PUSH);
    push.set(ZMQ_TLS_CA, authority().text());
    for (const int option : {ZMQ_TLS_HOSTNAME, ZMQ_WSS_HOSTNAME})
        for (const char* name : {".example.org", ".", ".."})
            EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(push, option, name, strlen(name))));
    for (const char* endpoint : {"tls://.example.org:1", "wss://.example.org:1/"})
        EXPECT_TRUE(fails_with(EINVAL, zmq_connect(push, endpoint)));
}

TEST_F(ZlinkOnlyTls, name_of_a_nul_alone_is_that_of_the_host_connected_to)
{
    test_socket pull = server(ZMQ_PULL);
    test_socket push(context_, ZMQ_PUSH);
    push.set(ZMQ_TLS_CA, authority().text());
    push.set(ZMQ_TLS_HOSTNAME, std::string(1, '\0'));
    push.connect(pull.bind_and_resolve(any_port));
    push.send("x");
    EXPECT_EQ("x", pull.recv());
}

TEST_F(ZlinkOnlyTls, options_are_checked_and_read_back)
{
    test_socket socket(context_, ZMQ_PAIR);
    EXPECT_EQ(1, socket.get(ZMQ_TLS_VERIFY));
    EXPECT_EQ(1, socket.get(ZMQ_TLS_TRUST_SYSTEM));
    EXPECT_EQ(0, socket.get(ZMQ_TLS_REQUIRE_CLIENT_CERT));
    EXPECT_EQ(ZMQ_TLS_1_2, socket.get(ZMQ_TLS_MIN_VERSION));
    EXPECT_EQ("", socket.get_text(ZMQ_TLS_CA));
    for (const auto& [option, wrong] : {std::pair{ZMQ_TLS_VERIFY, 2},
                                        {ZMQ_TLS_REQUIRE_CLIENT_CERT, 3},
                                        {ZMQ_TLS_TRUST_SYSTEM, -1},
                                        {ZMQ_TLS_MIN_VERSION, 0x0302}})
        EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket, option, &wrong, sizeof wrong)));
    const std::string too_long(256, 'h');
    for (const int option : {ZMQ_TLS_HOSTNAME, ZMQ_WSS_HOSTNAME})
        EXPECT_TRUE(
            fails_with(EINVAL, zmq_setsockopt(socket, option, too_long.data(), too_long.size())));
    char text[64];
    std::size_t bytes = sizeof text;
    EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket, ZMQ_TLS_KEY, text, &bytes)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket, ZMQ_TLS_PASSWORD, text, &bytes)));
}

TEST_F(ZlinkOnlyTls, goes_by_the_options_of_libzmq_for_wss)
{
    const certificate own = authority().sign({.other_names = "DNS:example.org"});
    test_socket pull(context_, ZMQ_PULL);
    pull.set(ZMQ_WSS_CERT_PEM, own.text());
    pull.set(ZMQ_WSS_KEY_PEM, own.key());
    test_socket push(context_, ZMQ_PUSH);
    push.set(ZMQ_WSS_TRUST_PEM, authority().text());
    push.set(ZMQ_WSS_HOSTNAME, "example.org");
    push.set(ZMQ_WSS_TRUST_SYSTEM, 0);
    push.connect(pull.bind_and_resolve(any_port));
    push.send("x");
    EXPECT_EQ("x", pull.recv());
    char text[64];
    std::size_t bytes = sizeof text;
    for (const int option : {ZMQ_WSS_CERT_PEM, ZMQ_WSS_KEY_PEM, ZMQ_WSS_TRUST_PEM, ZMQ_WSS_HOSTNAME,
                             ZMQ_WSS_TRUST_SYSTEM})
        EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(push, option, text, &bytes)));
}

// --- who is refused

/// A connection that comes about only if both sides agree.
class ZlinkOnlyTlsRefusal : public ZlinkOnlyTls {
protected:
    // What each of the two is told.
    struct errors {
        std::uint64_t client = 0;
        std::uint64_t server = 0;
    };
    errors meet(test_socket& bound, test_socket& peer, const std::string& host = "127.0.0.1")
    {
        peer.set(ZMQ_RECONNECT_IVL, -1);
        const std::string address = bound.bind_and_resolve(any_port);
        listening_post here(context_, bound, failures);
        listening_post there(context_, peer, failures);
        peer.connect("tls://" + host + address.substr(address.rfind(':')));
        const told refusing = there.next();
        const told refused = here.next();
        EXPECT_EQ(0, zmq_socket_monitor(bound, nullptr, 0));
        EXPECT_EQ(0, zmq_socket_monitor(peer, nullptr, 0));
        EXPECT_EQ(std::uint64_t{ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL}, refusing.event);
        EXPECT_EQ(std::uint64_t{ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL}, refused.event);
        return {refusing.values.at(0), refused.values.at(0)};
    }
    errors meet_with(const certificate& own, const std::string& host = "127.0.0.1")
    {
        test_socket bound = server(ZMQ_PULL, own);
        test_socket peer = client(ZMQ_PUSH);
        return meet(bound, peer, host);
    }

    static constexpr std::uint64_t failures =
        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
};

TEST_F(ZlinkOnlyTlsRefusal, meets_certificates_of_an_unknown_authority)
{
    const errors told = meet_with(certificate::authority("unknown").sign());
    EXPECT_EQ(std::uint64_t{EKEYREJECTED}, told.client);
    EXPECT_EQ(std::uint64_t{EKEYREJECTED}, told.server);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_certificates_that_signed_themselves)
{
    EXPECT_EQ(std::uint64_t{EKEYREJECTED}, meet_with(certificate::self_signed()).client);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_expired_certificates)
{
    const errors told = meet_with(authority().sign({.valid_from_s = -7200, .valid_to_s = -3600}));
    EXPECT_EQ(std::uint64_t{EKEYEXPIRED}, told.client);
    EXPECT_EQ(std::uint64_t{EKEYEXPIRED}, told.server);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_certificates_that_are_not_yet_valid)
{
    EXPECT_EQ(std::uint64_t{EKEYEXPIRED},
              meet_with(authority().sign({.valid_from_s = 3600, .valid_to_s = 7200})).client);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_certificates_of_another_host)
{
    const certificate other =
        authority().sign({.name = "example.org", .other_names = "DNS:example.org,IP:192.0.2.1"});
    EXPECT_EQ(std::uint64_t{EADDRNOTAVAIL}, meet_with(other).client);
    EXPECT_EQ(std::uint64_t{EADDRNOTAVAIL}, meet_with(other, "localhost").client);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_certificates_whose_common_name_alone_fits)
{
    for (const char* others : {"", "IP:192.0.2.1", "email:a@localhost"}) {
        const certificate named = authority().sign({.name = "localhost", .other_names = others});
        EXPECT_EQ(std::uint64_t{EADDRNOTAVAIL}, meet_with(named, "localhost").client) << others;
    }
}

TEST_F(ZlinkOnlyTlsRefusal, meets_certificates_for_another_use)
{
    EXPECT_EQ(std::uint64_t{EKEYREJECTED},
              meet_with(authority().sign({.key_usage = "clientAuth"})).client);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_keys_that_are_not_pinned)
{
    test_socket bound = server(ZMQ_PULL);
    test_socket peer = client(ZMQ_PUSH);
    peer.set(ZMQ_TLS_PINNED, authority().sign().public_key_hash());
    peer.set(ZMQ_RECONNECT_IVL, -1);
    listening_post there(context_, peer, failures);
    peer.connect(bound.bind_and_resolve(any_port));
    EXPECT_EQ(std::uint64_t{EKEYREJECTED},
              there.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).values.at(0));
}

TEST_F(ZlinkOnlyTlsRefusal, meets_clients_without_a_certificate)
{
    test_socket bound = server(ZMQ_PULL);
    bound.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 2);
    bound.set(ZMQ_TLS_CA, authority().text());
    test_socket peer = client(ZMQ_PUSH);
    const errors told = meet(bound, peer);
    EXPECT_EQ(std::uint64_t{ENOKEY}, told.client);
    EXPECT_EQ(std::uint64_t{ENOKEY}, told.server);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_clients_of_an_unknown_authority_even_where_none_is_required)
{
    for (const int required : {1, 2}) {
        test_socket bound = server(ZMQ_PULL);
        bound.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, required);
        bound.set(ZMQ_TLS_CA, authority().text());
        test_socket peer = client(ZMQ_PUSH);
        show(peer, certificate::authority("unknown").sign());
        EXPECT_EQ(std::uint64_t{EKEYREJECTED}, meet(bound, peer).server);
    }
}

TEST_F(ZlinkOnlyTlsRefusal, meets_peers_without_a_common_version_or_cipher)
{
    {
        test_socket bound = server(ZMQ_PULL);
        bound.set(ZMQ_TLS_MIN_VERSION, ZMQ_TLS_1_3);
        test_socket peer = client(ZMQ_PUSH);
        peer.set(ZMQ_TLS_CIPHERS, "ECDHE-ECDSA-AES128-GCM-SHA256"); // of TLS 1.2
        const errors told = meet(bound, peer);
        EXPECT_EQ(std::uint64_t{EPROTONOSUPPORT}, told.client);
        EXPECT_EQ(std::uint64_t{EPROTONOSUPPORT}, told.server);
    }
    test_socket bound = server(ZMQ_PULL);
    bound.set(ZMQ_TLS_CIPHERS, "TLS_AES_128_GCM_SHA256");
    test_socket peer = client(ZMQ_PUSH);
    peer.set(ZMQ_TLS_CIPHERS, "TLS_AES_256_GCM_SHA384");
    EXPECT_EQ(std::uint64_t{EPROTONOSUPPORT}, meet(bound, peer).server);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_who_speaks_no_tls)
{
    test_socket bound = server(ZMQ_PULL);
    const std::string address = bound.bind_and_resolve(any_port);
    listening_post here(context_, bound, failures);
    const raw_peer plain("tcp" + address.substr(3));
    plain.send(std::string("\xff\0\0\0\0\0\0\0\1\x7f\3", 11) + std::string(53, '\0'));
    EXPECT_EQ(std::uint64_t{EPROTO},
              here.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).values.at(0));
    EXPECT_TRUE(plain.ended() || !plain.recv_to_end().empty());

    test_socket push = client(ZMQ_PUSH); // and nobody else is disturbed
    push.connect(address);
    push.send("x");
    EXPECT_EQ("x", bound.recv());
}

TEST_F(ZlinkOnlyTlsRefusal, meets_tls_where_none_is_spoken)
{
    test_socket bound(context_, ZMQ_PULL);
    const std::string address = bound.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket peer = client(ZMQ_PUSH);
    peer.set(ZMQ_RECONNECT_IVL, -1);
    listening_post there(context_, peer, failures);
    peer.connect("tls" + address.substr(3));
    there.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
}

TEST_F(ZlinkOnlyTlsRefusal, meets_who_stops_in_the_midst_of_the_handshake)
{
    test_socket bound = server(ZMQ_PULL);
    bound.set(ZMQ_HANDSHAKE_IVL, 200);
    const std::string address = bound.bind_and_resolve(any_port);
    listening_post here(context_, bound, failures);
    const raw_peer slow("tcp" + address.substr(3));
    slow.send(std::string("\x16\x03\x01\x02\x00\x01", 6)); // the head of a ClientHello
    here.expect(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    EXPECT_TRUE(slow.ended());
}

// --- who is admitted

TEST_F(ZlinkOnlyTls, admits_clients_with_a_certificate_or_without_where_that_may_be_missing)
{
    test_socket pull = server(ZMQ_PULL);
    pull.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    pull.set(ZMQ_TLS_CA, authority().text());
    const std::string address = pull.bind_and_resolve(any_port);
    test_socket with = client(ZMQ_PUSH);
    show(with, authority().sign({.name = "a client", .other_names = ""}));
    with.connect(address);
    with.send("with");
    EXPECT_EQ("with", pull.recv());
    test_socket without = client(ZMQ_PUSH);
    without.connect(address);
    without.send("without");
    EXPECT_EQ("without", pull.recv());
}

TEST_F(ZlinkOnlyTls, checks_the_name_it_is_told_to)
{
    test_socket pull = server(ZMQ_PULL, authority().sign({.other_names = "DNS:example.org"}));
    test_socket push = client(ZMQ_PUSH);
    push.set(ZMQ_TLS_HOSTNAME, "example.org");
    push.connect(pull.bind_and_resolve(any_port));
    push.send("x");
    EXPECT_EQ("x", pull.recv());
}

TEST_F(ZlinkOnlyTls, does_not_check_where_it_is_told_not_to_but_pins)
{
    const certificate own = certificate::self_signed({.other_names = "DNS:example.org"});
    test_socket pull = server(ZMQ_PULL, own);
    test_socket push(context_, ZMQ_PUSH);
    push.set(ZMQ_TLS_VERIFY, 0);
    push.set(ZMQ_TLS_PINNED, own.public_key_hash());
    push.connect(pull.bind_and_resolve(any_port));
    push.send("x");
    EXPECT_EQ("x", pull.recv());
}

TEST_F(ZlinkOnlyTls, reconnects_and_goes_on)
{
    const certificate own = authority().sign();
    test_socket push = client(ZMQ_PUSH);
    std::string address;
    for (int round = 0; round < 5; ++round) {
        test_socket pull = server(ZMQ_PULL, own);
        if (round == 0) {
            address = pull.bind_and_resolve(any_port);
            push.connect(address);
        } else {
            ASSERT_TRUE(wait_until([&] { return pull.try_bind(address); }));
        }
        ASSERT_TRUE(push.writable());
        // What went to the old connection may be lost with it.
        ASSERT_TRUE(wait_until([&] {
            push.try_send("x");
            return pull.readable(5ms);
        }));
        EXPECT_EQ("x", pull.recv());
    }
}

TEST_F(ZlinkOnlyTls, carries_other_mechanisms)
{
    test_socket pull = server(ZMQ_PULL);
    test_socket push = client(ZMQ_PUSH);
    if (zmq_has("curve") == 0)
        GTEST_SKIP() << "built without CURVE";
    char public_key[41];
    char secret_key[41];
    ASSERT_EQ(0, zmq_curve_keypair(public_key, secret_key));
    pull.set(ZMQ_CURVE_SERVER, 1);
    pull.set(ZMQ_CURVE_SECRETKEY, std::string_view(secret_key, 41));
    push.set(ZMQ_CURVE_SERVERKEY, std::string_view(public_key, 41));
    push.set(ZMQ_CURVE_PUBLICKEY, std::string_view(public_key, 41));
    push.set(ZMQ_CURVE_SECRETKEY, std::string_view(secret_key, 41));
    push.connect(pull.bind_and_resolve(any_port));
    push.send("x");
    EXPECT_EQ("x", pull.recv());
}

TEST_F(ZlinkOnlyTls, speaks_raw_bytes_with_stream_sockets)
{
    test_socket bound = server(ZMQ_STREAM);
    test_socket peer = client(ZMQ_STREAM);
    const std::string address = bound.bind_and_resolve(any_port);
    peer.connect(address);
    const parts arrived = bound.recv_parts();
    ASSERT_EQ(2U, arrived.size());
    bound.send_parts({arrived[0], "hello"});
    const parts connected = peer.recv_parts();
    EXPECT_EQ("", connected.at(1));
    EXPECT_EQ((parts{connected[0], "hello"}), peer.recv_parts());
}

TEST_F(ZlinkOnlyTls, is_told_of_by_zmq_has)
{
    EXPECT_EQ(1, zmq_has("tls"));
    EXPECT_EQ(1, zmq_has("TLS"));
}

} // namespace
} // namespace zlink::test
