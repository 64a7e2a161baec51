// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::bench {

/// Text as a JSON string, quotes included. Bytes outside ASCII are passed through.
std::string json_quote(std::string_view text);

/// Builds one JSON object on one line, fields in the order of the calls.
class json_object {
public:
    json_object& add(std::string_view key, std::string_view text);
    json_object& add(std::string_view key, const char* text);
    json_object& add(std::string_view key, double number); ///< null unless finite
    json_object& add(std::string_view key, std::uint64_t number);
    json_object& add(std::string_view key, int number);

    /// `json` is inserted as it stands and must be valid JSON.
    json_object& add_raw(std::string_view key, std::string_view json);

    std::string str() const;

private:
    std::string body_;
};

/// Joins JSON values into an array, one value per line.
std::string json_array(const std::vector<std::string>& values);

/// The scalar fields of a flat JSON object. Numbers, true, false and null keep their spelling.
class json_fields {
public:
    /// Nothing if `line` is not exactly one flat object (no nested objects or arrays).
    static std::optional<json_fields> parse(std::string_view line);

    /// The text of a field, or an empty string if the field is absent.
    std::string text(const std::string& key) const;

    /// The number in a field, or nothing if the field is absent or not a number.
    std::optional<double> number(const std::string& key) const;

private:
    std::map<std::string, std::string> values_;
};

} // namespace zlink::bench
