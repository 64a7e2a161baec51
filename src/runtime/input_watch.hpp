// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <utility>

struct epoll_event;

namespace zlink::runtime {

class input_watch;
class input_watches;

/// One wait for input, until its handler is called.
struct input_wait : boost::intrusive::list_base_hook<> {
    using function = std::function<void(const boost::system::error_code&)>;
    explicit input_wait(function its_handler) noexcept : handler(std::move(its_handler)) {}

    function handler;
    const input_watch* of = nullptr; ///< null once it was cancelled
    boost::system::error_code result;
};

/// Waits for the input of a descriptor. Asio tells the kernel anew of each wait; this one adds the
/// descriptor to the epoll of the I/O context when it waits first, edge-triggered, and leaves it
/// there. So it must be told whether the input was read up.
///
/// Thread safety: made and destroyed in any thread; the rest in the thread of the I/O context.
/// Lifetime: may go while handlers are still to be called; the I/O context may go before it.
class input_watch : public boost::intrusive::list_base_hook<
                        boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    using wait_handler = input_wait::function;
    /// How the last read of the descriptor has ended.
    enum class last_read : std::uint8_t {
        dry,   ///< with EAGAIN, or there was none yet
        small, ///< with fewer bytes than there was room for
        full,  ///< otherwise
    };

    explicit input_watch(boost::asio::io_context& io) noexcept : io_(io) {}
    ~input_watch() { remove(); }
    input_watch(const input_watch&) = delete;
    input_watch& operator=(const input_watch&) = delete;

    boost::asio::io_context& context() const noexcept { return io_; }
    /// Calls `handler`, never from within, once there is input, or an end of it, that was not there
    /// at the last read; or with the error with which the descriptor could not be added, or with
    /// operation_aborted. Throws std::bad_alloc, or boost::system::system_error the first time in
    /// an I/O context; the handler is dropped then.
    void async_wait(int fd, last_read before, wait_handler handler);
    /// Pending waits end with operation_aborted.
    void cancel() noexcept;
    /// The same, and the descriptor is taken out of the epoll: before it is closed, and before
    /// somebody else waits for it. It may be watched again.
    void remove() noexcept;

private:
    friend class input_watches;

    boost::asio::io_context& io_;
    input_watches* all_ = nullptr; ///< while it is added
    boost::intrusive::list<input_wait, boost::intrusive::constant_time_size<false>> waits_;
    int fd_ = -1;            ///< as long
    bool is_ready_ = false;  ///< input has come for which nothing was waiting
    bool has_ended_ = false; ///< no edge will tell of the end any more
};

/// Makes what the watches of an I/O context share, which the first wait would make otherwise.
/// @throws boost::system::system_error, std::bad_alloc
void prepare_watches(boost::asio::io_context& io);

/// For Asio's reactor: takes those of `count` events that belong to watches, and has their handlers
/// called soon. Returns how many are left, in front; a negative count as it is.
int take_watched(epoll_event* events, int count) noexcept;

} // namespace zlink::runtime
