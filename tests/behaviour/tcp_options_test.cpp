// SPDX-License-Identifier: Apache-2.0
// What the options for tcp connections do: the kernel is asked about the connection's descriptor.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/fixture.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "support/raw_peer.hpp"

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

/// The descriptor of the connection over which the next message comes.
int receiving_fd(test_socket& socket)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    EXPECT_LE(0, zmq_msg_recv(&message, socket, 0));
    const char* fd = zmq_msg_gets(&message, "__fd");
    const int number = fd ? std::stoi(fd) : -1;
    zmq_msg_close(&message);
    return number;
}

/// A connection with the same options on both sides, and what the kernel says of each side.
class TcpOptions : public ::testing::Test {
protected:
    void connect(const configuration& configure, const std::string& address = "tcp://127.0.0.1:*")
    {
        configure(bound_);
        configure(peer_);
        peer_.connect(bound_.bind_and_resolve(address));
        peer_.send("to the bound one");
        bound_.send("to the other");
        accepted_fd_ = receiving_fd(bound_);
        connected_fd_ = receiving_fd(peer_);
        ASSERT_LE(0, accepted_fd_);
        ASSERT_LE(0, connected_fd_);
        ASSERT_NE(accepted_fd_, connected_fd_);
    }

    void expect_both(int expected, int level, int name)
    {
        EXPECT_EQ(expected, kernel_option(accepted_fd_, level, name)) << "accepted side";
        EXPECT_EQ(expected, kernel_option(connected_fd_, level, name)) << "connected side";
    }

    test_context context_;
    test_socket bound_{context_, ZMQ_PAIR};
    test_socket peer_{context_, ZMQ_PAIR};
    int accepted_fd_ = -1;
    int connected_fd_ = -1;
};

TEST_F(TcpOptions, batching_is_left_to_the_library)
{
    connect([](test_socket&) {});
    expect_both(1, IPPROTO_TCP, TCP_NODELAY);
}

TEST_F(TcpOptions, keep_alives)
{
    connect([](test_socket& socket) {
        socket.set(ZMQ_TCP_KEEPALIVE, 1);
        socket.set(ZMQ_TCP_KEEPALIVE_CNT, 3);
        socket.set(ZMQ_TCP_KEEPALIVE_IDLE, 77);
        socket.set(ZMQ_TCP_KEEPALIVE_INTVL, 11);
    });
    expect_both(1, SOL_SOCKET, SO_KEEPALIVE);
    expect_both(3, IPPROTO_TCP, TCP_KEEPCNT);
    expect_both(77, IPPROTO_TCP, TCP_KEEPIDLE);
    expect_both(11, IPPROTO_TCP, TCP_KEEPINTVL);
}

TEST_F(TcpOptions, keep_alives_can_be_switched_off)
{
    connect([](test_socket& socket) { socket.set(ZMQ_TCP_KEEPALIVE, 0); });
    expect_both(0, SOL_SOCKET, SO_KEEPALIVE);
}

/// What the kernel makes of an option of a fresh socket; `set` is given to it before.
int plain_option(int family, int level, int name, std::optional<int> set = {})
{
    const raw_peer plain(::socket(family, SOCK_STREAM, 0));
    if (set) {
        EXPECT_EQ(0, ::setsockopt(plain.fd(), level, name, &*set, sizeof *set));
    }
    return kernel_option(plain.fd(), level, name);
}

TEST_F(TcpOptions, keep_alives_are_left_alone_by_default)
{
    connect([](test_socket&) {});
    expect_both(plain_option(AF_INET, SOL_SOCKET, SO_KEEPALIVE), SOL_SOCKET, SO_KEEPALIVE);
}

TEST_F(TcpOptions, keep_alives_are_as_the_system_wants_them_unless_told_otherwise)
{
    connect([](test_socket& socket) { socket.set(ZMQ_TCP_KEEPALIVE, 1); });
    expect_both(1, SOL_SOCKET, SO_KEEPALIVE);
    for (const int name : {TCP_KEEPCNT, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_USER_TIMEOUT})
        expect_both(plain_option(AF_INET, IPPROTO_TCP, name), IPPROTO_TCP, name);
}

TEST_F(TcpOptions, the_time_until_unacknowledged_data_ends_the_connection)
{
    connect([](test_socket& socket) { socket.set(ZMQ_TCP_MAXRT, 4321); });
    expect_both(4321, IPPROTO_TCP, TCP_USER_TIMEOUT);
}

