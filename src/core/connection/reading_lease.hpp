// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.hpp"
#include "core/pipe/inlet.hpp"
#include "engine/traffic/decoder.hpp"
#include "transport/stream.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace zlink::core {

/// Who reads a connection: its I/O thread or, for a time, the socket's thread. While that is behind
/// (the queue is full) reading is *offered* to it: it may read as it makes room. While it waits for
/// input again and again the connection is *leased* to it: it may read whenever it likes, and
/// nobody else waits for input. Commands and errors that it meets are stored for the I/O thread.
///
/// Invariants:
/// - The socket's thread uses decoder and stream only with the mutex, and only while `reader_` is
///   not io_thread. Either thread may set it to io_thread, only the I/O thread to anything else.
/// - The I/O thread calls take_back() before it uses the decoder, reads from the stream or closes
///   it; then both are its own until the next offer() or grant().
/// - A stream that was released stays out of its I/O context until take_back(), also if the
/// socket's
///   thread has stopped reading.
/// - Memory of the socket's thread is in the decoder only while the connection is leased: whoever
///   ends that takes it out, with the mutex.
/// - When the socket's thread stops reading, the I/O thread must read once. The functions of the
///   socket's thread say when the caller has to schedule that.
///
/// Thread safety: as said with each function.
/// Lifetime: decoder and stream must last until take_back(), the I/O context until stop().
class reading_lease {
public:
    struct leased_step {
        inlet::leased_read read;
        bool ended = false; ///< just now: the I/O thread has to be told to read
    };
    /// What the socket's thread has met while it was reading.
    struct findings {
        std::vector<std::vector<std::byte>> commands; ///< to be answered
        /// After out_of_memory it goes on with decoder::go_on().
        engine::inbound_error error = engine::inbound_error::none;
    };

    explicit reading_lease(boost::asio::io_context& io) noexcept : io_(io) {}

    // --- the socket's thread
    enum class request : std::uint8_t {
        none,
        read,  ///< it has to be told to read
        watch, ///< it has to be told to watch()
    };
    /// There is room in the queue: reads if reading is offered or leased. What is asked of the I/O
    /// thread.
    request read_for_room() noexcept;
    /// Asks for the connection. True: the I/O thread has to be told to answer; if false, it was.
    bool ask() noexcept { return !asked_.exchange(true); }
    /// Reads what is there, if the connection is leased, a large body perhaps into `memory`.
    leased_step read_leased(std::span<std::byte> memory) noexcept;
    /// `memory` is wanted back: a body that is on its way there goes on in the queue.
    void withdraw_memory() noexcept;
    /// Ends what grant() began. True: the I/O thread has to be told to read; if false, it was.
    bool give_back() noexcept;

    // --- whoever is inside the decoder
    /// If that is the socket's thread, keeps a command the decoder has met.
    bool keep_for_later(std::span<const std::byte> command);

    // --- the I/O thread
    /// The queue is full.
    void offer(engine::decoder& in, transport::stream& from);
    /// Begins to answer an ask(): the next one is news again.
    void begin_answer() noexcept { asked_ = false; }
    /// Takes the stream out of its I/O context; its waits are void then. False: not now.
    bool grant(engine::decoder& in, transport::stream& from);
    /// After grant(), or when asked to. Calls `unused` when the socket's thread has not read
    /// anything for a while, and not once reading is taken back. What it holds keeps this alive.
    void watch(std::function<void()> unused);
    void take_back();
    /// After take_back(). Each is given once.
    findings take_findings() noexcept
    {
        return sharing_ ? std::exchange(sharing_->found, {}) : findings{};
    }
    /// Any thread: how often grant() has leased the reading.
    std::uint64_t grants() const noexcept { return grants_.value(); }
    /// Takes back, and nothing more will happen.
    void stop();

private:
    enum class reader : std::uint8_t { io_thread, offered, leased };
    /// What only connections have that the socket's thread has been given.
    struct sharing {
        explicit sharing(boost::asio::io_context& io) : timer(io) {}

        // of whoever reads
        findings found;
        int descriptor = -1; ///< to wait for, while the stream is released
        // the I/O thread
        boost::asio::steady_timer timer;
    };
    enum class direct_end : std::uint8_t {
        full,            ///< the queue takes no more
        ahead,           ///< there is enough to go on with
        dry,             ///< nothing more is there
        needs_io_thread, ///< an end, an error, or commands that want an answer
    };
    class direct_reads;
    void prepare();
    void hand_over(engine::decoder& in, transport::stream& from, reader to);
    direct_end read_directly() noexcept;
    void end_direct_reading() noexcept;
    bool was_used();

    // under the mutex
    std::mutex mutex_;
    reader reader_ = reader::io_thread;
    bool watch_asked_ = false;
    unsigned reads_ = 0; ///< that found something, since the last look

    // of whoever reads
    engine::decoder* in_ = nullptr;
    transport::stream* from_ = nullptr;
    std::unique_ptr<sharing> sharing_; ///< from the first hand_over() on
    bool reading_directly_ = false;    ///< the socket's thread is inside the decoder

    std::atomic<bool> asked_{false};

    // the I/O thread
    boost::asio::io_context& io_;
    bool stream_released_ = false; ///< the stream is out of the I/O context
    bool watching_ = false;
    base::counter grants_;
};

} // namespace zlink::core
