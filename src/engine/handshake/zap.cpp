// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/zap.hpp"

#include "engine/bytes.hpp"

#include <optional>

namespace zlink::engine::zap {
namespace {

constexpr std::string_view version = "1.0";
// Each request has a conversation of its own.
constexpr std::string_view request_id = "1";

std::optional<handshake_error> error_of_status(std::string_view status) noexcept
{
    if (status == "200")
        return handshake_error::none;
    if (status == "300")
        return handshake_error::denied_for_now;
    if (status == "400")
        return handshake_error::denied;
    if (status == "500")
        return handshake_error::authentication_failed;
    return std::nullopt;
}

verdict refused(handshake_error why)
{
    return {.refusal = why};
}

} // namespace

std::vector<std::string_view> request_parts(const question& about, const credentials& presented)
{
    std::vector<std::string_view> parts{{},
                                        version,
                                        request_id,
                                        about.domain,
                                        presented.address,
                                        about.routing_id,
                                        presented.mechanism};
    parts.insert(parts.end(), presented.parts.begin(), presented.parts.end());
    return parts;
}

// The order of the checks is that of the events that libzmq is known to tell.
verdict read_reply(std::span<const std::string> parts)
{
    if (parts.size() != reply_parts)
        return refused(handshake_error::malformed_reply);
    if (!parts[0].empty())
        return refused(handshake_error::unspecified_reply);
    if (parts[1] != version)
        return refused(handshake_error::wrong_reply_version);
    if (parts[2] != request_id)
        return refused(handshake_error::wrong_reply_request_id);
    const auto status = error_of_status(parts[3]);
    if (!status)
        return refused(handshake_error::invalid_reply_status);
    verdict result{.refusal = *status, .user_id = parts[5]};
    if (!decode_properties(as_bytes(parts[6]), result.properties))
        return refused(handshake_error::invalid_reply_metadata);
    return result;
}

} // namespace zlink::engine::zap
