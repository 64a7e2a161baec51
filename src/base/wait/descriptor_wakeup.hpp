// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/wakeup.hpp"

namespace zlink::base {

/// News for somebody who waits in poll(2): a descriptor that is readable from the first signal to
/// clear(). Thread safety: signal() in any thread, all else in one.
class descriptor_wakeup final : public wakeup {
public:
    descriptor_wakeup() = default;
    ~descriptor_wakeup();
    descriptor_wakeup(const descriptor_wakeup&) = delete;
    descriptor_wakeup& operator=(const descriptor_wakeup&) = delete;

    /// Before the first signal. 0 or errno.
    int open() noexcept;
    /// -1 before open().
    int descriptor() const noexcept { return fd_; }
    /// The object must outlive the call.
    void signal() noexcept override;
    void clear() noexcept;

private:
    int fd_ = -1;
};

} // namespace zlink::base
