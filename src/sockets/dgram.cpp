// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/fair_queue.hpp"
#include "transport/ip/host.hpp"

#include <cerrno>
#include <string>

namespace zlink::sockets {
namespace {

// Without the headers of IP and UDP, as long as there are no others.
constexpr std::size_t largest_body_bytes = 65'507;

bool is_address(const std::string& text)
{
    const auto parts = transport::ip_host::split(text);
    const auto port = parts ? transport::ip_host::parse_port(parts->port) : std::nullopt;
    return port && *port != 0 && transport::ip_host::literal(parts->host);
}

/// Datagrams: a message is an address ("1.2.3.4:5") and a body. All bound endpoints receive, the
/// first one sends.
class dgram final : public core::pattern {
public:
    explicit dgram(core::pattern_host& host) : in_(host) {}

    void attach(core::pipe_end& pipe) override
    {
        in_.add(pipe);
        out_.push_back(&pipe);
    }
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void detach(core::pipe_end& pipe) override
    {
        in_.remove(pipe);
        std::erase(out_, &pipe);
    }

    int send(const core::frame& part) override
    {
        return at_body_ ? send_body(part) : take_address(part);
    }

    int receive(core::frame& part) override { return in_.peek(part) ? 0 : EAGAIN; }
    void received() override { in_.pop(); }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool can_send() override
    {
        return at_body_ || (!out_.empty() && out_.front()->out.can_write());
    }
    bool can_receive() override
    {
        core::frame part;
        return in_.peek(part) != nullptr;
    }

private:
    int take_address(const core::frame& part)
    {
        if (!part.more())
            return EINVAL;
        std::string address(part.text());
        if (!address.empty() && address.back() == '\0') // as it was received
            address.pop_back();
        if (!is_address(address))
            return EINVAL;
        if (out_.empty())
            return EHOSTUNREACH;
        if (!out_.front()->out.can_write())
            return EAGAIN;
        address_ = std::move(address);
        at_body_ = true;
        return 0;
    }

    int send_body(const core::frame& part)
    {
        at_body_ = false;
        if (part.more())
            return EINVAL;
        if (part.size > largest_body_bytes)
            return EMSGSIZE;
        if (out_.empty())
            return EHOSTUNREACH; // unbound in between
        core::pipe_end& pipe = *out_.front();
        if (pipe.out.write(core::frame_of(address_, true)) && pipe.out.write(part))
            return 0;
        pipe.out.give_up_message(); // the address goes again with the body
        at_body_ = true;
        return ENOMEM;
    }

    fair_queue in_;
    std::vector<core::pipe_end*> out_;
    std::string address_; ///< of the message whose body is to come
    bool at_body_ = false;
};

} // namespace

std::unique_ptr<core::pattern> make_dgram(core::pattern_host& host)
{
    return std::make_unique<dgram>(host);
}

} // namespace zlink::sockets
