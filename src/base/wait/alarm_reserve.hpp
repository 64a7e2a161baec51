// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/descriptor_wakeup.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

namespace zlink::base {

/// Descriptors for threads that wait in poll(2), each used by one at a time. Some are kept, so that
/// mostly none has to be opened, and a thread can have one when the process has no more to open.
/// Thread safety: any thread.
class alarm_reserve {
public:
    using alarm = std::unique_ptr<descriptor_wakeup>;

    alarm_reserve() = default;
    alarm_reserve(const alarm_reserve&) = delete;
    alarm_reserve& operator=(const alarm_reserve&) = delete;

    /// Keeps one for worse times, if one is to be had.
    void fill() noexcept;
    /// An open one that is not readable; null if there is neither a descriptor nor memory for one.
    alarm acquire() noexcept;
    /// Not readable, and nobody signals it any more.
    void release(alarm used) noexcept;

private:
    static alarm open_one() noexcept;

    std::mutex mutex_;
    std::array<alarm, 16> kept_; ///< more than so many threads rarely poll at the same time
    std::size_t count_ = 0;
};

} // namespace zlink::base
