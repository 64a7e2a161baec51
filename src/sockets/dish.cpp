// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic_commands.hpp"
#include "sockets/group_set.hpp"
#include "sockets/patterns.hpp"
#include "sockets/policy/fair_queue.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <zmq.h>

namespace zlink::sockets {
namespace {

using engine::traffic_command_kind;

/// Receives the messages of the groups it has joined. In a pipe such a message has two parts: the
/// group and the body.
class dish final : public core::pattern {
public:
    explicit dish(core::pattern_host& host) : groups_(std::make_shared<group_set>()), in_(host) {}

    void attach(core::pipe_end& pipe) override
    {
        in_.add(pipe);
        out_.push_back(&pipe);
        if (!pipe.is_inproc)
            return; // the session tells each new connection
        for (const std::string& group : groups_->all())
            tell(pipe, traffic_command_kind::join, group);
    }
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override { std::erase(out_, &pipe); }
    void detach(core::pipe_end& pipe) override
    {
        std::erase(out_, &pipe);
        if (in_.last() == &pipe)
            at_body_ = false;
        in_.remove(pipe);
    }

    int join(std::string_view group) override
    {
        if (groups_->contains(group))
            return EINVAL;
        groups_->change([&](group_set::names& names) {
            names.emplace(group);
            tell_all(traffic_command_kind::join, group);
        });
        return 0;
    }
    int leave(std::string_view group) override
    {
        if (!groups_->contains(group))
            return EINVAL;
        groups_->change([&](group_set::names& names) {
            names.erase(names.find(group));
            tell_all(traffic_command_kind::leave, group);
        });
        return 0;
    }

    int send(const core::frame&) override { return ENOTSUP; }
    int receive(core::frame& part) override { return find_body(part) ? 0 : EAGAIN; }
    void received() override
    {
        in_.pop();
        at_body_ = false;
    }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    std::string_view source_group() const noexcept override
    {
        return {group_.data(), group_bytes_};
    }
    bool can_send() override { return false; }
    bool can_receive() override
    {
        core::frame part;
        return find_body(part);
    }

    std::shared_ptr<core::subscription_source> subscriptions() override { return groups_; }
    int default_linger_ms() const noexcept override { return 0; }

private:
    static void tell(core::pipe_end& pipe, traffic_command_kind kind, std::string_view group)
    {
        std::vector<std::byte> bytes;
        engine::append_traffic_command(bytes, {kind, std::as_bytes(std::span(group)), 0});
        engine::zmtp3::frame_header header;
        engine::zmtp3::decode_header(bytes.data(), bytes.size(), header);
        // Never dropped: limits are for messages.
        pipe.write({bytes.data() + header.header_bytes, header.body_bytes, nullptr,
                    engine::zmtp3::flag_command});
    }
    void tell_all(traffic_command_kind kind, std::string_view group)
    {
        for (core::pipe_end* pipe : out_)
            if (pipe->linked)
                tell(*pipe, kind, group);
    }

    // The body of the next message for this socket; its group is kept.
    bool find_body(core::frame& part)
    {
        if (at_body_ && in_.peek(part))
            return true;
        at_body_ = false;
        while (in_.peek(part)) {
            if (!keep_group(part)) {
                in_.skip_message();
                continue;
            }
            in_.pop();
            if (in_.peek(part) && !part.more())
                return at_body_ = true;
            in_.skip_message();
        }
        return false;
    }

    // Peers within the process may send anything.
    bool keep_group(const core::frame& part)
    {
        if (!part.more() || part.size > group_.size() || !groups_->contains(part.text()))
            return false;
        group_bytes_ = part.size;
        if (part.size)
            std::memcpy(group_.data(), part.data, part.size);
        return true;
    }

    const std::shared_ptr<group_set> groups_;
    fair_queue in_;
    std::vector<core::pipe_end*> out_;
    bool at_body_ = false; ///< the group of the message in turn was read
    std::size_t group_bytes_ = 0;
    std::array<char, ZMQ_GROUP_MAX_LENGTH> group_;
};

} // namespace

std::unique_ptr<core::pattern> make_dish(core::pattern_host& host)
{
    return std::make_unique<dish>(host);
}

} // namespace zlink::sockets
