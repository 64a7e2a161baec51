// SPDX-License-Identifier: Apache-2.0
#include "sockets/announced_set.hpp"

#include "engine/codec/zmtp3.hpp"

namespace zlink::sockets {
namespace {

// Command frames are written to a pipe one by one, and never dropped: limits are for messages.
void write_all(core::pipe_end& pipe, std::span<const std::byte> frames)
{
    engine::zmtp3::for_each_frame(frames, [&](std::uint8_t, std::span<const std::byte> body) {
        pipe.out.write({body.data(), body.size(), nullptr, engine::zmtp3::flag_command});
    });
}

} // namespace

void announced_set::snapshot(std::vector<std::byte>& frames, bool repeated, core::pipe_end& pipe,
                             const std::function<void()>& then)
{
    std::lock_guard lock(mutex_);
    append_all(frames, repeated);
    pipes_.insert(&pipe);
    then();
}

void announced_set::add(core::pipe_end& pipe)
{
    if (pipe.origin.is_inproc) {
        std::vector<std::byte> frames;
        append_all(frames, false);
        write_all(pipe, frames);
    }
    std::lock_guard lock(mutex_);
    pipes_.insert(&pipe);
}

void announced_set::remove(core::pipe_end& pipe)
{
    std::lock_guard lock(mutex_);
    pipes_.erase(&pipe);
}

void announced_set::tell_all(kind command, std::span<const std::byte> argument)
{
    std::vector<std::byte> frame;
    engine::append_traffic_command(frame, {command, argument, 0});
    for (core::pipe_end* pipe : pipes_)
        if (pipe->origin.takes_subscriptions)
            write_all(*pipe, frame);
}

} // namespace zlink::sockets
