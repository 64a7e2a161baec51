// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <sys/uio.h>

namespace zlink::transport {

using error_code = boost::system::error_code;

/// Outcome of a non-blocking read or write.
struct io_result {
    std::size_t bytes = 0; ///< moved; a read of 0 bytes without error is the end of the stream
    int error = 0;         ///< errno; EAGAIN = nothing can be moved now

    bool would_block() const noexcept { return error != 0 && is_would_block(error); }
    bool failed() const noexcept { return error != 0 && !is_would_block(error); }

private:
    static bool is_would_block(int error) noexcept;
};

enum class direction : unsigned char { read, write };

inline std::size_t total_bytes(const iovec* buffers, int count) noexcept
{
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i)
        bytes += buffers[i].iov_len;
    return bytes;
}

/// An established, ready byte stream. Wrapping streams (encryption, framing) implement the same
/// interface over another stream.
/// Thread safety: write_some() may be called in any one thread while another calls read_some();
/// everything else in the thread of the stream's I/O context. close() must not run beside either.
/// Errors: values; nothing throws.
class stream {
public:
    using wait_handler = std::function<void(const error_code&)>;

    virtual ~stream() = default;
    /// Reads what is there, without waiting.
    virtual io_result read_some(const iovec* buffers, int count) noexcept = 0;
    /// Writes what fits, without waiting.
    virtual io_result write_some(const iovec* buffers, int count) noexcept = 0;
    /// Calls `handler` in the I/O thread once read_some() or write_some() is worth calling again.
    virtual void async_wait(direction which, wait_handler handler) = 0;
    /// I/O thread. Takes the stream out of its I/O context, so that another thread may wait for
    /// input on the returned descriptor with poll() and call read_some(); a pending wait to read is
    /// completed with operation_aborted, and there is none until reclaim(). -1: that is not
    /// possible.
    virtual int lend() noexcept { return -1; }
    /// I/O thread. Ends what lend() began; false if the stream is of no use any more.
    virtual bool reclaim() noexcept { return true; }
    /// Says that nothing more will be written, and throws away what has arrived unread: closing
    /// with unread input would make the kernel discard output that is still on its way.
    virtual void shutdown() noexcept = 0;
    /// Bytes written that closing could still take away from the peer; 0 where the kernel delivers
    /// them all the same.
    virtual std::size_t undelivered_bytes() const noexcept = 0;
    /// What one packet carries where that is much and each costs the same whatever is in it, so that
    /// writes had better end at the border of one; 0 where it makes no difference. Any thread.
    virtual std::size_t packet_bytes() const noexcept { return 0; }
    /// Ends everything; pending waits are completed with operation_aborted.
    virtual void close() noexcept = 0;
    /// The file descriptor, for monitoring and ZMQ_SRCFD; -1 if there is none.
    virtual int descriptor() const noexcept = 0;
    /// Numeric address of the other side without scheme ("127.0.0.1"), as Peer-Address shows it.
    virtual std::string peer_address() const = 0;
    /// The two ends of the connection as endpoints ("tcp://127.0.0.1:5555"), as monitors show them;
    /// empty where there is no such thing.
    virtual std::string local_endpoint() const { return {}; }
    virtual std::string remote_endpoint() const { return {}; }
};

} // namespace zlink::transport
