// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace zlink::base {

/// While it lives, no signal handler runs in this thread, as far as that can be put off; those
/// whose signal came meanwhile run at its end. For waits without a system call that a signal would
/// interrupt.
class held_signals {
public:
    held_signals() noexcept;
    ~held_signals();
    held_signals(const held_signals&) = delete;
    held_signals& operator=(const held_signals&) = delete;

    /// Is a handler going to run at the end?
    bool waiting() const noexcept;

private:
    sigset_t before_;
};

} // namespace zlink::base
