// SPDX-License-Identifier: Apache-2.0
// Input: one byte that selects the own socket type (bits 0-4), whether a good greeting is put in
// front (bit 5) and how the rest is cut into pieces (bits 6-7); then what the peer sends.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/codec/zmtp3.hpp"
#include "engine/handshake/handshake.hpp"
#include "fuzz_check.hpp"

namespace {

using namespace zlink::engine;

constexpr std::array<std::size_t, 4> piece_sizes{1, 7, 300, SIZE_MAX};

struct outcome {
    std::size_t taken = 0;
    bool done = false;
    handshake_error error = handshake_error::none;
    std::vector<std::byte> output;

    friend bool operator==(const outcome&, const outcome&) = default;
};

std::vector<std::byte> peer_bytes(bool with_greeting, std::span<const std::byte> rest)
{
    std::vector<std::byte> bytes;
    if (with_greeting) {
        greeting local("NULL", false, 0, 0);
        local.start(bytes);
        const auto signature = bytes;
        local.feed(signature, bytes);
        const std::byte major{3};
        local.feed(std::span(&major, 1), bytes);
    }
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
}

void check_bounds(const handshake& subject)
{
    fuzz_check(!(subject.done() && subject.failed()));
    fuzz_check(subject.buffered_bytes() <= max_handshake_command_bytes + zmtp3::long_header_bytes);
    fuzz_check(subject.peer_reason().size() <= 255);
    fuzz_check(subject.remote().routing_id.size() <= max_routing_id_bytes);
    fuzz_check(!subject.done() || (subject.remote().major >= 1 && subject.remote().major <= 3));
}

outcome run(int socket_type, std::span<const std::byte> bytes, std::size_t piece_bytes)
{
    handshake subject({socket_type, "id", {{"X-Key", "value"}}});
    subject.start();
    outcome result;
    while (result.taken < bytes.size()) {
        const auto rest = bytes.subspan(result.taken);
        const auto piece = rest.first(std::min(piece_bytes, rest.size()));
        const auto taken = subject.feed(piece);
        fuzz_check(taken <= piece.size());
        check_bounds(subject);
        result.taken += taken;
        if (taken < piece.size()) {
            fuzz_check(subject.done() || subject.failed());
            break;
        }
    }
    result.done = subject.done();
    result.error = subject.error();
    result.output.assign(subject.output().begin(), subject.output().end());
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) {
        return 0;
    }
    const auto rest = std::as_bytes(std::span(data + 1, size - 1));
    const int socket_type = data[0] & 31;
    const auto bytes = peer_bytes((data[0] & 32) != 0, rest);
    // How the bytes are cut must not make a difference.
    fuzz_check(run(socket_type, bytes, piece_sizes[data[0] >> 6]) ==
               run(socket_type, bytes, SIZE_MAX));
    return 0;
}
