// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/stream.hpp"

#include <cerrno>

namespace zlink::transport {

/// For unit tests: a connection over which nothing comes and nothing goes. Tests override what they
/// are about.
class stream_for_tests : public stream {
public:
    io_result read_some(const iovec*, int) noexcept override { return {0, EAGAIN}; }
    io_result write_some(const iovec*, int) noexcept override { return {0, EAGAIN}; }
    void async_wait(direction, wait_handler) override {}
    void shutdown() noexcept override {}
    std::size_t undelivered_bytes() const noexcept override { return 0; }
    void close() noexcept override {}
    stream_info info() const override { return {}; }
};

} // namespace zlink::transport
