// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>
#include <utility>

namespace zlink::base {

/// A file descriptor that is closed unless somebody else takes it: also if an exception comes in
/// between.
class owned_descriptor {
public:
    explicit owned_descriptor(int fd) noexcept : fd_(fd) {}
    ~owned_descriptor()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }
    owned_descriptor(owned_descriptor&& other) noexcept : fd_(other.release()) {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept
    {
        owned_descriptor before(std::exchange(fd_, other.release()));
        return *this;
    }
    owned_descriptor(const owned_descriptor&) = delete;
    owned_descriptor& operator=(const owned_descriptor&) = delete;

    int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_;
};

} // namespace zlink::base
