// SPDX-License-Identifier: Apache-2.0
// Residents of an I/O thread: asked by any thread, served once for all times since the last.
#include "runtime/io_thread.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <gtest/gtest.h>
#include <new>
#include <thread>
#include <vector>

namespace zlink::runtime {
namespace {

/// Remembers the highest number it was told before a request was done.
struct counter final : resident {
    void do_request(unsigned) override { seen.store(told.load(std::memory_order_relaxed)); }
    std::atomic<int> told{0};
    std::atomic<int> seen{0};
};

TEST(residents, see_all_that_came_before_each_request)
{
    constexpr int requests = 20'000;
    io_thread thread;
    ASSERT_EQ(0, thread.start(0, {}));
    std::vector<std::shared_ptr<counter>> counters;
    for (int i = 0; i < 200; ++i) // more than are served in one call
        counters.push_back(std::make_shared<counter>());
    const auto work = [&](std::size_t first) {
        for (int n = 1; n <= requests; ++n)
            for (std::size_t i = first; i < counters.size(); i += 40) {
                counters[i]->told.store(n, std::memory_order_relaxed);
                thread.ask(*counters[i], 0, counters[i]);
            }
    };
    std::thread one(work, 0);
    std::thread other(work, 1);
    one.join();
    other.join();
    for (std::size_t i = 2; i < counters.size(); ++i)
        if (i % 40 > 1) {
            counters[i]->told = requests;
            thread.ask(*counters[i], 0, counters[i]);
        }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (const auto& each : counters) {
        while (each->seen != requests && std::chrono::steady_clock::now() < deadline)
            std::this_thread::yield();
        EXPECT_EQ(requests, each->seen);
    }
}

// Also where others wait for the same.
TEST(residents, have_done_what_they_were_asked_for_once_the_thread_has_caught_up)
{
    io_thread thread;
    ASSERT_EQ(0, thread.start(0, {}));
    const auto work = [&thread] {
        const auto own = std::make_shared<counter>();
        for (int n = 1; n <= 5'000; ++n) {
            own->told = n;
            thread.ask(*own, 0, own);
            thread.catch_up();
            if (n != own->seen) {
                ADD_FAILURE() << n << " was asked for, " << own->seen << " was done";
                return;
            }
        }
    };
    std::thread other(work);
    work();
    other.join();
}

TEST(residents, that_are_never_served_are_let_go)
{
    std::weak_ptr<counter> remaining;
    {
        io_thread never_started;
        const auto what = std::make_shared<counter>();
        remaining = what;
        never_started.ask(*what, 0, what);
        never_started.ask(*what, 0, what);
        EXPECT_EQ(3, what.use_count() + 1);
    }
    EXPECT_TRUE(remaining.expired());
}

/// Writes down what it does; asks itself again as often as it was told.
struct diary final : resident {
    explicit diary(io_thread& its_thread) : thread(its_thread) {}
    void do_request(unsigned number) override
    {
        if (number == 3)
            throw std::bad_alloc();
        if (number == 4 && --again >= 0)
            thread.ask(*this, 4, self.lock());
        done.push_back(number);
        if (number == 31) {
            ended = true;
            ended.notify_all();
        }
    }
    io_thread& thread;
    std::weak_ptr<diary> self;
    std::vector<unsigned> done;
    int again = 0;
    std::atomic<bool> ended{false};
};

std::shared_ptr<diary> make_diary(io_thread& thread)
{
    auto made = std::make_shared<diary>(thread);
    made->self = made;
    return made;
}

TEST(residents, do_what_they_are_asked_together_once_and_in_order)
{
    io_thread thread;
    const auto what = make_diary(thread);
    for (const unsigned number : {31U, 2U, 0U, 2U, 1U})
        thread.ask(*what, number, what);
    ASSERT_EQ(0, thread.start(0, {}));
    what->ended.wait(false);
    EXPECT_EQ((std::vector<unsigned>{0, 1, 2, 31}), what->done);
}

TEST(residents, go_on_after_a_request_that_throws)
{
    io_thread thread;
    const auto what = make_diary(thread);
    for (const unsigned number : {31U, 3U, 0U})
        thread.ask(*what, number, what);
    ASSERT_EQ(0, thread.start(0, {}));
    what->ended.wait(false);
    EXPECT_EQ((std::vector<unsigned>{0, 31}), what->done);
}

/// Has no memory for its first requests.
struct poor final : resident {
    void do_request(unsigned) override
    {
        if (refusals.fetch_sub(1) > 0)
            throw std::bad_alloc();
        done = true;
        done.notify_all();
    }
    std::atomic<int> refusals{0};
    std::atomic<bool> done{false};
};

TEST(residents, do_later_what_there_was_no_memory_for)
{
    io_thread thread;
    ASSERT_EQ(0, thread.start(0, {}));
    for (const int refusals : {1, 3}) {
        const auto one = std::make_shared<poor>();
        const auto other = std::make_shared<poor>();
        one->refusals = refusals;
        other->refusals = refusals;
        thread.ask(*one, 0, one);
        thread.ask(*other, 0, other);
        one->done.wait(false);
        other->done.wait(false);
        EXPECT_EQ(-1, one->refusals);
    }
}

TEST(residents, that_have_no_memory_at_the_end_are_let_go)
{
    const auto never = std::make_shared<poor>();
    never->refusals = 1'000'000;
    const auto other = std::make_shared<poor>();
    {
        io_thread thread;
        ASSERT_EQ(0, thread.start(0, {}));
        thread.ask(*never, 0, never);
        thread.ask(*other, 0, other);
        other->done.wait(false);
    }
    EXPECT_EQ(1, never.use_count());
}

TEST(residents, that_ask_themselves_again_let_others_come_first)
{
    io_thread thread;
    const auto what = make_diary(thread);
    what->again = 2;
    std::vector<int> rest;
    thread.ask(*what, 4, what);
    boost::asio::post(thread.context(), [&] { rest.push_back(what->again); });
    boost::asio::post(thread.context(), [&] {
        rest.push_back(what->again);
        thread.ask(*what, 31, what);
    });
    ASSERT_EQ(0, thread.start(0, {}));
    what->ended.wait(false);
    EXPECT_EQ((std::vector<int>{1, 1}), rest); // after the first time
}

} // namespace
} // namespace zlink::runtime
