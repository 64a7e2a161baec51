// SPDX-License-Identifier: Apache-2.0
// Many connections at once, to a socket whose I/O thread has much else to do.
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stop_token>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

/// More than the backlog that ZMQ_BACKLOG is said to have.
constexpr int callers = 400;
constexpr std::size_t signature_bytes = 10;

/// What the kernel limits every backlog to.
int largest_backlog()
{
    std::ifstream file("/proc/sys/net/core/somaxconn");
    int connections = 0;
    return file >> connections ? connections : 0;
}

/// Connects without waiting; 0 or errno.
int call(const raw_peer& from, const std::string& endpoint)
{
    int result = 0;
    if (endpoint.starts_with("tcp")) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
        result = ::connect(from.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } else {
        const std::string path = endpoint.substr(endpoint.find('/') + 2);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.data(), path.size());
        result = ::connect(from.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    return result == 0 || errno == EINPROGRESS ? 0 : errno;
}

int retransmissions(const raw_peer& peer)
{
    tcp_info info{};
    socklen_t bytes = sizeof info;
    if (::getsockopt(peer.fd(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0)
        return -1;
    return static_cast<int>(info.tcpi_total_retrans);
}

class AcceptFlood : public transport_test {
protected:
    /// Descriptors of callers whose connection is being made, or is there.
    std::vector<raw_peer> call_all(const std::string& endpoint)
    {
        std::vector<raw_peer> peers;
        const int family = GetParam() == transport::tcp ? AF_INET : AF_UNIX;
        for (int index = 0; index < callers; ++index) {
            peers.emplace_back(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            EXPECT_EQ(0, call(peers.back(), endpoint)) << index;
        }
        return peers;
    }
};

// A connection for which there is no room is tried again by tcp after a second, and refused by ipc.
TEST_P(AcceptFlood, finds_room_for_everybody_beside_a_busy_peer)
{
    if (largest_backlog() < callers)
        GTEST_SKIP() << "the system does not allow such a backlog";
    test_socket sink(context_, ZMQ_PULL);
    test_socket source(context_, ZMQ_PUSH);
    const std::string endpoint = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    source.connect(endpoint);
    source.send("first");
    ASSERT_EQ("first", sink.recv());
    const std::string body(1000, 'x');
    const std::jthread sending([&](const std::stop_token& stop) {
        while (!stop.stop_requested())
            source.try_send(body);
    });
    const std::jthread receiving([&](const std::stop_token& stop) {
        while (!stop.stop_requested())
            if (sink.readable(std::chrono::milliseconds{10}))
                sink.recv();
    });
    const auto peers = call_all(endpoint);
    for (const auto& peer : peers) {
        EXPECT_EQ(signature_bytes, peer.recv_at_most(signature_bytes).size());
        if (GetParam() == transport::tcp) {
            EXPECT_EQ(0, retransmissions(peer));
        }
    }
}

ZLINK_LINKS_WITH(AcceptFlood, has_plain_zmtp);

} // namespace
} // namespace zlink::test
