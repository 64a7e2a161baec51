// SPDX-License-Identifier: Apache-2.0
// Connecting kernel sockets, see socket_stream.hpp.
#include "base/system/owned_descriptor.hpp"
#include "base/system/sockets_of_parent.hpp"
#include "transport/socket_stream.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace zlink::transport {
namespace {

namespace asio = boost::asio;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

error_code last_error()
{
    return system_error(errno);
}

// False if it has no such address, or is not connected.
template <class Function>
bool ask(Function function, int fd, generic_endpoint& into)
{
    auto bytes = static_cast<socklen_t>(into.capacity());
    if (function(fd, into.data(), &bytes) != 0)
        return false;
    into.resize(bytes);
    return true;
}

// Where nobody listens on a port of the ephemeral range the kernel may connect a socket to itself,
// which would also keep the port from whoever is to listen there.
bool is_itself(int fd, const generic_endpoint& peer)
{
    generic_endpoint own;
    return peer.protocol().family() != AF_UNIX && ask(::getsockname, fd, own) && own == peer;
}

/// A socket that connects.
struct connecting_socket {
    base::owned_descriptor fd;
    error_code error; ///< in_progress: the end is to be waited for

    bool is_pending() const noexcept { return error == asio::error::in_progress; }
};

// As far as that goes without waiting. Programs that the process executes, and processes that it
// forks off, do not inherit the socket.
connecting_socket begin_connecting(const generic_endpoint& address, const generic_endpoint* source,
                                   const socket_kind& kind, const options& settings,
                                   const connect_handler& handler)
{
    const auto protocol = address.protocol();
    connecting_socket begun{base::owned_descriptor(::socket(
                                protocol.family(), protocol.type() | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                protocol.protocol())),
                            {}};
    const int fd = begun.fd.get();
    if (fd < 0) {
        begun.error = last_error();
        return begun;
    }
    base::close_in_children(fd);
    begun.error = kind.prepare(fd, settings);
    if (!begun.error && source) {
        const int on = 1;
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (::bind(fd, source->data(), static_cast<socklen_t>(source->size())) != 0)
            begun.error = last_error();
    }
    if (begun.error)
        return begun;
    if (protocol.family() != AF_UNIX)
        handler.tell(connect_handler::step::delayed, EINPROGRESS);
    if (::connect(fd, address.data(), static_cast<socklen_t>(address.size())) != 0)
        begun.error = last_error();
    // Within a machine it is connected by now.
    if (generic_endpoint peer; begun.is_pending() && ask(::getpeername, fd, peer))
        begun.error = is_itself(fd, peer) ? system_error(ECONNREFUSED) : error_code();
    return begun;
}

void close(base::owned_descriptor socket, const connect_handler& handler)
{
    const int fd = socket.release();
    if (fd < 0)
        return;
    ::close(fd);
    handler.tell(connect_handler::step::closed, fd);
}

/// Waits for the end of connecting.
class socket_connect final : public connect_attempt,
                             public std::enable_shared_from_this<socket_connect> {
public:
    socket_connect(asio::io_context& io, const socket_kind& kind,
                   std::shared_ptr<const options> settings, connect_handler handler)
        : io_(io),
          socket_(io),
          timer_(io),
          kind_(kind),
          settings_(std::move(settings)),
          handler_(std::move(handler))
    {}

    /// Throws std::bad_alloc, and nothing is pending.
    void start(connecting_socket begun)
    {
        error_code error = begun.error;
        if (begun.is_pending()) {
            error = {};
            socket_.assign(begun.fd.get(), error);
            if (!error) {
                begun.fd.release();
                return wait();
            }
        }
        failed_ = std::move(begun.fd);
        asio::post(io_, [self = shared_from_this(), error] { self->finish(error); });
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
    void wait()
    {
        if (settings_->connect_timeout_ms > 0) {
            timer_.expires_after(std::chrono::milliseconds(settings_->connect_timeout_ms));
            timer_.async_wait([self = shared_from_this()](const error_code& stopped) {
                if (!stopped)
                    self->finish(system_error(ETIMEDOUT));
            });
        }
        socket_.async_wait(asio::posix::descriptor_base::wait_write,
                           [self = shared_from_this()](const error_code& ended) {
                               self->finish(ended ? ended : self->result());
                           });
    }

    // Of connecting, which has ended.
    error_code result()
    {
        if (!socket_.is_open()) // cancelled meanwhile
            return asio::error::operation_aborted;
        int error = 0;
        socklen_t bytes = sizeof error;
        if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0)
            return last_error();
        if (generic_endpoint peer; error == 0 &&
                                   ask(::getpeername, socket_.native_handle(), peer) &&
                                   is_itself(socket_.native_handle(), peer))
            error = ECONNREFUSED;
        return system_error(error);
    }

    void finish(const error_code& error)
    {
        if (!handler_)
            return;
        // First of all: what runs out of memory behind this drops the handler, which tells.
        const connect_handler handler = std::exchange(handler_, nullptr);
        timer_.cancel();
        // Asio has waited for it to become writable and would be told of that for ever.
        base::owned_descriptor fd(socket_.is_open() ? socket_.release() : -1);
        if (failed_.get() >= 0)
            fd = std::move(failed_);
        if (error) {
            close(std::move(fd), handler);
            return handler(error, nullptr);
        }
        kind_.tune(fd.get(), *settings_);
        handler(error, make_socket_stream(io_, std::move(fd), kind_, *settings_));
    }

    asio::io_context& io_;
    asio::posix::basic_stream_descriptor<asio::io_context::executor_type> socket_;
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>,
                               asio::io_context::executor_type>
        timer_;
    base::owned_descriptor failed_{-1}; ///< until that is told
    const socket_kind& kind_;
    const std::shared_ptr<const options> settings_;
    connect_handler handler_;
};

} // namespace

std::shared_ptr<connect_attempt> connect_to(asio::io_context& io, const generic_endpoint& address,
                                            const generic_endpoint* source, const socket_kind& kind,
                                            std::shared_ptr<const options> settings,
                                            connect_handler handler)
{
    connecting_socket begun = begin_connecting(address, source, kind, *settings, handler);
    if (!begun.error) {
        kind.tune(begun.fd.get(), *settings);
        handler({}, make_socket_stream(io, std::move(begun.fd), kind, *settings));
        return nullptr;
    }
    auto attempt =
        std::make_shared<socket_connect>(io, kind, std::move(settings), std::move(handler));
    try {
        attempt->start(std::move(begun));
    } catch (...) {
        attempt->give_up();
        throw;
    }
    return attempt;
}

} // namespace zlink::transport
