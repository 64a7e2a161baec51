// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace zlink::bench::bare {

/// Throws std::system_error for a negative result of a system call.
template <class Result>
Result checked(Result result, const char* call)
{
    if (result < 0) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return result;
}

/// Owns a file descriptor; -1: none.
class descriptor {
public:
    explicit descriptor(int fd) : fd_(fd) {}
    ~descriptor();
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    int get() const noexcept { return fd_; }

private:
    int fd_;
};

/// Listens on a free port of the loopback interface, which is stored in `port`.
descriptor listen_on_loopback(std::uint16_t& port);

/// Connects to a port of the loopback interface, with TCP_NODELAY.
descriptor connect_to_loopback(std::uint16_t port);

/// Takes the next connection, with TCP_NODELAY.
descriptor accept_from(const descriptor& listener);

} // namespace zlink::bench::bare
