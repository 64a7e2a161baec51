// SPDX-License-Identifier: Apache-2.0
// Programs that the process executes get none of its sockets.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/fixture.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// A program that runs as long as the object lives, and does so when the constructor is done: a
/// call that starts one returns before the kernel has closed what it is not to have.
class running_program {
public:
    running_program()
    {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            throw std::runtime_error("cannot make a pair of sockets");
        talk_ = ends[0];
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        char name[] = "cat";
        char* arguments[] = {name, nullptr};
        const int error = ::posix_spawnp(&pid_, name, &actions, nullptr, arguments, environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        char answer = 0;
        if (error != 0 || ::write(talk_, "x", 1) != 1 || ::read(talk_, &answer, 1) != 1)
            throw std::runtime_error("cannot run cat");
    }
    ~running_program()
    {
        ::close(talk_);
        ::waitpid(pid_, nullptr, 0);
    }
    running_program(const running_program&) = delete;
    running_program& operator=(const running_program&) = delete;

private:
    pid_t pid_ = 0;
    int talk_ = -1;
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
    const running_program other;
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
