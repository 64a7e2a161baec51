// SPDX-License-Identifier: Apache-2.0
// Addresses of tcp endpoints: both families, zones, interfaces, sources, filters.
#include "support/fixture.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include "support/raw_peer.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class TcpAddresses : public ::testing::Test {
protected:
    TcpAddresses()
    {
        bound_.set(ZMQ_IPV6, 1);
        peer_.set(ZMQ_IPV6, 1);
        peer_.set(ZMQ_RECONNECT_IVL, 5);
    }
    bool delivers()
    {
        peer_.send("x");
        return bound_.readable() && bound_.recv() == "x";
    }
    static std::string port_of(const std::string& endpoint)
    {
        return endpoint.substr(endpoint.rfind(':'));
    }

    test_context context_;
    test_socket bound_{context_, ZMQ_PULL};
    test_socket peer_{context_, ZMQ_PUSH};
};

TEST_F(TcpAddresses, the_wildcard_serves_both_families)
{
    const std::string endpoint = bound_.bind_and_resolve("tcp://*:*");
    EXPECT_EQ("tcp://[::]" + port_of(endpoint), endpoint);
    peer_.connect("tcp://[::1]" + port_of(endpoint));
    EXPECT_TRUE(delivers());
    test_socket old(context_, ZMQ_PUSH);
    old.connect("tcp://127.0.0.1" + port_of(endpoint));
    old.send("four");
    EXPECT_EQ("four", bound_.recv());
}

/// Peer-Address of the next message.
std::string sender_of_next(test_socket& socket)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    EXPECT_NE(-1, zmq_msg_recv(&message, socket, 0));
    const char* const address = zmq_msg_gets(&message, "Peer-Address");
    const std::string found = address ? address : "(none)";
    zmq_msg_close(&message);
    return found;
}

TEST(PeerAddress, of_an_ipv4_peer_is_mapped_where_ipv6_is_enabled)
{
    test_context context;
    for (const bool binder : {false, true}) {
        for (const bool connector : {false, true}) {
            test_socket bound(context, ZMQ_PAIR);
            test_socket peer(context, ZMQ_PAIR);
            bound.set(ZMQ_IPV6, binder);
            peer.set(ZMQ_IPV6, connector);
            const std::string endpoint = bound.bind_and_resolve("tcp://127.0.0.1:*");
            peer.connect("tcp://127.0.0.1" + endpoint.substr(endpoint.rfind(':')));
            peer.send("x");
            bound.send("x");
            EXPECT_EQ(binder ? "::ffff:127.0.0.1" : "127.0.0.1", sender_of_next(bound));
            EXPECT_EQ(connector ? "::ffff:127.0.0.1" : "127.0.0.1", sender_of_next(peer));
        }
    }
}

TEST(PeerAddress, of_an_ipc_peer_tells_its_credentials)
{
    test_context context;
    const std::string expected = "localhost:" + std::to_string(::getuid()) + ":" +
                                 std::to_string(::getgid()) + ":" + std::to_string(::getpid());
    for (const char* address : {"ipc://*", "ipc://@zlink-peer-address-test"}) {
        test_socket bound(context, ZMQ_PAIR);
        test_socket peer(context, ZMQ_PAIR);
        peer.connect(bound.bind_and_resolve(address));
        peer.send("x");
        bound.send("x");
        EXPECT_EQ(expected, sender_of_next(bound));
        EXPECT_EQ(expected, sender_of_next(peer));
    }
}

// A process that does not serve IPv6 may be told the endpoint of one that does.
TEST(MappedLiterals, are_ipv4_addresses_where_ipv6_is_disabled)
{
    test_context context;
    for (const bool ipv6 : {false, true}) {
        test_socket bound(context, ZMQ_PULL);
        bound.set(ZMQ_IPV6, ipv6);
        const std::string port = bound.bind_and_resolve("tcp://127.0.0.1:*");
        for (const char* host : {"[::ffff:127.0.0.1]", "[::FFFF:7f00:1]", "::ffff:127.0.0.1"}) {
            test_socket peer(context, ZMQ_PUSH);
            peer.connect("tcp://" + std::string(host) + port.substr(port.rfind(':')));
            peer.send("x");
            EXPECT_EQ("x", bound.recv()) << host;
        }
    }
    test_socket bound(context, ZMQ_PULL);
    EXPECT_EQ(0u, bound.bind_and_resolve("tcp://[::ffff:127.0.0.1]:*").find("tcp://127.0.0.1:"));
}

TEST_F(TcpAddresses, ipv4_literals_are_mapped)
{
    const std::string endpoint = bound_.bind_and_resolve("tcp://127.0.0.1:*");
    EXPECT_EQ("tcp://[::ffff:127.0.0.1]" + port_of(endpoint), endpoint);
    peer_.connect("tcp://127.0.0.1" + port_of(endpoint));
    EXPECT_TRUE(delivers());
    bound_.unbind("tcp://127.0.0.1" + port_of(endpoint));
}

