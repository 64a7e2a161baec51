// SPDX-License-Identifier: Apache-2.0
#include "core/pace/held_wakeups.hpp"

#include "base/tuning.hpp"

#include "core/pace/burst.hpp"
#include "core/pipe/pipe.hpp"
#include "support/scarce_memory.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace zlink::core {
namespace {

/// Readers in this process, all of which wait for a message.
class HeldWakeups : public ::testing::Test {
protected:
    struct reader {
        std::shared_ptr<base::mailbox> box = std::make_shared<base::mailbox>();
        std::shared_ptr<channel_pair> channels = std::make_shared<channel_pair>();
        std::shared_ptr<pipe_end> writing = make_pipe_end(channels, true, nullptr);
        std::shared_ptr<pipe_end> reading = make_pipe_end(channels, false, box);

        reader()
        {
            writing->set_other_end(reading);
            wait();
        }
        // Mail that nobody collects keeps its pipe, and that the mailbox.
        ~reader()
        {
            box->close([](auto&&...) {});
        }
        reader(const reader&) = delete;
        reader& operator=(const reader&) = delete;

        void wait()
        {
            box->collect([](auto&&...) {});
            frame part;
            while (reading->peek(part))
                reading->pop();
        }
        bool told() const { return box->has_mail(); }
        void write() { ASSERT_TRUE(writing->write(frame_of("message", false))); }
    };
};

TEST_F(HeldWakeups, tells_all_readers_at_the_end)
{
    std::vector<reader> readers(3);
    {
        const held_wakeups held;
        for (reader& each : readers) {
            each.write();
            EXPECT_FALSE(each.told());
        }
    }
    for (reader& each : readers)
        EXPECT_TRUE(each.told());
    reader other;
    other.write();
    EXPECT_TRUE(other.told()) << "nothing is held back any more";
}

TEST_F(HeldWakeups, tells_before_its_thread_waits)
{
    reader one;
    const held_wakeups held;
    one.write();
    burst::end_of_this_thread();
    EXPECT_TRUE(one.told());
    one.wait();
    one.write();
    EXPECT_FALSE(one.told()) << "it goes on then";
}

TEST_F(HeldWakeups, tells_what_is_too_old)
{
    reader one;
    reader other;
    const held_wakeups held;
    one.write();
    const auto first = burst::clock::now();
    while (burst::clock::now() - first < tuning::batching::max_delay) {
    }
    const auto second = burst::clock::now();
    other.write();
    EXPECT_TRUE(one.told());
    while (!other.told())
        held_wakeups::look();
    EXPECT_GE(burst::clock::now() - second, tuning::batching::max_delay);
}

TEST_F(HeldWakeups, tells_when_there_are_many_readers)
{
    std::vector<reader> readers(200);
    const held_wakeups held;
    for (reader& each : readers)
        each.write();
    EXPECT_TRUE(readers.front().told());
}

TEST_F(HeldWakeups, holds_back_only_what_its_thread_has_written)
{
    reader one;
    const held_wakeups held;
    std::thread([&] { one.write(); }).join();
    EXPECT_TRUE(one.told());
}

TEST_F(HeldWakeups, is_one_for_each_thread)
{
    reader one;
    const held_wakeups held;
    {
        const held_wakeups inner;
    }
    one.write();
    EXPECT_FALSE(one.told());
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST_F(HeldWakeups, holds_nothing_back_without_memory)
{
    for (int allocations = 0; allocations < 2; ++allocations)
        std::thread([allocations] {
            reader one;
            std::optional<held_wakeups> held;
            {
                const test::memory_for scarce(allocations);
                held.emplace();
            }
            one.write();
            EXPECT_TRUE(one.told());
        }).join();
}
#endif

} // namespace
} // namespace zlink::core
