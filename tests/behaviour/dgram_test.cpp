// SPDX-License-Identifier: Apache-2.0
// DGRAM: plain datagrams over udp://.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/fixture.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "support/plain_udp.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class Dgram : public ::testing::Test {
protected:
    std::string bind(const std::string& address = "udp://127.0.0.1:*")
    {
        const std::string endpoint = socket_.bind_and_resolve(address);
        port_ = port_of(endpoint);
        return endpoint;
    }
    void send(const std::string& address, const std::string& body)
    {
        socket_.send(address, ZMQ_SNDMORE);
        socket_.send(body);
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_DGRAM};
    const plain_udp peer_;
    int port_ = 0;
};

TEST_F(Dgram, receives_the_address_and_the_body)
{
    bind();
    peer_.send("hello", "127.0.0.1", port_);
    EXPECT_EQ((parts{peer_.address() + "\0"s, "hello"}), socket_.recv_parts());
    peer_.send("", "127.0.0.1", port_);
    EXPECT_EQ((parts{peer_.address() + "\0"s, ""}), socket_.recv_parts());
}

TEST_F(Dgram, sends_to_the_address_given)
{
    bind();
    send(peer_.address(), "hello");
    EXPECT_EQ("hello", peer_.recv());
    send(peer_.address() + "\0"s, "as it was received");
    EXPECT_EQ("as it was received", peer_.recv());
    send(peer_.address(), "");
    EXPECT_EQ("", peer_.recv());
}

TEST_F(Dgram, two_of_them_talk)
{
    bind();
    test_socket other(context_, ZMQ_DGRAM);
    const std::string endpoint = other.bind_and_resolve("udp://127.0.0.1:*");
    for (int round = 0; round < 100; ++round) {
        send(endpoint.substr(6), std::to_string(round));
        parts got = other.recv_parts();
        EXPECT_EQ(std::to_string(round), got.at(1));
        other.send_parts(got);
        EXPECT_EQ(got[1], socket_.recv_parts().at(1));
    }
}

TEST_F(Dgram, the_last_endpoint_has_scheme_and_port)
{
    const std::string endpoint = bind();
    EXPECT_EQ("udp://127.0.0.1:" + std::to_string(port_), endpoint);
    EXPECT_LT(0, port_);
    test_socket other(context_, ZMQ_DGRAM);
    EXPECT_EQ(0u, other.bind_and_resolve("udp://*:*").find("udp://0.0.0.0:"));
    test_socket third(context_, ZMQ_DGRAM);
    EXPECT_EQ(0u, third.bind_and_resolve("udp://lo:0").find("udp://127.0.0.1:"));
}

TEST_F(Dgram, messages_have_two_parts)
{
    bind();
    EXPECT_TRUE(fails_with(EINVAL, zmq_send(socket_, "alone", 5, 0)));
    const std::string to = peer_.address();
    ASSERT_EQ(static_cast<int>(to.size()), zmq_send(socket_, to.data(), to.size(), ZMQ_SNDMORE));
    EXPECT_TRUE(fails_with(EINVAL, zmq_send(socket_, "one", 3, ZMQ_SNDMORE)));
    send(to, "whole");
    EXPECT_EQ("whole", peer_.recv());
}

TEST_F(Dgram, the_first_part_is_an_address_in_numbers)
{
    bind();
    for (const char* bad : {"", "garbage", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
                            "127.0.0.1:70000", "localhost:5555", ":5555"})
        EXPECT_TRUE(
            fails_with(EINVAL, zmq_send(socket_, bad, std::string(bad).size(), ZMQ_SNDMORE)))
            << bad;
    send(peer_.address(), "good");
    EXPECT_EQ("good", peer_.recv());
}

