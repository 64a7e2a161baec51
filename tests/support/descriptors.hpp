// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

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

    /// @return false if nothing comes.
    bool wait() const;

private:
    int epoll_;
};

} // namespace zlink::test
