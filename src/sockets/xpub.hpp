// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"
#include "sockets/policy/reading_share.hpp"
#include "sockets/policy/subscriber_index.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zlink::sockets {

/// Sends each message to the subscribers it matches and receives their subscriptions (byte 1 or 0,
/// then the topic) and other messages. PUB is made of it.
class xpub : public core::pattern {
public:
    explicit xpub(core::pattern_host& host);

    void begin_mail() noexcept override { share_.begin_mail(); }
    void attach(core::pipe_end& pipe) override;
    void readable(core::pipe_end& pipe) override;
    void peer_closed(core::pipe_end& pipe) override;
    void detach(core::pipe_end& pipe) override;

    int send(const core::frame& part) override;
    bool put(const std::byte* data, std::size_t size, bool more) noexcept override;
    core::pipe_end* only_target() noexcept override;
    int receive(core::frame& part) override;
    void received() override;
    const core::metadata* share_source_metadata() const noexcept override;
    bool reads_from(const core::pipe_end& pipe) const noexcept override { return knows(pipe); }
    bool can_send() override { return true; }
    bool can_receive() override { return !upstream_.empty(); }

    int set_option(int id, const void* value, std::size_t bytes) override;
    int get_option(int id, void* value, std::size_t* bytes) override;

protected:
    /// Are subscriptions and messages of subscribers handed to the application?
    virtual bool passes_upstream() const noexcept { return true; }

private:
    /// A subscriber that can be remembered after it has gone: pipe numbers are used again, `visit`
    /// is not.
    struct visitor {
        std::uint32_t number = 0;
        std::uint64_t visit = 0; ///< 0 = nobody
    };
    struct subscriber_slot {
        core::pipe_end* pipe = nullptr;
        std::uint64_t visit = 0;
    };
    enum class kind : std::uint8_t { message, subscription, cancellation };
    struct upstream_part {
        std::string data;
        bool more = false;
        kind what = kind::message;
        visitor from;
        core::metadata_ref properties;
    };

    bool read_share(core::pipe_end& pipe);
    void read_part(core::pipe_end& pipe, const core::frame& part);
    void subscription(core::pipe_end& pipe, bool subscribe, std::span<const std::byte> topic);
    void forget(core::pipe_end& pipe);
    void pass_up(const core::pipe_end& from, bool subscribe, std::span<const std::byte> topic);
    void pass_up_part(const core::pipe_end& from, const core::frame& part);
    int choose_subscribers(const core::frame& part);
    template <class Choose>
    void for_each_addressee(const core::frame& part, Choose choose);
    void write_to_chosen(const core::frame& part);
    bool write_by_log(const core::frame& part);
    visitor visitor_of(const core::pipe_end& pipe) const noexcept;
    bool present(const visitor& who) const noexcept;
    bool knows(const core::pipe_end& pipe) const noexcept
    {
        return pipe.slot.number < pipes_.size() && pipes_[pipe.slot.number].pipe == &pipe;
    }
    core::pipe_end* only_addressee(std::span<const std::byte> message) noexcept;
    int apply_manually(bool subscribe, std::span<const std::byte> topic);

    core::pattern_host& host_;
    subscriber_index index_;
    subscriber_index requested_;         ///< manual mode: what peers asked for
    std::vector<subscriber_slot> pipes_; ///< by pipe_slot::number
    std::uint64_t visits_ = 0;
    std::vector<core::pipe_end*> chosen_; ///< of the message being sent
    engine::fan_out_log log_;
    std::deque<upstream_part> upstream_;
    /// By pipe_slot::number: what was read of a message that is not a subscription, as far as it is
    /// passed up. It follows the other upstream parts in one piece once all of it was read.
    std::map<std::uint32_t, std::vector<upstream_part>> begun_;
    reading_share share_;
    std::vector<bool> matched_; ///< by pipe_slot::number; with ZMQ_INVERT_MATCHING
    visitor last_;              ///< manual mode: whose subscription or cancellation was read last
    bool in_send_ = false;
    bool verbose_ = false;
    bool verboser_ = false;
    bool manual_ = false;
    bool last_value_ = false;
    bool send_to_last_ = false; ///< the next message goes to last_ only
    bool no_drop_ = false;
    std::string welcome_;
};

} // namespace zlink::sockets
