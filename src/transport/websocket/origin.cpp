// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/origin.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace zlink::transport::websocket {
namespace {

constexpr std::string_view separators = ", \t";

/// What two origins have to have in common to be the same.
struct parsed_origin {
    std::string scheme; ///< in small letters; empty: "null"
    std::string host;   ///< the same, or the 16 bytes of an IPv6 address
    unsigned port = 0;  ///< 0: the scheme's own, which is not known here

    bool operator==(const parsed_origin&) const = default;
};

bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

std::string in_small_letters(std::string_view text)
{
    std::string small(text);
    for (char& c : small)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return small;
}

unsigned default_port(std::string_view scheme)
{
    return scheme == "https" || scheme == "wss" ? 443 : scheme == "http" || scheme == "ws" ? 80 : 0;
}

bool is_scheme(std::string_view text)
{
    return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [](char c) {
        return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
    });
}

bool is_name(std::string_view text)
{
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
    });
}

/// The bytes of an IPv6 address, which has many texts.
std::optional<std::string> ipv6_bytes(const std::string& text)
{
    std::array<char, 16> bytes{};
    if (text.find('\0') != std::string::npos ||
        ::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1)
        return std::nullopt;
    return std::string(bytes.data(), bytes.size());
}

std::optional<unsigned> port_of(std::string_view digits)
{
    unsigned port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    const bool is_port = error == std::errc{} && end == digits.data() + digits.size() &&
                         digits.size() <= 5 && port >= 1 && port <= 65535;
    return is_port ? std::optional(port) : std::nullopt;
}

std::optional<parsed_origin> parse(std::string_view text)
{
    if (text == "null")
        return parsed_origin{};
    const auto colon = text.find("://");
    if (text.size() > most_origin_bytes || colon == std::string_view::npos ||
        !is_scheme(text.substr(0, colon)))
        return std::nullopt;
    parsed_origin origin;
    origin.scheme = in_small_letters(text.substr(0, colon));
    origin.port = default_port(origin.scheme);
    std::string_view rest = text.substr(colon + 3);
    std::size_t host_bytes = std::min(rest.find(':'), rest.size());
    if (rest.starts_with('[')) {
        const auto bracket = rest.find(']');
        if (bracket == std::string_view::npos)
            return std::nullopt;
        auto address = ipv6_bytes(std::string(rest.substr(1, bracket - 1)));
        if (!address)
            return std::nullopt;
        origin.host = std::move(*address);
        host_bytes = bracket + 1;
    } else {
        if (!is_name(rest.substr(0, host_bytes)))
            return std::nullopt;
        origin.host = in_small_letters(rest.substr(0, host_bytes));
    }
    rest.remove_prefix(host_bytes);
    if (rest.empty())
        return origin;
    const auto port = rest.front() == ':' ? port_of(rest.substr(1)) : std::nullopt;
    if (!port)
        return std::nullopt;
    origin.port = *port;
    return origin;
}

/// Calls `check` for each item, until one is false. True: all were, and there was one.
template <class Check>
bool all_items(std::string_view list, Check check)
{
    bool any = false;
    for (;;) {
        list.remove_prefix(std::min(list.find_first_not_of(separators), list.size()));
        if (list.empty())
            return any;
        const std::string_view item = list.substr(0, list.find_first_of(separators));
        if (!check(item))
            return false;
        any = true;
        list.remove_prefix(item.size());
    }
}

} // namespace

bool is_origin(std::string_view text)
{
    return parse(text).has_value();
}

bool is_origin_list(std::string_view text)
{
    return all_items(text, is_origin);
}

bool admits_origin(std::string_view list, std::string_view origin)
{
    const auto wanted = parse(origin);
    bool found = false;
    if (wanted)
        all_items(list, [&](std::string_view item) {
            found = parse(item) == wanted;
            return !found;
        });
    return found;
}

} // namespace zlink::transport::websocket
