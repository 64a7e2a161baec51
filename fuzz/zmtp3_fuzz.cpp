// SPDX-License-Identifier: Apache-2.0
// Input: a byte stream read as frames; its bodies are also read as commands.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/codec/zmtp3.hpp"
#include "engine/commands/command.hpp"
#include "engine/commands/traffic_commands.hpp"
#include "fuzz_check.hpp"

namespace {

using namespace zlink::engine;

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void check_header(const zmtp3::frame_header& header, std::size_t available)
{
    fuzz_check(header.header_bytes == 2 || header.header_bytes == 9);
    fuzz_check(header.header_bytes <= available);
    fuzz_check((header.header_bytes == 9) == ((header.flags & zmtp3::flag_long) != 0));

    std::byte encoded[zmtp3::long_header_bytes];
    const auto encoded_bytes = zmtp3::encode_header(encoded, header.flags, header.body_bytes);
    zmtp3::frame_header again;
    fuzz_check(!zmtp3::decode_header(encoded, encoded_bytes - 1, again));
    fuzz_check(zmtp3::decode_header(encoded, encoded_bytes, again));
    fuzz_check(again.body_bytes == header.body_bytes && again.header_bytes == encoded_bytes);
    fuzz_check(((again.flags ^ header.flags) & ~zmtp3::flag_long) == 0);
}

void check_traffic_command(std::span<const std::byte> body)
{
    const auto command = parse_traffic_command(body);
    std::vector<std::byte> frame;
    append_traffic_command(frame, command);
    fuzz_check(frame.size() == traffic_command_frame_bytes(command));
    if (command.kind == traffic_command_kind::other) {
        return;
    }
    zmtp3::frame_header header;
    fuzz_check(zmtp3::decode_header(frame.data(), frame.size(), header));
    const auto again = parse_traffic_command(std::span(frame).subspan(header.header_bytes));
    fuzz_check(again.kind == command.kind && again.ttl_ms == command.ttl_ms);
    fuzz_check(same_bytes(again.argument, command.argument));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    auto rest = std::as_bytes(std::span(data, size));
    zmtp3::frame_header header;
    while (zmtp3::decode_header(rest.data(), rest.size(), header)) {
        check_header(header, rest.size());
        rest = rest.subspan(header.header_bytes);
        const auto body_bytes = std::min<std::uint64_t>(header.body_bytes, rest.size());
        check_traffic_command(rest.first(static_cast<std::size_t>(body_bytes)));
        rest = rest.subspan(static_cast<std::size_t>(body_bytes));
    }
    return 0;
}
