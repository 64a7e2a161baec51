// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pattern.hpp"
#include "sockets/policy/subscriber_index.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace zlink::sockets {

/// Sends each message to the subscribers it matches and receives their subscriptions (byte 1 or 0,
/// then the topic) and other messages. PUB is made of it.
class xpub : public core::pattern {
public:
    explicit xpub(core::pattern_host& host);

    void attach(core::pipe_end& pipe) override;
    void readable(core::pipe_end& pipe) override;
    void peer_closed(core::pipe_end& pipe) override;
    void detach(core::pipe_end& pipe) override;

    int send(const core::frame& part) override;
    int receive(core::frame& part) override;
    void received() override;
    const core::pipe_end* source() const noexcept override { return nullptr; }
    bool can_send() override { return true; }
    bool can_receive() override { return !upstream_.empty(); }

    int set_option(int id, const void* value, std::size_t bytes) override;
    int get_option(int id, void* value, std::size_t* bytes) override;

protected:
    /// Are subscriptions and messages of subscribers handed to the application?
    virtual bool passes_upstream() const noexcept { return true; }

private:
    struct upstream_part {
        std::string data;
        bool more = false;
        std::uint32_t number = no_pipe; ///< of the subscriber, in manual mode
    };
    static constexpr std::uint32_t no_pipe = UINT32_MAX;

    void read_all(core::pipe_end& pipe);
    void subscription(core::pipe_end& pipe, bool subscribe, std::span<const std::byte> topic);
    void forget(core::pipe_end& pipe);
    void pass_up(bool subscribe, std::span<const std::byte> topic, std::uint32_t number);
    int choose_subscribers(const core::frame& part);
    int apply_manually(bool subscribe, std::span<const std::byte> topic);

    core::pattern_host& host_;
    subscriber_index index_;
    subscriber_index requested_;          ///< manual mode: what peers asked for
    std::vector<core::pipe_end*> pipes_;  ///< by pipe_end::number; null = none
    std::vector<core::pipe_end*> chosen_; ///< of the message being sent
    std::deque<upstream_part> upstream_;
    std::uint32_t last_number_ = no_pipe; ///< manual mode: subscriber of the message read last
    bool in_send_ = false;
    bool verbose_ = false;
    bool verboser_ = false;
    bool manual_ = false;
    bool last_value_ = false;
    bool send_to_last_ = false; ///< the next message goes to last_number_ only
    bool no_drop_ = false;
    std::string welcome_;
};

} // namespace zlink::sockets
