// SPDX-License-Identifier: Apache-2.0
// Input: one byte that selects the side (bit 0: 1 = the one that has connected) and how the rest is
// cut into pieces (bits 6-7); then the frames that the peer sends after the handshake.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/pipe/pipe.hpp"
#include "engine/traffic/wire_inbound.hpp"
#include "engine/wire/websocket_codec.hpp"
#include "fuzz_check.hpp"

namespace {

using namespace zlink;
using namespace zlink::engine;

constexpr std::array<std::size_t, 4> piece_sizes{1, 7, 300, SIZE_MAX};
constexpr std::int64_t max_message_bytes = 100'000;

class noted_commands final : public command_handler {
public:
    void on_command(std::span<const std::byte> body) override
    {
        fuzz_check(body.size() <= static_cast<std::size_t>(max_message_bytes));
        bodies.emplace_back(reinterpret_cast<const char*>(body.data()), body.size());
    }
    std::vector<std::string> bodies;
};

struct outcome {
    std::vector<std::string> parts;
    std::vector<std::string> commands;
    inbound_error error = inbound_error::none;
    std::vector<std::byte> farewell;

    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome decode(bool is_client, std::span<const std::uint8_t> bytes, std::size_t piece)
{
    using side = websocket_codec::side;
    const auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end reader(channels, false, nullptr);
    noted_commands commands;
    wire how;
    const auto codec = std::make_shared<websocket_codec>(is_client ? side::client : side::server);
    how.codec = codec;
    wire_inbound in(channels->a_to_b, how, message_rules(max_message_bytes, kept_commands::none),
                    commands);
    outcome result;
    while (!bytes.empty() && result.error == inbound_error::none) {
        iovec space[decoder::most_entries];
        const int count = in.prepare(space);
        fuzz_check(count > 0);
        std::size_t moved = 0;
        for (int i = 0; i < count; ++i) {
            const std::size_t some =
                std::min({space[i].iov_len, bytes.size() - moved, piece - moved});
            if (some != 0)
                std::memcpy(space[i].iov_base, bytes.data() + moved, some);
            moved += some;
        }
        bytes = bytes.subspan(moved);
        result.error = in.received(moved);
    }
    in.reset();
    for (core::frame part; reader.in.peek(part); reader.in.pop()) {
        result.parts.emplace_back(part.text());
        fuzz_check(result.parts.back().size() <= static_cast<std::size_t>(max_message_bytes));
    }
    result.commands = std::move(commands.bodies);
    // A client's own is masked by chance.
    if (result.error == inbound_error::no_frame && !is_client)
        codec->encode_farewell(result.farewell, farewell::no_frame);
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const bool is_client = (data[0] & 1) != 0;
    const std::span<const std::uint8_t> bytes(data + 1, size - 1);
    fuzz_check(decode(is_client, bytes, piece_sizes[data[0] >> 6]) ==
               decode(is_client, bytes, SIZE_MAX));
    return 0;
}
