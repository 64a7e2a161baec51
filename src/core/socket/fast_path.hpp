// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/mailbox.hpp"
#include "core/pipe/pipe.hpp"
#include "core/socket/pattern.hpp"

#include <cstddef>

namespace zlink::core {

/// Spares small messages the pattern while that has no choice: remembers the only pipe that they go
/// to or come from until anything else happens to the socket.
/// Thread safety: the socket's thread, with its own mailbox and pattern at each call.
class fast_path {
public:
    /// To be called by whatever may change how the pattern chooses.
    void forget() noexcept { *this = {}; }
    /// See pattern::only_source(); null if it is not known.
    const pipe_end* source() const noexcept { return source_; }

    /// pattern::put(), or what does the same.
    bool put(const base::mailbox& box, pattern& rules, const std::byte* data, std::size_t size,
             bool more) noexcept
    {
        if (target_) {
            if (addressed_)
                return put_addressed(box, rules, data, size, more);
            if (!more)
                return target_->put(data, size);
        }
        return put_by_pattern(box, rules, data, size, more);
    }
    /// pattern::take(), or what does the same.
    taken_part take(const base::mailbox& box, pattern& rules, std::size_t most) noexcept
    {
        if (source_) {
            if (addressed_)
                return take_addressed(box, rules, most);
            if (const taken_part part = source_->take_last(most)) [[likely]]
                return part;
        }
        return take_by_pattern(box, rules, most);
    }

private:
    bool put_by_pattern(const base::mailbox& box, pattern& rules, const std::byte* data,
                        std::size_t size, bool more) noexcept
    {
        if (box.interrupted() || !rules.put(data, size, more))
            return false;
        if (more) {
            if (!addressed_)
                target_ = nullptr; // a message was begun, of which only the pattern knows
        } else if (!asked_for_target_) [[unlikely]] {
            asked_for_target_ = true;
            target_ = rules.only_target();
            addressed_ = rules.progress().addressed;
        }
        return true;
    }
    bool put_addressed(const base::mailbox& box, pattern& rules, const std::byte* data,
                       std::size_t size, bool more) noexcept
    {
        addressed_progress& at = rules.progress();
        pipe_end* const to = target_;
        if (at.in_body == more)
            return put_by_pattern(box, rules, data, size, more);
        if (more) {
            if (!to->is_named(text_of(data, size)) || !to->has_room_at_hand())
                return put_by_pattern(box, rules, data, size, more);
            at.to = to;
        } else if (at.to != to || !to->put_last(data, size)) {
            return put_by_pattern(box, rules, data, size, more);
        }
        at.in_body = more;
        return true;
    }
    taken_part take_addressed(const base::mailbox& box, pattern& rules, std::size_t most) noexcept
    {
        addressed_progress& at = rules.progress();
        pipe_end* const from = source_;
        if (!at.id_given) {
            if (!from->can_take() || from->routing_id.size() > most)
                return take_by_pattern(box, rules, most);
            at.id_given = true;
            const frame id = frame_of(from->routing_id, true);
            return {id.data, id.size, true};
        }
        const taken_part part = from->take_last(most);
        if (!part)
            return take_by_pattern(box, rules, most);
        at.id_given = false;
        return part;
    }
    taken_part take_by_pattern(const base::mailbox& box, pattern& rules, std::size_t most) noexcept
    {
        if (box.interrupted())
            return {};
        const bool is_id = rules.progress().addressed && !rules.progress().id_given;
        const taken_part part = rules.take(most);
        if (!part || is_id)
            return part;
        if (part.more()) {
            source_ = nullptr; // and no other while messages have several parts
        } else if (!asked_for_source_) {
            source_ = rules.only_source();
            addressed_ = rules.progress().addressed;
        }
        asked_for_source_ = true;
        return part;
    }

    pipe_end* target_ = nullptr; ///< see pattern::only_target()
    pipe_end* source_ = nullptr; ///< see pattern::only_source()
    bool addressed_ = false;     ///< both go on with the pattern's addressed_progress
    bool asked_for_target_ = false;
    bool asked_for_source_ = false;
};

} // namespace zlink::core
