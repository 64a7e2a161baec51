// SPDX-License-Identifier: Apache-2.0
// Programs that the process executes get none of its sockets.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/fixture.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <set>

namespace zlink::test {
namespace {

std::set<int> open_descriptors()
{
    std::set<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        found.insert(std::stoi(entry.path().filename()));
    return found;
}

/// Of descriptors opened since `before`, those that an executed program would have.
std::set<std::string> inherited(const std::set<int>& before)
{
    std::set<std::string> found;
    for (const int fd : open_descriptors()) {
        const int flags = ::fcntl(fd, F_GETFD); // fails for the one that the directory was read by
        if (!before.contains(fd) && flags >= 0 && (flags & FD_CLOEXEC) == 0)
            found.insert(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
    }
    return found;
}

class sleeping_child {
public:
    sleeping_child()
    {
        char name[] = "sleep";
        char time[] = "60";
        char* arguments[] = {name, time, nullptr};
        if (::posix_spawnp(&pid_, name, nullptr, nullptr, arguments, environ) != 0)
            throw std::runtime_error("cannot start sleep");
    }
    ~sleeping_child()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    sleeping_child(const sleeping_child&) = delete;
    sleeping_child& operator=(const sleeping_child&) = delete;

private:
    pid_t pid_ = 0;
};

class Inheritance : public transport_test {};

TEST_P(Inheritance, spares_everything_that_a_connection_needs)
{
    const auto before = open_descriptors();
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    bound.get(ZMQ_FD);
    peer.send("x");
    ASSERT_EQ("x", bound.recv());
    EXPECT_EQ(std::set<std::string>(), inherited(before));
}

TEST_P(Inheritance, leaves_an_address_to_the_next_who_binds_it)
{
    test_socket first(context_, ZMQ_PULL);
    const std::string address = first.bind_and_resolve(fresh_bind_address(GetParam()));
    const sleeping_child child;
    first.unbind(address);
    test_socket second(context_, ZMQ_PULL);
    second.bind(address);
}

ZLINK_WIRE_TRANSPORTS(Inheritance);

TEST(ZlinkOnlyInheritance, spares_sockets_of_datagrams)
{
    test_context context;
    const auto before = open_descriptors();
    test_socket dish(context, ZMQ_DISH);
    const std::string address = dish.bind_and_resolve("udp://127.0.0.1:*");
    test_socket radio(context, ZMQ_RADIO);
    radio.connect(address);
    EXPECT_EQ(std::set<std::string>(), inherited(before));
}

} // namespace
} // namespace zlink::test
