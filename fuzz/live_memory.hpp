// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zlink::fuzz {

/// Whether the memory that this thread gets by `new` is counted, while the object lives.
class memory_counting {
public:
    explicit memory_counting(bool counted) noexcept;
    ~memory_counting();
    memory_counting(const memory_counting&) = delete;
    memory_counting& operator=(const memory_counting&) = delete;

private:
    const bool before_;
};

/// How many bytes were counted in this thread and have not been given back, by whomever.
std::size_t live_bytes() noexcept;

} // namespace zlink::fuzz
