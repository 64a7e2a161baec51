// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

/// ZMTP in bytes, for tests that speak it by hand.
namespace zlink::test::zmtp {

// Flags of a frame.
inline constexpr int more = 1;
inline constexpr int long_size = 2;
inline constexpr int command_bit = 4;

inline std::string big_endian(std::uint64_t number, int bytes)
{
    std::string text;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        text += static_cast<char>(number >> shift);
    return text;
}

/// That of ZMTP 3.x.
inline std::string greeting(int minor = 1, const std::string& mechanism = "NULL")
{
    std::string bytes("\xff\0\0\0\0\0\0\0\1\x7f\3", 11);
    bytes += static_cast<char>(minor);
    bytes += mechanism;
    bytes.resize(64);
    return bytes;
}

inline std::string frame(std::string_view body, int flags = 0)
{
    const bool is_long = body.size() > 255;
    std::string bytes(1, static_cast<char>(is_long ? flags | long_size : flags));
    return bytes.append(big_endian(body.size(), is_long ? 8 : 1)).append(body);
}

inline std::string command(const std::string& name, const std::string& data = "", int flags = 0)
{
    return frame(static_cast<char>(name.size()) + name + data, command_bit | flags);
}

inline std::string property(const std::string& name, const std::string& value)
{
    return static_cast<char>(name.size()) + name + big_endian(value.size(), 4) + value;
}

/// READY of a socket type, with more properties behind it.
inline std::string ready(const std::string& type, const std::string& properties = "")
{
    return command("READY", property("Socket-Type", type) + properties);
}

/// ERROR with a reason.
inline std::string refusal(const std::string& reason)
{
    return command("ERROR", static_cast<char>(reason.size()) + reason);
}

/// @param ttl_ds time to live in tenths of seconds
inline std::string ping(int ttl_ds = 0, const std::string& context = "", int flags = 0)
{
    return command("PING", big_endian(static_cast<std::uint64_t>(ttl_ds), 2) + context, flags);
}

inline std::string pong(const std::string& context = "")
{
    return command("PONG", context);
}

/// The next frame, header included.
inline std::string recv_frame(const raw_peer& from)
{
    std::string header = from.recv(1);
    header += from.recv(header[0] & long_size ? 8 : 1);
    std::size_t bytes = 0;
    for (const char byte : header.substr(1))
        bytes = bytes << 8 | static_cast<unsigned char>(byte);
    return header + from.recv(bytes);
}

/// Sends a greeting, READY and what follows, as far as they are given, and takes the answers to all
/// but the last.
inline void play(const raw_peer& peer, const std::vector<std::string>& steps)
{
    for (std::size_t index = 0; index < steps.size(); ++index) {
        peer.send(steps[index]);
        if (index + 1 < steps.size())
            index == 0 ? peer.recv(64) : recv_frame(peer);
    }
}

/// Greetings and READY both ways.
inline void shake_hands(const raw_peer& peer, const std::string& type, int minor = 1,
                        const std::string& properties = "")
{
    play(peer, {greeting(minor), ready(type, properties), ""});
}

} // namespace zlink::test::zmtp

namespace zlink::test {

/// Sets ZMQ_MAXMSGSIZE.
inline void limit_messages(test_socket& socket, std::int64_t most_bytes)
{
    socket.set(ZMQ_MAXMSGSIZE, {reinterpret_cast<const char*>(&most_bytes), sizeof most_bytes});
}

/// A socket under test, bound, and a plain connection to it.
struct raw_link {
    raw_link(test_context& context, int type, const configuration& configure = {})
        : socket(context, type)
    {
        if (configure)
            configure(socket);
        peer = raw_peer(socket.bind_and_resolve("tcp://127.0.0.1:*"));
    }

    test_socket socket;
    raw_peer peer;
};

} // namespace zlink::test
