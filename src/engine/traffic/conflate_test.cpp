// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/conflate.hpp"

#include "base/queue/channel.hpp"
#include "core/connection/writer.hpp"
#include "engine/wire/wires_for_tests.hpp"
#include "support/bytes.hpp"
#include "support/memory_stream.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <thread>

namespace zlink::test {
namespace {

using namespace engine;

base::buffer_ref copy_of(std::string_view text)
{
    return copy_frame(0, bytes_of(text));
}

std::string body_of(const base::buffer_ref& copy)
{
    return copy ? text_of(view_frame(*copy.get()).body) : "nothing";
}

void queue_frame(base::byte_queue& queue, std::string_view body, bool more = false)
{
    const base::buffer_ref copy = copy_frame(more ? 1 : 0, bytes_of(body));
    const std::size_t bytes = view_frame(*copy.get()).total_bytes;
    std::byte* const at = queue.reserve(bytes);
    std::copy_n(copy->data, bytes, at);
    queue.advance(bytes);
    if (!more)
        queue.commit(1);
}

TEST(NewestSlot, a_newer_buffer_takes_the_place_of_an_older_one)
{
    base::conflation_slot slot;
    EXPECT_FALSE(slot.filled());
    slot.put(copy_of("old"));
    slot.put(copy_of("new"));
    EXPECT_TRUE(slot.filled());
    EXPECT_EQ("new", body_of(slot.take()));
    EXPECT_FALSE(slot.take());
}

TEST(NewestSlot, what_is_put_back_does_not_replace_anything_newer)
{
    base::conflation_slot slot;
    slot.put_back(copy_of("old"));
    EXPECT_EQ("old", body_of(slot.take()));
    slot.put(copy_of("new"));
    slot.put_back(copy_of("old"));
    EXPECT_EQ("new", body_of(slot.take()));
}

TEST(Conflate, copies_carry_flags_and_bodies_of_any_size)
{
    for (const std::size_t size : {0u, 1u, 255u, 256u, 100'000u}) {
        const std::string body(size, 'x');
        const base::buffer_ref copy = copy_frame(4, bytes_of(body));
        const copied_frame frame = view_frame(*copy.get());
        EXPECT_EQ(body, text_of(frame.body));
        EXPECT_EQ(4, frame.flags & 4);
        EXPECT_EQ(size + (size > 255 ? 9 : 2), frame.total_bytes);
    }
}

TEST(Conflate, takes_the_last_frame_of_the_last_message)
{
    base::byte_queue queue;
    EXPECT_FALSE(take_newest(queue).copy);
    queue_frame(queue, "first");
    queue_frame(queue, "a", true);
    queue_frame(queue, "b");
    const newest_frame newest = take_newest(queue);
    EXPECT_EQ("b", body_of(newest.copy));
    EXPECT_EQ(2u, newest.messages);
    EXPECT_FALSE(queue.load());
    queue_frame(queue, "");
    EXPECT_EQ("", body_of(take_newest(queue).copy));
}

TEST(Conflate, takes_bodies_with_memory_of_their_own)
{
    base::byte_queue queue;
    const std::string body(50'000, 'y');
    const base::buffer_ref whole = copy_frame(0, bytes_of(body));
    for (int i = 0; i < 2; ++i) {
        std::byte* const at = queue.reserve(9);
        std::copy_n(whole->data, 9, at);
        queue.advance(9);
        base::buffer* const apart = base::allocate_buffer(body.size());
        std::copy_n(bytes_of(body).data(), body.size(), apart->data);
        ASSERT_TRUE(queue.append(apart, apart->data, body.size()));
        queue.commit(1);
    }
    const newest_frame newest = take_newest(queue);
    EXPECT_EQ(2u, newest.messages);
    EXPECT_EQ(body, body_of(newest.copy));
}

TEST(Conflate, waits_for_a_body_that_its_writer_still_has)
{
    base::byte_queue queue;
    const std::string body(50'000, 'y');
    const auto memory = bytes_of(body);
    const base::buffer_ref whole = copy_frame(0, memory);
    std::copy_n(whole->data, 9, queue.reserve(9));
    queue.advance(9);
    const base::buffer_ref apart(base::allocate_buffer(body.size()));
    std::fill_n(apart->data, body.size(), std::byte{}); // the block may have been used before
    apart->lending.offer(memory.data(), apart->data, memory.size());
    apart->add_reference();
    ASSERT_TRUE(queue.append(apart.get(), apart->data, body.size()));
    queue.commit(1);

    std::atomic<bool> taken = false;
    std::thread writer([&] {
        while (!apart->lending.answered() && !taken)
            std::this_thread::yield();
        apart->lending.settle(memory.data(), apart->data, memory.size(), apart->hint);
    });
    const newest_frame newest = take_newest(queue);
    taken = true;
    writer.join();
    EXPECT_EQ(body, body_of(newest.copy));
}

class ConflatingWriter : public ::testing::Test {
protected:
    ConflatingWriter() { first_.room = second_.room = 0; }

    base::channel channel_;
    core::writer out_{channel_};
    memory_stream first_;
    memory_stream second_;

    bool put(std::string_view body)
    {
        channel_.newest.put(copy_of(body));
        return channel_.queue.wake();
    }
};

TEST_F(ConflatingWriter, writes_what_is_in_the_slot_and_sleeps)
{
    first_.room = 100;
    out_.attach(first_, {});
    put("old");
    put("new");
    EXPECT_FALSE(out_.drained());
    EXPECT_EQ(core::writer_is::nobody, out_.drain().who);
    EXPECT_EQ(std::string("\0\3new", 5), first_.written);
    EXPECT_TRUE(out_.drained());
    EXPECT_TRUE(put("next")) << "the consumer must be woken";
    EXPECT_EQ(core::writer_is::nobody, out_.write_queued().who);
    EXPECT_EQ(std::string("\0\3new\0\4next", 11), first_.written);
}

TEST_F(ConflatingWriter, a_message_begun_is_finished_before_a_newer_one)
{
    first_.room = 3;
    out_.attach(first_, {});
    put("begun");
    EXPECT_EQ(core::writer_is::blocked, out_.drain().who);
    put("skipped");
    put("newest");
    out_.send_command({traffic_command_kind::pong, {}, 0});
    first_.room = 100;
    EXPECT_EQ(core::writer_is::nobody, out_.drain().who);
    EXPECT_EQ(std::string("\0\5begun\4\5\4PONG\0\6newest", 22), first_.written);
}

TEST_F(ConflatingWriter, a_message_not_begun_waits_for_the_next_connection)
{
    out_.attach(first_, {});
    put("whole");
    EXPECT_EQ(core::writer_is::blocked, out_.drain().who);
    out_.detach();
    EXPECT_FALSE(out_.drained());
    second_.room = 100;
    out_.attach(second_, {});
    EXPECT_EQ(core::writer_is::nobody, out_.drain().who);
    EXPECT_EQ(std::string("\0\5whole", 7), second_.written);
}

TEST_F(ConflatingWriter, a_message_half_sent_is_sent_again_unless_there_is_a_newer_one)
{
    for (const bool is_replaced : {false, true}) {
        for (const wire_kind kind : {wire_kind::zmtp3, wire_kind::zmtp1}) {
            first_.room = 3;
            out_.attach(first_, {}, make_wire(kind));
            put("half");
            EXPECT_EQ(core::writer_is::blocked, out_.drain().who);
            if (is_replaced)
                put("next");
            out_.detach();
            EXPECT_FALSE(out_.drained());
            second_.written.clear();
            second_.room = 100;
            out_.attach(second_, {});
            EXPECT_EQ(core::writer_is::nobody, out_.drain().who);
            EXPECT_EQ(std::string(is_replaced ? "\0\4next" : "\0\4half", 6), second_.written);
            out_.detach();
        }
    }
}

TEST_F(ConflatingWriter, discard_empties_the_slot)
{
    put("unsent");
    out_.discard();
    EXPECT_TRUE(out_.drained());
    EXPECT_FALSE(channel_.newest.filled());
}

} // namespace
} // namespace zlink::test
