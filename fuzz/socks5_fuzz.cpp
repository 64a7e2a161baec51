// SPDX-License-Identifier: Apache-2.0
// Input: one byte that selects the credentials (bits 0-1: none, some, of the longest size, too
// long), the target (bits 2-3: a name, IPv4, IPv6, a name that is too long) and how the rest is cut
// into pieces (bits 6-7); then what the proxy sends, and the target behind it.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fuzz_check.hpp"
#include "transport/socks/socks5.hpp"

namespace {

using namespace zlink::transport;
using state = exchange::state;
using byte_view = std::span<const std::byte>;

constexpr std::array<std::size_t, 4> piece_sizes{1, 7, 300, SIZE_MAX};
constexpr std::size_t most_text_bytes = 255;

struct outcome {
    state how = state::running;
    int error = 0;
    std::string output;
    std::size_t taken = 0;

    friend bool operator==(const outcome&, const outcome&) = default;
};

socks5_request request_of(unsigned setup)
{
    constexpr std::array<std::size_t, 4> user_bytes{0, 5, most_text_bytes, most_text_bytes + 1};
    const std::array<std::string, 4> hosts{"host.test", "192.0.2.1", "2001:db8::1",
                                           std::string(most_text_bytes + 1, 'h')};
    return {hosts[setup >> 2 & 3], 0x1234, std::string(user_bytes[setup & 3], 'u'), "word"};
}

std::string counted(const std::string& text)
{
    return static_cast<char>(text.size()) + text;
}

std::string connect_request(const socks5_request& to)
{
    constexpr char literal_v4[] = "\xc0\0\2\1";
    constexpr char literal_v6[] = "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1";
    std::string text("\5\1\0", 3);
    if (to.host == "192.0.2.1")
        text += '\1' + std::string(literal_v4, 4);
    else if (to.host == "2001:db8::1")
        text += '\4' + std::string(literal_v6, 16);
    else
        text += '\3' + counted(to.host);
    return text + "\x12\x34";
}

/// What RFC 1928 and 1929 say, told from all that the proxy sends. Of a reply that refuses, `taken`
/// is the least that says so.
outcome expected(const socks5_request& to, byte_view sent)
{
    outcome result;
    if (to.host.size() > most_text_bytes || to.username.size() > most_text_bytes) {
        result.how = state::failed;
        result.error = EINVAL;
        return result;
    }
    const auto at = [&](std::size_t place) { return std::to_integer<unsigned>(sent[place]); };
    const auto has = [&](std::size_t bytes) {
        result.taken = std::min(bytes, sent.size());
        return sent.size() >= bytes;
    };
    const auto fail = [&](int error) {
        result.how = state::failed;
        result.error = error;
        return result;
    };
    const bool asked = !to.username.empty();
    result.output = asked ? std::string("\5\2\0\2", 4) : std::string("\5\1\0", 3);
    if (!has(2))
        return result;
    if (at(0) != 5)
        return fail(EPROTO);
    std::size_t begin = 2;
    if (at(1) == 2 && asked) {
        result.output += '\1' + counted(to.username) + counted(to.password);
        if (!has(4))
            return result;
        if (at(2) != 1)
            return fail(EPROTO);
        if (at(3) != 0)
            return fail(EACCES);
        begin = 4;
    } else if (at(1) != 0) {
        return fail(EACCES);
    }
    result.output += connect_request(to);
    if (!has(begin + 2))
        return result;
    if (at(begin) != 5)
        return fail(EPROTO);
    constexpr std::array<int, 9> refusals{0,           ECONNABORTED, EACCES,
                                          ENETUNREACH, EHOSTUNREACH, ECONNREFUSED,
                                          ETIMEDOUT,   EOPNOTSUPP,   EAFNOSUPPORT};
    if (const unsigned reply = at(begin + 1))
        return fail(reply < refusals.size() ? refusals[reply] : EPROTO);
    if (!has(begin + 5))
        return result;
    const unsigned kind = at(begin + 3);
    if (kind != 1 && kind != 3 && kind != 4)
        return fail(EPROTO);
    const std::size_t address_bytes = kind == 1 ? 4 : kind == 4 ? 16 : 1 + at(begin + 4);
    if (has(begin + 4 + address_bytes + 2))
        result.how = state::done;
    return result;
}

outcome play(const socks5_request& to, byte_view sent, std::size_t piece_bytes)
{
    socks5_client client(to);
    outcome result;
    const auto take_output = [&] {
        const auto output = client.output();
        result.output.append(reinterpret_cast<const char*>(output.data()), output.size());
        client.consume_output(output.size());
        fuzz_check(client.output().empty());
    };
    client.start();
    for (;;) {
        take_output();
        if (client.current_state() != state::running)
            break;
        // A client that waits for nothing would wait for ever.
        fuzz_check(client.most_input_bytes() != 0);
        const byte_view left = sent.subspan(result.taken);
        if (left.empty())
            break;
        const byte_view some = left.first(std::min(piece_bytes, left.size()));
        const std::size_t most = client.most_input_bytes();
        const std::size_t taken = client.feed(some);
        fuzz_check(taken == std::min(some.size(), most));
        result.taken += taken;
    }
    result.how = client.current_state();
    result.error = client.error();
    if (result.how != state::running)
        fuzz_check(client.feed(sent) == 0);
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const socks5_request to = request_of(data[0]);
    const byte_view sent = std::as_bytes(std::span(data + 1, size - 1));
    const outcome wanted = expected(to, sent);
    for (const std::size_t piece_bytes : {std::size_t{1}, piece_sizes[data[0] >> 6], SIZE_MAX}) {
        outcome got = play(to, sent, piece_bytes);
        // Of a refusal more may be read than says so, but no more than a head of a reply has.
        if (got.how == state::failed) {
            fuzz_check(got.taken >= wanted.taken && got.taken <= wanted.taken + 3);
            got.taken = wanted.taken;
        }
        fuzz_check(got == wanted);
    }
    return 0;
}
