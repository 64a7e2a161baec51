// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pipe/pipe.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/traffic/command_handlers_for_tests.hpp"
#include "engine/traffic/inbound.hpp"
#include "engine/traffic/wire_inbound.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>

namespace zlink::test {

inline const engine::message_rules any_message(-1, engine::kept_commands::none);

/// A frame of ZMTP 3.
inline std::string frame_bytes(std::uint8_t flags, std::string_view body)
{
    std::byte header[engine::zmtp3::long_header_bytes];
    const std::size_t bytes = engine::zmtp3::encode_header(header, flags, body.size());
    return std::string(engine::as_text(std::span(header, bytes))).append(body);
}

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

/// The way in from a connection that nobody reads.
class idle_inlet : public core::inlet {
public:
    virtual ~idle_inlet() = default;
    void made_room() noexcept override {}
    void ask_to_read() noexcept override {}
    leased_read read(std::span<std::byte>) noexcept override { return {}; }
    void withdraw_memory() noexcept override {}
    void give_back() noexcept override {}
};

/// The way out to a connection whose I/O thread writes only when a test says so.
class idle_outlet final : public core::outlet {
public:
    core::plan committed() noexcept override { return {}; }
    core::plan flush(core::flush_reason) noexcept override { return {}; }
    direct_write write_direct(const iovec (&)[2], base::certain_memory&) noexcept override
    {
        return {};
    }
};

/// The sending end of a pipe, as a socket has it, that writes through `out`.
inline void connect(core::pipe_end& end, core::outlet& out)
{
    static idle_inlet in;
    end.set_connection(out, in);
}
/// The same where only the test writes, by itself.
inline void connect(core::pipe_end& end)
{
    static idle_outlet out;
    connect(end, out);
}
/// The receiving end of a pipe, as a socket has it, that reads through `in`.
inline void connect(core::pipe_end& end, core::inlet& in)
{
    static idle_outlet out;
    end.set_connection(out, in);
}

} // namespace zlink::test
