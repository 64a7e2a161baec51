// SPDX-License-Identifier: Apache-2.0
#include "engine/command.hpp"

#include <algorithm>

#include "engine/bytes.hpp"

namespace zlink::engine {

std::optional<command_view> parse_command(std::span<const std::byte> body) noexcept
{
    if (body.empty()) {
        return std::nullopt;
    }
    const auto name_bytes = std::to_integer<std::size_t>(body[0]);
    if (name_bytes == 0 || name_bytes > body.size() - 1) {
        return std::nullopt;
    }
    return command_view{as_text(body.subspan(1, name_bytes)), body.subspan(1 + name_bytes)};
}

void append_command_body(std::vector<std::byte>& out, std::string_view name,
                         std::span<const std::byte> data)
{
    out.push_back(static_cast<std::byte>(name.size()));
    append_bytes(out, as_bytes(name));
    append_bytes(out, data);
}

void append_command_frame(std::vector<std::byte>& out, std::span<const std::byte> body)
{
    std::byte header[zmtp3::max_header_bytes];
    const auto header_bytes = zmtp3::encode_header(header, zmtp3::flag_command, body.size());
    append_bytes(out, std::span(header, header_bytes));
    append_bytes(out, body);
}

handshake_error read_error_command(std::span<const std::byte> data, std::string& reason)
{
    if (data.empty()) {
        return handshake_error::malformed_error_command;
    }
    const auto reason_bytes = std::to_integer<std::size_t>(data[0]);
    if (reason_bytes > data.size() - 1) {
        return handshake_error::malformed_error_command;
    }
    reason = as_text(data.subspan(1, reason_bytes));
    return handshake_error::refused_by_peer;
}

std::size_t command_reader::feed(std::span<const std::byte> bytes)
{
    std::size_t taken = 0;
    // One byte at a time: a short header must not swallow the beginning of the body.
    while (!header_known() && taken < bytes.size()) {
        raw_header_[raw_header_bytes_++] = bytes[taken++];
        zmtp3::decode_header(raw_header_, raw_header_bytes_, header_);
    }
    if (!header_known() || too_large()) {
        return taken;
    }
    const auto missing = static_cast<std::size_t>(header_.body_bytes) - body_.size();
    const auto piece = bytes.subspan(taken, std::min(missing, bytes.size() - taken));
    append_bytes(body_, piece);
    return taken + piece.size();
}

bool command_reader::complete() const noexcept
{
    return header_known() && body_.size() == header_.body_bytes;
}

void command_reader::next() noexcept
{
    raw_header_bytes_ = 0;
    header_ = {};
    body_ = {};
}

} // namespace zlink::engine
