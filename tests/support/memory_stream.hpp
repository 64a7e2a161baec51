// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/scarce_memory.hpp"
#include "transport/stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace zlink::test {

/// One end of a connection in memory, for unit tests: gives and takes as much as it is told to, and
/// fails when it is told to. Without any setting it takes all that is written, and nothing comes.
/// It has memory where scarce_memory.hpp leaves none.
///
/// Thread safety: none.
class memory_stream : public transport::stream, public transport::direct_input {
public:
    memory_stream() = default;
    /// What is written can be read from it again, at most `room` bytes of it at a time; each
    /// operation moves a random part of what could be moved.
    memory_stream(std::mt19937& chance, std::size_t room)
        : random(&chance), loops(true), most_inside(room)
    {}

    // --- what goes
    std::string written;             ///< and was not read again, if it loops
    std::vector<std::size_t> writes; ///< the size of each that moved something
    unsigned attempts = 0;           ///< to write
    std::size_t held = 0;            ///< what undelivered_bytes() says: all that was taken
    std::function<void()> on_write;  ///< called before each attempt

    // --- what comes
    std::deque<std::string> pieces; ///< one with each read, as far as there is room for it
    std::string input;              ///< after these, any number of bytes at a time
    bool ended = false;             ///< then the stream ends
    bool tells_of_more = false;     ///< a read that leaves something says io_result::more

    // --- budgets
    std::size_t room = SIZE_MAX;    ///< so many more bytes are taken
    std::size_t portion = SIZE_MAX; ///< of bytes, in each operation
    unsigned pauses = 0;            ///< attempts in vain before each write
    bool blocks_every_other_write = false;
    std::mt19937* random = nullptr;
    bool loops = false;
    std::size_t most_inside = SIZE_MAX;

    // --- failures
    static constexpr int never = -1;
    int fail_at = never;     ///< the operation that fails, and all after it; reads and writes count
    bool fails_once = false; ///< those after it do not: a system without memory for a moment
    int error = ECONNRESET;
    int operations = 0;

    // --- waiting and releasing
    wait_handler reader;
    wait_handler writer;
    transport::stream_info facts;
    bool is_released = false;

    bool takes_more() const noexcept { return written.size() < most_inside; }
    /// Calls who waits; false if nobody does.
    bool call_waiting(const transport::error_code& failure = {})
    {
        const wait_handler write = std::exchange(writer, nullptr);
        if (write)
            write(failure);
        if (!has_input() && !ended && !failure)
            return write != nullptr;
        const wait_handler read = std::exchange(reader, nullptr);
        if (read)
            read(failure);
        return read || write;
    }

    transport::io_result read_some(const iovec* buffers, int count) noexcept override
    {
        const memory_of_test own;
        if (fails())
            return {0, error};
        if (!has_input())
            return ended ? transport::io_result{} : transport::io_result{0, EAGAIN};
        std::string& from = loops ? written : pieces.empty() ? input : pieces.front();
        const std::size_t most =
            chosen(std::min({from.size(), portion, transport::total_bytes(buffers, count)}));
        std::size_t moved = 0;
        for (int i = 0; i < count && moved < most; ++i) {
            const std::size_t some = std::min(buffers[i].iov_len, most - moved);
            std::memcpy(buffers[i].iov_base, from.data() + moved, some);
            moved += some;
        }
        from.erase(0, moved);
        if (!loops && !pieces.empty() && pieces.front().empty())
            pieces.pop_front();
        return {moved, 0, tells_of_more && has_input()};
    }

    transport::io_result write_some(const iovec* buffers, int count) noexcept override
    {
        const memory_of_test own;
        ++attempts;
        if (on_write)
            on_write();
        if (fails())
            return {0, error};
        if (paused_ < pauses) {
            ++paused_;
            return {0, EAGAIN};
        }
        paused_ = 0;
        if (blocks_every_other_write && std::exchange(blocked_, !blocked_))
            return {0, EAGAIN};
        const std::size_t inside = loops ? most_inside - written.size() : SIZE_MAX;
        const std::size_t most =
            chosen(std::min({transport::total_bytes(buffers, count), room, portion, inside}));
        std::size_t moved = 0;
        for (int i = 0; i < count && moved < most; ++i) {
            const std::size_t some = std::min(buffers[i].iov_len, most - moved);
            written.append(static_cast<const char*>(buffers[i].iov_base), some);
            moved += some;
        }
        if (moved == 0)
            return {0, EAGAIN};
        writes.push_back(moved);
        held += moved;
        room -= room == SIZE_MAX ? 0 : moved;
        return {moved, 0};
    }

    void async_wait(transport::direction which, wait_handler handler) override
    {
        (which == transport::direction::read ? reader : writer) = std::move(handler);
    }
    transport::direct_input* direct() noexcept override { return this; }
    int release() noexcept override
    {
        is_released = true;
        return facts.descriptor;
    }
    bool reclaim() noexcept override
    {
        is_released = false;
        return true;
    }
    bool shutdown() noexcept override { return false; }
    std::size_t undelivered_bytes() const noexcept override { return held; }
    void close() noexcept override {}
    transport::stream_info info() const override { return facts; }

private:
    bool has_input() const noexcept
    {
        return loops ? !written.empty() : !pieces.empty() || !input.empty();
    }
    bool fails() noexcept
    {
        const int now = operations++;
        return fail_at != never && (fails_once ? now == fail_at : now >= fail_at);
    }
    std::size_t chosen(std::size_t most) noexcept
    {
        if (most == 0 || !random || (*random)() % 3 == 0)
            return most;
        return 1 + (*random)() % most;
    }

    unsigned paused_ = 0;
    bool blocked_ = false;
};

} // namespace zlink::test
