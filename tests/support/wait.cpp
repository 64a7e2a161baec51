// SPDX-License-Identifier: Apache-2.0
#include "support/wait.hpp"

#include <condition_variable>
#include <mutex>

namespace zlink::test {

bool wait_until(const std::function<bool()>& predicate, std::chrono::milliseconds deadline)
{
    const auto end = std::chrono::steady_clock::now() + deadline;
    std::mutex mutex;
    std::condition_variable pause;
    std::unique_lock lock(mutex);
    while (!predicate()) {
        if (std::chrono::steady_clock::now() >= end)
            return false;
        pause.wait_for(lock, std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace zlink::test
