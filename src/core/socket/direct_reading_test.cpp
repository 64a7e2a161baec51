// SPDX-License-Identifier: Apache-2.0
#include "core/socket/direct_reading.hpp"

#include "core/connection/traffic_for_tests.hpp"

#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace zlink::core {
namespace {

using base::glance;

/// A connection that gives what the test tells it to.
class scripted_inlet final : public test::idle_inlet {
public:
    leased_read read(std::span<std::byte> memory) noexcept override
    {
        ++reads;
        memory_bytes = memory.size();
        if (steps.empty())
            return {.leased = true, .descriptor = 7, .body = {}};
        const leased_read now = steps.front();
        steps.pop_front();
        return now;
    }
    void withdraw_memory() noexcept override { ++withdrawals; }
    void give_back() noexcept override { ++returns; }

    std::deque<leased_read> steps; ///< after these nothing comes
    int reads = 0;
    int withdrawals = 0;
    int returns = 0;
    std::size_t memory_bytes = 0; ///< that was given with the last read
};

class DirectReading : public ::testing::Test {
protected:
    struct connection {
        std::unique_ptr<scripted_inlet> peer = std::make_unique<scripted_inlet>();
        std::shared_ptr<pipe_end> pipe =
            std::make_shared<pipe_end>(std::make_shared<channel_pair>(), true, nullptr);
        connection() { test::connect(*pipe, *peer); }
    };
    void add(connection& one)
    {
        reading_.add(*one.pipe, [this](pipe_end& p) { readable(p); });
    }
    glance read()
    {
        return reading_.read([this](pipe_end& p) { readable(p); });
    }
    void readable(pipe_end& pipe) { readable_.push_back(&pipe); }

    using pipes = std::vector<pipe_end*>;

    direct_reading reading_;
    connection a_;
    connection b_;
    pipes readable_;
    std::string memory_ = std::string(100, '#');
};

TEST_F(DirectReading, reads_until_the_connection_is_taken_back)
{
    a_.peer->steps = {{.leased = true, .got = true, .descriptor = 3, .body = {}}};
    add(a_);
    EXPECT_EQ(readable_, pipes{a_.pipe.get()}) << "what had come meanwhile";
    EXPECT_EQ(reading_.connections()[0].descriptor, 3);
    add(a_);
    EXPECT_EQ(a_.peer->reads, 1) << "it is there already";
    EXPECT_EQ(read(), glance::nothing);
    EXPECT_EQ(reading_.connections()[0].descriptor, 7);
    a_.peer->steps = {{.leased = true, .moved = true, .descriptor = 7, .body = {}},
                      {.leased = true, .got = true, .moved = true, .descriptor = 7, .body = {}},
                      {.leased = false, .body = {}}};
    EXPECT_EQ(read(), glance::progress);
    EXPECT_EQ(readable_.size(), 1u);
    EXPECT_EQ(read(), glance::news);
    EXPECT_EQ(readable_.size(), 2u);
    EXPECT_EQ(read(), glance::nothing);
    EXPECT_TRUE(reading_.empty());
    EXPECT_EQ(a_.peer->returns, 0);
}

TEST_F(DirectReading, does_not_begin_with_a_connection_that_is_not_leased)
{
    a_.peer->steps = {{.leased = false, .got = true, .body = {}}};
    add(a_);
    EXPECT_TRUE(reading_.empty());
    EXPECT_EQ(readable_, pipes{a_.pipe.get()});
}

TEST_F(DirectReading, goes_on_with_the_others_when_one_ends)
{
    add(a_);
    add(b_);
    a_.peer->steps = {{.leased = false, .body = {}}};
    b_.peer->steps = {{.leased = true, .got = true, .descriptor = 9, .body = {}}};
    EXPECT_EQ(read(), glance::news);
    EXPECT_EQ(readable_, pipes{b_.pipe.get()});
    ASSERT_EQ(reading_.connections().size(), 1u);
    EXPECT_EQ(reading_.connections()[0].pipe, b_.pipe.get());
    EXPECT_EQ(reading_.connections()[0].descriptor, 9);
}

TEST_F(DirectReading, takes_no_more_than_a_thread_can_wait_for)
{
    std::vector<connection> many(tuning::direct_reading::max_connections + 1);
    for (connection& each : many)
        add(each);
    EXPECT_EQ(reading_.connections().size(), tuning::direct_reading::max_connections);
    EXPECT_EQ(many.back().peer->returns, 1);
    EXPECT_EQ(many.back().peer->reads, 0);
    reading_.give_back();
    EXPECT_TRUE(reading_.empty());
    for (const connection& each : many)
        EXPECT_EQ(each.peer->returns, 1);
}

TEST_F(DirectReading, forgets_a_pipe_that_goes)
{
    add(a_);
    EXPECT_FALSE(reading_.remove(*b_.pipe));
    EXPECT_TRUE(reading_.remove(*a_.pipe));
    EXPECT_FALSE(reading_.remove(*a_.pipe));
    EXPECT_TRUE(reading_.empty());
    EXPECT_EQ(a_.peer->returns, 0) << "who removes it sees to that";
}

/// With memory that a body may be read into, and such a body.
class DirectReadingToMemory : public DirectReading {
protected:
    DirectReadingToMemory()
    {
        add(a_);
        add(b_);
        a_.peer->reads = b_.peer->reads = 0;
        reading_.offer_memory(std::as_writable_bytes(std::span(memory_)));
        std::memset(body_->data, '-', memory_.size());
    }
    static inlet::leased_read on_its_way() { return {.leased = true, .outside = true, .body = {}}; }
    inlet::leased_read has_come()
    {
        body_->add_reference(); // for who is told
        std::memcpy(memory_.data(), "hello", 5);
        return {.leased = true, .got = true, .body = {body_.get(), 5}};
    }
    /// One receive call, in which a body comes to the memory if that was offered: was it?
    bool is_offered(bool taken)
    {
        reading_.offer_memory(std::as_writable_bytes(std::span(memory_)));
        read();
        const bool offered = a_.peer->memory_bytes != 0;
        if (offered) {
            a_.peer->steps = {has_come()};
            read();
            EXPECT_TRUE(!taken || reading_.take_body(part()));
        }
        reading_.reclaim_memory();
        return offered;
    }
    frame part() { return {.data = body_->data, .size = 5, .owner = body_.get()}; }
    std::string in_queue() const { return std::string(text_of(body_->data, 5)); }

