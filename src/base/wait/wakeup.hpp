// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zlink::base {

/// Somebody to be told that there is news. Thread safety: any thread.
class wakeup {
public:
    /// Must not block. Unless it says otherwise the object is not touched after the news is out.
    virtual void signal() noexcept = 0;

protected:
    ~wakeup() = default;
};

} // namespace zlink::base
