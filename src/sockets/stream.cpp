// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/addressed_queue.hpp"
#include "sockets/policy/peer_table.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_set>
#include <zmq.h>

namespace zlink::sockets {
namespace {

/// Exchanges plain bytes with peers that know nothing of ZMTP. A message is a routing id and a
/// chunk of bytes; an empty chunk says that the peer has come or gone, or is to go.
class stream final : public core::pattern, core::name_rules {
public:
    explicit stream(core::pattern_host& host) : in_(host, progress_) {}

    void attach(core::pipe_end& pipe) override
    {
        const bool named = pipe.slot.made_by_call && !connect_id_.empty();
        newest_id_ = named ? connect_id_ : peers_.automatic_id();
        peers_.add(pipe, newest_id_);
        in_.add(pipe);
        if (named)
            connect_id_.clear(); // not before all is done that needs memory
    }
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override { forget(pipe); }
    void detach(core::pipe_end& pipe) override
    {
        in_.remove(pipe);
        forget(pipe);
    }
    bool reads_from(const core::pipe_end& pipe) const noexcept override
    {
        return in_.contains(pipe);
    }

    int send(const core::frame& part) override
    {
        return progress_.in_body ? send_chunk(part) : choose_peer(part);
    }

    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        if (progress_.in_body) {
            if (!progress_.to || !progress_.to->out.put_part(data, size, false))
                return false;
        } else {
            core::pipe_end* const peer =
                more ? peers_.last_found(core::text_of(data, size)) : nullptr;
            if (!peer || is_ending(*peer) || !peer->out.has_room_at_hand())
                return false;
            progress_.to = peer;
        }
        progress_.in_body = !progress_.in_body; // an id and a chunk take turns
        return true;
    }

    core::pipe_end* only_target() noexcept override
    {
        core::pipe_end* const peer = peers_.last_found();
        return peer && !is_ending(*peer) ? peer : nullptr;
    }
    core::pipe_end* only_source() noexcept override { return in_.only(); }

    int receive(core::frame& part) override { return in_.receive(part); }
    core::taken_part take(std::size_t most) noexcept override { return in_.take(most); }
    void received() override { in_.received(); }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool can_send() override { return true; }
    bool can_receive() override { return in_.can_receive(); }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        if (id == ZMQ_CONNECT_ROUTING_ID) {
            if (bytes == 0 || !value)
                return EINVAL;
            connect_id_.assign(static_cast<const char*>(value), bytes);
            return 0;
        }
        int number = 0;
        if (id != ZMQ_STREAM_NOTIFY || core::read_int(value, bytes, number) != 0 ||
            (number != 0 && number != 1))
            return EINVAL;
        notices_ = number != 0;
        return 0;
    }

    int get_option(int id, void* value, std::size_t* bytes) override
    {
        if (id != ZMQ_ROUTING_ID || newest_id_.empty() || *bytes < newest_id_.size())
            return EINVAL;
        std::memset(value, 0, *bytes);
        std::memcpy(value, newest_id_.data(), newest_id_.size());
        *bytes = newest_id_.size();
        return 0;
    }

    core::name_rules* names() noexcept override { return this; }
    int check_connect() override
    {
        return !connect_id_.empty() && peers_.contains(connect_id_) ? EINVAL : 0;
    }

    core::wire_format wire() const noexcept override
    {
        return notices_ ? core::wire_format::raw_with_notices : core::wire_format::raw;
    }

private:
    int choose_peer(const core::frame& id)
    {
        progress_.to = nullptr;
        if (id.more()) { // without it this part and the next are dropped
            core::pipe_end* const peer = peers_.find(id.text());
            if (!peer)
                return EHOSTUNREACH;
            if (is_ending(*peer) || !peer->out.can_write())
                return EAGAIN;
            progress_.to = peer;
        }
        progress_.in_body = true;
        return 0;
    }

    int send_chunk(core::frame chunk)
    {
        chunk.flags = 0;
        core::pipe_end* const to = progress_.to; // null: it has gone, or was never named
        if (to && chunk.size != 0) {
            if (!to->out.write(chunk))
                return ENOMEM; // it may be sent again, to the same peer
        } else if (to) {
            ending_.insert(to);
            to->end_output(core::pipe_ending::output_ended);
        }
        progress_.to = nullptr;
        progress_.in_body = false;
        return 0;
    }

    bool is_ending(const core::pipe_end& pipe) const noexcept
    {
        return !ending_.empty() && ending_.contains(&pipe);
    }

    void forget(core::pipe_end& pipe)
    {
        if (progress_.to == &pipe)
            progress_.to = nullptr;
        ending_.erase(&pipe);
        peers_.remove(pipe);
    }

    addressed_queue in_;
    peer_table peers_;
    std::unordered_set<const core::pipe_end*> ending_; ///< closed as soon as all is sent
    bool notices_ = true;
    std::string connect_id_;
    std::string newest_id_;
};

} // namespace

std::unique_ptr<core::pattern> make_stream(core::pattern_host& host)
{
    return std::make_unique<stream>(host);
}

} // namespace zlink::sockets
