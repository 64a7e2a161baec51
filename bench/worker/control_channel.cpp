// SPDX-License-Identifier: Apache-2.0
#include "worker/control_channel.hpp"

#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace zlink::bench::worker {

std::pair<control_channel, control_channel> control_channel::make_pair()
{
    std::array<int, 2> fds{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) != 0) {
        throw failure(fmt::format("socketpair: {}", std::strerror(errno)));
    }
    return {control_channel(fds[0]), control_channel(fds[1])};
}

control_channel::~control_channel()
{
    if (fd_ != -1) {
        close(fd_);
    }
}

void control_channel::send(std::string_view text)
{
    if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) < 0) {
        throw failure(fmt::format("the other side is gone: {}", std::strerror(errno)));
    }
}

std::string control_channel::receive()
{
    std::array<char, 512> buffer{};
    const auto size = recv(fd_, buffer.data(), buffer.size(), 0);
    if (size <= 0) {
        throw failure("the other side ended early");
    }
    return {buffer.data(), static_cast<std::size_t>(size)};
}

void control_channel::expect(std::string_view text)
{
    const std::string received = receive();
    if (received != text) {
        throw failure(fmt::format("expected '{}' from the other side, not '{}'", text, received));
    }
}

bool control_channel::wait_ms(int timeout_ms)
{
    pollfd entry{fd_, POLLIN, 0};
    return poll(&entry, 1, timeout_ms) > 0;
}

} // namespace zlink::bench::worker