    base::buffer_ref body_{base::allocate_buffer(100)};
};

TEST_F(DirectReadingToMemory, gives_a_body_that_has_come_there)
{
    a_.peer->steps = {on_its_way(), has_come()};
    EXPECT_EQ(read(), glance::nothing);
    EXPECT_EQ(a_.peer->memory_bytes, memory_.size());
    EXPECT_EQ(b_.peer->memory_bytes, 0u) << "it is another connection's";
    EXPECT_EQ(read(), glance::news);
    EXPECT_EQ(read(), glance::nothing);
    EXPECT_EQ(a_.peer->memory_bytes, 0u) << "it is full";
    EXPECT_FALSE(reading_.take_body({})) << "another part";
    EXPECT_TRUE(reading_.take_body(part()));
    EXPECT_FALSE(reading_.take_body(part()));
    reading_.reclaim_memory();
    EXPECT_EQ(in_queue(), "-----") << "nobody needs it there";
    EXPECT_EQ(a_.peer->withdrawals, 0);
    EXPECT_TRUE(body_->unique());
}

TEST_F(DirectReadingToMemory, puts_a_body_that_was_not_taken_into_the_queue)
{
    a_.peer->steps = {has_come()};
    EXPECT_EQ(read(), glance::news);
    reading_.reclaim_memory();
    EXPECT_EQ(in_queue(), "hello");
    EXPECT_FALSE(reading_.take_body(part()));
    EXPECT_TRUE(body_->unique());
    EXPECT_EQ(read(), glance::nothing);
    EXPECT_EQ(a_.peer->memory_bytes, 0u) << "the memory is its owner's again";
}

TEST_F(DirectReadingToMemory, is_offered_less_often_where_another_message_comes_first)
{
    reading_.reclaim_memory();
    for (int calls = 0; calls < 100; ++calls)
        EXPECT_TRUE(is_offered(true));
    int offers = 0;
    for (int calls = 0; calls < 1000; ++calls)
        offers += is_offered(false);
    // Before 2, 4, 8, 16, 32 and 64 skipped ones, and then before 64 each time.
    EXPECT_LE(19, offers);
    EXPECT_GE(21, offers);
    while (!is_offered(true)) {
    }
    for (int calls = 0; calls < 100; ++calls)
        EXPECT_TRUE(is_offered(true)) << "the connections take turns again";
    EXPECT_TRUE(body_->unique());
}

TEST_F(DirectReadingToMemory, is_always_offered_to_one_connection)
{
    reading_.reclaim_memory();
    EXPECT_TRUE(is_offered(false));
    EXPECT_FALSE(is_offered(false));
    EXPECT_TRUE(reading_.remove(*b_.pipe));
    for (int calls = 0; calls < 100; ++calls)
        EXPECT_TRUE(is_offered(false));
}

TEST_F(DirectReadingToMemory, withdraws_memory_that_a_body_is_on_its_way_to)
{
    a_.peer->steps = {on_its_way()};
    read();
    reading_.remove(*b_.pipe);
    EXPECT_EQ(a_.peer->withdrawals, 0) << "it goes on";
    reading_.reclaim_memory();
    EXPECT_EQ(a_.peer->withdrawals, 1);
    EXPECT_EQ(b_.peer->withdrawals, 0);
    reading_.reclaim_memory();
    EXPECT_EQ(a_.peer->withdrawals, 1);
}

TEST_F(DirectReadingToMemory, withdraws_it_when_that_pipe_goes)
{
    a_.peer->steps = {on_its_way()};
    read();
    EXPECT_TRUE(reading_.remove(*a_.pipe));
    EXPECT_EQ(a_.peer->withdrawals, 1);
}

} // namespace
} // namespace zlink::core
