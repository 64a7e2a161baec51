// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/decoder.hpp"
#include "transport/stream.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::core {

/// How pump() has ended.
enum class pump_end : std::uint8_t {
    dry,       ///< Nothing more is there.
    limited,   ///< The caller's limit is reached.
    no_memory, ///< There is no room to read to.
    lost,      ///< The connection has ended or failed.
    refused,   ///< received() has returned false.
};

/// What pump() asks of its caller.
template <class T>
concept read_steps = requires(T steps, std::span<iovec> space, const iovec* filled, int count,
                              std::size_t bytes)
{
    /// Before each read: may it take place?
    {
        steps.may_read()
        } -> std::same_as<bool>;
    /// Fills entries of `space` and returns how many; 0 if memory is exhausted.
    {
        steps.prepare(space)
        } -> std::same_as<int>;
    /// Reads to them.
    {
        steps.read(filled, count)
        } -> std::same_as<transport::io_result>;
    /// Takes so many bytes that were read; false ends the loop.
    {
        steps.received(bytes)
        } -> std::same_as<bool>;
};

enum class short_read : bool {
    ends,    ///< It has emptied the connection: another one would be a system call in vain.
    goes_on, ///< Only a read that finds nothing ends the loop.
};

/// Reads a connection until nothing more is there, or `steps` end it.
template <read_steps Steps>
pump_end pump(Steps& steps, short_read when_short = short_read::ends)
{
    while (steps.may_read()) {
        iovec space[engine::decoder::most_entries];
        const int count = steps.prepare(space);
        if (count == 0)
            return pump_end::no_memory;
        const std::size_t room_bytes = transport::total_bytes(space, count);
        const transport::io_result result = steps.read(space, count);
        if (result.would_block())
            return pump_end::dry;
        if (result.failed() || result.bytes == 0)
            return pump_end::lost;
        if (!steps.received(result.bytes))
            return pump_end::refused;
        if (result.bytes < room_bytes && !result.more && when_short == short_read::ends)
            return pump_end::dry;
    }
    return pump_end::limited;
}

} // namespace zlink::core
