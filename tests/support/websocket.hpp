// SPDX-License-Identifier: Apache-2.0
// WebSockets by hand, for tests: the opening, and frames.
#pragma once

#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace zlink::test {

/// The endpoint of TCP below one of a transport over it.
inline std::string tcp_of(const std::string& endpoint)
{
    const auto begin = endpoint.find("://") + 3;
    return "tcp://" + endpoint.substr(begin, endpoint.find('/', begin) - begin);
}

inline std::string hex_of(std::string_view bytes)
{
    std::string text;
    for (const char byte : bytes) {
        text += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
        text += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

inline const std::string mask_key = "\x37\xfa\x21\x3d";

inline std::string masked(std::string bytes, const std::string& key = mask_key)
{
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(bytes[i] ^ key[i % 4]);
    return bytes;
}

/// A frame of a WebSocket with this first byte. A client has to mask it.
inline std::string ws_frame(int first, const std::string& payload, bool is_masked)
{
    std::string bytes(1, static_cast<char>(first));
    const int mask = is_masked ? 0x80 : 0;
    const int length_bytes = payload.size() < 126 ? 0 : payload.size() < 65536 ? 2 : 8;
    bytes += static_cast<char>(mask | (length_bytes == 0   ? static_cast<int>(payload.size())
                                       : length_bytes == 2 ? 126
                                                           : 127));
    if (length_bytes != 0)
        bytes += zmtp::big_endian(payload.size(), length_bytes);
    return is_masked ? bytes + mask_key + masked(payload) : bytes + payload;
}

inline std::string from_client(const std::string& payload, int first = 0x82)
{
    return ws_frame(first, payload, true);
}

/// READY as a payload.
inline std::string ready(const std::string& type)
{
    return "\2\5READY" + zmtp::property("Socket-Type", type);
}

/// A head of HTTP, with its empty line.
inline std::string recv_head(const raw_peer& from)
{
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
        const std::string byte = from.recv_at_most(1);
        if (byte.empty())
            break;
        head += byte;
    }
    return head;
}

/// A field of a head, or "none".
inline std::string field_of(const std::string& head, const std::string& name)
{
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos)
        return "none";
    const auto begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
}

/// The payload of the next frame, unmasked if it was masked, behind its first byte.
inline std::string recv_ws_frame(const raw_peer& from, bool is_masked = false)
{
    const std::string begin = from.recv(2);
    EXPECT_EQ(is_masked, (begin[1] & 0x80) != 0);
    std::size_t bytes = static_cast<unsigned char>(begin[1]) & 0x7f;
    if (bytes >= 126) {
        const std::string length = from.recv(bytes == 126 ? 2 : 8);
        bytes = 0;
        for (const char byte : length)
            bytes = bytes << 8 | static_cast<unsigned char>(byte);
    }
    if (!is_masked)
        return begin.substr(0, 1) + from.recv(bytes);
    const std::string key = from.recv(4);
    return begin.substr(0, 1) + masked(from.recv(bytes), key);
}

/// A request to open a WebSocket; without protocols there is no field for them.
inline std::string request_of(const std::string& protocols, const std::string& path = "/")
{
    return "GET " + path +
           " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
           (protocols.empty() ? "" : "Sec-WebSocket-Protocol: " + protocols + "\r\n") +
           "Sec-WebSocket-Version: 13\r\n\r\n";
}

} // namespace zlink::test
