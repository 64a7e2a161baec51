// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace zlink::bench::worker {

/// One end of a local datagram pair over which the two sides agree on endpoints and phases. Works
/// between threads and between processes alike, and does not involve the library that is measured.
/// Not used while messages are timed. Every call throws `failure` on errors and when the other end
/// is gone.
class control_channel {
public:
    static std::pair<control_channel, control_channel> make_pair();

    /// Takes ownership of an open descriptor.
    explicit control_channel(int fd) : fd_(fd) {}
    ~control_channel();
    control_channel(control_channel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    control_channel(const control_channel&) = delete;
    control_channel& operator=(const control_channel&) = delete;

    /// `text` must not be empty.
    void send(std::string_view text);

    /// Blocks until the next text arrives.
    std::string receive();

    /// Receives the next text, which has to be this one.
    void expect(std::string_view text);

    /// True as soon as receive() would not block, false if that is not so within the time.
    bool wait_ms(int timeout_ms);

    int fd() const { return fd_; }

private:
    int fd_;
};

} // namespace zlink::bench::worker
