// SPDX-License-Identifier: Apache-2.0
#include "transport/socket_stream.hpp"

#include "base/tuning.hpp"

#include "base/memory/give_back.hpp"
#include "base/system/owned_descriptor.hpp"
#include "base/system/sockets_of_parent.hpp"
#include "transport/open_socket.hpp"

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <limits>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink::transport {

bool io_result::is_would_block(int error) noexcept
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS;
}

namespace {

namespace asio = boost::asio;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

/// Waits until a descriptor takes more, by a duplicate that is registered with the I/O context only
/// meanwhile. Once Asio has waited for a descriptor to become writable it hears of that for ever:
/// each time the peer reads after the sending thread had to wait, the I/O thread would be woken for
/// nothing. It is also independent of the stream being released.
/// Thread safety: the thread of the I/O context only.
class room_wait {
public:
    explicit room_wait(const generic_socket::executor_type& executor) : executor_(executor) {}

    void async_wait(int fd, stream::wait_handler handler)
    {
        cancel();
        base::owned_descriptor own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
        if (own.get() >= 0) {
            base::close_in_children_too(own.get(), fd);
            error_code error;
            const auto descriptor = std::make_shared<asio::posix::stream_descriptor>(executor_);
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
        timer_ = std::make_shared<asio::steady_timer>(executor_, without_descriptor);
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

    generic_socket::executor_type executor_;
    std::shared_ptr<asio::posix::stream_descriptor> descriptor_;
    std::shared_ptr<asio::steady_timer> timer_;
};

class socket_stream final : public stream, public direct_input {
public:
    socket_stream(generic_socket socket, const socket_kind& kind, const options& settings)
        : socket_(std::move(socket)),
          fd_(socket_.native_handle()),
          kind_(kind),
          ipv6_(settings.ipv6)
    {}

    // One buffer goes the shorter way through the kernel: a quarter less for a look that finds
    // nothing.
    io_result read_some(const iovec* buffers, int count) noexcept override
    {
        if (count == 1)
            return result(::recv(fd_, buffers->iov_base, buffers->iov_len, MSG_DONTWAIT));
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(buffers);
        message.msg_iovlen = static_cast<std::size_t>(count);
        return result(::recvmsg(fd_, &message, MSG_DONTWAIT));
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
            socket_.async_wait(generic_socket::wait_read, std::move(handler));
        else
            room().async_wait(fd_, std::move(handler));
    }

    direct_input* direct() noexcept override { return this; }

    int release() noexcept override
    {
        error_code error;
        protocol_ = socket_.local_endpoint(error).protocol();
        if (!error)
            socket_.release(error);
        return error ? -1 : fd_;
    }

    bool reclaim() noexcept override
    {
        try {
            error_code error;
            socket_.assign(protocol_, fd_, error);
            return !error;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    bool shutdown() noexcept override
    {
        cancel_waits();
        ::shutdown(fd_, SHUT_WR);
        char unread[4096];
        for (int reads = 0; reads < tuning::reading::reads_at_shutdown; ++reads) {
            const auto got = result(::recv(fd_, unread, sizeof unread, MSG_DONTWAIT));
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
        cancel_waits();
        error_code ignored;
        if (socket_.is_open())
            socket_.close(ignored);
        else if (fd_ >= 0)
            ::close(fd_); // released, or not to be had back
        fd_ = -1;
    }

    stream_info info() const override
    {
        stream_info known{.descriptor = fd_, .packet_bytes = kind_.packet_bytes(fd_)};
        error_code error;
        if (const auto near = socket_.local_endpoint(error); !error)
            known.local_endpoint =
                kind_.endpoint_text(near.data(), static_cast<socklen_t>(near.size()));
        if (const auto far = socket_.remote_endpoint(error); !error) {
            const auto bytes = static_cast<socklen_t>(far.size());
            known.remote_endpoint = kind_.endpoint_text(far.data(), bytes);
            known.peer_address = kind_.peer_text(fd_, far.data(), bytes, ipv6_);
        }
        return known;
    }

private:
    void cancel_waits() noexcept
    {
        if (room_)
            room_->cancel();
        error_code ignored;
        if (socket_.is_open())
            socket_.cancel(ignored);
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
            room_ = std::make_unique<room_wait>(socket_.get_executor());
        return *room_;
    }

    static io_result result(ssize_t moved) noexcept
    {
        if (moved >= 0)
            return {static_cast<std::size_t>(moved), 0};
        return {0, errno};
    }

    generic_socket socket_;
    std::unique_ptr<room_wait> room_;                              ///< once it was full
    boost::asio::generic::stream_protocol protocol_{AF_UNSPEC, 0}; ///< while released
    int fd_;
    const socket_kind& kind_;
    const bool ipv6_;
};

// The kernel takes it for the most that the system allows (net.core.somaxconn).
constexpr int most_backlog = std::numeric_limits<int>::max();

/// What the kernel says of connections that ended before they were accepted, and the like.
bool has_passed(int error) noexcept
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO;
}

class socket_acceptor final : public acceptor {
public:
    /// `local`: where it listens. Empty if it does not.
    socket_acceptor(generic_acceptor listener, const generic_endpoint& local,
                    const socket_kind& kind, options settings, std::function<void()> on_close)
        : listener_(std::make_shared<generic_acceptor>(std::move(listener))),
          local_(local),
          kind_(kind),
          settings_(std::move(settings)),
          on_close_(std::move(on_close)),
          most_collected_(limit_collected(settings_))
    {}
    ~socket_acceptor() override { close(); }

    /// In place of a socket that is not open. Throws std::bad_alloc, and has not taken it.
    void take_over(const asio::generic::stream_protocol& protocol, int fd, error_code& error)
    {
        listener_->assign(protocol, fd, error);
    }

    void async_wait(stream::wait_handler handler) override
    {
        // The acceptor may be gone when a handler runs.
        auto& listener = *listener_;
        listener.async_wait(generic_acceptor::wait_read,
                            [listener = listener_, handler = std::move(handler)](error_code error) {
                                if (!error && !listener->is_open())
                                    error = asio::error::operation_aborted;
                                handler(error);
                            });
    }

    void collect() noexcept override
    {
        try {
            while (collected_.size() - given_ < most_collected_) {
                if (collected_.size() == collected_.capacity()) // there must be room for it
                    collected_.reserve(std::max(fewest_collected, 2 * collected_.size()));
                const taken next = take();
                if (next.fd < 0)
                    return; // accept() will find the same
                collected_.push_back(next);
            }
        } catch (const std::bad_alloc&) {
            // They go on waiting where they are.
        }
    }

    bool has_collected() const noexcept override { return given_ != collected_.size(); }

    result accept(asio::io_context& target) override
    {
        const taken next = has_collected() ? collected_[given_++] : take();
        if (!has_collected()) {
            given_ = 0;
            collected_.clear();
            if (collected_.capacity() > most_kept)
                base::give_back(collected_);
        }
        if (next.fd < 0)
            return {system_error(next.error)};
        base::owned_descriptor own(next.fd);
        generic_socket socket(target);
        error_code error;
        socket.assign({next.family, 0}, own.get(), error);
        if (error)
            return {error};
        const int fd = own.release();
        if (!kind_.admits(fd, settings_))
            return {error};
        kind_.tune(fd, settings_);
        return {error, make_socket_stream(std::move(socket), kind_, settings_)};
    }

    void close() noexcept override
    {
        if (!listener_->is_open())
            return;
        error_code ignored;
        listener_->close(ignored);
        for (; given_ != collected_.size(); ++given_)
            ::close(collected_[given_].fd);
        if (on_close_)
            on_close_();
    }

    std::string endpoint() const override
    {
        return kind_.endpoint_text(local_.data(), static_cast<socklen_t>(local_.size()));
    }

    int descriptor() const noexcept override { return listener_->native_handle(); }

private:
    struct taken {
        int fd = -1;
        int family = AF_UNSPEC;
        int error = 0; ///< without a descriptor
    };
    static constexpr std::size_t most_collected = 16 * 1024;
    static constexpr std::size_t fewest_collected = 16;
    static constexpr std::size_t most_kept = 256;

    // At most so many wait here instead of in the kernel: a small share of the descriptors that the
    // process may have, as callers may leave at once or never say anything, and what ZMQ_BACKLOG
    // asks for.
    static std::size_t limit_collected(const options& settings) noexcept
    {
        constexpr rlim_t share = 8;
        rlimit descriptors{};
        if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0)
            descriptors.rlim_cur = RLIM_INFINITY;
        std::size_t most = most_collected;
        if (descriptors.rlim_cur / share < most)
            most = std::max<std::size_t>(fewest_collected, descriptors.rlim_cur / share);
        if (settings.backlog && *settings.backlog >= 0)
            most = std::min(most, static_cast<std::size_t>(*settings.backlog) + 1);
        return most;
    }

    // The next one of the kernel's queue. Asio accepts without SOCK_CLOEXEC.
    taken take() noexcept
    {
        sockaddr_storage peer{};
        int fd = -1;
        do {
            socklen_t bytes = sizeof peer;
            fd = ::accept4(listener_->native_handle(), reinterpret_cast<sockaddr*>(&peer), &bytes,
                           SOCK_CLOEXEC);
        } while (fd < 0 && has_passed(errno));
        if (fd < 0)
            return {-1, AF_UNSPEC, errno};
        base::close_in_children(fd);
        return {fd, peer.ss_family, 0};
    }

    const std::shared_ptr<generic_acceptor> listener_; ///< a wait for it may end after this
    const generic_endpoint local_;
    std::vector<taken> collected_;
    std::size_t given_ = 0; ///< of them
    const socket_kind& kind_;
    options settings_;
    std::function<void()> on_close_;
    const std::size_t most_collected_;
};

class socket_connect final : public connect_attempt,
                             public std::enable_shared_from_this<socket_connect> {
public:
    socket_connect(asio::io_context& io, const socket_kind& kind, const options& settings,
                   connect_handler handler)
        : socket_(io), timer_(io), kind_(kind), settings_(settings), handler_(std::move(handler))
    {}

    void start(const generic_endpoint& address, const generic_endpoint* source)
    {
        error_code error;
        open_socket(socket_, address.protocol(), error);
        if (!error)
            error = kind_.prepare(socket_.native_handle(), settings_);
        if (!error && source) {
            const int on = 1;
            ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
            socket_.bind(*source, error);
        }
        auto self = shared_from_this();
        if (error) {
            asio::post(socket_.get_executor(), [self, error] { self->finish(error); });
            return;
        }
        if (settings_.connect_timeout_ms > 0) {
            timer_.expires_after(std::chrono::milliseconds(settings_.connect_timeout_ms));
            timer_.async_wait([self](const error_code& stopped) {
                if (!stopped)
                    self->finish(system_error(ETIMEDOUT));
            });
        }
        if (address.protocol().family() != AF_UNIX)
            handler_.tell(connect_handler::step::delayed, EINPROGRESS);
        socket_.async_connect(address, [self](const error_code& result) { self->finish(result); });
    }

    void cancel() noexcept override { finish(asio::error::operation_aborted); }

    /// As if it had not been started.
    void give_up() noexcept
    {
        handler_ = nullptr;
        timer_.cancel();
        error_code ignored;
        socket_.close(ignored);
    }

private:
    // Where nobody listens on a port of the ephemeral range the kernel may connect a socket to
    // itself, which would also keep the port from whoever is to listen there.
    bool connected_to_itself() const
    {
        error_code error;
        const auto local = socket_.local_endpoint(error);
        return !error && local.protocol().family() != AF_UNIX &&
               local == socket_.remote_endpoint(error) && !error;
    }

    // Asio has waited for it to become writable and would be told of that for ever: see room_wait.
    void forget_wait(error_code& error)
    {
        const auto protocol = socket_.local_endpoint(error).protocol();
        if (error)
            return;
        base::owned_descriptor own(socket_.release(error));
        if (error)
            return;
        socket_.assign(protocol, own.get(), error);
        if (!error)
            own.release();
    }

    void close(const connect_handler& handler)
    {
        if (!socket_.is_open())
            return;
        const int fd = socket_.native_handle();
        error_code ignored;
        socket_.close(ignored);
        handler.tell(connect_handler::step::closed, fd);
    }

    void finish(error_code error)
    {
        if (!handler_)
            return;
        // First of all: what runs out of memory behind this drops the handler, which tells.
        const connect_handler handler = std::exchange(handler_, nullptr);
        timer_.cancel();
        if (!error && connected_to_itself())
            error = system_error(ECONNREFUSED);
        if (!error)
            forget_wait(error);
        if (error) {
            close(handler);
            return handler(error, nullptr);
        }
        kind_.tune(socket_.native_handle(), settings_);
        handler(error, make_socket_stream(std::move(socket_), kind_, settings_));
    }

    generic_socket socket_;
    asio::steady_timer timer_;
    const socket_kind& kind_;
    options settings_;
    connect_handler handler_;
};

} // namespace

std::unique_ptr<stream> make_socket_stream(generic_socket socket, const socket_kind& kind,
                                           const options& settings)
{
    return std::make_unique<socket_stream>(std::move(socket), kind, settings);
}

std::unique_ptr<acceptor> listen_on(asio::io_context& io, const generic_endpoint& address,
                                    const socket_kind& kind, const options& settings,
                                    std::function<void()> on_close, error_code& error)
{
    generic_acceptor listener(io);
    open_socket(listener, address.protocol(), error);
    if (!error)
        listener.native_non_blocking(true, error);
    if (error)
        return nullptr;
    error = kind.prepare(listener.native_handle(), settings);
    const int on = 1;
    if (!error && address.protocol().family() != AF_UNIX &&
        ::setsockopt(listener.native_handle(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
        error = system_error(errno);
    if (!error)
        listener.bind(address, error);
    if (!error)
        listener.listen(settings.backlog.value_or(most_backlog), error);
    generic_endpoint local;
    if (!error)
        local = listener.local_endpoint(error);
    return std::make_unique<socket_acceptor>(std::move(listener), local, kind, settings,
                                             std::move(on_close));
}

std::unique_ptr<acceptor> listen_on_given(asio::io_context& io, std::initializer_list<int> families,
                                          const socket_kind& kind, const options& settings,
                                          error_code& error)
{
    const auto ask = [&](int name) {
        int value = 0;
        socklen_t bytes = sizeof value;
        if (!error && ::getsockopt(settings.listening_fd, SOL_SOCKET, name, &value, &bytes) != 0)
            error = system_error(errno);
        return value;
    };
    const int family = ask(SO_DOMAIN);
    const int protocol = ask(SO_PROTOCOL);
    const bool listens = ask(SO_ACCEPTCONN) != 0;
    if (!error && (!listens || std::ranges::find(families, family) == families.end()))
        error = system_error(EINVAL);
    int on = 1;
    if (!error && ::ioctl(settings.listening_fd, FIONBIO, &on) != 0)
        error = system_error(errno);
    generic_endpoint local;
    auto local_bytes = static_cast<socklen_t>(local.capacity());
    if (!error && ::getsockname(settings.listening_fd, local.data(), &local_bytes) != 0)
        error = system_error(errno);
    if (error)
        return nullptr;
    local.resize(local_bytes);
    auto given =
        std::make_unique<socket_acceptor>(generic_acceptor(io), local, kind, settings, nullptr);
    given->take_over({family, protocol}, settings.listening_fd, error); // the last that can fail
    if (error)
        return nullptr;
    return given;
}

std::shared_ptr<connect_attempt> connect_to(asio::io_context& io, const generic_endpoint& address,
                                            const generic_endpoint* source, const socket_kind& kind,
                                            const options& settings, connect_handler handler)
{
    auto attempt = std::make_shared<socket_connect>(io, kind, settings, std::move(handler));
    try {
        attempt->start(address, source);
    } catch (...) {
        attempt->give_up();
        throw;
    }
    return attempt;
}

} // namespace zlink::transport
