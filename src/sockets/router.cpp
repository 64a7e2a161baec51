// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/addressed_queue.hpp"
#include "sockets/policy/peer_table.hpp"
#include "sockets/policy/router_probe.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>
#include <vector>
#include <zmq.h>

namespace zlink::sockets {
namespace {

/// Addresses its peers by routing id: the first part of every message.
class router final : public core::pattern, core::name_rules {
public:
    explicit router(core::pattern_host& host) : host_(host), in_(host, progress_) {}

    void attach(core::pipe_end& pipe) override
    {
        if (!pipe.slot.made_by_call)
            return;
        probe_.greet(pipe);
        if (!connect_id_.empty()) {
            enter(pipe, connect_id_);
            connect_id_.clear();
        }
    }

    void identified(core::pipe_end& pipe, const core::peer_info& peer) override
    {
        if (!pipe.slot.routing_id.empty() && peers_.find(pipe.slot.routing_id) == &pipe)
            return; // the name of a pipe stays over reconnections, unless it was taken over
        std::string id = peer.routing_id.empty() ? peers_.automatic_id() : peer.routing_id;
        if (core::pipe_end* const older = peers_.find(id)) {
            if (!handover_)
                return turn_away(pipe, std::move(id));
            in_.end(*older); // what it has said is still heard
            forget(*older);
        }
        take_in(pipe, std::move(id));
    }

    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override
    {
        forget(pipe);
        take_in_waiting(pipe.slot.routing_id);
    }
    void detach(core::pipe_end& pipe) override
    {
        in_.remove(pipe);
        forget(pipe);
        try {
            take_in_waiting(pipe.slot.routing_id);
        } catch (const std::bad_alloc&) { // it goes on waiting, for the next that leaves
        }
    }
    bool reads_from(const core::pipe_end& pipe) const noexcept override
    {
        return in_.contains(pipe);
    }

    int send(const core::frame& part) override
    {
        if (!progress_.in_body)
            return begin_message(part);
        if (raw_) [[unlikely]]
            return send_chunk(part);
        const bool more = part.more();
        if (progress_.to && !progress_.to->out.write(part))
            return ENOMEM;
        progress_.in_body = more;
        if (!more)
            progress_.to = nullptr;
        return 0;
    }

    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        if (progress_.in_body) {
            if (raw_ || !progress_.to || !progress_.to->out.put_part(data, size, more))
                return false;
        } else {
            core::pipe_end* const peer = more ? peers_.find(core::text_of(data, size)) : nullptr;
            if (!peer || !peer->out.has_room_at_hand())
                return false;
            progress_.to = peer;
        }
        progress_.in_body = more;
        return true;
    }

    core::pipe_end* only_target() noexcept override { return raw_ ? nullptr : peers_.last_found(); }
    core::pipe_end* only_source() noexcept override { return in_.only(); }

    int receive(core::frame& part) override { return in_.receive(part); }
    core::taken_part take(std::size_t most) noexcept override { return in_.take(most); }
    void received() override { in_.received(); }
    const core::pipe_end* source() const noexcept override { return in_.last(); }

    bool can_send() override
    {
        return !mandatory_ ||
               peers_.any_of([](core::pipe_end& pipe) { return pipe.out.can_write(); });
    }
    bool can_receive() override { return in_.can_receive(); }

    core::name_rules* names() noexcept override { return this; }
    int peer_events(std::string_view routing_id, int& events) override
    {
        core::pipe_end* const peer = peers_.find(routing_id);
        if (!peer)
            return EHOSTUNREACH;
        events = peer->out.has_room() ? ZMQ_POLLOUT : 0;
        return 0;
    }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        switch (id) {
        case ZMQ_ROUTER_MANDATORY:
            return core::read_flag(value, bytes, mandatory_);
        case ZMQ_ROUTER_HANDOVER:
            return core::read_flag(value, bytes, handover_);
        case ZMQ_PROBE_ROUTER:
            return probe_.set(value, bytes);
        case ZMQ_CONNECT_ROUTING_ID: {
            if (bytes == 0 || !value)
                return EINVAL;
            connect_id_.assign(static_cast<const char*>(value), bytes);
            return 0;
        }
        case ZMQ_ROUTER_RAW:
            return core::read_flag(value, bytes, raw_);
        default:
            return EINVAL;
        }
    }

