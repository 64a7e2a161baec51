// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/commands/traffic_commands.hpp"

#include <algorithm>
#include <cstdint>

namespace zlink::engine {

/// Which commands enter the channel, as messages: SUBSCRIBE and CANCEL, or JOIN and LEAVE.
enum class kept_commands : std::uint8_t { none, subscriptions, groups };

/// What a connection may bring: the limits on sizes, the form that messages must have, and which
/// commands are for the application. A decoder asks for each frame.
///
/// Thread safety: one thread at a time.
/// Limits: `max_message_bytes` is one for each part of a message; negative: there is none. Commands
/// may have as much, and 64 KiB in any case.
class message_rules {
public:
    message_rules(std::int64_t max_message_bytes, kept_commands keep) noexcept
        : max_message_bytes_(max_message_bytes < 0 ? UINT64_MAX
                                                   : static_cast<std::uint64_t>(max_message_bytes)),
          max_command_bytes_(std::max(max_message_bytes_, command_bytes_at_least)),
          keep_(keep)
    {}

    /// From now on every message must begin as a reply does: an empty part, or a part of 4 bytes
    /// (the number of the request) and an empty one, with more to follow.
    void require_envelope() noexcept { envelope_ = envelope::start; }
    /// From now on every message must be a group, of at most 255 bytes, and one more part.
    void require_group() noexcept { envelope_ = envelope::group; }

    /// From now on messages of no bytes are left out.
    void leave_out_empty() noexcept { leaves_out_empty_ = true; }

    std::uint64_t max_message_bytes() const noexcept { return max_message_bytes_; }
    std::uint64_t max_bytes(bool command) const noexcept
    {
        return command ? max_command_bytes_ : max_message_bytes_;
    }
    /// May messages have any form?
    bool allow_any_form() const noexcept { return envelope_ == envelope::any; }
    bool leaves_out(std::uint64_t body_bytes) const noexcept
    {
        return leaves_out_empty_ && body_bytes == 0;
    }
    /// Takes note of the next part of a message; false if no message may have it here.
    bool allow_part(std::uint64_t body_bytes, bool more) noexcept;
    /// Does a command of this kind enter the channel?
    bool keep(traffic_command_kind kind) const noexcept;

private:
    // A subscription is as long as its topic, however small messages must be.
    static constexpr std::uint64_t command_bytes_at_least = 64 * 1024;

    std::uint64_t max_message_bytes_;
    std::uint64_t max_command_bytes_;
    kept_commands keep_;
    bool leaves_out_empty_ = false;
    enum class envelope : std::uint8_t {
        any,
        start,
        after_number,
        body,
        group,
        after_group
    } envelope_ = envelope::any;
};

} // namespace zlink::engine
