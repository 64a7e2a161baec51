// SPDX-License-Identifier: Apache-2.0
#include "engine/encoding.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "engine/bytes.hpp"
#include "engine/script_test.hpp"
#include "transport/stream_for_tests.hpp"

namespace zlink::test {
namespace {

using namespace engine;

std::string subscription(framing frames, bool subscribe, const std::string& topic)
{
    write_batch out;
    append_subscription(out, frames, subscribe, as_bytes(topic));
    return to_hex(out.copies());
}

std::string repeated(const std::string& text, int times)
{
    std::string all;
    for (int i = 0; i < times; ++i)
        all += text;
    return all;
}

TEST(encoding, subscriptions_for_older_peers_are_messages)
{
    for (const framing frames : {framing::zmtp2, framing::zmtp3}) {
        EXPECT_EQ(subscription(frames, true, "topic"), "000601746f706963");
        EXPECT_EQ(subscription(frames, false, "topic"), "000600746f706963");
        EXPECT_EQ(subscription(frames, true, ""), "000101");
        EXPECT_EQ(subscription(frames, true, std::string(300, 'T')),
                  "02000000000000012d01" + repeated("54", 300));
        EXPECT_EQ(subscription(frames, true, std::string(254, 'T')),
                  "00ff01" + repeated("54", 254));
        EXPECT_EQ(subscription(frames, true, std::string(255, 'T')),
                  "02000000000000010001" + repeated("54", 255));
    }
    EXPECT_EQ(subscription(framing::zmtp1, true, "topic"), "070001746f706963");
    EXPECT_EQ(subscription(framing::zmtp1, false, "topic"), "070000746f706963");
    EXPECT_EQ(subscription(framing::zmtp1, true, std::string(300, 'T')),
              "ff000000000000012e0001" + repeated("54", 300));
}

TEST(encoding, messages_for_a_peer_of_zmtp_1_0)
{
    const std::string b(254, 'b');
    const std::string c(253, 'c');
    write_batch out;
    const encoding how = zmtp1_encoding();
    how.translate(out, {zmtp3::flag_more, as_bytes("a"), nullptr, 0}, how.context);
    how.translate(out, {zmtp3::flag_more, as_bytes(b), nullptr, 0}, how.context);
    how.translate(out, {0, as_bytes(c), nullptr, 0}, how.context);
    EXPECT_EQ(to_hex(out.copies()), "020161"
                                    "ff00000000000000ff01" +
                                        repeated("62", 254) + "fe00" + repeated("63", 253));
}

/// Takes a random part of what is offered, and now and then nothing.
class taking_stream final : public transport::stream_for_tests {
public:
    explicit taking_stream(std::mt19937& random) : random_(random) {}
    transport::io_result read_some(const iovec*, int) noexcept override { return {}; }
    transport::io_result write_some(const iovec* buffers, int count) noexcept override
    {
        std::size_t offered = 0;
        for (int i = 0; i < count; ++i)
            offered += buffers[i].iov_len;
        std::size_t most = random_() % 3 == 0 ? offered : random_() % (offered + 1);
        const std::size_t moved = most;
        for (int i = 0; i < count; ++i) {
            const std::size_t bytes = std::min(most, buffers[i].iov_len);
            const auto* from = static_cast<const std::byte*>(buffers[i].iov_base);
            taken.insert(taken.end(), from, from + bytes);
            most -= bytes;
        }
        return moved ? transport::io_result{moved, 0} : transport::io_result{0, EAGAIN};
    }

    std::vector<std::byte> taken;

private:
    std::mt19937& random_;
};

TEST(write_batch, writes_copies_and_references_in_order_however_they_are_taken)
{
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        taking_stream stream(random);
        write_batch batch;
        std::vector<std::byte> expected;
        std::vector<base::buffer_ref> owners;
        for (unsigned pieces = random() % 200; pieces > 0; --pieces) {
            base::buffer_ref body(base::allocate_buffer(1 + random() % 5000));
            const std::size_t first = random();
            for (std::size_t i = 0; i < body->capacity_bytes; ++i)
                body->data[i] = static_cast<std::byte>(first + i);
            const std::span<const std::byte> bytes(body->data, body->capacity_bytes);
            append_bytes(expected, bytes);
            if (random() % 2 == 0)
                batch.append(bytes);
            else
                batch.append_body(bytes, body.get());
            owners.push_back(std::move(body));
        }
        while (!batch.empty())
            batch.write_to(stream);
        EXPECT_TRUE(stream.taken == expected);
        for (const auto& owner : owners)
            EXPECT_TRUE(owner->unique()) << "a reference was kept";
    }
}

TEST(write_batch, gives_references_back_when_it_is_cleared)
{
    const base::buffer_ref body(base::allocate_buffer(100'000));
    write_batch batch;
    batch.append_body({body->data, 100'000}, body.get());
    EXPECT_FALSE(body->unique());
    EXPECT_TRUE(batch.full());
    batch.clear();
    EXPECT_TRUE(body->unique());
    EXPECT_TRUE(batch.empty());
    EXPECT_FALSE(batch.full());
}

} // namespace
} // namespace zlink::test
