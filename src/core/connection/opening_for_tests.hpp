// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/opening.hpp"
#include "engine/handshake/mechanisms/null.hpp"
#include "support/memory_stream.hpp"

#include <memory>
#include <string>
#include <utility>

namespace zlink::test {

/// A handshake with its stream and what came out of it.
struct opening_side {
    opening_side(
        boost::asio::io_context& io, int type, transport::upgrades upgrades = {},
        std::unique_ptr<engine::mechanism> security = std::make_unique<engine::null_mechanism>(),
        core::opening::frame_function frame = nullptr)
        : opens(std::make_shared<core::opening>(
              io, pointer, std::move(upgrades),
              type < 0
                  ? nullptr
                  : std::make_unique<engine::handshake>(
                        engine::local_peer{.socket_type = type, .routing_id = {}, .properties = {}},
                        std::move(security)),
              std::move(frame)))
    {
        stream.portion = 7;
        stream.blocks_every_other_write = true;
    }
    void start(int limit_ms = 0)
    {
        opens->start(limit_ms, {[this](const core::opening::ending& how) {
                                    ++ends;
                                    ending = how;
                                    rest.assign(reinterpret_cast<const char*>(how.rest.data()),
                                                how.rest.size());
                                    unsent.assign(reinterpret_cast<const char*>(how.unsent.data()),
                                                  how.unsent.size());
                                    opens.reset();
                                },
                                [this] { ++reached; }});
    }

    std::unique_ptr<transport::stream> pointer = std::make_unique<memory_stream>();
    memory_stream& stream = static_cast<memory_stream&>(*pointer);
    std::shared_ptr<core::opening> opens;
    int ends = 0;
    int reached = 0;
    core::opening::ending ending{};
    std::string rest;
    std::string unsent;
};

/// Moves bytes until nobody waits for any; returns what `one` has sent.
inline std::string connect(opening_side& one, opening_side& other)
{
    std::string sent;
    for (bool busy = true; busy;) {
        sent += one.stream.written;
        other.stream.input += std::exchange(one.stream.written, {});
        one.stream.input += std::exchange(other.stream.written, {});
        busy = one.stream.call_waiting();
        busy |= other.stream.call_waiting();
        busy |= !one.stream.written.empty() || !other.stream.written.empty();
    }
    return sent;
}

} // namespace zlink::test
