// SPDX-License-Identifier: Apache-2.0
#include "sockets/group_set.hpp"

#include "engine/traffic_commands.hpp"

#include <span>

namespace zlink::sockets {

void group_set::snapshot(std::vector<std::byte>& frames, bool, const std::function<void()>& then)
{
    std::lock_guard lock(mutex_);
    for (const std::string& group : names_)
        engine::append_traffic_command(
            frames, {engine::traffic_command_kind::join, std::as_bytes(std::span(group)), 0});
    then();
}

} // namespace zlink::sockets
