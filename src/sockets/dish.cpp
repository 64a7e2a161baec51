// SPDX-License-Identifier: Apache-2.0
#include "sockets/group_set.hpp"
#include "sockets/patterns.hpp"
#include "sockets/policy/fair_queue.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <zmq.h>

namespace zlink::sockets {
namespace {

/// Receives the messages of the groups it has joined. In a pipe such a message has two parts: the
/// group and the body.
class dish final : public core::pattern, core::group_rules {
public:
    explicit dish(core::pattern_host& host) : groups_(std::make_shared<group_set>()), in_(host) {}

    void attach(core::pipe_end& pipe) override
    {
        in_.add(pipe);
        groups_->add(pipe);
    }
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override { groups_->remove(pipe); }
    void detach(core::pipe_end& pipe) override
    {
        groups_->remove(pipe);
        if (in_.last() == &pipe)
            at_body_ = false;
        in_.remove(pipe);
    }

    core::group_rules* groups() noexcept override { return this; }
    int join(std::string_view group) override { return groups_->join(group) ? 0 : EINVAL; }
    int leave(std::string_view group) override { return groups_->leave(group) ? 0 : EINVAL; }

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

private:
    // The body of the next message for this socket; its group is kept.
    bool find_body(core::frame& part)
    {
        if (at_body_ && in_.peek(part))
            return true;
        at_body_ = false;
        discard_bound bound;
        while (in_.peek(part)) {
            if (keep_group(part)) {
                in_.pop();
                if (in_.peek(part) && !part.more())
                    return at_body_ = true;
            }
            if (!in_.skip_message(bound))
                return false;
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
