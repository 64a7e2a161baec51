// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/read_buffer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "support/scarce_memory.hpp"

namespace zlink::test {
namespace {

using engine::read_buffer;

void read(read_buffer& buffer, const std::string& bytes)
{
    iovec room{};
    ASSERT_TRUE(buffer.prepare(0, bytes.size(), room));
    ASSERT_GE(room.iov_len, bytes.size());
    std::memcpy(room.iov_base, bytes.data(), bytes.size());
    buffer.filled(bytes.size());
}

std::string unread(read_buffer& buffer)
{
    const auto bytes = buffer.unread();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(read_buffer, keeps_what_is_unread_in_one_piece)
{
    read_buffer buffer;
    EXPECT_TRUE(buffer.empty());
    read(buffer, "abcdef");
    buffer.consume(2);
    EXPECT_EQ(unread(buffer), "cdef");
    read(buffer, "gh");
    EXPECT_EQ(unread(buffer), "cdefgh");
    EXPECT_EQ(buffer.size(), 6u);
    buffer.consume(6);
    EXPECT_TRUE(buffer.empty());
}

TEST(read_buffer, has_room_for_all_that_is_needed)
{
    read_buffer buffer;
    read(buffer, "abcd");
    buffer.consume(1);
    iovec room{};
    ASSERT_TRUE(buffer.prepare(100, 1, room));
    EXPECT_GE(room.iov_len, 97u); // behind the three that are unread
    ASSERT_TRUE(buffer.prepare(1, 200, room));
    EXPECT_GE(room.iov_len, 200u);
    EXPECT_EQ(unread(buffer), "bcd");
}

TEST(read_buffer, goes_back_to_a_mark)
{
    read_buffer buffer;
    read(buffer, "abcd");
    buffer.consume(1);
    const read_buffer::mark before = buffer.position();
    buffer.consume(3);
    EXPECT_TRUE(buffer.empty());
    buffer.return_to(before);
    EXPECT_EQ(unread(buffer), "bcd");
}

TEST(read_buffer, keeps_little_memory_once_less_is_read)
{
    read_buffer buffer;
    iovec room{};
    ASSERT_TRUE(buffer.prepare(0, 64 * 1024, room));
    EXPECT_EQ(room.iov_len, 64u * 1024);
    buffer.filled(10);
    ASSERT_TRUE(buffer.prepare(0, 2048, room)); // it is not empty
    EXPECT_GT(room.iov_len, 2048u);
    buffer.consume(10);
    ASSERT_TRUE(buffer.prepare(0, 32 * 1024, room)); // as much as half of it is no reason
    EXPECT_EQ(room.iov_len, 64u * 1024);
    ASSERT_TRUE(buffer.prepare(0, 2048, room));
    EXPECT_EQ(room.iov_len, 2048u);
}

TEST(read_buffer, drops_what_is_unread)
{
    read_buffer buffer;
    read(buffer, "abcd");
    buffer.clear();
    EXPECT_TRUE(buffer.empty());
    read(buffer, "ef");
    EXPECT_EQ(unread(buffer), "ef");
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST(read_buffer, loses_nothing_without_memory)
{
    read_buffer buffer;
    read(buffer, "abcd");
    buffer.consume(1);
    iovec room{};
    {
        const no_memory none;
        EXPECT_FALSE(buffer.prepare(0, 1024 * 1024, room));
    }
    EXPECT_EQ(unread(buffer), "bcd");
    read(buffer, "e");
    EXPECT_EQ(unread(buffer), "bcde");
}
#endif

} // namespace
} // namespace zlink::test
