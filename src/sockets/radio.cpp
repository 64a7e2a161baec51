// SPDX-License-Identifier: Apache-2.0
#include "base/system/keyed_hash.hpp"
#include "base/tuning.hpp"
#include "engine/commands/traffic_commands.hpp"
#include "sockets/patterns.hpp"
#include "sockets/policy/reading_share.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include <zmq.h>

namespace zlink::sockets {
namespace {

/// Sends each message to the peers that have joined its group. In a pipe such a message has two
/// parts: the group and the body.
class radio final : public core::pattern, core::group_rules {
public:
    explicit radio(core::pattern_host& host) : host_(host) {}

    core::group_rules* groups() noexcept override { return this; }
    void begin_mail() noexcept override { share_.begin_mail(); }
    void attach(core::pipe_end& pipe) override
    {
        if (pipe.origin.takes_all_groups)
            all_groups_.push_back(&pipe);
        readable(pipe);
    }

    void readable(core::pipe_end& pipe) override
    {
        core::frame part;
        for (std::size_t remaining = share_.of_a_pipe(); pipe.in.peek(part);) {
            if (!share_.allows(remaining)) { // a later look at the mail goes on
                share_.note_unfinished();
                pipe.notify(core::pipe_end::readable);
                break;
            }
            remaining -= std::min(remaining, reading_share::cost_of(part));
            if (part.command())
                membership(pipe, engine::parse_traffic_command(part.bytes()));
            pipe.in.pop();
        }
        if (pipe.other_closed())
            host_.drop(pipe);
    }

    void peer_closed(core::pipe_end& pipe) override { forget(pipe); }
    void detach(core::pipe_end& pipe) override { forget(pipe); }
    bool reads_from(const core::pipe_end&) const noexcept override { return false; }

    int send(const core::frame& part) override { return send_to_group({}, part); }

    int send_to_group(std::string_view group, const core::frame& part) override
    {
        if (part.more())
            return EINVAL;
        if (const int error = choose(group))
            return error;
        const core::frame parts[] = {core::frame_of(group, true), part};
        engine::fan_out_log::entry message;
        if (chosen_.size() >= tuning::fan_out::min_peers)
            message = log_.add({{parts[0].flags, parts[0].bytes()}, {part.flags, part.bytes()}});
        host_.begin_message_to_many(chosen_.size());
        for (core::pipe_end* pipe : chosen_) {
            if (message.chunk && !pipe->out.replaces_messages())
                pipe->out.write_logged(message);
            else if (!pipe->out.write(parts[0]) || !pipe->out.write(parts[1])) [[unlikely]]
                pipe->out.give_up_message();
        }
        host_.end_message_to_many();
        return 0;
    }

    int receive(core::frame&) override { return ENOTSUP; }
    void received() override {}
    bool can_send() override { return true; }
    bool can_receive() override { return false; }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        return id == ZMQ_XPUB_NODROP ? core::read_flag(value, bytes, no_drop_) : EINVAL;
    }

private:
    struct member {
        core::pipe_end* pipe;
        std::size_t* place; ///< its own in the group, as its memberships have it
    };
    using group_map =
        std::unordered_map<std::string, std::vector<member>, base::keyed_hash, std::equal_to<>>;
    using group_entry = group_map::value_type; ///< stays where it is while others come and go
    using memberships = std::map<group_entry*, std::size_t>; ///< each with the place in the group

    void membership(core::pipe_end& pipe, const engine::traffic_command& command)
    {
        const std::string_view group(reinterpret_cast<const char*>(command.argument.data()),
                                     command.argument.size());
        if (group.size() > ZMQ_GROUP_MAX_LENGTH)
            return;
        if (command.kind == engine::traffic_command_kind::join)
            enroll(pipe, group);
        else if (command.kind == engine::traffic_command_kind::leave)
            strike(pipe, group);
    }

    void enroll(core::pipe_end& pipe, std::string_view group)
    {
        auto at = groups_.find(group);
        if (at == groups_.end())
            at = groups_.emplace(group, std::vector<member>()).first;
        memberships& own = joined_[&pipe];
        const auto [joined, fresh] = own.try_emplace(&*at, at->second.size());
        if (!fresh)
            return;
        try {
            at->second.push_back({&pipe, &joined->second});
        } catch (...) {
            own.erase(joined);
            throw;
        }
    }

    void strike(core::pipe_end& pipe, std::string_view group)
    {
        const auto at = groups_.find(group);
        if (at == groups_.end())
            return;
        const auto own = joined_.find(&pipe);
        if (own == joined_.end())
            return;
        const auto joined = own->second.find(&*at);
        if (joined == own->second.end())
            return;
        remove_member(*at, joined->second);
        own->second.erase(joined);
    }

    // The last one takes its place.
    void remove_member(group_entry& group, std::size_t place)
    {
        auto& members = group.second;
        members[place] = members.back();
        *members[place].place = place;
        members.pop_back();
        if (members.empty())
            groups_.erase(groups_.find(group.first));
    }

    void forget(core::pipe_end& pipe)
    {
        std::erase(all_groups_, &pipe);
        const auto own = joined_.find(&pipe);
        if (own == joined_.end())
            return;
        for (const auto& [group, place] : own->second)
            remove_member(*group, place);
        joined_.erase(own);
    }

    // 0, or EAGAIN if nobody shall miss a message and somebody would.
    int choose(std::string_view group)
    {
        chosen_.clear();
        bool full = false;
        const auto add = [&](core::pipe_end* pipe) {
            if (full && no_drop_)
                return; // it must wait: for one after the other
            if (no_drop_ ? pipe->out.can_write() : pipe->out.has_room())
                chosen_.push_back(pipe);
            else
                full = true;
        };
        for (core::pipe_end* pipe : all_groups_)
            add(pipe);
        if (const auto at = groups_.find(group); at != groups_.end())
            for (const member& each : at->second)
                add(each.pipe);
        return full && no_drop_ ? EAGAIN : 0;
    }

    core::pattern_host& host_;
    group_map groups_;
    std::map<const core::pipe_end*, memberships> joined_;
    reading_share share_;
    std::vector<core::pipe_end*> all_groups_; ///< peers that sort out by themselves
    std::vector<core::pipe_end*> chosen_;     ///< of the message being sent
    engine::fan_out_log log_;
    bool no_drop_ = false;
};

} // namespace

std::unique_ptr<core::pattern> make_radio(core::pattern_host& host)
{
    return std::make_unique<radio>(host);
}

} // namespace zlink::sockets
