// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <sys/resource.h>

#include "support/wait.hpp"

namespace zlink::test {

/// Two connected descriptors that close themselves. Failures throw.
class descriptor_pair {
public:
    descriptor_pair();
    ~descriptor_pair();
    descriptor_pair(const descriptor_pair&) = delete;
    descriptor_pair& operator=(const descriptor_pair&) = delete;

    int reader() const { return ends_[0]; }
    /// Makes the reader readable.
    void write() const;
    /// Closes the other end.
    void hang_up();

private:
    std::array<int, 2> ends_{};
};

enum class trigger { edge, level };

/// A descriptor in an epoll set of its own, to wait until it is or, with `edge`, becomes readable.
class readable_watch {
public:
    explicit readable_watch(int fd, trigger how = trigger::edge);
    ~readable_watch();
    readable_watch(const readable_watch&) = delete;
    readable_watch& operator=(const readable_watch&) = delete;

    /// @return false if nothing comes within `window`.
    bool wait(std::chrono::milliseconds window = patience) const;

private:
    int epoll_;
};

/// No more file descriptors for this process while it lives. Not for tests with the address
/// sanitizer: the undefined-behaviour sanitizer, which is built in together with it, needs a
/// descriptor to look at an object of a type that is new to it, and reports a fault if it gets
/// none.
class no_descriptors {
public:
    no_descriptors();
    ~no_descriptors();
    no_descriptors(const no_descriptors&) = delete;
    no_descriptors& operator=(const no_descriptors&) = delete;

private:
    rlimit before_{};
};

} // namespace zlink::test
