// SPDX-License-Identifier: Apache-2.0
#include "transport/socket_stream.hpp"

#include "base/system/owned_descriptor.hpp"
#include "base/system/sockets_of_parent.hpp"
#include "base/tuning.hpp"
#include "runtime/input_watch.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace zlink::transport {

bool io_result::is_would_block(int error) noexcept
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS;
}

namespace {

namespace asio = boost::asio;

/// Waits until a descriptor takes more, by a duplicate that is registered with the I/O context only
/// meanwhile. Once Asio has waited for a descriptor to become writable it hears of that for ever:
/// each time the peer reads after the sending thread had to wait, the I/O thread would be woken for
/// nothing. It is also independent of the stream being released.
/// Thread safety: the thread of the I/O context only.
class room_wait {
public:
    explicit room_wait(boost::asio::io_context& io) noexcept : io_(io) {}

    void async_wait(int fd, stream::wait_handler handler)
    {
        cancel();
        base::owned_descriptor own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
        if (own.get() >= 0) {
            base::close_in_children_too(own.get(), fd);
            error_code error;
            const auto descriptor = std::make_shared<asio::posix::stream_descriptor>(io_);
            descriptor->assign(own.get(), error);
            if (!error) {
                own.release();
                descriptor_ = descriptor;
                return descriptor->async_wait(
                    asio::posix::stream_descriptor::wait_write,
                    [descriptor, handler = std::move(handler)](const error_code& ended) {
                        error_code ignored;
                        descriptor->close(ignored);
                        handler(ended);
                    });
            }
        }
        // Descriptors have run out: now and then it is worth a try.
        timer_ = std::make_shared<asio::steady_timer>(io_, without_descriptor);
        timer_->async_wait(
            [handler = std::move(handler)](const error_code& ended) { handler(ended); });
    }

    void cancel() noexcept
    {
        error_code ignored;
        if (descriptor_)
            descriptor_->close(ignored);
        if (timer_)
            timer_->cancel();
        descriptor_.reset();
        timer_.reset();
    }

private:
    static constexpr std::chrono::milliseconds without_descriptor{1};

    asio::io_context& io_;
    std::shared_ptr<asio::posix::stream_descriptor> descriptor_;
    std::shared_ptr<asio::steady_timer> timer_;
};

class socket_stream final : public stream, public direct_input {
public:
    socket_stream(asio::io_context& io, base::owned_descriptor socket, const socket_kind& kind,
                  const options& settings)
        : input_(io), kind_(kind), fd_(socket.release()), ipv6_(settings.ipv6)
    {}
    ~socket_stream() override { close(); }
    socket_stream(const socket_stream&) = delete;
    socket_stream& operator=(const socket_stream&) = delete;

    // One buffer goes the shorter way through the kernel: a quarter less for a look that finds
    // nothing.
    io_result read_some(const iovec* buffers, int count) noexcept override
    {
        if (count == 1)
            return note(::recv(fd_, buffers->iov_base, buffers->iov_len, MSG_DONTWAIT),
                        buffers->iov_len);
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(buffers);
        message.msg_iovlen = static_cast<std::size_t>(count);
        return note(::recvmsg(fd_, &message, MSG_DONTWAIT), total_bytes(buffers, count));
    }

    io_result write_some(const iovec* buffers, int count) noexcept override
    {
        constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
        if (count == 1)
            return result(::send(fd_, buffers->iov_base, buffers->iov_len, flags));
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(buffers);
        message.msg_iovlen = static_cast<std::size_t>(count);
        return result(::sendmsg(fd_, &message, flags));
    }

    void async_wait(direction which, wait_handler handler) override
    {
        if (which == direction::read)
            input_.async_wait(fd_, what_is_left(), std::move(handler));
        else
            room().async_wait(fd_, std::move(handler));
    }

    direct_input* direct() noexcept override { return this; }

    int release() noexcept override
    {
        input_.remove();
        return fd_;
    }

