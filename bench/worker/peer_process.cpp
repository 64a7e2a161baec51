// SPDX-License-Identifier: Apache-2.0
#include "worker/peer_process.hpp"

#include "worker/zmq_handles.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace zlink::bench::worker {

namespace {

[[noreturn]] void become_peer(std::vector<std::string> arguments, int control, int output,
                              pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) {
        pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    const bool ready = getppid() == parent && fcntl(control, F_SETFD, 0) == 0 &&
                       dup2(output, STDOUT_FILENO) == STDOUT_FILENO;
    if (ready) {
        execv("/proc/self/exe", pointers.data());
    }
    _exit(127);
}

} // namespace

peer_process start_peer(const settings& chosen, char** argv, const control_channel& control)
{
    std::vector<std::string> arguments;
    for (char** argument = argv; *argument != nullptr; ++argument) {
        arguments.emplace_back(*argument);
    }
    arguments.push_back(fmt::format("--control-fd={}", control.fd()));
    if (!chosen.ipc_directory.empty()) {
        arguments.push_back(fmt::format("--ipc-directory={}", chosen.ipc_directory));
    }

    std::array<int, 2> output{};
    if (pipe2(output.data(), O_CLOEXEC) != 0) {
        throw failure(fmt::format("pipe2: {}", std::strerror(errno)));
    }
    const pid_t parent = getpid();
    const pid_t id = fork();
    if (id == 0) {
        become_peer(std::move(arguments), control.fd(), output[1], parent);
    }
    close(output[1]);
    if (id < 0) {
        throw failure(fmt::format("fork: {}", std::strerror(errno)));
    }
    return {id, output[0]};
}

void join_peer(const peer_process& peer)
{
    int status = 0;
    if (waitpid(peer.id, &status, 0) != peer.id || status != 0) {
        throw failure(fmt::format("the peer process ended with wait status {}", status));
    }
}

} // namespace zlink::bench::worker
