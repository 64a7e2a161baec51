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

namespace {

class hang_guard : public ::testing::EmptyTestEventListener {
public:
    explicit hang_guard(std::chrono::seconds limit) : limit_(limit), thread_([this] { watch(); }) {}
    ~hang_guard() override
    {
        {
            const std::lock_guard lock(mutex_);
            finished_ = true;
        }
        changed_.notify_one();
        thread_.join();
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
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string current_;
    std::chrono::steady_clock::time_point deadline_;
    bool finished_ = false;
    std::thread thread_;
};

} // namespace

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    listeners.Append(new hang_guard(std::chrono::seconds(60)));
    return RUN_ALL_TESTS();
}
