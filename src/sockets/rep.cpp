// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/fair_queue.hpp"
#include "sockets/policy/router_probe.hpp"

#include <cerrno>
#include <string>
#include <vector>
#include <zmq.h>

namespace zlink::sockets {
namespace {

/// Takes a request, gives one reply to whoever asked. The parts of a request up to the first empty
/// one are its envelope: kept, and put in front of the reply.
class rep final : public core::pattern {
public:
    explicit rep(core::pattern_host& host) : in_(host) {}

    void attach(core::pipe_end& pipe) override
    {
        probe_.greet(pipe);
        in_.add(pipe);
    }
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override { forget(pipe); }
    void detach(core::pipe_end& pipe) override
    {
        if (state_ == state::receiving && in_.last() == &pipe)
            state_ = state::idle; // the rest of the request is gone
        if (in_.last() == &pipe)
            in_envelope_ = false;
        in_.remove(pipe);
        forget(pipe);
    }

    int send(const core::frame& part) override
    {
        if (state_ != state::replying && state_ != state::sending)
            return EFSM;
        if (state_ == state::replying) {
            if (asker_ && !asker_->out.has_room())
                asker_ = nullptr; // no room: the reply is dropped
            if (asker_ && !write_envelope())
                return ENOMEM;
        }
        if (asker_ && !asker_->out.write(part)) {
            if (state_ == state::replying)
                asker_->out.give_up_message(); // the envelope goes again with the first part
            return ENOMEM;
        }
        state_ = part.more() ? state::sending : state::idle;
        if (!part.more())
            asker_ = nullptr;
        return 0;
    }

    int receive(core::frame& part) override
    {
        if (state_ == state::replying || state_ == state::sending)
            return EFSM;
        if (state_ == state::idle && !find_request())
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
        if (!in_.more())
            state_ = state::replying;
        in_.pop();
    }

    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool passes_bodies_on() const noexcept override { return true; }
    bool can_send() override { return state_ == state::replying || state_ == state::sending; }
    bool can_receive() override
    {
        return state_ == state::receiving || (state_ == state::idle && find_request());
    }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        // Options of the types REP is made of are taken, but have nothing to act on.
        bool ignored = false;
        switch (id) {
        case ZMQ_ROUTER_MANDATORY:
        case ZMQ_ROUTER_HANDOVER:
            return core::read_flag(value, bytes, ignored);
        case ZMQ_PROBE_ROUTER:
            return probe_.set(value, bytes);
        case ZMQ_CONNECT_ROUTING_ID:
            return bytes && value ? 0 : EINVAL;
        case ZMQ_ROUTER_RAW:
            return core::read_flag(value, bytes, raw_);
        default:
            return EINVAL;
        }
    }

    // Plain bytes are no requests: all of them are dropped.
    core::wire_format wire() const noexcept override
    {
        return raw_ ? core::wire_format::raw : core::wire_format::zmtp;
    }

private:
    enum class state : std::uint8_t { idle, receiving, replying, sending };

    void forget(const core::pipe_end& pipe)
    {
        if (asker_ == &pipe)
            asker_ = nullptr;
    }

    bool find_request()
    {
        discard_bound bound;
        core::frame part;
        while (core::pipe_end* const pipe = in_.peek(part)) {
            if (!in_envelope_) {
                envelope_.clear();
                if (part.command()) { // not a request: news of a peer that has gone
                    asker_ = nullptr;
                    state_ = state::receiving;
                    return true;
                }
            }
            in_envelope_ = part.more();
            if (!in_envelope_) { // no empty part, or nothing after it
                if (!in_.skip_message(bound))
                    return false;
                continue;
            }
            envelope_.emplace_back(part.text());
            in_.pop();
            if (envelope_.back().empty()) {
                in_envelope_ = false;
                asker_ = pipe->other_closed() ? nullptr : pipe;
                state_ = state::receiving;
                return true;
            }
            if (!in_.count_discarded(bound))
                return false;
        }
        return false;
    }

    // False: there is no memory, and nothing of it was written.
    bool write_envelope()
    {
        for (const std::string& address : envelope_)
            if (!asker_->out.write(core::frame_of(address, true))) {
                asker_->out.give_up_message();
                return false;
            }
        return true;
    }

    fair_queue in_;
    core::pipe_end* asker_ = nullptr;
    std::vector<std::string> envelope_;
    bool in_envelope_ = false; ///< of a request, with more of it to come
    state state_ = state::idle;
    bool raw_ = false;
    router_probe probe_;
};

} // namespace

std::unique_ptr<core::pattern> make_rep(core::pattern_host& host)
{
    return std::make_unique<rep>(host);
}

} // namespace zlink::sockets
