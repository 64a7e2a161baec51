// SPDX-License-Identifier: Apache-2.0
#include "sockets/subscription_set.hpp"

#include "engine/traffic_commands.hpp"

namespace zlink::sockets {

void subscription_set::snapshot(std::vector<std::byte>& frames, bool repeated,
                                const std::function<void()>& then)
{
    std::lock_guard lock(mutex_);
    topics_.for_each([&](std::span<const std::byte> topic, std::size_t count) {
        for (std::size_t i = 0; i < (repeated ? count : 1); ++i)
            engine::append_traffic_command(frames,
                                           {engine::traffic_command_kind::subscribe, topic, 0});
    });
    then();
}

} // namespace zlink::sockets
