// SPDX-License-Identifier: Apache-2.0
#include "handshakes/zmtp_script.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace zlink::bench {

namespace {

using namespace std::string_literals;

constexpr std::size_t greeting_bytes = 64;
constexpr char command_flag = 4;

// Signature, version 3.1, the mechanism NULL, not as server, filler.
std::string greeting()
{
    std::string text = "\xff\0\0\0\0\0\0\0\0\x7f\x03\x01NULL"s;
    text.resize(greeting_bytes, '\0');
    return text;
}

std::string short_frame(char flags, std::string_view body)
{
    std::string text{flags, static_cast<char>(body.size())};
    return text.append(body);
}

std::string ready(std::string_view socket_type)
{
    std::string body = "\x05READY\x0bSocket-Type\0\0\0"s;
    body += static_cast<char>(socket_type.size());
    return short_frame(command_flag, body.append(socket_type));
}

void write(bare::tls_connection& tls, const std::string& bytes)
{
    tls.write_all(bytes.data(), bytes.size());
}

std::string read(bare::tls_connection& tls, std::size_t bytes)
{
    std::string text(bytes, '\0');
    tls.read_all(text.data(), bytes);
    return text;
}

std::string read_short_frame(bare::tls_connection& tls, char flags)
{
    const std::string head = read(tls, 2);
    if (head[0] != flags) {
        throw std::runtime_error("the peer sends other frames than it should");
    }
    return read(tls, static_cast<unsigned char>(head[1]));
}

void greet(bare::tls_connection& tls, std::string_view socket_type)
{
    write(tls, greeting());
    read(tls, greeting_bytes);
    write(tls, ready(socket_type));
    read_short_frame(tls, command_flag);
}

} // namespace

void exchange_as_client(bare::tls_connection& tls)
{
    greet(tls, "PUSH");
    write(tls, short_frame(0, handshake_message));
}

void exchange_as_server(bare::tls_connection& tls)
{
    greet(tls, "PULL");
    if (read_short_frame(tls, 0) != handshake_message) {
        throw std::runtime_error("the message of the peer is another one");
    }
}

} // namespace zlink::bench
