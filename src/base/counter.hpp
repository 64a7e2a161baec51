// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace zlink::base {

/// How often something has happened, or how much of it. Counting is a plain load and a plain store:
/// no processor waits for another one.
///
/// Thread safety: one thread at a time counts (its owner, or the holder of a mutex); any thread
/// reads a value that may be a little old.
class counter {
public:
    void add(std::uint64_t more = 1) noexcept
    {
        value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
    std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

} // namespace zlink::base
