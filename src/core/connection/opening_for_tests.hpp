// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/opening.hpp"
#include "engine/handshake/mechanisms/null.hpp"
#include "support/memory_stream.hpp"
#include "support/scarce_memory.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <new>
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
    ~opening_side()
    {
        if (opens)
            opens->stop();
    }
    opening_side(const opening_side&) = delete;
    opening_side& operator=(const opening_side&) = delete;

    /// Without memory it ends at once, as with a session.
    void start(int limit_ms = 0)
    {
        try {
            opens->start(limit_ms, {[this](const core::opening::ending& how) { end(how); },
                                    [this] { ++reached; }});
        } catch (const std::bad_alloc&) {
            const std::shared_ptr<core::opening> stopped = opens;
            end({.kind = core::opening::end_kind::broken, .error = ENOMEM});
            if (stopped)
                stopped->stop();
        }
    }

    std::unique_ptr<transport::stream> pointer = std::make_unique<memory_stream>();
    memory_stream& stream = static_cast<memory_stream&>(*pointer);
    std::shared_ptr<core::opening> opens;
    int ends = 0;
    int reached = 0;
    core::opening::ending ending{};
    std::string rest;
    std::string unsent;

private:
    void end(const core::opening::ending& how)
    {
        const memory_of_test own;
        ++ends;
        ending = how;
        rest.assign(reinterpret_cast<const char*>(how.rest.data()), how.rest.size());
        unsent.assign(reinterpret_cast<const char*>(how.unsent.data()), how.unsent.size());
        opens.reset();
    }
};

/// It has succeeded, or is to be tried again; the stream is still there to be closed.
inline void expect_ended_for_now(const opening_side& on)
{
    using kind = core::opening::end_kind;
    EXPECT_EQ(on.ends, 1);
    EXPECT_NE(on.pointer, nullptr);
    switch (on.ending.kind) {
    case kind::succeeded:
        break;
    case kind::broken:
    case kind::unreached:
        EXPECT_NE(on.ending.error, 0);
        break;
    case kind::refused:
        EXPECT_TRUE(engine::is_temporary(on.ending.refusal)) << int(on.ending.refusal);
        break;
    case kind::passed_on:
        ADD_FAILURE() << "to whom?";
    }
}

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
