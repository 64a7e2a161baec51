// SPDX-License-Identifier: Apache-2.0
// From which moment on options for the network count: the kernel is asked about the descriptors.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/draft.hpp"
#include "support/fixture.hpp"
#include "support/plain_udp.hpp"
#include "support/raw_peer.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <utility>
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
const changing_options small_buffers{
    {ZMQ_SNDBUF, 30'000, 50'000, SOL_SOCKET, SO_SNDBUF},
    {ZMQ_RCVBUF, 40'000, 60'000, SOL_SOCKET, SO_RCVBUF},
};
const changing_options low_delay{{ZMQ_TOS, 0x28, 0x10, IPPROTO_IP, IP_TOS}};
const changing_options no_service{{ZMQ_TOS, 0, 0x10, IPPROTO_IP, IP_TOS}};
const changing_options busy_polling{{ZMQ_BUSY_POLL, 20, 30, SOL_SOCKET, SO_BUSY_POLL}};

/// What the kernel says when it has been told the first value.
int in_the_kernel(const changing_option& option)
{
    const bool doubled = option.option == ZMQ_SNDBUF || option.option == ZMQ_RCVBUF;
    return doubled ? 2 * option.at_first : option.at_first;
}

std::string device_of(int fd)
{
    char name[32] = {};
    socklen_t bytes = sizeof name;
    EXPECT_EQ(0, ::getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &bytes));
    return name;
}

/// May this user give a socket of tcp the option?
bool may_set(int name, const void* value, std::size_t bytes)
{
    const raw_peer probe(::socket(AF_INET, SOCK_STREAM, 0));
    return ::setsockopt(probe.fd(), SOL_SOCKET, name, value, static_cast<socklen_t>(bytes)) == 0;
}

bool may_poll_busily()
{
    return may_set(SO_BUSY_POLL, &busy_polling[0].at_first, sizeof busy_polling[0].at_first);
}

