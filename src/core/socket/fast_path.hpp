// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/mailbox.hpp"
#include "core/pipe/pipe.hpp"
#include "core/socket/pattern.hpp"

#include <cstddef>

namespace zlink::core {

/// Spares small messages the pattern while that has no choice: remembers the only pipe that they go
/// to or come from until anything else happens to the socket.
/// Thread safety: the socket's thread.
/// Lifetime: mailbox and pattern are the socket's, and outlive the object.
class fast_path {
public:
    fast_path(const base::mailbox& box, direct_rules& rules) noexcept : box_(box), rules_(rules) {}

    /// Call it wherever the pattern may choose otherwise from now on.
    void forget() noexcept { only_ = {}; }
    /// See direct_rules::only_source(); null if it is not known.
    const pipe_end* source() const noexcept { return only_.source; }

    /// direct_rules::put(), or what does the same.
    bool put(const std::byte* data, std::size_t size, bool more) noexcept
    {
        if (only_.target) {
            if (only_.addressed)
                return put_addressed(data, size, more);
            if (!more)
                return only_.target->out.put(data, size);
        }
        return put_by_pattern(data, size, more);
    }
    /// direct_rules::take(), or what does the same.
    taken_part take(std::size_t max_bytes) noexcept
    {
        if (only_.source) {
            if (only_.addressed)
                return take_addressed(max_bytes);
            if (const taken_part part = only_.source->in.take_last(max_bytes)) [[likely]]
                return part;
        }
        return take_by_pattern(max_bytes);
    }

private:
    bool put_by_pattern(const std::byte* data, std::size_t size, bool more) noexcept
    {
        if (box_.is_shut_down() || !rules_.put(data, size, more))
            return false;
        if (more) {
            if (!only_.addressed)
                only_.target = nullptr; // a message was begun, of which only the pattern knows
        } else if (!only_.asked_for_target) [[unlikely]] {
            only_.asked_for_target = true;
            only_.target = rules_.only_target();
            only_.addressed = rules_.progress().addressed;
        }
        return true;
    }
    bool put_addressed(const std::byte* data, std::size_t size, bool more) noexcept
    {
        addressed_progress& at = rules_.progress();
        pipe_end* const to = only_.target;
        if (at.in_body == more)
            return put_by_pattern(data, size, more);
        if (more) {
            if (!to->slot.is_named(text_of(data, size)) || !to->out.has_room_at_hand())
                return put_by_pattern(data, size, more);
            at.to = to;
        } else if (at.to != to || !to->out.put_part(data, size, false)) {
            return put_by_pattern(data, size, more);
        }
        at.in_body = more;
        return true;
    }
    taken_part take_addressed(std::size_t max_bytes) noexcept
    {
        addressed_progress& at = rules_.progress();
        pipe_end* const from = only_.source;
        if (!at.id_given) {
            if (!from->in.can_take() || from->slot.routing_id.size() > max_bytes)
                return take_by_pattern(max_bytes);
            at.id_given = true;
            const frame id = frame_of(from->slot.routing_id, true);
            return {id.data, id.size, true};
        }
        const taken_part part = from->in.take_last(max_bytes);
        if (!part)
            return take_by_pattern(max_bytes);
        at.id_given = false;
        return part;
    }
    taken_part take_by_pattern(std::size_t max_bytes) noexcept
    {
        if (box_.is_shut_down())
            return {};
        const bool is_id = rules_.progress().addressed && !rules_.progress().id_given;
        const taken_part part = rules_.take(max_bytes);
        if (!part || is_id)
            return part;
        if (part.more()) {
            only_.source = nullptr; // and no other while messages have several parts
        } else if (!only_.asked_for_source) {
            only_.source = rules_.only_source();
            only_.addressed = rules_.progress().addressed;
        }
        only_.asked_for_source = true;
        return part;
    }

    struct known {
        pipe_end* target = nullptr; ///< see direct_rules::only_target()
        pipe_end* source = nullptr; ///< see direct_rules::only_source()
        bool addressed = false;     ///< both go on with the pattern's addressed_progress
        bool asked_for_target = false;
        bool asked_for_source = false;
    };
    known only_;
    const base::mailbox& box_;
    direct_rules& rules_;
};

} // namespace zlink::core
