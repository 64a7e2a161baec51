// SPDX-License-Identifier: Apache-2.0
// Input: one byte that selects the side (bit 0: 1 = the one that has connected) and how the rest is
// cut into pieces (bits 6-7); then what the peer sends. There, "@accept@" stands for the answer to
// the key of the client.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "fuzz_check.hpp"
#include "transport/websocket/http_upgrade.hpp"
#include "transport/websocket/key.hpp"

namespace {

using namespace zlink::transport;
using namespace zlink::transport::websocket;
using state = exchange::state;

constexpr std::array<std::size_t, 4> piece_sizes{1, 7, 300, SIZE_MAX};

std::string take_output(exchange& from)
{
    const auto output = from.output();
    std::string text(reinterpret_cast<const char*>(output.data()), output.size());
    from.consume_output(output.size());
    fuzz_check(from.output().empty());
    return text;
}

struct outcome {
    state how = state::running;
    int error = 0;
    std::string protocol;
    std::string output;
    std::size_t taken = 0;

    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome play(bool is_client, std::string text, std::size_t piece)
{
    std::unique_ptr<http_upgrade> upgrade;
    if (is_client)
        upgrade = std::make_unique<http_upgrade_client>(request_fields{"host:1", "/path"});
    else
        upgrade = std::make_unique<http_upgrade_server>();
    upgrade->offer({"ZWS2.0/NULL", "ZWS2.0"});
    upgrade->start();
    if (is_client) {
        const std::string request = take_output(*upgrade);
        const std::string name = "Sec-WebSocket-Key: ";
        const std::string key = request.substr(request.find(name) + name.size(), 24);
        constexpr std::string_view placeholder = "@accept@";
        if (const auto at = text.find(placeholder); at != std::string::npos)
            text.replace(at, placeholder.size(), accept_value(key));
    }
    outcome result;
    while (result.taken < text.size() && upgrade->current_state() == state::running) {
        const auto some = std::string_view(text).substr(result.taken, piece);
        const std::size_t taken = upgrade->feed(std::as_bytes(std::span(some)));
        fuzz_check(taken == some.size() || upgrade->current_state() != state::running);
        result.taken += taken;
    }
    result.how = upgrade->current_state();
    result.error = upgrade->error();
    result.protocol = upgrade->protocol();
    result.output = take_output(*upgrade);
    fuzz_check(result.taken <= most_head_bytes);
    fuzz_check((result.how == state::failed) == (result.error != 0));
    fuzz_check((result.how == state::done) == !result.protocol.empty());
    fuzz_check(is_client
                   ? result.output.empty()
                   : result.output.starts_with("HTTP/1.1 ") == (result.how != state::running));
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const bool is_client = (data[0] & 1) != 0;
    const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
    const outcome pieces = play(is_client, text, piece_sizes[data[0] >> 6]);
    const outcome whole = play(is_client, text, SIZE_MAX);
    // What is wrong may be seen sooner, with less, when it comes in pieces.
    fuzz_check(pieces.how == whole.how && pieces.protocol == whole.protocol);
    fuzz_check(whole.how == state::failed || pieces == whole);
    return 0;
}
