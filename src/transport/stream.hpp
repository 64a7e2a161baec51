// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <utility>
#include <vector>

namespace zlink::transport {

using error_code = boost::system::error_code;

/// Outcome of a non-blocking read or write.
struct io_result {
    std::size_t bytes = 0; ///< moved; a read of 0 bytes without error is the end of the stream
    int error = 0;         ///< errno; EAGAIN = nothing can be moved now
    /// read: more can be read at once, although less came than there was room for. write: something
    /// of what was taken is still held above the kernel, see stream::flush().
    bool more = false;

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

/// The names of properties that only a transport can say of a peer: what a peer itself announces
/// under these names means nothing.
namespace peer_property {
inline constexpr std::string_view tls_version = "TLS-Version";
inline constexpr std::string_view fingerprint = "Peer-Fingerprint";
inline constexpr std::string_view common_name = "Peer-CN";
inline constexpr std::string_view alternative_names = "Peer-SAN";
constexpr bool is_reserved(std::string_view name) noexcept
{
    return name == tls_version || name == fingerprint || name == common_name ||
           name == alternative_names;
}
} // namespace peer_property

/// What is known of an open connection.
struct stream_info {
    /// The file descriptor, for monitoring and ZMQ_SRCFD; -1 if there is none.
    int descriptor = -1;
    /// The two ends as endpoints ("tcp://127.0.0.1:5555"), as monitors show them; empty where there
    /// is no such thing.
    std::string local_endpoint{};
    std::string remote_endpoint{};
    /// Numeric address of the other side without scheme ("127.0.0.1"), as Peer-Address shows it.
    std::string peer_address{};
    /// What one packet carries where that is much and each costs the same whatever is in it, so
    /// that writes had better end at the border of one; 0 where it makes no difference.
    std::size_t packet_bytes = 0;
    /// What the connection has shown of the peer, by the names in peer_property.
    std::vector<std::pair<std::string, std::string>> properties{};
};

/// Input that an application's thread can wait for and read by itself.
///
/// Thread safety: the thread of the stream's I/O context.
class direct_input {
public:
    /// Takes the stream out of its I/O context, so that another thread may wait for input on the
    /// returned descriptor with poll() and call read_some(); a pending wait to read is completed
    /// with operation_aborted, and there is none until reclaim(). What the stream holds above the
    /// descriptor must come with io_result::more, as poll() knows nothing of it. -1: that is not
    /// possible.
    virtual int release() noexcept = 0;
    /// Ends what release() began; false if the stream is of no use any more.
    virtual bool reclaim() noexcept = 0;

protected:
    ~direct_input() = default;
};

/// A byte stream that is open. Streams over another stream (encryption, framing) implement the same
/// interface: most of it they pass on.
///
/// Thread safety: write_some() and flush() may be called in any one thread while another calls
/// read_some(); everything else in the thread of the stream's I/O context. close() must not run
/// beside any of these.
/// Errors: values; nothing throws.
class stream {
public:
    using wait_handler = std::function<void(const error_code&)>;

    virtual ~stream() = default;
    /// Reads what is there, without waiting.
    virtual io_result read_some(const iovec* buffers, int count) noexcept = 0;
    /// Writes what fits, without waiting.
    virtual io_result write_some(const iovec* buffers, int count) noexcept = 0;
    /// After a write with io_result::more: passes on what is held. Without an error all is out;
    /// EAGAIN: wait until the stream is writable.
    virtual io_result flush() noexcept { return {}; }
    /// Calls `handler` in the I/O thread once read_some(), or write_some() and flush(), are worth
    /// calling again.
    virtual void async_wait(direction which, wait_handler handler) = 0;
    /// Null: nobody but the I/O thread can wait for input.
    virtual direct_input* direct() noexcept { return nullptr; }
    /// Says that nothing more will be written, and throws away what has arrived unread; pending
    /// waits are completed with operation_aborted. Afterwards async_wait() waits for more to
    /// arrive; calling this again throws it away, too. False if nothing more will come: the peer
    /// has closed its side, or the connection is broken.
    virtual bool shutdown() noexcept = 0;
    /// Bytes written that closing could still take away from the peer, held ones included; 0 where
    /// the kernel delivers them all the same.
    virtual std::size_t undelivered_bytes() const noexcept = 0;
    /// Ends everything; pending waits are completed with operation_aborted.
    virtual void close() noexcept = 0;
    /// What can be said of the connection now; a broken one does not know its ends any more.
    virtual stream_info info() const = 0;
};

} // namespace zlink::transport
