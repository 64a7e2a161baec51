// SPDX-License-Identifier: Apache-2.0
// Runs the tests with a guard that ends the process when one test hangs, naming it.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

/// What the guard and its thread share. Never destroyed: a child process that a test forks has it,
/// but not the thread that waits on it.
struct guard_state {
    std::mutex mutex;
    std::condition_variable changed;
    std::thread thread;
};

guard_state& state()
{
    static auto& it = *new guard_state;
    return it;
}

class hang_guard : public ::testing::EmptyTestEventListener {
public:
    explicit hang_guard(std::chrono::seconds limit) : limit_(limit)
    {
        state().thread = std::thread([this] { watch(); });
    }
    ~hang_guard() override
    {
        if (::getpid() != process_)
            return;
        {
            const std::lock_guard lock(mutex_);
            finished_ = true;
        }
        changed_.notify_one();
        state().thread.join();
    }

    void OnTestStart(const ::testing::TestInfo& info) override
    {
        const std::lock_guard lock(mutex_);
        current_ = std::string(info.test_suite_name()) + "." + info.name();
        deadline_ = std::chrono::steady_clock::now() + limit_;
        changed_.notify_one();
    }
    void OnTestEnd(const ::testing::TestInfo&) override
    {
        const std::lock_guard lock(mutex_);
        current_.clear();
        changed_.notify_one();
    }

private:
    void watch()
    {
        std::unique_lock lock(mutex_);
        while (!finished_) {
            if (current_.empty()) {
                changed_.wait(lock);
            } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout) {
                std::fprintf(stderr, "[  HANGS   ] %s\n", current_.c_str());
                std::fflush(nullptr);
                std::_Exit(3);
            }
        }
    }

    std::chrono::seconds limit_;
    const pid_t process_ = ::getpid();
    std::mutex& mutex_ = state().mutex;
    std::condition_variable& changed_ = state().changed;
    std::string current_;
    std::chrono::steady_clock::time_point deadline_;
    bool finished_ = false;
};

} // namespace

// What cannot be allocated is not there, with sanitizers too.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options()
{
    return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options()
{
    return "allocator_may_return_null=1";
}

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    listeners.Append(new hang_guard(std::chrono::seconds(80)));
    return RUN_ALL_TESTS();
}
