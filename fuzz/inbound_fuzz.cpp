// SPDX-License-Identifier: Apache-2.0
// Input: one byte that selects the version of ZMTP (bits 0-1, 3 = plain bytes), whether replies are
// expected (bit 2), which commands are kept (bits 3-4), whether each message has a group (bit 5, in
// place of bit 2) and how the rest is cut into pieces (bits 6-7); then what the peer sends after
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

#include "core/pipe/pipe.hpp"
#include "engine/commands/traffic_commands.hpp"
#include "engine/traffic/inbound.hpp"
#include "engine/traffic/raw_inbound.hpp"
#include "engine/traffic/wire_inbound.hpp"
#include "fuzz_check.hpp"

namespace {

using namespace zlink;
using namespace zlink::engine;

constexpr std::array<std::size_t, 4> piece_sizes{1, 7, 300, SIZE_MAX};
constexpr std::int64_t max_message_bytes = 100'000;

struct setup {
    unsigned kind = 0; ///< 0: ZMTP 1.0, 1: 2.0, 2: 3.x, or `plain`
    bool replies = false;
    bool groups = false;
    kept_commands keep = kept_commands::none;
};

constexpr unsigned plain = 3;

setup setup_of(std::uint8_t byte)
{
    constexpr std::array<kept_commands, 4> kept{kept_commands::none, kept_commands::subscriptions,
                                                kept_commands::groups, kept_commands::none};
    return {byte & 3u, (byte & 4) != 0, (byte & 32) != 0, kept[byte >> 3 & 3]};
}

bool is_kept(kept_commands keep, std::span<const std::byte> command)
{
    const traffic_command_kind kind = parse_traffic_command(command).kind;
    if (kind == traffic_command_kind::subscribe || kind == traffic_command_kind::cancel)
        return keep == kept_commands::subscriptions;
    if (kind == traffic_command_kind::join || kind == traffic_command_kind::leave)
        return keep == kept_commands::groups;
    return false;
}

class counted_commands final : public command_handler {
public:
    explicit counted_commands(kept_commands keep) : keep_(keep) {}

    void on_command(std::span<const std::byte> body) override
    {
        fuzz_check(body.size() <= static_cast<std::size_t>(max_message_bytes));
        fuzz_check(!is_kept(keep_, body));
        ++count;
    }
    std::size_t count = 0;

private:
    const kept_commands keep_;
};

struct outcome {
    std::vector<std::string> messages;
    inbound_error error = inbound_error::none;
    std::size_t commands = 0;

    friend bool operator==(const outcome&, const outcome&) = default;
};

std::unique_ptr<decoder> make_decoder(base::channel& to, const setup& how,
                                      counted_commands& commands)
{
    if (how.kind == plain)
        return std::make_unique<raw_inbound>(to, 100);
    message_rules rules(max_message_bytes, how.keep);
    if (how.groups)
        rules.require_group();
    else if (how.replies)
        rules.require_envelope();
    if (how.kind == 2) {
        auto in = std::make_unique<inbound>(to, rules, commands);
        if (how.replies && !how.groups)
            in->take_off_envelope();
        return in;
    }
    wire versioned;
    versioned.codec = how.kind == 0 ? zmtp1_codec() : zmtp2_codec();
    return std::make_unique<wire_inbound>(to, std::move(versioned), rules, commands);
}

/// Its parts that are no commands begin and end as they must.
void check_envelope(const setup& how, const std::vector<std::size_t>& part_bytes)
{
    if (how.groups) {
        fuzz_check(part_bytes.size() == 2 && part_bytes[0] <= 255);
    } else if (how.replies) {
        const std::size_t empty = part_bytes[0] == 4 ? 1 : 0;
        fuzz_check(part_bytes.size() > empty + 1 && part_bytes[empty] == 0);
    }
}

/// Takes the messages out, with '/' before each command.
std::vector<std::string> take_messages(core::pipe_end& reader, const setup& how)
{
    std::vector<std::string> messages;
    std::string text;
    std::vector<std::size_t> part_bytes;
    for (core::frame part; reader.in.peek(part); reader.in.pop()) {
        fuzz_check(how.kind == 0 || part.size <= max_message_bytes);
        if (part.command()) {
            fuzz_check(how.kind == 2 && !part.more() && is_kept(how.keep, part.bytes()));
            text += '/';
        } else {
            part_bytes.push_back(part.size);
        }
        text += part.text();
        const bool inside = part.more() || (part.command() && !part_bytes.empty());
        text += inside ? '+' : ';';
        if (inside)
            continue;
        if (!part.command())
            check_envelope(how, std::exchange(part_bytes, {}));
        messages.push_back(std::exchange(text, {}));
    }
    fuzz_check(text.empty());
    return messages;
}

std::string take_plain_bytes(core::pipe_end& reader)
{
    std::string text;
    for (core::frame part; reader.in.peek(part); reader.in.pop())
        text += part.text();
    return text;
}

outcome run(const setup& how, std::span<const std::byte> bytes, std::size_t piece_bytes)
{
    auto channels = std::make_shared<core::channel_pair>();
    core::pipe_end reader(channels, false, nullptr);
    counted_commands commands(how.keep);
    const auto in = make_decoder(channels->a_to_b, how, commands);
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
    if (how.kind == plain) {
        result.messages.push_back(take_plain_bytes(reader));
    } else {
        result.messages = take_messages(reader, how);
        fuzz_check(result.messages.size() == in->messages());
    }
    fuzz_check(how.kind == 2 || commands.count == 0);
    result.commands = commands.count;
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
    const setup how = setup_of(data[0]);
    // How the bytes are cut must not make a difference.
    fuzz_check(run(how, bytes, piece_sizes[data[0] >> 6]) == run(how, bytes, SIZE_MAX));
    return 0;
}
