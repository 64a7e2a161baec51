// SPDX-License-Identifier: Apache-2.0
// From which moment on options for the network count: the kernel is asked about the descriptors.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/draft.hpp"
#include "support/fixture.hpp"
#include "support/plain_udp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <filesystem>
#include <set>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

int kernel_option(int fd, int level, int name)
{
    int value = -1;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(0, ::getsockopt(fd, level, name, &value, &bytes));
    return value;
}

// --- connections of tcp -----------------------------------------------------------------------

/// The descriptor of the connection over which the next message comes.
int receiving_fd(test_socket& socket)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    EXPECT_LE(0, zmq_msg_recv(&message, socket, 0));
    const char* const fd = zmq_msg_gets(&message, "__fd");
    const int number = fd ? std::stoi(fd) : -1;
    zmq_msg_close(&message);
    return number;
}

/// An option that has one value when the endpoint is made and another one later.
struct changing_option {
    int option;
    int at_first;
    int later;
    int level; ///< for the kernel, as is the next one
    int name;
};
using changing_options = std::vector<changing_option>;

const changing_options keep_alives_on{
    {ZMQ_TCP_KEEPALIVE, 1, 0, SOL_SOCKET, SO_KEEPALIVE},
    {ZMQ_TCP_KEEPALIVE_CNT, 3, 5, IPPROTO_TCP, TCP_KEEPCNT},
    {ZMQ_TCP_KEEPALIVE_IDLE, 77, 99, IPPROTO_TCP, TCP_KEEPIDLE},
    {ZMQ_TCP_KEEPALIVE_INTVL, 11, 13, IPPROTO_TCP, TCP_KEEPINTVL},
};
const changing_options keep_alives_off{{ZMQ_TCP_KEEPALIVE, 0, 1, SOL_SOCKET, SO_KEEPALIVE}};
const changing_options higher_priority{{ZMQ_PRIORITY, 3, 5, SOL_SOCKET, SO_PRIORITY}};
const changing_options no_priority{{ZMQ_PRIORITY, 0, 5, SOL_SOCKET, SO_PRIORITY}};

class TcpOptionMoments : public ::testing::Test {
protected:
    static void set_first(test_socket& socket, const changing_options& options)
    {
        for (const changing_option& each : options)
            socket.set(each.option, each.at_first);
    }
    static void set_later(test_socket& socket, const changing_options& options)
    {
        for (const changing_option& each : options)
            socket.set(each.option, each.later);
    }
    static void expect_first(int fd, const changing_options& options)
    {
        ASSERT_LE(0, fd);
        for (const changing_option& each : options)
            EXPECT_EQ(each.at_first, kernel_option(fd, each.level, each.name)) << each.option;
    }
    void expect_of_the_bind_for_every_peer(const changing_options& options)
    {
        test_socket bound(context_, ZMQ_DEALER);
        set_first(bound, options);
        const std::string address = bound.bind_and_resolve("tcp://127.0.0.1:*");
        set_later(bound, options);
        for (int peer_number = 0; peer_number < 2; ++peer_number) {
            test_socket peer(context_, ZMQ_DEALER);
            peer.connect(address);
            peer.send("x");
            expect_first(receiving_fd(bound), options);
        }
    }
    void expect_of_the_connect_for_every_connection(const changing_options& options)
    {
        const std::string address = known_address(transport::tcp);
        test_socket peer(context_, ZMQ_DEALER);
        peer.set(ZMQ_RECONNECT_IVL, 5);
        set_first(peer, options);
        peer.connect(address);
        set_later(peer, options);
        for (int connection = 0; connection < 2; ++connection) {
            test_socket bound(context_, ZMQ_DEALER);
            ASSERT_TRUE(wait_until([&] { return zmq_bind(bound, address.c_str()) == 0; }));
            ASSERT_TRUE(bound.writable());
            bound.send("x");
            expect_first(receiving_fd(peer), options);
        }
    }

    test_context context_;
};

TEST_F(TcpOptionMoments, keep_alives_are_those_of_the_bind_for_whoever_comes_later)
{
    for (const changing_options& options : {keep_alives_on, keep_alives_off})
        expect_of_the_bind_for_every_peer(options);
}

TEST_F(TcpOptionMoments, keep_alives_are_those_of_the_connect_for_every_connection)
{
    for (const changing_options& options : {keep_alives_on, keep_alives_off})
        expect_of_the_connect_for_every_connection(options);
}

TEST_F(TcpOptionMoments, the_priority_is_that_of_the_bind_for_whoever_comes_later)
{
    for (const changing_options& options : {higher_priority, no_priority})
        expect_of_the_bind_for_every_peer(options);
}

TEST_F(TcpOptionMoments, the_priority_is_that_of_the_connect_for_every_connection)
{
    for (const changing_options& options : {higher_priority, no_priority})
        expect_of_the_connect_for_every_connection(options);
}

// --- multicast: on the loopback interface, so that nothing leaves this machine ----------------

/// The descriptors of this process that are datagram sockets of IPv4.
std::set<int> datagram_descriptors()
{
    std::set<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(entry.path().filename().string());
        int type = 0;
        int domain = 0;
        socklen_t bytes = sizeof type;
        if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_DGRAM &&
            ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_INET)
            found.insert(fd);
    }
    return found;
}

class MulticastMoments : public ::testing::Test {
protected:
    static constexpr const char* group = "239.192.7.12";

    MulticastMoments() { member_.join(group, "127.0.0.1"); }

    std::string address() const { return group + (":" + std::to_string(member_.port())); }

    /// @param make binds or connects
    /// @param send sends to the group
    void expect_of_the_endpoint(int type, const configuration& make, const configuration& send)
    {
        struct {
            int hops;
            int loop;
        } const cases[] = {{7, 1}, {9, 0}};
        for (const auto& [hops, loop] : cases) {
            const std::set<int> others = datagram_descriptors();
            test_context context;
            test_socket socket(context, type);
            socket.set(ZMQ_MULTICAST_HOPS, hops);
            socket.set(ZMQ_MULTICAST_LOOP, loop);
            make(socket);
            socket.set(ZMQ_MULTICAST_HOPS, 5);
            socket.set(ZMQ_MULTICAST_LOOP, 1 - loop);
            // When something arrives, the descriptor is there and ready.
            ASSERT_TRUE(wait_until([&] {
                send(socket);
                return member_.recv(20ms).has_value();
            }));
            std::set<int> own = datagram_descriptors();
            for (const int fd : others)
                own.erase(fd);
            ASSERT_EQ(1u, own.size());
            EXPECT_EQ(hops, kernel_option(*own.begin(), IPPROTO_IP, IP_MULTICAST_TTL));
            EXPECT_EQ(loop, kernel_option(*own.begin(), IPPROTO_IP, IP_MULTICAST_LOOP));
        }
    }

    plain_udp member_{"0.0.0.0"};
};

TEST_F(MulticastMoments, hops_and_loop_are_those_of_the_bind)
{
    expect_of_the_endpoint(
        ZMQ_DGRAM, [](test_socket& socket) { socket.bind("udp://lo;239.192.7.13:*"); },
        [this](test_socket& socket) {
            socket.send_parts({address(), "x"});
        });
}

TEST_F(MulticastMoments, hops_and_loop_are_those_of_the_connect)
{
    expect_of_the_endpoint(
        ZMQ_RADIO, [this](test_socket& socket) { socket.connect("udp://lo;" + address()); },
        [](test_socket& socket) { send_in(socket, "group", "x"); });
}

} // namespace
} // namespace zlink::test
