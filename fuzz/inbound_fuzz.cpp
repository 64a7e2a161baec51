// SPDX-License-Identifier: Apache-2.0
// Input: one byte that selects the framing (bits 0-1, 3 = plain bytes), whether replies are
// expected (bit 2) and how the rest is cut into pieces (bits 6-7); then what the peer sends after
// the handshake.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/pipe.hpp"
#include "engine/inbound.hpp"
#include "engine/raw_inbound.hpp"
#include "fuzz_check.hpp"

namespace {

using namespace zlink;
using namespace zlink::engine;

constexpr std::array<std::size_t, 4> piece_sizes{1, 7, 300, SIZE_MAX};
constexpr std::int64_t max_message_bytes = 100'000;

class counted_commands final : public inbound::command_handler {
public:
    void on_command(std::span<const std::byte> body) override
    {
        fuzz_check(body.size() <= static_cast<std::size_t>(max_message_bytes));
        ++count;
    }
    std::size_t count = 0;
};

struct outcome {
    std::vector<std::string> messages;
    inbound_error error = inbound_error::none;
    std::size_t commands = 0;

    friend bool operator==(const outcome&, const outcome&) = default;
};

std::unique_ptr<decoder> make_decoder(base::channel& to, unsigned kind, bool replies,
                                      counted_commands& commands)
{
    if (kind == 3)
        return std::make_unique<raw_inbound>(to, 100);
    auto in = std::make_unique<inbound>(to, max_message_bytes, kept_commands::none, commands);
    in->expect(static_cast<framing>(kind));
    if (replies)
        in->require_envelope();
    return in;
}

outcome run(unsigned kind, bool replies, std::span<const std::byte> bytes, std::size_t piece_bytes)
{
    auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end reader(channels, false, nullptr);
    counted_commands commands;
    const auto in = make_decoder(channels->a_to_b, kind, replies, commands);
    outcome result;
    while (!bytes.empty() && result.error == inbound_error::none) {
        iovec space[decoder::most_entries];
        const int count = in->prepare(space);
        fuzz_check(count > 0);
        const std::size_t most = std::min(piece_bytes, bytes.size());
        std::size_t moved = 0;
        for (int i = 0; i < count && moved < most; ++i) {
            const std::size_t some = std::min(space[i].iov_len, most - moved);
            std::memcpy(space[i].iov_base, bytes.data() + moved, some);
            moved += some;
        }
        bytes = bytes.subspan(moved);
        result.error = in->received(moved);
    }
    in->reset();
    core::frame part;
    std::string text;
    while (reader.peek(part)) {
        fuzz_check(kind == 0 || kind == 3 || part.size <= max_message_bytes);
        text += part.text();
        if (kind != 3)
            text += part.more() ? '+' : ';';
        if (!part.more() && kind != 3)
            result.messages.push_back(std::exchange(text, {}));
        reader.pop();
    }
    if (kind == 3)
        result.messages.push_back(text);
    else
        fuzz_check(text.empty());
    result.commands = commands.count;
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
    const unsigned kind = data[0] & 3;
    const bool replies = (data[0] & 4) != 0;
    // How the bytes are cut must not make a difference.
    fuzz_check(run(kind, replies, bytes, piece_sizes[data[0] >> 6]) ==
               run(kind, replies, bytes, SIZE_MAX));
    return 0;
}
