// SPDX-License-Identifier: Apache-2.0
#include "runner/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <stdexcept>

namespace zlink::bench::runner {

namespace {

using steady = std::chrono::steady_clock;

struct pipe_ends {
    std::array<int, 2> fds{-1, -1};

    pipe_ends()
    {
        if (pipe2(fds.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error(fmt::format("pipe2: {}", std::strerror(errno)));
        }
    }
    ~pipe_ends()
    {
        close(fds[0]);
        close_writer();
    }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;

    void close_writer()
    {
        if (fds[1] != -1) {
            close(fds[1]);
            fds[1] = -1;
        }
    }
};

/// In the child. Everything was allocated before the fork.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         int output, int errors)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execve(program, arguments, environment);
    _exit(127);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added)
{
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text(*entry);
        if (added.find(text.substr(0, text.find('='))) == added.end()) {
            result.push_back(text);
        }
    }
    for (const auto& [name, value] : added) {
        result.push_back(fmt::format("{}={}", name, value));
    }
    return result;
}

/// Reads both streams until they end. False if that does not happen in time.
bool drain(int output, int errors, process_result& result, int timeout_s)
{
    constexpr std::size_t max_kept_bytes = 65'536;
    const auto deadline = steady::now() + std::chrono::seconds(timeout_s);
    std::array<pollfd, 2> entries{{{output, POLLIN, 0}, {errors, POLLIN, 0}}};
    while (entries[0].fd != -1 || entries[1].fd != -1) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady::now()).count();
        if (left <= 0 || poll(entries.data(), entries.size(), static_cast<int>(left)) == 0) {
            return false;
        }
        for (pollfd& entry : entries) {
            std::array<char, 4096> buffer{};
            const auto size =
                entry.revents == 0 ? -1 : read(entry.fd, buffer.data(), buffer.size());
            std::string& text = entry.fd == output ? result.output : result.errors;
            if (size > 0 && text.size() < max_kept_bytes) {
                text.append(buffer.data(), static_cast<std::size_t>(size));
            } else if (size == 0) {
                entry.fd = -1;
            }
        }
    }
    return true;
}

std::string how_it_ended(int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        const int signal = WTERMSIG(wait_status);
        return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
    }
    const int status = WEXITSTATUS(wait_status);
    return status == 0 ? std::string() : fmt::format("exit status {}", status);
}

} // namespace

process_result run_process(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment, int timeout_s)
{
    std::vector<std::string> all_arguments{program.string()};
    all_arguments.insert(all_arguments.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = merged_environment(environment);
    const std::vector<char*> argument_pointers = pointers_to(all_arguments);
    const std::vector<char*> variable_pointers = pointers_to(variables);
    pipe_ends output;
    pipe_ends errors;

    const pid_t child = fork();
    if (child < 0) {
        throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
    }
    if (child == 0) {
        become(program.c_str(), argument_pointers.data(), variable_pointers.data(), output.fds[1],
               errors.fds[1]);
    }
    output.close_writer();
    errors.close_writer();

    process_result result;
    const bool in_time = drain(output.fds[0], errors.fds[0], result, timeout_s);
    if (!in_time) {
        kill(child, SIGKILL);
    }
    int wait_status = 0;
    waitpid(child, &wait_status, 0);
    result.failure = in_time ? how_it_ended(wait_status) : "killed after the time limit";
    return result;
}

} // namespace zlink::bench::runner
