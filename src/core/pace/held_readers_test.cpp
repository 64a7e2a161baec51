// SPDX-License-Identifier: Apache-2.0
#include "core/pace/flush_list.hpp"

#include "base/tuning.hpp"

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
class HeldReaders : public ::testing::Test {
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
            while (reading->in.peek(part))
                reading->in.pop();
        }
        bool told() const { return box->has_mail(); }
        void write() { ASSERT_TRUE(writing->out.write(frame_of("message", false))); }
    };
};

TEST_F(HeldReaders, tells_all_readers_at_the_end)
{
    std::vector<reader> readers(3);
    {
        const flush_list::held_readers held;
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

TEST_F(HeldReaders, tells_before_its_thread_waits)
{
    reader one;
    const flush_list::held_readers held;
    one.write();
    flush_list::flush_this_thread();
    EXPECT_TRUE(one.told());
    one.wait();
    one.write();
    EXPECT_FALSE(one.told()) << "it goes on then";
}

TEST_F(HeldReaders, tells_what_is_too_old)
{
    reader one;
    reader other;
    const flush_list::held_readers held;
    one.write();
    const auto first = flush_list::clock::now();
    while (flush_list::clock::now() - first < tuning::batching::max_delay) {
    }
    const auto second = flush_list::clock::now();
    other.write();
    EXPECT_TRUE(one.told());
    while (!other.told())
        flush_list::flush_due_of_this_thread();
    EXPECT_GE(flush_list::clock::now() - second, tuning::batching::max_delay);
}

TEST_F(HeldReaders, tells_when_there_are_many_readers)
{
    std::vector<reader> readers(200);
    const flush_list::held_readers held;
    for (reader& each : readers)
        each.write();
    EXPECT_TRUE(readers.front().told());
}

TEST_F(HeldReaders, holds_back_only_what_its_thread_has_written)
{
    reader one;
    const flush_list::held_readers held;
    std::thread([&] { one.write(); }).join();
    EXPECT_TRUE(one.told());
}

TEST_F(HeldReaders, is_one_for_each_thread)
{
    reader one;
    const flush_list::held_readers held;
    {
        const flush_list::held_readers inner;
    }
    one.write();
    EXPECT_FALSE(one.told());
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST_F(HeldReaders, holds_nothing_back_without_memory)
{
    for (int allocations = 0; allocations < 3; ++allocations)
        std::thread([allocations] {
            reader one;
            std::optional<flush_list::held_readers> held;
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
