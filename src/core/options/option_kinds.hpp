// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options/options.hpp"

#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

/// The kinds of values socket options have. A kind knows where its value is kept and which values
/// are good; an option is a row that names one (options.cpp).
///
/// set() takes `bytes` bytes at `value`; 0 or an errno value, which leaves the option as it was.
/// get() gets the room in `*bytes` and puts the length there; 0 or EINVAL. Numbers and flags want
/// exactly their own size, text and blobs any room that is large enough; what is not needed of it
/// is zeroed.
///
/// Thread safety: that of the options they work on.
namespace zlink::core::option {

/// Where the value is kept.
template <class Value>
using field = Value& (*)(socket_options&);

/// An int between two others.
struct integer {
    field<int> at;
    int least = INT_MIN;
    int most = INT_MAX;
    int unit = 1; ///< what is given is rounded down to a multiple

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// An int between two others, or nothing until it is set.
struct optional_integer {
    field<std::optional<int>> at;
    int told_if_not_set; ///< what get() answers as long
    int least = INT_MIN;
    int most = INT_MAX;

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// A number of 64 bits without a range.
template <class Number>
struct number {
    field<Number> at;

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// Which ints a flag may be set to.
enum class truth : std::uint8_t { zero_or_one, any_int };

/// An int that says yes or no.
struct flag {
    field<bool> at;
    truth accepts = truth::zero_or_one;
    bool inverted = false; ///< 1 means false

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// How a text is made empty again.
enum class emptied : std::uint8_t { never, by_null, by_null_or_no_bytes };

/// Characters; read with a NUL behind them.
struct text {
    field<std::string> at;
    std::size_t most = SIZE_MAX; ///< characters
    emptied how = emptied::never;
    bool (*is_good)(std::string_view) = nullptr; ///< null: every text is

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// Bytes; read without anything behind them.
struct blob {
    field<std::string> at;
    std::size_t least = 0;
    std::size_t most = SIZE_MAX;

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// A list of ids of processes, users or groups: each call adds one, NULL without bytes empties it.
template <class Id>
struct ids {
    field<std::vector<Id>> at;

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// A list of IP networks: each call adds one, NULL without bytes empties it.
struct networks {
    field<std::vector<std::string>> at;

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// A list of "X-name:value": each call adds one; the first of a name stays.
struct properties {
    field<std::vector<engine::property>> at;

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// An int that follows from something else.
struct computed {
    int (*value_of)(const socket_options&);
    bool any_room = false; ///< more room than an int is allowed

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// An int: 1 chooses a mechanism in the role of the server, 0 no mechanism at all.
struct server_role {
    int mechanism;

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// Characters that choose a mechanism in the role of a client; NULL without bytes chooses none, and
/// leaves the characters as they are. Read with a NUL behind them. `Text`: std::string or
/// base::secret.
template <class Text>
struct client_text {
    int mechanism;
    field<Text> at;
    std::size_t most = SIZE_MAX; ///< characters

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

/// A key of CURVE, which chooses that mechanism: 32 bytes, or their Z85 text with or without a NUL
/// behind it. Read as bytes or as text with a NUL, as the room given is 32 or 41 bytes. `Key`:
/// bytes or base::secret.
template <class Key>
struct curve_key {
    field<Key> at;
    bool of_server = false; ///< who sets it is a client

    int set(socket_options& options, const void* value, std::size_t bytes) const;
    int get(const socket_options& options, void* value, std::size_t* bytes) const;
};

} // namespace zlink::core::option
