// SPDX-License-Identifier: Apache-2.0
#include "sockets/server.hpp"

#include "sockets/patterns.hpp"
#include "sockets/policy/single_part.hpp"

#include <cerrno>
#include <random>

namespace zlink::sockets {

server::server(core::pattern_host& host)
    : host_(host), in_(host), newest_id_(std::random_device{}())
{}

void server::attach(core::pipe_end& pipe)
{
    do
        ++newest_id_;
    while (newest_id_ == 0 || !peers_.try_emplace(newest_id_, &pipe).second);
    pipe.slot.peer_id = newest_id_;
    in_.add(pipe);
}

void server::forget(core::pipe_end& pipe)
{
    if (const auto peer = peers_.find(pipe.slot.peer_id);
        peer != peers_.end() && peer->second == &pipe)
        peers_.erase(peer);
    if (recent_ == &pipe)
        recent_ = nullptr;
}

void server::detach(core::pipe_end& pipe)
{
    in_.remove(pipe);
    forget(pipe);
}

int server::send(const core::frame& part)
{
    if (part.more())
        return EINVAL;
    core::pipe_end* const to = find(part.routing_id);
    if (!to)
        return EHOSTUNREACH;
    if (!to->out.can_write())
        return EAGAIN;
    return to->out.write(part) ? 0 : ENOMEM;
}

int server::receive(core::frame& part)
{
    return peek_single(in_, part) ? 0 : EAGAIN;
}

core::taken_part server::take(std::size_t most) noexcept
{
    return take_single(in_, most);
}

bool server::can_receive()
{
    core::frame part;
    return peek_single(in_, part) != nullptr;
}

int server::drop_peer(std::uint32_t routing_id)
{
    core::pipe_end* const pipe = find(routing_id);
    if (!pipe)
        return EHOSTUNREACH;
    host_.drop(*pipe);
    return 0;
}

std::unique_ptr<core::pattern> make_server(core::pattern_host& host)
{
    return std::make_unique<server>(host);
}

} // namespace zlink::sockets
