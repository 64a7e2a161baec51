// SPDX-License-Identifier: Apache-2.0
#include "common/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace zlink::bench {

namespace {

/// Reads the tokens a flat object is made of, from left to right.
class scanner {
public:
    explicit scanner(std::string_view text) : rest_(text) {}

    bool take(char expected)
    {
        skip_space();
        if (rest_.empty() || rest_.front() != expected) {
            return false;
        }
        rest_.remove_prefix(1);
        return true;
    }

    bool at_end()
    {
        skip_space();
        return rest_.empty();
    }

    std::optional<std::string> string()
    {
        if (!take('"')) {
            return std::nullopt;
        }
        std::string result;
        while (!rest_.empty()) {
            const char character = rest_.front();
            rest_.remove_prefix(1);
            if (character == '"') {
                return result;
            }
            if (character != '\\') {
                result += character;
            } else if (!unescape(result)) {
                return std::nullopt;
            }
        }
        return std::nullopt;
    }

    std::optional<std::string> value()
    {
        skip_space();
        if (!rest_.empty() && rest_.front() == '"') {
            return string();
        }
        const auto length = std::min(rest_.find_first_of(",} \t\r\n"), rest_.size());
        std::string word(rest_.substr(0, length));
        rest_.remove_prefix(length);
        if (word.empty() || word.find_first_of("[{\"") != std::string::npos) {
            return std::nullopt;
        }
        return word;
    }

private:
    void skip_space()
    {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    }

    /// Only the escapes that json_quote() produces.
    bool unescape(std::string& result)
    {
        if (rest_.empty()) {
            return false;
        }
        const char kind = rest_.front();
        rest_.remove_prefix(1);
        if (kind == '"' || kind == '\\' || kind == '/') {
            result += kind;
            return true;
        }
        unsigned code = 0;
        if (kind != 'u' || rest_.size() < 4 ||
            std::from_chars(rest_.data(), rest_.data() + 4, code, 16).ptr != rest_.data() + 4 ||
            code > 0x7f) {
            return false;
        }
        result += static_cast<char>(code);
        rest_.remove_prefix(4);
        return true;
    }

    std::string_view rest_;
};

} // namespace

std::string json_quote(std::string_view text)
{
    std::string result = "\"";
    for (const char character : text) {
        if (character == '"' || character == '\\') {
            result += '\\';
            result += character;
        } else if (static_cast<unsigned char>(character) < 0x20) {
            result += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
        } else {
            result += character;
        }
    }
    return result + '"';
}

json_object& json_object::add_raw(std::string_view key, std::string_view json)
{
    body_ += fmt::format("{}{}: {}", body_.empty() ? "" : ", ", json_quote(key), json);
    return *this;
}

json_object& json_object::add(std::string_view key, std::string_view text)
{
    return add_raw(key, json_quote(text));
}

json_object& json_object::add(std::string_view key, const char* text)
{
    return add(key, std::string_view(text));
}

json_object& json_object::add(std::string_view key, double number)
{
    return add_raw(key, std::isfinite(number) ? fmt::format("{:.9g}", number) : "null");
}

json_object& json_object::add(std::string_view key, std::uint64_t number)
{
    return add_raw(key, fmt::format("{}", number));
}

json_object& json_object::add(std::string_view key, int number)
{
    return add_raw(key, fmt::format("{}", number));
}

std::string json_object::str() const
{
    return '{' + body_ + '}';
}

std::string json_array(const std::vector<std::string>& values)
{
    return values.empty() ? "[]" : fmt::format("[\n  {}\n]", fmt::join(values, ",\n  "));
}

std::optional<json_fields> json_fields::parse(std::string_view line)
{
    scanner input(line);
    json_fields fields;
    if (!input.take('{')) {
        return std::nullopt;
    }
    bool more = !input.take('}');
    while (more) {
        auto key = input.string();
        if (!key || !input.take(':')) {
            return std::nullopt;
        }
        auto value = input.value();
        if (!value) {
            return std::nullopt;
        }
        fields.values_[*key] = *value;
        more = input.take(',');
        if (!more && !input.take('}')) {
            return std::nullopt;
        }
    }
    return input.at_end() ? std::optional(std::move(fields)) : std::nullopt;
}

std::string json_fields::text(const std::string& key) const
{
    const auto found = values_.find(key);
    return found == values_.end() ? std::string() : found->second;
}

std::optional<double> json_fields::number(const std::string& key) const
{
    const std::string word = text(key);
    double result = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), result);
    const bool whole = error == std::errc{} && end == word.data() + word.size();
    return whole ? std::optional(result) : std::nullopt;
}

} // namespace zlink::bench
