// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"
#include "sockets/policy/fair_queue.hpp"
#include "sockets/subscription_set.hpp"

#include <memory>
#include <vector>

namespace zlink::sockets {

/// Subscribes by sending messages (byte 1 or 0, then the topic), sends other messages to all
/// publishers, and receives what the publishers think it wants. SUB is made of it.
class xsub : public core::pattern {
public:
    /// `filters`: drop what no subscription matches, whatever the publishers think.
    explicit xsub(core::pattern_host& host, bool filters = false);

    void attach(core::pipe_end& pipe) override;
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override;
    void detach(core::pipe_end& pipe) override;

    int send(const core::frame& part) override;
    int receive(core::frame& part) override;
    core::taken_part take(std::size_t most) noexcept override;
    core::pipe_end* only_source() noexcept override;
    void received() override;
    bool passes_bodies_on() const noexcept override { return !long_topics_; }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool can_send() override { return true; }
    bool can_receive() override;

    int set_option(int id, const void* value, std::size_t bytes) override;
    int get_option(int id, void* value, std::size_t* bytes) override;
    std::shared_ptr<core::subscription_source> subscriptions() override { return set_; }

protected:
    void subscribe(std::span<const std::byte> topic);
    void unsubscribe(std::span<const std::byte> topic);

private:
    bool matches(std::span<const std::byte> first) const noexcept;
    bool matches_all() const noexcept;
    bool find_match(core::frame& part);

    const core::pattern_host& host_;
    std::shared_ptr<subscription_set> set_;
    fair_queue in_;
    const bool filters_;
    std::vector<core::pipe_end*> out_;     ///< by pipe_slot::out_index
    std::vector<core::pipe_end*> sending_; ///< pipes that take the message being sent
    bool in_send_ = false;
    bool in_receive_ = false; ///< inside a message that matched
    bool verbose_unsubscribe_ = false;
    bool long_topics_ = false; ///< there was one longer than the part of a lent body that is there
};

} // namespace zlink::sockets
