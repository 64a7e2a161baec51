// SPDX-License-Identifier: Apache-2.0
#include "core/connection/read_loop.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <span>
#include <vector>

namespace zlink::core {
namespace {

using transport::io_result;

constexpr std::size_t room_bytes = 10;

/// A connection whose reads have these results, one after the other, and then find nothing.
struct scripted {
    bool may_read() const { return reads < most_reads; }
    int prepare(std::span<iovec> space)
    {
        space[0] = {memory, sizeof memory};
        return has_memory ? 1 : 0;
    }
    io_result read(const iovec*, int count)
    {
        EXPECT_EQ(count, 1);
        return reads < static_cast<int>(results.size()) ? results[static_cast<std::size_t>(reads++)]
                                                        : io_result{0, EAGAIN};
    }
    bool received(std::size_t some)
    {
        bytes += some;
        return bytes < most_bytes;
    }

    std::vector<io_result> results;
    int most_reads = 100;
    std::size_t most_bytes = 1000;
    bool has_memory = true;
    char memory[room_bytes] = {};
    int reads = 0;
    std::size_t bytes = 0;
};

const io_result full{room_bytes};
const io_result half{room_bytes / 2};

TEST(pump, reads_until_nothing_more_is_there)
{
    scripted from{{full, full}};
    EXPECT_EQ(pump(from), pump_end::dry);
    EXPECT_EQ(from.bytes, 2 * room_bytes);
}

TEST(pump, takes_a_short_read_for_the_last_one)
{
    scripted from{{full, half, full}};
    EXPECT_EQ(pump(from), pump_end::dry);
    EXPECT_EQ(from.reads, 2);
    EXPECT_EQ(from.bytes, room_bytes + room_bytes / 2);
}

TEST(pump, goes_on_after_a_short_read_if_the_stream_has_more)
{
    scripted from{{{room_bytes / 2, 0, true}, half, full}};
    EXPECT_EQ(pump(from), pump_end::dry);
    EXPECT_EQ(from.reads, 2);
}

TEST(pump, goes_on_after_a_short_read_if_it_is_told_to)
{
    scripted from{{half, half, full, half}};
    EXPECT_EQ(pump(from, short_read::goes_on), pump_end::dry);
    EXPECT_EQ(from.reads, 4);
}

TEST(pump, ends_with_the_connection)
{
    scripted ended{{full, {}}};
    EXPECT_EQ(pump(ended), pump_end::lost);
    EXPECT_EQ(ended.bytes, room_bytes);
    scripted failed{{full, {0, ECONNRESET}}};
    EXPECT_EQ(pump(failed), pump_end::lost);
    EXPECT_EQ(failed.bytes, room_bytes);
}

TEST(pump, ends_at_the_limit_before_it_reads)
{
    scripted from{{full, full, full}};
    from.most_reads = 2;
    EXPECT_EQ(pump(from), pump_end::limited);
    EXPECT_EQ(from.reads, 2);
    from.most_reads = 0;
    EXPECT_EQ(pump(from), pump_end::limited);
}

TEST(pump, ends_when_what_was_received_is_refused)
{
    scripted from{{full, full, full}};
    from.most_bytes = 2 * room_bytes;
    EXPECT_EQ(pump(from), pump_end::refused);
    EXPECT_EQ(from.reads, 2);
}

TEST(pump, reads_nothing_without_memory)
{
    scripted from{{full}};
    from.has_memory = false;
    EXPECT_EQ(pump(from), pump_end::no_memory);
    EXPECT_EQ(from.reads, 0);
}

} // namespace
} // namespace zlink::core
