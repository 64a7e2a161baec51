// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/outgoing.hpp"

#include "base/tuning.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/wire/websocket_codec.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace zlink::test {
namespace {

using namespace engine;

/// A pipe and what sends its messages.
struct sender {
    void commit(std::string_view body)
    {
        EXPECT_TRUE(
            end.write({reinterpret_cast<const std::byte*>(body.data()), body.size(), nullptr, 0}));
    }
    std::size_t next_bytes(bool may_begin = true) { return out.next(entries, may_begin).bytes; }

    std::shared_ptr<core::channel_pair> channels = std::make_shared<core::channel_pair>();
    core::pipe_end end{channels, true, nullptr};
    outgoing out{channels->a_to_b};
    std::array<iovec, tuning::writing::max_pieces> entries{};
};

wire masked()
{
    wire how;
    how.codec = std::make_shared<websocket_codec>(websocket_codec::side::client);
    return how;
}

// A second write with the little that is left would cost as much as the first.
TEST(outgoing, takes_what_a_sending_thread_commits_for_one_write_together)
{
    constexpr std::size_t committed_bytes = 62 * 1024;
    constexpr std::size_t body_bytes = 64;
    constexpr std::size_t messages = committed_bytes / (body_bytes + 2);
    sender from;
    from.out.begin({}, masked(), {});
    for (std::size_t i = 0; i < messages; ++i)
        from.commit(std::string(body_bytes, 'x'));
    const std::size_t frame_bytes = 2 + 4 + 1 + body_bytes;
    EXPECT_EQ(messages * frame_bytes, from.next_bytes());
    from.out.taken(messages * frame_bytes);
    EXPECT_TRUE(from.out.all_taken());
    from.out.end();
}

} // namespace
} // namespace zlink::test