TEST_F(TcpOptions, type_of_service)
{
    connect([](test_socket& socket) { socket.set(ZMQ_TOS, 0x28); });
    expect_both(0x28, IPPROTO_IP, IP_TOS);
}

TEST_F(TcpOptions, type_of_service_of_ipv6)
{
    connect(
        [](test_socket& socket) {
            socket.set(ZMQ_IPV6, 1);
            socket.set(ZMQ_TOS, 0x28);
        },
        "tcp://[::1]:*");
    expect_both(0x28, IPPROTO_IPV6, IPV6_TCLASS);
}

TEST_F(TcpOptions, priority)
{
    connect([](test_socket& socket) {
        socket.set(ZMQ_TOS, 0x28); // sets a priority as well: the explicit one counts
        socket.set(ZMQ_PRIORITY, 5);
    });
    expect_both(5, SOL_SOCKET, SO_PRIORITY);
}

TEST_F(TcpOptions, buffer_sizes)
{
    connect([](test_socket& socket) {
        socket.set(ZMQ_SNDBUF, 30'000);
        socket.set(ZMQ_RCVBUF, 40'000);
    });
    // The kernel doubles what it is asked for.
    expect_both(60'000, SOL_SOCKET, SO_SNDBUF);
    expect_both(80'000, SOL_SOCKET, SO_RCVBUF);
}

TEST_F(TcpOptions, buffer_sizes_of_nothing_are_left_to_the_kernel_to_correct)
{
    connect([](test_socket& socket) {
        socket.set(ZMQ_SNDBUF, 0);
        socket.set(ZMQ_RCVBUF, 0);
    });
    expect_both(plain_option(AF_INET, SOL_SOCKET, SO_SNDBUF, 0), SOL_SOCKET, SO_SNDBUF);
    expect_both(plain_option(AF_INET, SOL_SOCKET, SO_RCVBUF, 0), SOL_SOCKET, SO_RCVBUF);
}

using ZlinkOnlyTcpOptions = TcpOptions;

TEST_F(ZlinkOnlyTcpOptions, little_is_under_way_within_a_machine)
{
    connect([](test_socket&) {});
    expect_both(512 * 1024, SOL_SOCKET, SO_SNDBUF);
}

TEST_F(ZlinkOnlyTcpOptions, little_is_under_way_within_a_machine_over_ipv6)
{
    connect([](test_socket& socket) { socket.set(ZMQ_IPV6, 1); }, "tcp://[::1]:*");
    expect_both(512 * 1024, SOL_SOCKET, SO_SNDBUF);
}

TEST_F(ZlinkOnlyTcpOptions, buffer_sizes_are_for_ipc_too)
{
    connect(
        [](test_socket& socket) {
            socket.set(ZMQ_SNDBUF, 30'000);
            socket.set(ZMQ_RCVBUF, 40'000);
        },
        fresh_bind_address(transport::ipc));
    expect_both(60'000, SOL_SOCKET, SO_SNDBUF);
    expect_both(80'000, SOL_SOCKET, SO_RCVBUF);
}

TEST_F(TcpOptions, busy_polling)
{
    raw_peer probe(::socket(AF_INET, SOCK_STREAM, 0));
    const int asked_us = 20;
    if (::setsockopt(probe.fd(), SOL_SOCKET, SO_BUSY_POLL, &asked_us, sizeof asked_us) != 0)
        GTEST_SKIP() << "needs a privilege";
    connect([](test_socket& socket) { socket.set(ZMQ_BUSY_POLL, asked_us); });
    expect_both(asked_us, SOL_SOCKET, SO_BUSY_POLL);
}

bool may_bind_to_devices()
{
    const raw_peer probe(::socket(AF_INET, SOCK_STREAM, 0));
    return ::setsockopt(probe.fd(), SOL_SOCKET, SO_BINDTODEVICE, "lo", 2) == 0;
}

TEST_F(TcpOptions, device)
{
    if (!may_bind_to_devices())
        GTEST_SKIP() << "needs a privilege";
    connect([](test_socket& socket) { socket.set(ZMQ_BINDTODEVICE, "lo"); });
    for (const int fd : {accepted_fd_, connected_fd_}) {
        char name[32] = {};
        socklen_t bytes = sizeof name;
        EXPECT_EQ(0, ::getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &bytes));
        EXPECT_STREQ("lo", name);
    }
}

TEST_F(TcpOptions, a_missing_device_fails_the_bind_and_the_attempts_to_connect)
{
    const std::string address = bound_.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket other(context_, ZMQ_PAIR);
    other.set(ZMQ_BINDTODEVICE, "no-such-device");
    EXPECT_NE(0, zmq_bind(other, "tcp://127.0.0.1:*"));
    peer_.set(ZMQ_BINDTODEVICE, "no-such-device");
    peer_.connect(address);
    peer_.send("never sent");
    EXPECT_FALSE(bound_.readable(quiet_window));
}

// The third connection to a listener with a backlog of nothing is not answered, on Linux.
struct full_listener {
    raw_listener listener{0};
    raw_peer filler{listener.endpoint()};
};

TEST(ConnectTimeout, ends_an_attempt_that_is_not_answered)
{
    const full_listener full;
    test_context context;
    test_socket socket(context, ZMQ_PAIR);
    socket.set(ZMQ_CONNECT_TIMEOUT, 20);
    socket.set(ZMQ_RECONNECT_IVL, 5);
    socket.connect(full.listener.endpoint());
    // Attempts follow each other, each from a port of its own; the kernel by itself would go on
    // with the first one for minutes.
    const auto waiting_port = [&]() -> long {
        FILE* const table = ::popen("cat /proc/net/tcp", "r");
        char line[512];
        long local = 0;
        while (std::fgets(line, sizeof line, table)) {
            long from = 0;
            long to = 0;
            long state = 0;
            constexpr long syn_sent = 2;
            if (std::sscanf(line, " %*d: %*x:%lx %*x:%lx %lx", &from, &to, &state) == 3 &&
                to == full.listener.port() && state == syn_sent)
                local = from;
        }
        ::pclose(table);
        return local;
    };
    ASSERT_TRUE(wait_until([&] { return waiting_port() != 0; }));
    const long first = waiting_port();
    EXPECT_TRUE(wait_until([&] {
        const long now = waiting_port();
        return now != 0 && now != first;
    }));
}

TEST(TcpEndpointOptions, are_those_of_the_bind_for_whoever_comes_later)
{
    test_context context;
    test_socket bound(context, ZMQ_DEALER);
    test_socket peer(context, ZMQ_DEALER);
    bound.set(ZMQ_TOS, 0x28);
    bound.set(ZMQ_TCP_MAXRT, 1111);
    bound.set(ZMQ_SNDBUF, 30'000);
    const std::string address = bound.bind_and_resolve("tcp://127.0.0.1:*");
    bound.set(ZMQ_TOS, 0x10);
    bound.set(ZMQ_TCP_MAXRT, 2222);
    bound.set(ZMQ_SNDBUF, 50'000);
    peer.connect(address);
    peer.send("x");
    const int fd = receiving_fd(bound);
    EXPECT_EQ(0x28, kernel_option(fd, IPPROTO_IP, IP_TOS));
    EXPECT_EQ(1111, kernel_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT));
    EXPECT_EQ(60'000, kernel_option(fd, SOL_SOCKET, SO_SNDBUF));
}

TEST(TcpEndpointOptions, are_those_of_the_connect_for_every_attempt)
{
    test_context context;
    const std::string address = known_address(transport::tcp);
    test_socket peer(context, ZMQ_DEALER);
    peer.set(ZMQ_RECONNECT_IVL, 5);
    peer.set(ZMQ_TCP_MAXRT, 1111);
    peer.set(ZMQ_SNDBUF, 30'000);
    peer.connect(address);
    peer.set(ZMQ_TCP_MAXRT, 2222);
    peer.set(ZMQ_SNDBUF, 50'000);
    for (int connection = 0; connection < 2; ++connection) {
        test_socket bound(context, ZMQ_DEALER);
        ASSERT_TRUE(wait_until([&] { return bound.try_bind(address); }));
        ASSERT_TRUE(bound.writable());
        bound.send("x");
        const int fd = receiving_fd(peer);
        EXPECT_EQ(1111, kernel_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT));
        EXPECT_EQ(60'000, kernel_option(fd, SOL_SOCKET, SO_SNDBUF));
    }
}

/// The backlog of who listens on a port, as the kernel of Linux knows it; -1 if nobody does.
int backlog_at(const std::string& endpoint)
{
    const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(entry.path().filename().string());
        sockaddr_in address{};
        socklen_t bytes = sizeof address;
        int listens = 0;
        socklen_t int_bytes = sizeof listens;
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_bytes) != 0 || !listens ||
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0 ||
            address.sin_family != AF_INET || ntohs(address.sin_port) != port)
            continue;
        tcp_info info{};
        bytes = sizeof info;
        EXPECT_EQ(0, ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes));
        return static_cast<int>(info.tcpi_sacked);
    }
    return -1;
}

/// What a listener has for which nothing was set: as much as the system allows.
int largest_backlog()
{
    std::ifstream file("/proc/sys/net/core/somaxconn");
    int connections = 0;
    file >> connections;
    return connections;
}

TEST(Backlog, is_that_of_the_time_of_the_bind)
{
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    const std::string usual = socket.bind_and_resolve("tcp://127.0.0.1:*");
    socket.set(ZMQ_BACKLOG, 7);
    const std::string short_one = socket.bind_and_resolve("tcp://127.0.0.1:*");
    socket.set(ZMQ_BACKLOG, 100);
    const std::string hundred = socket.bind_and_resolve("tcp://127.0.0.1:*");
    socket.set(ZMQ_BACKLOG, 9);
    EXPECT_EQ(largest_backlog(), backlog_at(usual));
    EXPECT_EQ(7, backlog_at(short_one));
    EXPECT_EQ(100, backlog_at(hundred));
}

/// The descriptor that listens at an endpoint of ipc; -1 if there is none.
int ipc_listener_at(const std::string& endpoint)
{
    const std::string path = endpoint.substr(endpoint.find('/') + 2);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(entry.path().filename().string());
        sockaddr_un address{};
        socklen_t bytes = sizeof address;
        int listens = 0;
        socklen_t int_bytes = sizeof listens;
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_bytes) == 0 && listens &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 &&
            address.sun_family == AF_UNIX && address.sun_path == path)
            return fd;
    }
    return -1;
}

/// The backlog of such a listener, as the kernel of Linux knows it; nothing if it does not tell.
std::optional<int> ipc_backlog_of(int listener)
{
    const raw_peer kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    struct stat status = {};
    if (kernel.fd() < 0 || ::fstat(listener, &status) != 0)
        return {};
    struct {
        nlmsghdr header;
        unix_diag_req body;
    } question{};
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.body.sdiag_family = AF_UNIX;
    question.body.udiag_states = ~0u;
    question.body.udiag_ino = static_cast<std::uint32_t>(status.st_ino);
    question.body.udiag_cookie[0] = question.body.udiag_cookie[1] = ~0u; // any
    question.body.udiag_show = UDIAG_SHOW_RQLEN;
    if (::send(kernel.fd(), &question, sizeof question, 0) != sizeof question)
        return {};
    alignas(nlmsghdr) char answer[4096];
    const auto bytes = static_cast<int>(::recv(kernel.fd(), answer, sizeof answer, MSG_DONTWAIT));
    const auto* const header = reinterpret_cast<const nlmsghdr*>(answer);
    if (bytes < 0 || !NLMSG_OK(header, bytes) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return {};
    auto left = static_cast<int>(NLMSG_PAYLOAD(header, sizeof(unix_diag_msg)));
    const auto* attribute = reinterpret_cast<const rtattr*>(
        static_cast<const char*>(NLMSG_DATA(header)) + NLMSG_ALIGN(sizeof(unix_diag_msg)));
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == UNIX_DIAG_RQLEN) // of a listener: how many wait, and may
            return static_cast<int>(
                static_cast<const unix_diag_rqlen*>(RTA_DATA(attribute))->udiag_wqueue);
    return {};
}

TEST(Backlog, of_ipc_is_that_of_the_time_of_the_bind_too)
{
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    const std::string usual = socket.bind_and_resolve(fresh_bind_address(transport::ipc));
    socket.set(ZMQ_BACKLOG, 7);
    const std::string short_one = socket.bind_and_resolve(fresh_bind_address(transport::ipc));
    socket.set(ZMQ_BACKLOG, 9);
    ASSERT_LE(0, ipc_listener_at(usual));
    ASSERT_LE(0, ipc_listener_at(short_one));
    if (!ipc_backlog_of(ipc_listener_at(usual)))
        GTEST_SKIP() << "the kernel does not tell";
    EXPECT_EQ(largest_backlog(), ipc_backlog_of(ipc_listener_at(usual)));
    EXPECT_EQ(7, ipc_backlog_of(ipc_listener_at(short_one)));
}

} // namespace
} // namespace zlink::test
