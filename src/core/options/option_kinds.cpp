// SPDX-License-Identifier: Apache-2.0
#include "core/options/option_kinds.hpp"

#include "core/options/option_values.hpp"
#include "engine/z85.hpp"

#include "transport/tcp/accept_filter.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <zmq.h>

namespace zlink::core::option {
namespace {

template <class Value>
const Value& read(const socket_options& options, field<Value> at)
{
    return at(const_cast<socket_options&>(options));
}

template <class Number>
int set_exactly(Number& out, const void* value, std::size_t bytes)
{
    if (bytes != sizeof out || !value)
        return EINVAL;
    std::memcpy(&out, value, sizeof out);
    return 0;
}

template <class Number>
int get_exactly(Number from, void* value, const std::size_t* bytes)
{
    if (*bytes != sizeof from)
        return EINVAL;
    std::memcpy(value, &from, sizeof from);
    return 0;
}

int read_zero_or_one(const void* value, std::size_t bytes, int& out)
{
    return read_int(value, bytes, out) == 0 && (out == 0 || out == 1) ? 0 : EINVAL;
}

std::string_view as_text(const void* value, std::size_t bytes)
{
    return {static_cast<const char*>(value), bytes};
}

int write_only()
{
    return EINVAL;
}

} // namespace

// --- numbers -----------------------------------------------------------------------------------

int integer::set(socket_options& options, const void* value, std::size_t bytes) const
{
    int given = 0;
    if (read_int(value, bytes, given) != 0 || given < least || given > most)
        return EINVAL;
    at(options) = given - given % unit;
    return 0;
}

int integer::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    return get_exactly(read(options, at), value, bytes);
}

int optional_integer::set(socket_options& options, const void* value, std::size_t bytes) const
{
    int given = 0;
    if (read_int(value, bytes, given) != 0 || given < least || given > most)
        return EINVAL;
    at(options) = given;
    return 0;
}

int optional_integer::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    return get_exactly(read(options, at).value_or(told_if_not_set), value, bytes);
}

template <class Number>
int number<Number>::set(socket_options& options, const void* value, std::size_t bytes) const
{
    return set_exactly(at(options), value, bytes);
}

template <class Number>
int number<Number>::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    return get_exactly(read(options, at), value, bytes);
}

template struct number<std::int64_t>;
template struct number<std::uint64_t>;

int flag::set(socket_options& options, const void* value, std::size_t bytes) const
{
    int given = 0;
    const int error = accepts == truth::any_int ? read_int(value, bytes, given)
                                                : read_zero_or_one(value, bytes, given);
    if (error)
        return error;
    at(options) = (given != 0) != inverted;
    return 0;
}

int flag::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    return get_exactly(read(options, at) != inverted ? 1 : 0, value, bytes);
}

int computed::set(socket_options&, const void*, std::size_t) const
{
    return EINVAL;
}

int computed::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    return any_room ? write_int(value_of(options), value, bytes)
                    : get_exactly(value_of(options), value, bytes);
}

// --- characters and bytes ----------------------------------------------------------------------

int text::set(socket_options& options, const void* value, std::size_t bytes) const
{
    const bool empties = (how == emptied::by_null && !value && bytes == 0) ||
                         (how == emptied::by_null_or_no_bytes && (!value || bytes == 0));
    if (empties) {
        at(options).clear();
        return 0;
    }
    if (!value || bytes == 0 || bytes > most || (is_good && !is_good(as_text(value, bytes))))
        return EINVAL;
    at(options) = as_text(value, bytes);
    return 0;
}

int text::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    return write_text(read(options, at), value, bytes);
}

int blob::set(socket_options& options, const void* value, std::size_t bytes) const
{
    if (bytes < least || bytes > most || (bytes && !value))
        return EINVAL;
    at(options) = bytes ? as_text(value, bytes) : std::string_view();
    return 0;
}

int blob::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    const std::string& content = read(options, at);
    if (*bytes < content.size())
        return EINVAL;
    std::memset(value, 0, *bytes);
    std::memcpy(value, content.data(), content.size());
    *bytes = content.size();
    return 0;
}

// --- lists -------------------------------------------------------------------------------------

template <class Id>
int ids<Id>::set(socket_options& options, const void* value, std::size_t bytes) const
{
    if (!value && bytes == 0) {
        at(options).clear();
        return 0;
    }
    Id id{};
    if (const int error = set_exactly(id, value, bytes))
        return error;
    auto& list = at(options);
    if (std::ranges::find(list, id) == list.end())
        list.push_back(id);
    return 0;
}

template <class Id>
int ids<Id>::get(const socket_options&, void*, std::size_t*) const
{
    return write_only();
}

static_assert(sizeof(pid_t) == 4 && sizeof(uid_t) == 4 && sizeof(gid_t) == 4);
static_assert(std::is_same_v<uid_t, gid_t>, "one instance serves both");
template struct ids<pid_t>;
template struct ids<uid_t>;

