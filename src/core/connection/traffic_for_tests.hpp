// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pipe/pipe.hpp"
#include "engine/traffic/inbound.hpp"
#include "engine/traffic/wire_inbound.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <sys/uio.h>

namespace zlink::test {

inline const engine::message_rules any_message(-1, engine::kept_commands::none);

/// The receiving half of a connection with this wire.
inline std::unique_ptr<engine::decoder> make_decoder(const engine::wire& how, base::channel& to,
                                                     engine::command_handler& commands)
{
    if (how.decodes_queue_format())
        return std::make_unique<engine::inbound>(to, any_message, commands);
    return std::make_unique<engine::wire_inbound>(to, how, any_message, commands);
}

/// Hands over what has come, up to the first error. @param stop  makes it stop before that
inline engine::inbound_error feed(engine::decoder& in, std::string_view bytes,
                                  const bool& stop = false)
{
    auto error = engine::inbound_error::none;
    while (!bytes.empty() && !stop && error == engine::inbound_error::none) {
        iovec space[engine::decoder::most_entries];
        const int count = in.prepare(space);
        std::size_t moved = 0;
        for (int i = 0; i < count; ++i) {
            const std::size_t some = std::min(space[i].iov_len, bytes.size() - moved);
            std::memcpy(space[i].iov_base, bytes.data() + moved, some);
            moved += some;
        }
        error = in.received(moved);
        bytes.remove_prefix(moved);
    }
    return error;
}

class counted_commands final : public engine::command_handler {
public:
    void on_command(std::span<const std::byte>) override { ++count; }
    int count = 0;
};

/// The socket's side of a session that only looks when it is told to.
class idle_peer final : public core::pipe_peer {
public:
    wake_result on_readable() noexcept override { return {}; }
    void on_writable() noexcept override {}
    void on_closed(int) noexcept override {}
};

} // namespace zlink::test
