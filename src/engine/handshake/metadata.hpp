// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The property list of ZMTP handshake commands (and of ZAP replies): for each property a name
/// length (1 byte), the name, a value length (4 bytes, big-endian) and the value.
///
/// Thread safety: pure functions on caller memory.
/// Errors: returned as false; only memory exhaustion throws (std::bad_alloc).
/// Lifetime: decoded properties own their bytes.
namespace zlink::engine {

/// One named value. Both parts are plain bytes; a value may contain NULs.
struct property {
    std::string name;  ///< 1 to 255 bytes when sent; compared exactly, case included.
    std::string value; ///< At most 2^31-1 bytes when sent.

    friend bool operator==(const property&, const property&) = default;
};

inline constexpr std::size_t max_property_name_bytes = 255;
inline constexpr std::size_t max_property_value_bytes = 0x7fffffff;

/// Appends one encoded property to `out`. Returns false and appends nothing when the name is empty
/// or either part is too long to be sent.
bool append_property(std::vector<std::byte>& out, std::string_view name, std::string_view value);

/// Appends every property of the list in `bytes` to `properties`, in order. Returns false when a
/// length runs past the end or bytes are left over; `properties` is then as it was. An empty list
/// is valid. Empty names and repeated names are accepted. Memory is proportional to `bytes`.
bool decode_properties(std::span<const std::byte> bytes, std::vector<property>& properties);

/// The first property called `name` (exact comparison), or nullptr. The pointer is into
/// `properties`.
const property* find_property(std::span<const property> properties, std::string_view name) noexcept;

} // namespace zlink::engine