TEST_F(TcpAddresses, literals_may_be_without_brackets_and_ipv4_ones_with)
{
    EXPECT_EQ(0u, bound_.bind_and_resolve("tcp://::1:*").find("tcp://[::1]:"));
    peer_.connect("tcp://::1" + port_of(bound_.last_endpoint()));
    EXPECT_TRUE(delivers());
    test_socket four(context_, ZMQ_PULL);
    EXPECT_EQ(0u, four.bind_and_resolve("tcp://[127.0.0.1]:*").find("tcp://127.0.0.1:"));
    EXPECT_EQ(0u, four.bind_and_resolve("tcp://[*]:*").find("tcp://0.0.0.0:"));
}

TEST_F(TcpAddresses, an_interface_stands_for_its_ipv6_address)
{
    const std::string endpoint = bound_.bind_and_resolve("tcp://lo:*");
    EXPECT_EQ("tcp://[::1]" + port_of(endpoint), endpoint);
    peer_.connect(endpoint);
    EXPECT_TRUE(delivers());
}

/// The name of an interface with a link-local address, and the address; empty if there is none.
std::pair<std::string, std::string> link_local()
{
    ifaddrs* list = nullptr;
    EXPECT_EQ(0, ::getifaddrs(&list));
    std::pair<std::string, std::string> found;
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET6)
            continue;
        const auto* address = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
        char text[INET6_ADDRSTRLEN];
        if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr) &&
            ::inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof text))
            found = {entry->ifa_name, text};
    }
    ::freeifaddrs(list);
    return found;
}

TEST_F(TcpAddresses, zones_name_the_interface)
{
    const auto [interface, address] = link_local();
    if (interface.empty())
        GTEST_SKIP() << "no link-local address here";
    const std::string host = "tcp://[" + address + "%" + interface + "]";
    const std::string endpoint = bound_.bind_and_resolve(host + ":*");
    EXPECT_EQ(host + port_of(endpoint), endpoint);
    peer_.connect(endpoint);
    EXPECT_TRUE(delivers());
    // The number of the interface will do as well.
    const std::string number = std::to_string(::if_nametoindex(interface.c_str()));
    peer_.disconnect(endpoint);
    peer_.connect("tcp://[" + address + "%" + number + "]" + port_of(endpoint));
    EXPECT_TRUE(delivers());
    EXPECT_TRUE(
        fails_with(ENODEV, zmq_bind(bound_, ("tcp://[" + address + "%no-such]:*").c_str())));
}

TEST_F(TcpAddresses, a_socket_without_ipv6_does_not_connect_to_it)
{
    const std::string endpoint = bound_.bind_and_resolve("tcp://[::1]:*");
    test_socket old(context_, ZMQ_PUSH);
    old.set(ZMQ_RECONNECT_IVL, 5);
    old.connect(endpoint);
    old.send("never sent");
    EXPECT_FALSE(bound_.readable(quiet_window));
}

TEST_F(TcpAddresses, names_are_looked_up_in_both_families)
{
    test_socket four(context_, ZMQ_PULL);
    const std::string port = port_of(four.bind_and_resolve("tcp://127.0.0.1:*"));
    peer_.connect("tcp://localhost" + port);
    peer_.send("by name");
    EXPECT_EQ("by name", four.recv());
}

std::string source_of(test_socket& sink)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    EXPECT_LE(0, zmq_msg_recv(&message, sink, 0));
    const int fd = std::stoi(zmq_msg_gets(&message, "__fd"));
    zmq_msg_close(&message);
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    EXPECT_EQ(0, ::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &bytes));
    char text[INET6_ADDRSTRLEN] = {};
    if (address.ss_family == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
        ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
        return text + (":" + std::to_string(ntohs(v4->sin_port)));
    }
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    return text + (":" + std::to_string(ntohs(v6->sin6_port)));
}

TEST_F(TcpAddresses, connections_come_from_the_given_source)
{
    test_socket sink(context_, ZMQ_PULL);
    const std::string target = sink.bind_and_resolve("tcp://127.0.0.1:*").substr(6);
    const std::string wanted = known_address(transport::tcp).substr(6);
    peer_.connect("tcp://" + wanted + ";" + target);
    peer_.send("x");
    EXPECT_EQ(wanted, source_of(sink));
    for (const char* source : {"127.0.0.2:0", "127.0.0.3:*"}) {
        test_socket other(context_, ZMQ_PUSH);
        other.connect("tcp://" + std::string(source) + ";" + target);
        other.send("x");
        const std::string from = source_of(sink);
        EXPECT_EQ(0u, from.find(std::string(source).substr(0, 10))) << from;
    }
    // Sources of any family will do if they name no address of the other.
    for (const char* source : {"lo:0", "*:0"}) {
        test_socket other(context_, ZMQ_PUSH);
        other.set(ZMQ_IPV6, 1);
        other.connect("tcp://" + std::string(source) + ";" + target);
        other.send("x");
        EXPECT_EQ(0u, source_of(sink).find("127.0.0.1:")) << source;
    }
}

