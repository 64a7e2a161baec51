// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlink.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "support/socket.hpp"

namespace zlink::test {

/// What zlink_arm wakes in a test: a thread that waits for a condition variable.
class wake_up {
public:
    /// zlink_arm, with this. Throws if that fails.
    bool arm(void* socket)
    {
        const int answer = zlink_arm(socket, call, this);
        if (answer < 0)
            throw call_failed("zlink_arm");
        return answer == 0;
    }
    /// Arms once all that has happened so far has been told.
    void arm_at_rest(void* socket)
    {
        while (!arm(socket)) {
        }
    }
    static void call(void* self)
    {
        auto& mine = *static_cast<wake_up*>(self);
        const std::lock_guard lock(mine.mutex_);
        ++mine.calls_;
        mine.changed_.notify_all();
    }
    int calls()
    {
        const std::lock_guard lock(mutex_);
        return calls_;
    }
    /// Waits until there has been a call since the last wait. @return false if none comes.
    bool wait(std::chrono::milliseconds window = patience)
    {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, window, [this] { return calls_ != seen_; }))
            return false;
        seen_ = calls_;
        return true;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int calls_ = 0;
    int seen_ = 0;
};

} // namespace zlink::test