    bool reclaim() noexcept override { return true; } // the next wait adds it

    bool shutdown() noexcept override
    {
        cancel_waits();
        ::shutdown(fd_, SHUT_WR);
        char unread[4096];
        for (int reads = 0; reads < tuning::reading::reads_at_shutdown; ++reads) {
            const auto got = note(::recv(fd_, unread, sizeof unread, MSG_DONTWAIT), sizeof unread);
            if (got.would_block())
                return true;
            if (got.failed() || got.bytes == 0)
                return false;
        }
        return true;
    }

    // tcp: what the peer has not acknowledged. A kernel goes on sending what a closed socket has
    // left, but gives that up as soon as the peer sends anything itself. ipc: what it has not read.
    // The kernel keeps that, but peers exist that stop reading as soon as they are told of the end.
    // What a reset has left undelivered stays counted, but nobody will get it any more.
    std::size_t undelivered_bytes() const noexcept override
    {
        int bytes = 0;
        return ::ioctl(fd_, SIOCOUTQ, &bytes) == 0 && bytes > 0 && !is_over()
                   ? static_cast<std::size_t>(bytes)
                   : 0;
    }

    void close() noexcept override
    {
        if (fd_ < 0)
            return;
        cancel_waits();
        input_.remove();
        ::close(std::exchange(fd_, -1));
    }

    stream_info info() const override
    {
        stream_info known{.descriptor = fd_, .packet_bytes = kind_.packet_bytes(fd_)};
        sockaddr_storage end{};
        auto* const address = reinterpret_cast<sockaddr*>(&end);
        socklen_t bytes = sizeof end;
        if (::getsockname(fd_, address, &bytes) == 0)
            known.local_endpoint = kind_.endpoint_text(address, bytes);
        bytes = sizeof end;
        if (::getpeername(fd_, address, &bytes) == 0) {
            known.remote_endpoint = kind_.endpoint_text(address, bytes);
            known.peer_address = kind_.peer_text(fd_, address, bytes, ipv6_);
        }
        return known;
    }

private:
    void cancel_waits() noexcept
    {
        if (room_)
            room_->cancel();
        input_.cancel();
    }

    // A read that stopped early has mostly taken all there was, but not in front of urgent data, or
    // if a signal has ended it: no edge would tell of the rest.
    runtime::input_watch::last_read what_is_left() const noexcept
    {
        using last = runtime::input_watch::last_read;
        pollfd look{fd_, POLLIN, 0};
        return last_read_ == last::small && ::poll(&look, 1, 0) > 0 ? last::full : last_read_;
    }

    // Neither end can send any more.
    bool is_over() const noexcept
    {
        pollfd look{fd_, 0, 0};
        return ::poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0;
    }

    room_wait& room()
    {
        if (!room_)
            room_ = std::make_unique<room_wait>(input_.context());
        return *room_;
    }

    static io_result result(ssize_t moved) noexcept
    {
        if (moved >= 0)
            return {static_cast<std::size_t>(moved), 0};
        return {0, errno};
    }

    // After a read.
    io_result note(ssize_t moved, std::size_t room) noexcept
    {
        using last = runtime::input_watch::last_read;
        const io_result got = result(moved);
        if (moved >= 0)
            last_read_ = got.bytes < room ? last::small : last::full;
        else
            last_read_ = got.error == EAGAIN ? last::dry : last::full;
        return got;
    }

    runtime::input_watch input_;
    std::unique_ptr<room_wait> room_; ///< once it was full
    const socket_kind& kind_;
    int fd_;
    const bool ipv6_;
    runtime::input_watch::last_read last_read_ = runtime::input_watch::last_read::dry;
};

} // namespace

std::unique_ptr<stream> make_socket_stream(asio::io_context& io, base::owned_descriptor socket,
                                           const socket_kind& kind, const options& settings)
{
    return std::make_unique<socket_stream>(io, std::move(socket), kind, settings);
}

} // namespace zlink::transport
