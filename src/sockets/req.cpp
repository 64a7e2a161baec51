// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/balanced.hpp"
#include "sockets/policy/router_probe.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <zmq.h>

namespace zlink::sockets {
namespace {

/// Requests and replies in strict turn, the reply taken from the asked peer only. On the wire a
/// request begins with an empty part, and before that its number if REQ_CORRELATE is set.
class req final : public balanced {
public:
    explicit req(core::pattern_host& host)
        : balanced(host), host_(host), number_(std::random_device{}())
    {}

    void attach(core::pipe_end& pipe) override
    {
        probe_.greet(pipe);
        balanced::attach(pipe);
    }
    void detach(core::pipe_end& pipe) override
    {
        if (state_ == state::receiving && in_.last() == &pipe)
            state_ = state::idle; // the rest of the reply is gone
        balanced::detach(pipe);
        if (asked_ == &pipe)
            asked_ = nullptr;
    }

    int send(const core::frame& part) override
    {
        if (state_ == state::waiting || state_ == state::receiving) {
            if (!relaxed_)
                return EFSM;
            if (!out_.can_send())
                return EAGAIN; // the reply that is awaited may still come
            state_ = state::idle;
        }
        if (state_ == state::idle) {
            if (!out_.can_send())
                return EAGAIN;
            if (in_.more_of_message()) {
                discard_bound bound;
                in_.skip_message(bound); // a reply that is given up
            }
            core::frame late;
            const bool any_late = in_.peek(late) != nullptr;
            if (const int error = send_envelope(any_late)) {
                out_.give_up_message();
                return error;
            }
        }
        const int error = out_.send(part);
        if (error == 0) {
            state_ = part.more() ? state::sending : state::waiting;
        } else if (error != ENOMEM || state_ == state::idle) {
            out_.give_up_message(); // the envelope goes again with the first part
            state_ = state::idle;
        }
        return error;
    }

    int receive(core::frame& part) override
    {
        if (state_ == state::idle || state_ == state::sending)
            return EFSM;
        if (state_ == state::waiting && !find_reply())
            return EAGAIN;
        if (!in_.peek(part))
            return EAGAIN;
        part.flags &= engine::zmtp3::flag_more;
        return 0;
    }

    void received() override
    {
        if (state_ != state::receiving)
            return;
        if (!in_.more()) {
            state_ = state::idle;
            asked_ = nullptr;
        }
        in_.pop();
    }

    bool can_send() override
    {
        const bool our_turn = state_ == state::idle || state_ == state::sending || relaxed_;
        return our_turn && out_.can_send();
    }
    bool can_receive() override
    {
        return state_ == state::receiving || (state_ == state::waiting && find_reply());
    }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        switch (id) {
        case ZMQ_REQ_CORRELATE:
            return core::read_flag(value, bytes, correlate_);
        case ZMQ_REQ_RELAXED:
            return core::read_flag(value, bytes, relaxed_);
        case ZMQ_PROBE_ROUTER:
            return probe_.set(value, bytes);
        default:
            return EINVAL;
        }
    }
    bool passes_bodies_on() const noexcept override { return true; }

private:
    enum class state : std::uint8_t { idle, sending, waiting, receiving };

    // `any_late`: something has come that cannot be an answer to this.
    int send_envelope(bool any_late)
    {
        asked_ = nullptr;
        numbered_ = correlate_;
        if (numbered_) {
            ++number_;
            const core::frame number{reinterpret_cast<const std::byte*>(&number_), sizeof number_,
                                     nullptr, engine::zmtp3::flag_more};
            if (const int error = out_.send(number, &asked_))
                return error;
        }
        const int error = out_.send(core::frame_of({}, true), &asked_);
        // The request is not on its way yet. Mostly there is nothing, which costs no look at what
        // the peer counts.
        answers_from_ = asked_ && any_late ? asked_->in.messages_come() : 0;
        return error;
    }

    /// Finds the reply to the request and moves to its first part after the envelope. What is in
    /// front of it are late replies and those of others.
    bool find_reply()
    {
        discard_bound bound;
        core::frame part;
        while (core::pipe_end* const pipe = in_.peek(part)) {
            if (pipe != asked_ || pipe->in.messages_read() < answers_from_) {
                if (!in_.skip_message(bound))
                    return false;
                continue;
            }
            if (part.command()) { // not a reply: news that there will be none
                state_ = state::receiving;
                return true;
            }
            // A number may also come late, for a request of the time when they had numbers.
            const bool has_number = part.more() && part.size == sizeof number_;
            bool ours = has_number == numbered_;
            if (has_number) {
                ours = ours && std::memcmp(part.data, &number_, sizeof number_) == 0;
                in_.pop();
                in_.peek(part);
            }
            if (!part.more() || part.size != 0) {
                // Not an envelope: this peer does not speak our language. Within the process there
                // is no connection that it could make anew: it may do better with the next one.
                const bool go_on = in_.skip_message(bound);
                if (pipe->origin.is_inproc && go_on)
                    continue;
                if (!pipe->origin.is_inproc)
                    host_.drop(*pipe);
                return false;
            }
            if (!ours) {
                if (!in_.skip_message(bound))
                    return false;
                continue;
            }
            in_.pop();
            state_ = state::receiving;
            return true;
        }
        return false;
    }

    core::pattern_host& host_;
    core::pipe_end* asked_ = nullptr;
    std::uint64_t answers_from_ = 0; ///< so many messages had come from it before it was asked
    state state_ = state::idle;
    std::uint32_t number_;
    bool correlate_ = false;
    bool numbered_ = false; ///< the request sent last has a number
    bool relaxed_ = false;
    router_probe probe_;
};

} // namespace

std::unique_ptr<core::pattern> make_req(core::pattern_host& host)
{
    return std::make_unique<req>(host);
}

} // namespace zlink::sockets