TEST_F(Dgram, bodies_are_limited_by_the_protocol)
{
    bind();
    const std::string largest(65'507, 'x');
    const std::string to = peer_.address();
    socket_.send(to, ZMQ_SNDMORE);
    EXPECT_TRUE(
        fails_with(EMSGSIZE, zmq_send(socket_, (largest + "x").data(), largest.size() + 1, 0)));
    for (const std::size_t size : {1u, 8191u, 8192u, 65'507u}) {
        send(to, largest.substr(0, size));
        EXPECT_EQ(size, peer_.recv().value_or("").size());
        peer_.send(largest.substr(0, size), "127.0.0.1", port_);
        EXPECT_EQ(size, socket_.recv_parts().at(1).size());
    }
}

TEST_F(Dgram, larger_ones_than_wanted_are_dropped)
{
    const std::int64_t most = 10;
    ASSERT_EQ(0, zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &most, sizeof most));
    bind();
    peer_.send(std::string(11, 'x'), "127.0.0.1", port_);
    peer_.send(std::string(10, 'y'), "127.0.0.1", port_);
    EXPECT_EQ(std::string(10, 'y'), socket_.recv_parts().at(1));
}

TEST_F(Dgram, sends_only_when_bound)
{
    const std::string to = peer_.address();
    EXPECT_EQ(0, socket_.events());
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket_, to.data(), to.size(), ZMQ_SNDMORE)));
    const std::string endpoint = bind();
    EXPECT_EQ(ZMQ_POLLOUT, socket_.events());
    socket_.unbind(endpoint);
    EXPECT_EQ(0, socket_.events());
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket_, to.data(), to.size(), ZMQ_SNDMORE)));
}

TEST_F(Dgram, only_binds_and_only_udp)
{
    EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_connect(socket_, "udp://127.0.0.1:5555")));
    for (const char* other : {"tcp://127.0.0.1:*", "ipc://*", "inproc://x"}) {
        EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_bind(socket_, other))) << other;
        EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_connect(socket_, other))) << other;
    }
    EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_bind(socket_, "foo://x")));
    for (const int type : {ZMQ_PUB, ZMQ_SUB, ZMQ_DEALER, ZMQ_STREAM}) {
        void* const stream = zmq_socket(context_, type);
        if (!stream)
            continue; // STREAM may not be built
        EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_bind(stream, "udp://127.0.0.1:5555"))) << type;
        EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_connect(stream, "udp://127.0.0.1:5555")))
            << type;
        zmq_close(stream);
    }
}

TEST_F(Dgram, bind_says_what_is_wrong)
{
    const std::pair<const char*, int> cases[] = {
        {"udp://127.0.0.1", EINVAL},         {"udp://127.0.0.1:x", EINVAL},
        {"udp://127.0.0.1:70000", EINVAL},   {"udp://", EINVAL},
        {"udp://nowhere.invalid:1", ENODEV}, {"udp://:5555", ENODEV},
        {"udp://[::1]:5555", ENODEV},        {"udp://no-such;239.0.0.1:5555", ENODEV},
        {"udp://;239.0.0.1:5555", ENODEV},   {"udp://lo;127.0.0.1:5555", EINVAL},
        {"udp://lo;*:5555", EINVAL},         {"udp://192.0.2.99:5555", EADDRNOTAVAIL},
    };
    for (const auto& [address, code] : cases)
        EXPECT_TRUE(fails_with(code, zmq_bind(socket_, address))) << address;
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket_, ("udp://" + peer_.address()).c_str())));
}

TEST_F(Dgram, an_address_is_free_after_unbind)
{
    for (int round = 0; round < 20; ++round) {
        const std::string endpoint =
            bind(round ? "udp://127.0.0.1:" + std::to_string(port_) : "udp://127.0.0.1:*");
        send(peer_.address(), "sent before the end");
        socket_.unbind(endpoint);
        EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, endpoint.c_str())));
        EXPECT_EQ("sent before the end", peer_.recv());
    }
}

TEST_F(Dgram, an_address_is_free_after_close)
{
    const std::string endpoint = bind();
    socket_.close();
    test_socket other(context_, ZMQ_DGRAM);
    other.bind(endpoint);
}