int networks::set(socket_options& options, const void* value, std::size_t bytes) const
{
    constexpr std::size_t most = 255;
    if (!value && bytes == 0) {
        at(options).clear();
        return 0;
    }
    if (!value || bytes == 0 || bytes > most)
        return EINVAL;
    const std::string_view given =
        as_text(value, ::strnlen(static_cast<const char*>(value), bytes));
    if (!transport::is_accept_filter(given, options.transport.ipv6))
        return EINVAL;
    at(options).emplace_back(given);
    return 0;
}

int networks::get(const socket_options&, void*, std::size_t*) const
{
    return write_only();
}

int properties::set(socket_options& options, const void* value, std::size_t bytes) const
{
    constexpr std::string_view prefix = "X-";
    if (!value)
        return EINVAL;
    const std::string_view given = as_text(value, bytes);
    const auto colon = given.find(':');
    if (colon == std::string_view::npos || colon + 1 == given.size() ||
        colon > engine::max_property_name_bytes || !given.starts_with(prefix) ||
        given.size() - colon - 1 > engine::max_property_value_bytes)
        return EINVAL;
    auto& list = at(options);
    const std::string_view name = given.substr(0, colon);
    if (!engine::find_property(list, name))
        list.push_back({std::string(name), std::string(given.substr(colon + 1))});
    return 0;
}

int properties::get(const socket_options&, void*, std::size_t*) const
{
    return write_only();
}

// --- what is not built -------------------------------------------------------------------------

// --- security ----------------------------------------------------------------------------------

int server_role::set(socket_options& options, const void* value, std::size_t bytes) const
{
    int given = 0;
    if (const int error = read_zero_or_one(value, bytes, given))
        return error;
    options.security.mechanism = given ? mechanism : ZMQ_NULL;
    options.security.as_server = given != 0;
    return 0;
}

int server_role::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    const security_options& chosen = options.security;
    return get_exactly(chosen.as_server && chosen.mechanism == mechanism ? 1 : 0, value, bytes);
}

template <class Text>
int client_text<Text>::set(socket_options& options, const void* value, std::size_t bytes) const
{
    security_options& chosen = options.security;
    if (!value && bytes == 0) {
        chosen.mechanism = ZMQ_NULL;
        return 0;
    }
    if (!value || bytes == 0 || bytes > most)
        return EINVAL;
    at(options) = Text(as_text(value, bytes));
    chosen.mechanism = mechanism;
    chosen.as_server = false;
    return 0;
}

template <class Text>
int client_text<Text>::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    if constexpr (std::is_same_v<Text, base::secret>)
        return write_text(read(options, at).text(), value, bytes);
    else
        return write_text(read(options, at), value, bytes);
}

template struct client_text<std::string>;
template struct client_text<base::secret>;

namespace {

using key = security_options::key;
using engine::z85::key_digits;

bool read_key(key& out, const void* value, std::size_t bytes)
{
    const auto* const text = static_cast<const char*>(value);
    if (!value)
        return false;
    if (bytes == out.size()) {
        std::memcpy(out.data(), value, bytes);
        return true;
    }
    if (bytes != key_digits && (bytes != key_digits + 1 || text[key_digits] != '\0'))
        return false;
    return engine::z85::decode(reinterpret_cast<std::uint8_t*>(out.data()), {text, key_digits});
}

} // namespace

template <class Key>
int curve_key<Key>::set(socket_options& options, const void* value, std::size_t bytes) const
{
    key given{};
    const bool is_key = read_key(given, value, bytes);
    if (is_key) {
        if constexpr (std::is_same_v<Key, base::secret>)
            at(options) = Key(std::span<const std::byte>(given));
        else
            at(options) = given;
        options.security.mechanism = ZMQ_CURVE;
        if (of_server)
            options.security.as_server = false;
    }
    base::wipe(given.data(), given.size());
    return is_key ? 0 : EINVAL;
}

template <class Key>
int curve_key<Key>::get(const socket_options& options, void* value, std::size_t* bytes) const
{
    key kept{};
    if constexpr (std::is_same_v<Key, base::secret>)
        std::ranges::copy(read(options, at).bytes(), kept.begin());
    else
        kept = read(options, at);
    int error = 0;
    if (*bytes == kept.size()) {
        std::memcpy(value, kept.data(), kept.size());
    } else if (*bytes == key_digits + 1) {
        engine::z85::encode(static_cast<char*>(value),
                            reinterpret_cast<const std::uint8_t*>(kept.data()), kept.size());
    } else {
        error = EINVAL;
    }
    base::wipe(kept.data(), kept.size());
    return error;
}

template struct curve_key<key>;
template struct curve_key<base::secret>;

} // namespace zlink::core::option
