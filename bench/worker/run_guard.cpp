// SPDX-License-Identifier: Apache-2.0
#include "worker/run_guard.hpp"

#include "worker/measurement.hpp"
#include "worker/usage.hpp"
#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace zlink::bench::worker {

namespace {

constexpr int exit_skipped = 0;
constexpr int exit_error = 1;
constexpr int exit_timeout = 124; // as timeout(1) does

int block_and_watch_signals()
{
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        sigaddset(&set, signal);
    }
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

int exit_status(std::string_view status)
{
    if (status == "skipped") {
        return exit_skipped;
    }
    return status == "timeout" ? exit_timeout : exit_error;
}

std::string make_directory()
{
    std::error_code ignored;
    std::string path = std::filesystem::temp_directory_path(ignored) / "zlink-bench-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
        throw failure(fmt::format("mkdtemp {}: {}", path, std::strerror(errno)));
    }
    return path;
}

std::string how_it_ended(pid_t process)
{
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT) != 0) {
        return "ended";
    }
    return info.si_code == CLD_EXITED ? fmt::format("exited with status {}", info.si_status)
                                      : fmt::format("was killed by signal {} ({})", info.si_status,
                                                    strsignal(info.si_status));
}

std::string read_to_end(int fd)
{
    std::string text;
    std::array<char, 512> buffer{};
    for (ssize_t size = 0; (size = read(fd, buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
}

} // namespace

run_guard::run_guard(settings& chosen)
    : chosen_(chosen), stop_event_(eventfd(0, EFD_CLOEXEC)), signals_(block_and_watch_signals())
{
    if (chosen.what.transport == transport::ipc) {
        chosen.ipc_directory = make_directory();
    }
}

run_guard::~run_guard()
{
    if (watcher_.joinable()) {
        eventfd_write(stop_event_, 1);
        watcher_.join();
    }
    remove_directory();
    close(signals_);
    close(stop_event_);
}

void run_guard::watch(pid_t peer, int peer_output)
{
    watcher_ = std::thread([this, peer, peer_output] { watch_until_stopped(peer, peer_output); });
}

void run_guard::watch_until_stopped(pid_t peer, int peer_output)
{
    const std::int64_t deadline_ns = now_ns() + std::int64_t{chosen_.timeout_s} * 1'000'000'000;
    // poll() ignores negative descriptors.
    std::array<pollfd, 3> entries{
        {{stop_event_, POLLIN, 0}, {signals_, POLLIN, 0}, {peer_output, POLLIN, 0}}};
    for (;;) {
        const std::int64_t left_ms = (deadline_ns - now_ns()) / 1'000'000 + 1;
        if (left_ms <= 1 || poll(entries.data(), entries.size(), static_cast<int>(left_ms)) == 0) {
            fail("timeout", fmt::format("not finished after {} s", chosen_.timeout_s));
        }
        if (entries[0].revents != 0) {
            return;
        }
        if (entries[1].revents != 0) {
            fail("error", "interrupted by a signal");
        }
        if (entries[2].revents != 0) {
            check_peer(peer, peer_output);
            entries[2].fd = -1;
        }
    }
}

void run_guard::check_peer(pid_t peer, int peer_output)
{
    const std::string said = read_to_end(peer_output);
    if (said != "ok\n") {
        fail("error", fmt::format("the peer process {}{}{}", how_it_ended(peer),
                                  said.empty() ? "" : ": ", said.substr(0, said.find('\n'))));
    }
}

void run_guard::succeed(std::string_view line)
{
    outcome_.lock();
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
}

void run_guard::fail(std::string_view status, std::string_view reason)
{
    outcome_.lock();
    const std::string line = error_line(chosen_, status, reason);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
    remove_directory();
    // Other threads may be stuck in the library, so nothing can be taken down in order.
    _exit(exit_status(status));
}

void run_guard::remove_directory() const
{
    if (!chosen_.ipc_directory.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(chosen_.ipc_directory, ignored);
    }
}

} // namespace zlink::bench::worker