TEST_F(Dgram, closing_sends_what_is_queued)
{
    bind();
    const int size = 1 << 20;
    ::setsockopt(peer_.fd(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    socket_.set(ZMQ_LINGER, -1);
    for (int index = 0; index < 50; ++index)
        send(peer_.address(), std::to_string(index));
    socket_.close();
    context_.term();
    for (int index = 0; index < 50; ++index)
        EXPECT_EQ(std::to_string(index), peer_.recv(0ms));
}

TEST_F(Dgram, a_flood_is_held_back_and_nothing_lost_on_the_way_to_the_system)
{
    socket_.set(ZMQ_SNDHWM, 10);
    bind();
    const int size = 4 << 20;
    ::setsockopt(peer_.fd(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    constexpr int count = 2000;
    for (int index = 0; index < count; ++index) {
        send(peer_.address(), std::to_string(index));
        if (index % 100 != 99)
            continue;
        // Never more on the way than the peer has room for.
        for (int seen = index - 99; seen <= index; ++seen) {
            ASSERT_EQ(std::to_string(seen), peer_.recv());
        }
    }
}

TEST_F(Dgram, a_reader_that_is_behind_gets_what_the_system_keeps)
{
    socket_.set(ZMQ_RCVHWM, 2);
    bind();
    for (int index = 0; index < 40; ++index)
        peer_.send(std::to_string(index), "127.0.0.1", port_);
    for (int index = 0; index < 40; ++index)
        EXPECT_EQ(std::to_string(index), socket_.recv_parts().at(1));
}

TEST_F(Dgram, an_unreachable_peer_costs_only_what_is_sent_to_it)
{
    bind();
    const std::string nobody = "127.0.0.1:" + std::to_string([] {
                                   const plain_udp gone;
                                   return gone.port();
                               }());
    for (int round = 0; round < 10; ++round) {
        send(nobody, "lost");
        send("[::1]:" + std::to_string(peer_.port()), "another family");
        send(peer_.address(), std::to_string(round));
        EXPECT_EQ(std::to_string(round), peer_.recv());
    }
    peer_.send("still there", "127.0.0.1", port_);
    EXPECT_EQ("still there", socket_.recv_parts().at(1));
}

TEST_F(Dgram, talks_ipv6)
{
    socket_.set(ZMQ_IPV6, 1);
    EXPECT_EQ(0u, bind("udp://[::1]:*").find("udp://[::1]:"));
    const plain_udp six("::1");
    send(six.address(), "six");
    EXPECT_EQ("six", six.recv());
    six.send("and back", "::1", port_);
    EXPECT_EQ((parts{six.address() + "\0"s, "and back"}), socket_.recv_parts());
}

TEST_F(Dgram, the_wildcard_of_ipv6_serves_both_families)
{
    socket_.set(ZMQ_IPV6, 1);
    EXPECT_EQ(0u, bind("udp://*:*").find("udp://[::]:"));
    peer_.send("four", "127.0.0.1", port_);
    EXPECT_EQ((parts{peer_.address() + "\0"s, "four"}), socket_.recv_parts());
    send(peer_.address(), "back to four");
    EXPECT_EQ("back to four", peer_.recv());
    const plain_udp six("::1");
    six.send("six", "::1", port_);
    EXPECT_EQ((parts{six.address() + "\0"s, "six"}), socket_.recv_parts());
}

// --- multicast: on the loopback interface, so that nothing leaves this machine ----------------

class Multicast : public Dgram {
protected:
    static constexpr const char* group = "239.192.7.9";

    void send_from(const plain_udp& sender, const std::string& body) const
    {
        in_addr loopback{};
        loopback.s_addr = htonl(INADDR_LOOPBACK);
        ASSERT_EQ(
            0, ::setsockopt(sender.fd(), IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback));
        sender.send(body, group, port_);
    }
};

TEST_F(Multicast, is_received_on_the_interface_named)
{
    for (const char* interface : {"lo", "127.0.0.1"}) {
        test_socket member(context_, ZMQ_DGRAM);
        const std::string endpoint =
            member.bind_and_resolve("udp://"s + interface + ";" + group + ":*");
        EXPECT_EQ(0u, endpoint.find("udp://"s + interface + ";" + group + ":")) << endpoint;
        port_ = port_of(endpoint);
        send_from(peer_, "to the group");
        EXPECT_EQ("to the group", member.recv_parts().at(1));
        // What is sent to the machine itself is not for the group.
        peer_.send("not to the group", "127.0.0.1", port_);
        EXPECT_FALSE(member.readable(quiet_window));
    }
}

// Which it does as well if none is given; it may have none.
TEST_F(Multicast, is_received_on_an_interface_that_the_system_chooses)
{
    const bool has_one = zmq_bind(socket_, ("udp://"s + group + ":*").c_str()) == 0;
    test_socket member(context_, ZMQ_DGRAM);
    const int chosen = zmq_bind(member, ("udp://*;"s + group + ":*").c_str());
    EXPECT_EQ(has_one ? 0 : -1, chosen) << zmq_strerror(zmq_errno());
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(member, "udp://*;127.0.0.1:5555")));
}

TEST_F(Multicast, is_received_by_every_member)
{
    const std::string endpoint = bind("udp://lo;"s + group + ":*");
    test_socket second(context_, ZMQ_DGRAM);
    second.bind(endpoint);
    send_from(peer_, "to all");
    EXPECT_EQ("to all", socket_.recv_parts().at(1));
    EXPECT_EQ("to all", second.recv_parts().at(1));
}

TEST_F(Multicast, is_sent_to_members)
{
    bind("udp://lo;239.192.7.10:*");
    const plain_udp member("0.0.0.0");
    member.join(group, "127.0.0.1");
    send(group + (":" + std::to_string(member.port())), "from here");
    EXPECT_EQ("from here", member.recv());
}

TEST_F(Multicast, goes_as_far_as_wanted)
{
    socket_.set(ZMQ_MULTICAST_HOPS, 7);
    bind("udp://lo;239.192.7.10:*");
    const plain_udp member("0.0.0.0");
    member.join(group, "127.0.0.1");
    const int on = 1;
    ASSERT_EQ(0, ::setsockopt(member.fd(), IPPROTO_IP, IP_RECVTTL, &on, sizeof on));
    send(group + (":" + std::to_string(member.port())), "x");
    char body[16];
    iovec space{body, sizeof body};
    alignas(cmsghdr) char control[64];
    msghdr message{};
    message.msg_iov = &space;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ASSERT_EQ(1, ::recvmsg(member.fd(), &message, 0));
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    ASSERT_NE(nullptr, header);
    ASSERT_EQ(IP_TTL, header->cmsg_type);
    EXPECT_EQ(7, *reinterpret_cast<const int*>(CMSG_DATA(header)));
}

/// An interface that is not the loopback one, which returns everything; empty if there is none.
std::string real_interface()
{
    ifaddrs* list = nullptr;
    EXPECT_EQ(0, ::getifaddrs(&list));
    std::string found;
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next)
        if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET &&
            (entry->ifa_flags & IFF_UP) && (entry->ifa_flags & IFF_MULTICAST) &&
            !(entry->ifa_flags & IFF_LOOPBACK))
            found = entry->ifa_name;
    ::freeifaddrs(list);
    return found;
}

TEST_F(Multicast, comes_back_only_if_wanted)
{
    const std::string interface = real_interface();
    if (interface.empty())
        GTEST_SKIP() << "no interface for multicast here";
    for (const bool wanted : {true, false}) {
        test_socket sender(context_, ZMQ_DGRAM);
        sender.set(ZMQ_MULTICAST_LOOP, wanted ? 1 : 0);
        const std::string endpoint =
            sender.bind_and_resolve("udp://" + interface + ";" + group + ":*");
        sender.send(group + (":" + std::to_string(port_of(endpoint))), ZMQ_SNDMORE);
        sender.send("heard by myself");
        EXPECT_EQ(wanted, sender.readable(wanted ? patience : quiet_window));
    }
}

} // namespace
} // namespace zlink::test
