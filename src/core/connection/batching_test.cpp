// SPDX-License-Identifier: Apache-2.0
// A sending thread that writes what it commits in batches.
#include "base/sync/asymmetric_fence.hpp"
#include "base/tuning.hpp"
#include "core/connection/traffic_for_tests.hpp"
#include "core/connection/writer.hpp"
#include "core/pipe/pipe.hpp"
#include "support/memory_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace zlink::core {
namespace {

/// The sending side of a link in the middle of a stream.
class batching_outlet final : public outlet {
public:
    using stalls = writer::stalls;

    explicit batching_outlet(writer& out) : out_(out) {}
    direct_write write_direct(const iovec (&message)[2],
                              base::certain_memory& for_rest) noexcept override
    {
        const auto written = out_.write_through(message, for_rest, stalls::leave, in_stream);
        return {written.bytes, written.next};
    }
    plan committed() noexcept override
    {
        return {.who = out_.begin_batches() ? writer_is::batcher : writer_is::nobody};
    }
    plan flush(flush_reason why) noexcept override
    {
        if (why == flush_reason::full)
            return out_.write_queued();
        if (why == flush_reason::about_to_wait)
            return out_.end_batches();
        return {};
    }

    bool in_stream = true;

private:
    writer& out_;
};

class Batching : public ::testing::Test {
protected:
    static constexpr std::size_t header_bytes = engine::zmtp3::long_header_bytes;

