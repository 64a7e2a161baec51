// SPDX-License-Identifier: Apache-2.0
#include "sockets/subscription_set.hpp"

namespace zlink::sockets {

void subscription_set::subscribe(std::span<const std::byte> topic)
{
    change(kind::subscribe, topic, [&] {
        topics_.add(topic);
        return true;
    });
}

void subscription_set::unsubscribe(std::span<const std::byte> topic, bool always)
{
    change(kind::cancel, topic,
           [&] { return topics_.remove(topic) == topic_set::removal::last || always; });
}

void subscription_set::append_all(std::vector<std::byte>& frames, bool repeated) const
{
    topics_.for_each([&](std::span<const std::byte> topic, std::size_t count) {
        for (std::size_t i = 0; i < (repeated ? count : 1); ++i)
            engine::append_traffic_command(frames, {kind::subscribe, topic, 0});
    });
}

} // namespace zlink::sockets
