// SPDX-License-Identifier: Apache-2.0
// A sending thread that writes what it commits in batches.
#include "base/asymmetric_fence.hpp"
#include "core/pipe.hpp"
#include "engine/outbound.hpp"
#include "transport/stream_for_tests.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace zlink::core {
namespace {

/// Takes everything and remembers the sizes of the writes.
class counting_stream final : public transport::stream_for_tests {
public:
    transport::io_result write_some(const iovec* buffers, int count) noexcept override
    {
        writes.push_back(transport::total_bytes(buffers, count));
        return {writes.back(), 0};
    }
    std::vector<std::size_t> writes;
};

/// The sending side of a session in the middle of a stream.
class batching_peer final : public pipe_peer {
public:
    explicit batching_peer(engine::outbound& out) : out_(out) {}
    std::size_t write_through(const iovec (&message)[2]) noexcept override
    {
        return out_.write_through(message);
    }
    wake_result on_readable() noexcept override { return {.deferred = out_.begin_duty()}; }
    wake_result on_flush() noexcept override
    {
        return {.deferred = out_.drain_directly().state == engine::outbound::status::written};
    }
    wake_result on_pause() noexcept override
    {
        out_.drain_and_end_duty();
        return {};
    }
    void on_writable() noexcept override {}
    void on_closed(int) noexcept override {}

private:
    engine::outbound& out_;
};

class Batching : public ::testing::Test {
protected:
    static constexpr std::size_t header_bytes = engine::zmtp3::long_header_bytes;

    void SetUp() override
    {
        if (!base::has_heavy_fence())
            GTEST_SKIP() << "without membarrier() the I/O thread makes the batches";
        sender_.set_other_end(std::make_shared<batching_peer>(outbound_));
        outbound_.attach(stream_, {});
        outbound_.drain();
        send(100); // begins the duty
        sender_.flush_before_sleep();
        send(100);
        stream_.writes.clear();
    }
    void send(std::size_t bytes, bool more = false)
    {
        ASSERT_TRUE(sender_.write(frame_of(std::string(bytes, 'x'), more)));
    }
    using sizes = std::vector<std::size_t>;

    std::shared_ptr<channel_pair> channels_ = std::make_shared<channel_pair>();
    engine::outbound outbound_{channels_->a_to_b};
    counting_stream stream_;
    pipe_end sender_{channels_, true, nullptr};
    const std::size_t begun_bytes_ = 102; ///< on their way to the first batch
};

TEST_F(Batching, takes_as_many_messages_as_fit_in_a_packet)
{
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
    for (int i = 0; i < 6; ++i)
        send(10'000);
    EXPECT_EQ(sizes(), stream_.writes);
    send(4'000);
    EXPECT_EQ(sizes{begun_bytes_ + 6 * (10'000 + header_bytes) + 4'000 + header_bytes},
              stream_.writes);
}

TEST_F(Batching, does_not_cut_a_message_of_several_parts)
{
    send(30'000);
    send(30'000, true);
    send(10'000);
    EXPECT_EQ(sizes{begun_bytes_ + 30'000 + header_bytes}, stream_.writes);
    sender_.flush_before_sleep();
    EXPECT_EQ(40'000 + 2 * header_bytes, stream_.writes.back());
}

TEST_F(Batching, lets_large_messages_go_by_themselves)
{
    send(pipe_peer::unbatched_bytes - 1);
    EXPECT_EQ(sizes(), stream_.writes);
    send(pipe_peer::unbatched_bytes);
    EXPECT_EQ((sizes{begun_bytes_ + pipe_peer::unbatched_bytes - 1 + header_bytes,
                     pipe_peer::unbatched_bytes + header_bytes}),
              stream_.writes);
}

} // namespace
} // namespace zlink::core
