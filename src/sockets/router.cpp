// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/fair_queue.hpp"

#include <cerrno>
#include <random>
#include <string>
#include <unordered_map>
#include <zmq.h>

namespace zlink::sockets {
namespace {

struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept
    {
        return std::hash<std::string_view>{}(text);
    }
};

/// Addresses its peers by routing id: the first part of every message.
class router final : public core::pattern {
public:
    explicit router(core::pattern_host& host)
        : host_(host), in_(host), next_id_(std::random_device{}())
    {}

    void attach(core::pipe_end& pipe) override
    {
        if (probe_router_)
            pipe.write({});
        if (pipe.connected_side && !connect_id_.empty())
            enter(pipe, std::exchange(connect_id_, {}));
    }

    void identified(core::pipe_end& pipe, const core::peer_info& peer) override
    {
        if (!pipe.routing_id.empty())
            return; // the name of a pipe stays over reconnections
        std::string id = peer.routing_id.empty() ? automatic_id() : peer.routing_id;
        if (const auto other = peers_.find(id); other != peers_.end()) {
            if (!handover_)
                return; // the newcomer is heard by nobody
            core::pipe_end& older = *other->second;
            leave(older);
            hear_no_more(older);
            host_.drop(older);
        }
        enter(pipe, std::move(id));
    }

    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override { leave(pipe); }
    void detach(core::pipe_end& pipe) override
    {
        hear_no_more(pipe);
        leave(pipe);
    }
    bool reads_from(const core::pipe_end& pipe) const noexcept override
    {
        return in_.contains(pipe);
    }

    int send(const core::frame& part) override
    {
        if (!in_body_)
            return begin_message(part);
        const bool more = part.more();
        if (to_ && !to_->write(part)) {
            to_ = nullptr;
            in_body_ = false;
            return ENOMEM;
        }
        in_body_ = more;
        if (!more)
            to_ = nullptr;
        return 0;
    }

    int receive(core::frame& part) override
    {
        core::pipe_end* const pipe = in_.peek(part);
        if (!pipe)
            return EAGAIN;
        if (!id_given_)
            part = core::frame_of(pipe->routing_id, true);
        return 0;
    }

    void received() override
    {
        if (!id_given_) {
            id_given_ = in_.last() != nullptr;
            return;
        }
        id_given_ = in_.last() != nullptr && in_.more();
        in_.pop();
    }

    const core::pipe_end* source() const noexcept override { return in_.last(); }

    bool can_send() override
    {
        if (!mandatory_)
            return true;
        for (const auto& [id, pipe] : peers_)
            if (pipe->can_write())
                return true;
        return false;
    }
    bool can_receive() override
    {
        core::frame part;
        return in_.peek(part) != nullptr;
    }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        switch (id) {
        case ZMQ_ROUTER_MANDATORY:
            return read_flag(value, bytes, mandatory_);
        case ZMQ_ROUTER_HANDOVER:
            return read_flag(value, bytes, handover_);
        case ZMQ_PROBE_ROUTER:
            return read_flag(value, bytes, probe_router_);
        case ZMQ_CONNECT_ROUTING_ID: {
            if (bytes == 0 || !value)
                return EINVAL;
            connect_id_.assign(static_cast<const char*>(value), bytes);
            return 0;
        }
        case ZMQ_ROUTER_RAW: {
            bool raw = false;
            const int error = read_flag(value, bytes, raw);
            return error ? error : raw ? ENOTSUP : 0;
        }
        default:
            return EINVAL;
        }
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
        to_ = nullptr;
        const auto peer = peers_.find(part.text());
        if (peer == peers_.end()) {
            if (mandatory_)
                return EHOSTUNREACH;
        } else if (mandatory_ ? peer->second->can_write() : peer->second->has_room()) {
            to_ = peer->second;
        } else if (mandatory_) {
            return EAGAIN;
        }
        in_body_ = true;
        return 0;
    }

    std::string automatic_id()
    {
        const std::uint32_t number = next_id_++;
        std::string id(5, '\0');
        for (int i = 0; i < 4; ++i)
            id[static_cast<std::size_t>(i) + 1] = static_cast<char>(number >> (24 - 8 * i));
        return id;
    }

    void hear_no_more(core::pipe_end& pipe)
    {
        if (in_.last() == &pipe)
            id_given_ = false; // what comes next is a message from its beginning
        in_.remove(pipe);
    }

    void enter(core::pipe_end& pipe, std::string id)
    {
        pipe.routing_id = id;
        peers_.emplace(std::move(id), &pipe);
        in_.add(pipe);
    }

    void leave(core::pipe_end& pipe)
    {
        if (to_ == &pipe)
            to_ = nullptr; // the rest of the message is dropped
        const auto peer = peers_.find(pipe.routing_id);
        if (peer != peers_.end() && peer->second == &pipe)
            peers_.erase(peer);
    }

    core::pattern_host& host_;
    fair_queue in_;
    std::unordered_map<std::string, core::pipe_end*, text_hash, std::equal_to<>> peers_;
    core::pipe_end* to_ = nullptr; ///< of the message being sent; null = dropped
    bool in_body_ = false;
    bool id_given_ = false;
    bool mandatory_ = false;
    bool handover_ = false;
    bool probe_router_ = false;
    std::uint32_t next_id_;
    std::string connect_id_;
};

} // namespace

std::unique_ptr<core::pattern> make_router(core::pattern_host& host)
{
    return std::make_unique<router>(host);
}

} // namespace zlink::sockets
