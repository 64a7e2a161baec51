// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"

#include <cerrno>

namespace zlink::sockets {
namespace {

/// Exactly one peer; further ones are sent away.
class pair final : public core::pattern {
public:
    explicit pair(core::pattern_host& host) : host_(host) {}

    void attach(core::pipe_end& pipe) override
    {
        if (peer_)
            return host_.drop(pipe);
        peer_ = &pipe;
    }

    void peer_closed(core::pipe_end& pipe) override
    {
        if (peer_ == &pipe && in_message_)
            dropping_ = true;
    }

    void detach(core::pipe_end& pipe) override
    {
        if (peer_ != &pipe)
            return;
        dropping_ |= in_message_;
        peer_ = nullptr;
    }

    int send(const core::frame& part) override
    {
        if (dropping_) {
            in_message_ = dropping_ = part.more();
            return 0;
        }
        if (!peer_ || (!in_message_ && !peer_->can_write()))
            return EAGAIN;
        in_message_ = part.more();
        if (peer_->write(part))
            return 0;
        in_message_ = false;
        return ENOMEM;
    }

    int receive(core::frame& part) override
    {
        if (!peer_)
            return EAGAIN;
        if (peer_->peek(part))
            return 0;
        if (peer_->other_closed())
            host_.drop(*peer_);
        return EAGAIN;
    }

    void received() override
    {
        if (peer_)
            peer_->pop();
    }

    const core::pipe_end* source() const noexcept override { return peer_; }
    bool can_send() override { return dropping_ || in_message_ || (peer_ && peer_->can_write()); }
    bool can_receive() override
    {
        core::frame part;
        return receive(part) == 0;
    }

private:
    core::pattern_host& host_;
    core::pipe_end* peer_ = nullptr;
    bool in_message_ = false;
    bool dropping_ = false;
};

} // namespace

std::unique_ptr<core::pattern> make_pair(core::pattern_host& host)
{
    return std::make_unique<pair>(host);
}

} // namespace zlink::sockets