    void SetUp() override
    {
        if (!base::has_heavy_fence())
            GTEST_SKIP() << "without membarrier() the I/O thread makes the batches";
        test::connect(sender_, outlet_);
        writer_.attach(stream_, {}, {}, {}, stream_.facts.packet_bytes);
        writer_.drain();
    }
    void begin_batches()
    {
        send(100);
        EXPECT_EQ(sizes(), stream_.writes);
    }
    void send(std::size_t bytes, bool more = false)
    {
        ASSERT_TRUE(sender_.out.write(frame_of(std::string(bytes, 'x'), more)));
    }
    using sizes = std::vector<std::size_t>;

    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    writer writer_{channels_->a_to_b};
    test::memory_stream stream_;
    batching_outlet outlet_{writer_};
    pipe_end sender_{channels_, true, nullptr};
    const std::size_t begun_bytes_ = 102; ///< what begin_batches() has sent
};

TEST_F(Batching, takes_as_many_messages_as_fit_in_a_packet)
{
    begin_batches();
    for (int i = 0; i < 3; ++i)
        send(20'000);
    EXPECT_EQ(sizes(), stream_.writes);
    send(20'000);
    EXPECT_EQ(sizes{begun_bytes_ + 3 * (20'000 + header_bytes)}, stream_.writes);
    for (int i = 0; i < 3; ++i)
        send(20'000);
    EXPECT_EQ(3 * (20'000 + header_bytes), stream_.writes.back());
    EXPECT_EQ(2U, stream_.writes.size());
}

TEST_F(Batching, ends_a_batch_that_is_as_good_as_full)
{
    begin_batches();
    for (int i = 0; i < 6; ++i)
        send(10'000);
    EXPECT_EQ(sizes(), stream_.writes);
    send(4'000);
    EXPECT_EQ(sizes{begun_bytes_ + 6 * (10'000 + header_bytes) + 4'000 + header_bytes},
              stream_.writes);
}

TEST_F(Batching, does_not_cut_a_message_of_several_parts)
{
    begin_batches();
    send(30'000);
    send(30'000, true);
    send(10'000);
    EXPECT_EQ(sizes{begun_bytes_ + 30'000 + header_bytes}, stream_.writes);
    sender_.out.flush_before_sleep();
    EXPECT_EQ(40'000 + 2 * header_bytes, stream_.writes.back());
}

TEST_F(Batching, goes_with_a_large_message_in_one_write)
{
    begin_batches();
    send(tuning::batching::min_unbatched_bytes - 1);
    EXPECT_EQ(sizes(), stream_.writes);
    send(tuning::batching::min_unbatched_bytes);
    EXPECT_EQ(sizes{begun_bytes_ + 2 * (tuning::batching::min_unbatched_bytes + header_bytes) - 1},
              stream_.writes);
}

// What the thread waits for, at another socket perhaps, may be the answer to that.
TEST_F(Batching, is_written_when_its_thread_is_going_to_wait_elsewhere)
{
    const auto write_batch = [this] {
        auto found = writer_is::nobody;
        writer_.write_batch([&](plan rest, std::uint64_t) { found = rest.who; });
        return found;
    };
    begin_batches();
    send(100);
    EXPECT_EQ(writer_is::batcher, write_batch());
    EXPECT_EQ(sizes{2 * begun_bytes_}, stream_.writes);
    send(100);
    send(100);
    EXPECT_EQ(writer_is::batcher, write_batch()) << "the batches go on";
    EXPECT_EQ((sizes{2 * begun_bytes_, 2 * begun_bytes_}), stream_.writes);
    EXPECT_EQ(writer_is::nobody, write_batch());
    EXPECT_EQ(writer_is::nobody, write_batch());
    send(100); // is told that the batches have ended, and begins others
    send(100);
    EXPECT_EQ(writer_is::batcher, write_batch());
    EXPECT_EQ((sizes{2 * begun_bytes_, 2 * begun_bytes_, 2 * begun_bytes_}), stream_.writes);
}

// Who has waited with it in vain is told, and the next message tells whoever is to write it.
TEST_F(Batching, of_one_message_is_the_last)
{
    std::vector<std::uint64_t> told;
    const auto write_batch = [&] {
        writer_.write_batch([&](plan, std::uint64_t messages) { told.push_back(messages); });
    };
    begin_batches();
    write_batch();
    EXPECT_EQ(sizes{begun_bytes_}, stream_.writes);
    EXPECT_FALSE(writer_.stop_batches()) << "it is over";
    send(100); // begins another
    send(100);
    send(100);
    write_batch();
    EXPECT_EQ((sizes{begun_bytes_, 3 * begun_bytes_}), stream_.writes);
    send(100); // joins what goes on
    write_batch();
    EXPECT_EQ((sizes{begun_bytes_, 3 * begun_bytes_, begun_bytes_}), stream_.writes);
    EXPECT_FALSE(writer_.stop_batches());
    EXPECT_EQ((std::vector<std::uint64_t>{1, 3, 1}), told);
}

// The recall is of no use to a sender that has gone to sleep meanwhile: it begins anew.
TEST_F(Batching, of_one_message_is_followed_by_one_that_is_told_of)
{
    begin_batches();
    writer_.write_batch([](plan, std::uint64_t) {});
    sender_.out.flush_before_sleep();
    send(100); // begins another
    sender_.out.flush_before_sleep();
    EXPECT_EQ((sizes{begun_bytes_, begun_bytes_}), stream_.writes);
}

/// Large messages that each end a little behind the border of a packet.
class PacketBatching : public Batching {
protected:
    static constexpr std::size_t packet_bytes = 50'000;
    static constexpr std::size_t body_bytes = 2 * packet_bytes - header_bytes + 100;

    void SetUp() override
    {
        stream_.facts.packet_bytes = packet_bytes;
        Batching::SetUp();
    }
    void expect_writes(const sizes& expected) { EXPECT_EQ(expected, stream_.writes); }
    std::size_t written() const
    {
        return std::accumulate(stream_.writes.begin(), stream_.writes.end(), std::size_t{0});
    }
};

TEST_F(PacketBatching, leaves_the_end_of_a_large_message_to_the_next)
{
    send(body_bytes);
    send(body_bytes);
    send(body_bytes);
    expect_writes({2 * packet_bytes, 2 * packet_bytes, 2 * packet_bytes});
    EXPECT_EQ(1U, channels_->a_to_b.credit.waiting()) << "the message counts until it has gone";
    sender_.out.flush_before_sleep();
    expect_writes({2 * packet_bytes, 2 * packet_bytes, 2 * packet_bytes, 300});
    EXPECT_TRUE(writer_.drained());
    EXPECT_EQ(0U, channels_->a_to_b.credit.waiting());
}

TEST_F(PacketBatching, leaves_nothing_where_messages_do_not_follow_each_other)
{
    outlet_.in_stream = false;
    send(body_bytes);
    expect_writes({2 * packet_bytes + 100});
    EXPECT_TRUE(writer_.drained());
}

TEST_F(PacketBatching, leaves_what_is_left_to_the_io_thread_if_nothing_follows)
{
    send(body_bytes);
    EXPECT_EQ(writer_is::batcher, writer_.write_for_batcher().who);
    expect_writes({2 * packet_bytes, 100});
    EXPECT_EQ(writer_is::nobody, writer_.write_for_batcher().who) << "the batches have ended";
    send(body_bytes);
    expect_writes({2 * packet_bytes, 100, 2 * packet_bytes});
}

TEST_F(PacketBatching, does_not_leave_much)
{
    constexpr std::size_t most = tuning::batching::max_held_tail_bytes;
    send(2 * packet_bytes - header_bytes + most);
    expect_writes({2 * packet_bytes});
    send(packet_bytes - header_bytes + 1); // more than that with what is left
    expect_writes({2 * packet_bytes, packet_bytes + most + 1});
    send(packet_bytes - header_bytes - 1);
    EXPECT_EQ(packet_bytes - 1, stream_.writes.back()) << "one packet carries it";
}

TEST_F(PacketBatching, writes_a_full_packet_with_nothing_left)
{
    send(2 * packet_bytes - header_bytes);
    expect_writes({2 * packet_bytes});
    EXPECT_TRUE(writer_.drained());
}

TEST_F(PacketBatching, goes_on_when_a_connection_took_less)
{
    const auto put_and_fill = [&](std::size_t room) {
        stream_.room = room;
        send(body_bytes);
    };
    const std::size_t whole = body_bytes + header_bytes;
    put_and_fill(10'000); // at the beginning of a stream
    put_and_fill(20'000); // with what is left of the first ahead
    put_and_fill(0);
    put_and_fill(3 * whole - 30'000 - 10); // within what is left of the second
    stream_.room = SIZE_MAX;
    for (int call = 0; !writer_.drained() && call < 10; ++call)
        writer_.drain();
    EXPECT_EQ(4 * whole, written());
    EXPECT_EQ(4U, channels_->a_to_b.credit.taken());
}

} // namespace
} // namespace zlink::core