    core::wire_format wire() const noexcept override
    {
        return raw_ ? core::wire_format::raw_with_notices : core::wire_format::zmtp;
    }

    int check_connect() override
    {
        return !connect_id_.empty() && peers_.contains(connect_id_) ? EINVAL : 0;
    }

private:
    int begin_message(const core::frame& part)
    {
        if (!part.more())
            return 0; // an address without a message
        progress_.to = nullptr;
        core::pipe_end* const peer = peers_.find(part.text());
        if (!peer) {
            if (mandatory_)
                return EHOSTUNREACH;
        } else if (mandatory_ ? peer->out.can_write() : peer->out.has_room()) {
            progress_.to = peer;
        } else if (mandatory_) {
            return EAGAIN;
        }
        progress_.in_body = true;
        return 0;
    }

    // To a peer that knows no messages: what follows an id is one part, and an empty one ends it.
    int send_chunk(core::frame chunk)
    {
        chunk.flags = 0;
        if (chunk.size != 0 && progress_.to && !progress_.to->out.write(chunk))
            return ENOMEM; // it may be sent again, to the same peer
        progress_.in_body = false;
        core::pipe_end* const to = std::exchange(progress_.to, nullptr);
        if (to && chunk.size == 0) {
            forget(*to);
            to->end_output(core::pipe_ending::output_ended);
        }
        return 0;
    }

    void enter(core::pipe_end& pipe, std::string id)
    {
        in_.add(pipe);
        try {
            peers_.add(pipe, std::move(id));
        } catch (...) {
            in_.remove(pipe);
            throw;
        }
    }

    void take_in(core::pipe_end& pipe, std::string id)
    {
        const bool was_greeted = pipe.slot.made_by_call || !pipe.slot.routing_id.empty();
        enter(pipe, std::move(id));
        if (!was_greeted)
            probe_.greet(pipe);
    }

    // A connection ends, to be made again. Without one to end, the peer waits until the id is free.
    void turn_away(core::pipe_end& pipe, std::string id)
    {
        if (!pipe.origin.is_inproc)
            return host_.refuse(pipe);
        if (std::ranges::find(waiting_, &pipe, &waiting_peer::pipe) == waiting_.end())
            waiting_.push_back({&pipe, std::move(id)});
    }

    void take_in_waiting(const std::string& freed_id)
    {
        if (waiting_.empty() || peers_.contains(freed_id))
            return;
        const auto next = std::ranges::find(waiting_, freed_id, &waiting_peer::id);
        if (next == waiting_.end())
            return;
        take_in(*next->pipe, next->id);
        waiting_.erase(next);
    }

    void forget(core::pipe_end& pipe)
    {
        if (progress_.to == &pipe)
            progress_.to = nullptr; // the rest of the message is dropped
        peers_.remove(pipe);
        std::erase_if(waiting_, [&](const waiting_peer& each) { return each.pipe == &pipe; });
    }

    struct waiting_peer {
        core::pipe_end* pipe;
        std::string id; ///< another one has it still
    };

    core::pattern_host& host_;
    addressed_queue in_;
    peer_table peers_;
    std::vector<waiting_peer> waiting_; ///< over inproc
    bool mandatory_ = false;
    bool raw_ = false; ///< plain bytes instead of messages
    bool handover_ = false;
    router_probe probe_;
    std::string connect_id_;
};

} // namespace

std::unique_ptr<core::pattern> make_router(core::pattern_host& host)
{
    return std::make_unique<router>(host);
}

} // namespace zlink::sockets
