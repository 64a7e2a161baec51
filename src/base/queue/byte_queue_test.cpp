// SPDX-License-Identifier: Apache-2.0
#include "base/queue/byte_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

namespace zlink::base {
namespace {

constexpr std::size_t message_bytes = 64;

// Appends and publishes a message; returns how many bytes the chunk had room for before.
std::size_t write(byte_queue& queue, char fill)
{
    std::byte* const at = queue.reserve(message_bytes);
    EXPECT_NE(nullptr, at);
    const std::size_t room = queue.room();
    std::memset(at, fill, message_bytes);
    queue.advance(message_bytes);
    queue.commit(1);
    return room;
}

void read(byte_queue& queue, char fill)
{
    ASSERT_TRUE(queue.load());
    ASSERT_LE(message_bytes, static_cast<std::size_t>(queue.read_end() - queue.read_begin()));
    EXPECT_EQ(static_cast<std::byte>(fill), *queue.read_begin());
    queue.consume(message_bytes);
}

TEST(ByteQueue, needs_little_memory_as_long_as_little_is_under_way)
{
    byte_queue subject;
    for (int number = 0; number < 10'000; ++number) {
        EXPECT_GE(4096 + message_bytes, write(subject, static_cast<char>(number)));
        read(subject, static_cast<char>(number));
    }
}

// Where the queue goes on writing each time it changes to another chunk.
std::vector<const std::byte*> chunks_of(byte_queue& queue, int messages)
{
    std::vector<const std::byte*> chunks;
    std::size_t room = 0;
    for (int number = 0; number < messages; ++number) {
        const std::size_t before = write(queue, static_cast<char>(number));
        if (before > room)
            chunks.push_back(queue.tail());
        room = before;
        read(queue, static_cast<char>(number));
    }
    return chunks;
}

std::size_t different(const std::vector<const std::byte*>& chunks)
{
    return std::set(chunks.begin(), chunks.end()).size();
}

TEST(ByteQueue, uses_chunks_in_turn_if_it_is_to)
{
    constexpr int messages_in_chunk = tuning::queue::max_chunk_bytes / message_bytes;
    const auto grow = [](byte_queue& queue) {
        for (int number = 0; number < 4 * messages_in_chunk; ++number)
            write(queue, static_cast<char>(number));
        for (int number = 0; number < 4 * messages_in_chunk; ++number)
            read(queue, static_cast<char>(number));
    };
    byte_queue plain;
    grow(plain);
    EXPECT_GE(3u, different(chunks_of(plain, 30 * messages_in_chunk)));
    byte_queue subject;
    subject.rotate_chunks(20 * messages_in_chunk);
    grow(subject);
    chunks_of(subject, 30 * messages_in_chunk);
    EXPECT_LE(15u, different(chunks_of(subject, 15 * messages_in_chunk)));
}

TEST(ByteQueue, shows_what_is_not_committed_and_takes_it_back)
{
    byte_queue subject;
    const auto append = [&](char fill) {
        std::byte* const at = subject.reserve(message_bytes);
        std::memset(at, fill, message_bytes);
        subject.advance(message_bytes);
        return at;
    };
    const auto expect_uncommitted = [&](const std::byte* at, std::size_t bytes) {
        EXPECT_EQ(bytes != 0, subject.has_uncommitted());
        EXPECT_EQ(bytes, subject.uncommitted().size());
        if (bytes) {
            EXPECT_EQ(at, subject.uncommitted().data());
        }
    };
    expect_uncommitted(nullptr, 0);
    subject.reserve(10 * message_bytes); // in one piece
    const std::byte* const first = append('a');
    append('b');
    expect_uncommitted(first, 2 * message_bytes);
    subject.rollback();
    expect_uncommitted(nullptr, 0);
    EXPECT_EQ(first, append('c')) << "in the same place";
    subject.commit(1);
    expect_uncommitted(nullptr, 0);
    read(subject, 'c');
    EXPECT_FALSE(subject.load());

    // Behind a body.
    buffer* const body = allocate_buffer(message_bytes);
    std::memset(body->data, 'd', message_bytes);
    ASSERT_TRUE(subject.append(body, body->data, message_bytes));
    EXPECT_TRUE(subject.has_uncommitted());
    EXPECT_TRUE(subject.uncommitted().empty()) << "not in the queue's own memory";
    subject.commit(1);
    const std::byte* const behind = append('e');
    expect_uncommitted(behind, message_bytes);
    subject.rollback();
    expect_uncommitted(nullptr, 0);
    EXPECT_EQ(behind, append('f'));
    subject.commit(1);
    ASSERT_TRUE(subject.load());
    EXPECT_EQ(std::byte{'d'}, *subject.read_begin());
    subject.consume_body();
    read(subject, 'f');
}

TEST(ByteQueue, takes_ever_larger_chunks_the_more_is_under_way)
{
    constexpr int under_way = 2000;
    byte_queue subject;
    std::size_t largest_room = 0;
    for (int number = 0; number < 10 * under_way; ++number) {
        largest_room = std::max(largest_room, write(subject, static_cast<char>(number)));
        if (number >= under_way)
            read(subject, static_cast<char>(number - under_way));
    }
    EXPECT_LE(std::size_t{30} * 1024, largest_room);
}

} // namespace
} // namespace zlink::base