TEST_F(TcpAddresses, connections_of_ipv6_come_from_the_given_source)
{
    const std::string target = bound_.bind_and_resolve("tcp://[::1]:*").substr(6);
    peer_.connect("tcp://[::1]:0;" + target);
    peer_.send("x");
    EXPECT_EQ(0u, source_of(bound_).find("::1:"));
    test_socket other(context_, ZMQ_PUSH);
    other.set(ZMQ_IPV6, 1);
    other.connect("tcp://lo:0;" + target);
    other.send("x");
    EXPECT_EQ(0u, source_of(bound_).find("::1:"));
}

TEST_F(TcpAddresses, a_source_that_is_not_there_is_tried_for_ever)
{
    test_socket sink(context_, ZMQ_PULL);
    const std::string target = sink.bind_and_resolve("tcp://127.0.0.1:*").substr(6);
    for (const char* source :
         {"192.0.2.99:0", "no-such-interface:0", "[::1]:0", "127.0.0.1", "127.0.0.1:port", ":0"}) {
        test_socket other(context_, ZMQ_PUSH);
        other.set(ZMQ_RECONNECT_IVL, 5);
        const std::string address = "tcp://" + std::string(source) + ";" + target;
        EXPECT_EQ(0, zmq_connect(other, address.c_str())) << source;
        other.send("never sent");
        EXPECT_FALSE(sink.readable(20ms)) << source;
    }
}

TEST_F(TcpAddresses, hosts_begin_as_hosts_do)
{
    for (const char* host : {"$x", "-x", ".x", "_x", "[::1", "/x", "", "*"})
        EXPECT_TRUE(fails_with(
            EINVAL, zmq_connect(peer_, ("tcp://" + std::string(host) + ":5555").c_str())))
            << host;
    EXPECT_TRUE(fails_with(ENODEV, zmq_bind(bound_, "tcp://:*")));
}

// --- ZMQ_TCP_ACCEPT_FILTER ---------------------------------------------------------------------

class AcceptFilter : public ::testing::Test {
protected:
    /// Does a connection from 127.0.0.1 get as far as being greeted?
    bool admitted(const std::string& endpoint)
    {
        const auto connection = raw_peer(endpoint);
        return !connection.recv_at_most(1).empty();
    }

    test_context context_;
    test_socket bound_{context_, ZMQ_PULL};
};

TEST_F(AcceptFilter, admits_all_without_filters)
{
    EXPECT_TRUE(admitted(bound_.bind_and_resolve("tcp://127.0.0.1:*")));
}

TEST_F(AcceptFilter, admits_whom_a_filter_names)
{
    bound_.set(ZMQ_TCP_ACCEPT_FILTER, "10.0.0.0/8");
    bound_.set(ZMQ_TCP_ACCEPT_FILTER, "127.0.0.0/8");
    EXPECT_TRUE(admitted(bound_.bind_and_resolve("tcp://127.0.0.1:*")));
}

TEST_F(AcceptFilter, sends_others_away_and_goes_on_accepting)
{
    bound_.set(ZMQ_TCP_ACCEPT_FILTER, "127.0.0.2");
    const std::string endpoint = bound_.bind_and_resolve("tcp://127.0.0.1:*");
    for (int round = 0; round < 3; ++round)
        EXPECT_FALSE(admitted(endpoint));
    test_socket peer(context_, ZMQ_PUSH);
    peer.connect("tcp://127.0.0.2:0;" + endpoint.substr(6));
    peer.send("from an address that may");
    EXPECT_EQ("from an address that may", bound_.recv());
}

TEST_F(AcceptFilter, knows_ipv4_peers_of_ipv6_listeners)
{
    bound_.set(ZMQ_IPV6, 1);
    bound_.set(ZMQ_TCP_ACCEPT_FILTER, "127.0.0.1");
    EXPECT_TRUE(admitted(bound_.bind_and_resolve("tcp://*:*")));
    test_socket other(context_, ZMQ_PULL);
    other.set(ZMQ_IPV6, 1);
    other.set(ZMQ_TCP_ACCEPT_FILTER, "::1");
    EXPECT_FALSE(admitted(other.bind_and_resolve("tcp://*:*")));
}

TEST_F(AcceptFilter, counts_as_it_was_when_the_endpoint_was_bound)
{
    bound_.set(ZMQ_TCP_ACCEPT_FILTER, "10.0.0.0/8");
    const std::string closed = bound_.bind_and_resolve("tcp://127.0.0.1:*");
    ASSERT_EQ(0, zmq_setsockopt(bound_, ZMQ_TCP_ACCEPT_FILTER, nullptr, 0));
    const std::string open = bound_.bind_and_resolve("tcp://127.0.0.1:*");
    EXPECT_FALSE(admitted(closed));
    EXPECT_TRUE(admitted(open));
}

TEST_F(AcceptFilter, refuses_what_is_no_network)
{
    for (const char* bad : {"", "localhost", "10.0.0.0/33", "::1"})
        EXPECT_TRUE(fails_with(
            EINVAL, zmq_setsockopt(bound_, ZMQ_TCP_ACCEPT_FILTER, bad, std::string(bad).size())))
            << bad;
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(bound_, ZMQ_TCP_ACCEPT_FILTER, nullptr, 1)));
}

} // namespace
} // namespace zlink::test