bool may_bind_to_devices()
{
    return may_set(SO_BINDTODEVICE, "lo", 2);
}

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
            EXPECT_EQ(in_the_kernel(each), kernel_option(fd, each.level, each.name)) << each.option;
    }
    /// @param check is called with the descriptor of each of two connections
    void accept_after_a_change(const configuration& at_bind, const configuration& later,
                               const std::function<void(int)>& check)
    {
        test_socket bound(context_, ZMQ_DEALER);
        at_bind(bound);
        const std::string address = bound.bind_and_resolve("tcp://127.0.0.1:*");
        later(bound);
        for (int peer_number = 0; peer_number < 2; ++peer_number) {
            test_socket peer(context_, ZMQ_DEALER);
            peer.connect(address);
            peer.send("x");
            check(receiving_fd(bound));
        }
    }
    void connect_before_a_change(const configuration& at_connect, const configuration& later,
                                 const std::function<void(int)>& check)
    {
        const std::string address = known_address(transport::tcp);
        test_socket peer(context_, ZMQ_DEALER);
        peer.set(ZMQ_RECONNECT_IVL, 5);
        at_connect(peer);
        peer.connect(address);
        later(peer);
        for (int connection = 0; connection < 2; ++connection) {
            test_socket bound(context_, ZMQ_DEALER);
            ASSERT_TRUE(wait_until([&] { return bound.try_bind(address); }));
            ASSERT_TRUE(bound.writable());
            bound.send("x");
            check(receiving_fd(peer));
        }
    }
    void expect_of_the_bind_for_every_peer(const changing_options& options)
    {
        accept_after_a_change([&](test_socket& socket) { set_first(socket, options); },
                              [&](test_socket& socket) { set_later(socket, options); },
                              [&](int fd) { expect_first(fd, options); });
    }
    void expect_of_the_connect_for_every_connection(const changing_options& options)
    {
        connect_before_a_change([&](test_socket& socket) { set_first(socket, options); },
                                [&](test_socket& socket) { set_later(socket, options); },
                                [&](int fd) { expect_first(fd, options); });
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

TEST_F(TcpOptionMoments, buffer_sizes_are_those_of_the_bind_for_whoever_comes_later)
{
    expect_of_the_bind_for_every_peer(small_buffers);
}

TEST_F(TcpOptionMoments, buffer_sizes_are_those_of_the_connect_for_every_connection)
{
    expect_of_the_connect_for_every_connection(small_buffers);
}

#ifdef SO_BUF_LOCK
class TcpReceiveBuffer : public TcpOptionMoments {
protected:
    static constexpr int size_is_fixed = 2; // SOCK_RCVBUF_LOCK of the kernel

    void SetUp() override
    {
        TcpOptionMoments::SetUp();
        if (!IsSkipped() && !may_set(SO_BUF_LOCK, &size_is_fixed, sizeof size_is_fixed))
            GTEST_SKIP() << "this kernel does not tell (Linux 5.14 does)";
    }
    static bool is_fixed(int fd)
    {
        return (kernel_option(fd, SOL_SOCKET, SO_BUF_LOCK) & size_is_fixed) != 0;
    }
    template <class Expect>
    void expect_by_default(Expect expect)
    {
        const auto nothing = [](test_socket&) {};
        accept_after_a_change(nothing, nothing, expect);
        connect_before_a_change(nothing, nothing, expect);
    }
};

// A buffer of a fixed size drops small segments when it is full of them: a receiver that was
// stopped for a while then waits for seconds until they are sent again.
TEST_F(TcpReceiveBuffer, may_grow_unless_its_size_is_given)
{
    expect_by_default([](int fd) { EXPECT_FALSE(is_fixed(fd)); });
    accept_after_a_change([](test_socket& socket) { set_first(socket, small_buffers); },
                          [](test_socket&) {}, [](int fd) { EXPECT_TRUE(is_fixed(fd)); });
}

using ZlinkOnlyTcpReceiveBuffer = TcpReceiveBuffer;

// One thread that receives from many finds little to read at each turn otherwise.
TEST_F(ZlinkOnlyTcpReceiveBuffer, is_large_from_the_beginning_within_the_machine)
{
    int most_bytes = 0;
    if (!(std::ifstream("/proc/sys/net/core/rmem_max") >> most_bytes))
        most_bytes = 212'992; // what it is by default: containers may not be told
    const int asked_for_bytes = std::min(most_bytes, 512 * 1024);
    expect_by_default(
        [&](int fd) { EXPECT_LE(2 * asked_for_bytes, kernel_option(fd, SOL_SOCKET, SO_RCVBUF)); });
}
#endif

TEST_F(TcpOptionMoments, the_type_of_service_is_that_of_the_bind_for_whoever_comes_later)
{
    for (const changing_options& options : {low_delay, no_service})
        expect_of_the_bind_for_every_peer(options);
}

TEST_F(TcpOptionMoments, the_type_of_service_is_that_of_the_connect_for_every_connection)
{
    for (const changing_options& options : {low_delay, no_service})
        expect_of_the_connect_for_every_connection(options);
}

TEST_F(TcpOptionMoments, busy_polling_is_that_of_the_bind_for_whoever_comes_later)
{
    if (!may_poll_busily())
        GTEST_SKIP() << "needs a privilege";
    expect_of_the_bind_for_every_peer(busy_polling);
}

TEST_F(TcpOptionMoments, busy_polling_is_that_of_the_connect_for_every_connection)
{
    if (!may_poll_busily())
        GTEST_SKIP() << "needs a privilege";
    expect_of_the_connect_for_every_connection(busy_polling);
}

/// A device, or none, when the endpoint is made, and another one afterwards.
class DeviceMoments : public TcpOptionMoments {
protected:
    void SetUp() override
    {
        if (!may_bind_to_devices())
            GTEST_SKIP() << "needs a privilege";
    }
    static configuration set_device(const std::string& name)
    {
        return [name](test_socket& socket) {
            zmq_setsockopt(socket, ZMQ_BINDTODEVICE, name.empty() ? nullptr : name.c_str(),
                           name.size());
            ASSERT_EQ(name, socket.get_text(ZMQ_BINDTODEVICE));
        };
    }

    const std::vector<std::pair<std::string, std::string>> changes_{
        {"lo", ""}, {"lo", "no-such-device"}, {"", "lo"}, {"", "no-such-device"}};
};

TEST_F(DeviceMoments, it_is_that_of_the_bind_for_whoever_comes_later)
{
    for (const auto& [at_bind, later] : changes_)
        accept_after_a_change(set_device(at_bind), set_device(later),
                              [&](int fd) { EXPECT_EQ(at_bind, device_of(fd)); });
}

TEST_F(DeviceMoments, it_is_that_of_the_connect_for_every_connection)
{
    for (const auto& [at_connect, later] : changes_)
        connect_before_a_change(set_device(at_connect), set_device(later),
                                [&](int fd) { EXPECT_EQ(at_connect, device_of(fd)); });
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

/// Those that have been opened since `others` were counted.
std::set<int> datagram_descriptors_but(const std::set<int>& others)
{
    std::set<int> own = datagram_descriptors();
    for (const int fd : others)
        own.erase(fd);
    return own;
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
            const std::set<int> own = datagram_descriptors_but(others);
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

// --- udp --------------------------------------------------------------------------------------

// The genuine library gives none of these to the kernel.
class ZlinkOnlyUdpOptions : public ::testing::Test {
protected:
    /// @param exchange binds or connects, and returns when a datagram has gone through
    void expect_in_the_kernel(int type, const std::function<void(test_socket&)>& exchange)
    {
        const std::set<int> others = datagram_descriptors();
        test_context context; // of its own, so that its descriptors are closed in the end
        test_socket socket(context, type);
        socket.set(ZMQ_SNDBUF, 30'000);
        socket.set(ZMQ_RCVBUF, 40'000);
        socket.set(ZMQ_TOS, 0x28);
        exchange(socket);
        const std::set<int> own = datagram_descriptors_but(others);
        ASSERT_EQ(1u, own.size());
        EXPECT_EQ(60'000, kernel_option(*own.begin(), SOL_SOCKET, SO_SNDBUF));
        EXPECT_EQ(80'000, kernel_option(*own.begin(), SOL_SOCKET, SO_RCVBUF));
        EXPECT_EQ(0x28, kernel_option(*own.begin(), IPPROTO_IP, IP_TOS));
    }

    const plain_udp peer_;
};

TEST_F(ZlinkOnlyUdpOptions, buffer_sizes_and_type_of_service_are_those_of_a_dgram)
{
    expect_in_the_kernel(ZMQ_DGRAM, [&](test_socket& socket) {
        socket.bind("udp://127.0.0.1:*");
        socket.send_parts({peer_.address(), "x"});
        ASSERT_EQ("x", peer_.recv());
    });
}

TEST_F(ZlinkOnlyUdpOptions, buffer_sizes_and_type_of_service_are_those_of_a_dish)
{
    const in_addr loopback{htonl(INADDR_LOOPBACK)};
    ASSERT_EQ(0, ::setsockopt(peer_.fd(), IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback));
    for (const auto& [interface, host] : {std::pair{"", "127.0.0.1"}, {"lo;", "239.192.7.14"}})
        expect_in_the_kernel(
            ZMQ_DISH, [&, where = std::string(interface) + host, to = host](test_socket& socket) {
                ASSERT_EQ(0, zmq_join(socket, "TV"));
                const std::string endpoint = socket.bind_and_resolve("udp://" + where + ":*");
                peer_.send("\2TVx", to, port_of(endpoint));
                ASSERT_EQ("x", socket.recv());
            });
}

TEST_F(ZlinkOnlyUdpOptions, buffer_sizes_and_type_of_service_are_those_of_a_radio)
{
    for (const char* host : {"127.0.0.1", "lo;239.192.7.15"}) {
        const plain_udp receiver("0.0.0.0");
        receiver.join("239.192.7.15", "127.0.0.1");
        expect_in_the_kernel(ZMQ_RADIO, [&](test_socket& socket) {
            socket.connect("udp://" + std::string(host) + ":" + std::to_string(receiver.port()));
            ASSERT_TRUE(wait_until([&] {
                send_in(socket, "TV", "x");
                return receiver.recv(20ms) == "\2TVx";
            }));
        });
    }
}

} // namespace
} // namespace zlink::test
