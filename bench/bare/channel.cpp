// SPDX-License-Identifier: Apache-2.0
#include "bare/channel.hpp"

#include "bare/sockets.hpp"
#ifdef ZLINK_HAS_TLS
#include "bare/tls.hpp"
#endif

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

namespace zlink::bench::bare {

namespace {

/// Enough for a call of the kernel to cost little, as libraries gather it.
constexpr std::size_t socket_piece_bytes = 62 * 1024;

/// Counts tries in vain.
class spinner {
public:
    void in_vain()
    {
        constexpr int tries_before_yield = 100;
        if (++tries_ % tries_before_yield == 0) {
            std::this_thread::yield();
        }
    }

private:
    int tries_ = 0;
};

class socket_channel final : public channel {
public:
    explicit socket_channel(descriptor socket) : socket_(std::move(socket)) {}

    std::size_t piece_bytes() const override { return socket_piece_bytes; }

    void write_all(const char* data, std::size_t bytes) override
    {
        while (bytes != 0) {
            const ssize_t written =
                checked(::send(socket_.get(), data, bytes, MSG_NOSIGNAL), "send");
            data += written;
            bytes -= static_cast<std::size_t>(written);
        }
    }

    std::size_t read_some(char* data, std::size_t bytes) override
    {
        for (spinner looks;;) {
            const ssize_t count = ::recv(socket_.get(), data, bytes, flags_);
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
                looks.in_vain();
                continue;
            }
            if (checked(count, "recv") == 0) {
                throw std::runtime_error("the connection was closed");
            }
            return static_cast<std::size_t>(count);
        }
    }

    void spin() override { flags_ = MSG_DONTWAIT; }
    void stop_waiting() override {} // the calls that do not wait have a flag for it
    int handle() const noexcept override { return socket_.get(); }

    std::size_t try_read(char* data, std::size_t bytes) override
    {
        const ssize_t count = ::recv(socket_.get(), data, bytes, MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            return 0;
        }
        if (checked(count, "recv") == 0) {
            throw std::runtime_error("the connection was closed");
        }
        return static_cast<std::size_t>(count);
    }

    std::size_t try_write(const char* data, std::size_t bytes) override
    {
        const ssize_t written = ::send(socket_.get(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written < 0 && (errno == EAGAIN || errno == EINTR)) {
            return 0;
        }
        return static_cast<std::size_t>(checked(written, "send"));
    }

    void shut_down() noexcept override { ::shutdown(socket_.get(), SHUT_RDWR); }

private:
    descriptor socket_;
    int flags_ = 0;
};

std::pair<descriptor, descriptor> connected_by_tcp()
{
    std::uint16_t port = 0;
    const descriptor listener = listen_on_loopback(port);
    descriptor source = connect_to_loopback(port);
    return {std::move(source), accept_from(listener)};
}

std::pair<descriptor, descriptor> connected_by_ipc()
{
    int ends[2];
    checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    return {descriptor(ends[0]), descriptor(ends[1])};
}

#ifdef ZLINK_HAS_TLS

class tls_channel final : public channel {
public:
    tls_channel(tls_side which, descriptor socket)
        : socket_(std::move(socket)), tls_(context_of(which), socket_.get())
    {}

    void shake_hands() { tls_.shake_hands(); }
    std::size_t piece_bytes() const override { return record_bytes; }
    void write_all(const char* data, std::size_t bytes) override
    {
        for (spinner looks; bytes != 0;) {
            const std::size_t taken = tls_.write_some(data, bytes);
            data += taken;
            bytes -= taken;
            if (taken == 0) {
                looks.in_vain();
            }
        }
    }
    std::size_t read_some(char* data, std::size_t bytes) override
    {
        for (spinner looks;;) {
            if (const std::size_t count = tls_.read_some(data, bytes)) {
                return count;
            }
            looks.in_vain();
        }
    }
    void spin() override { stop_waiting(); }
    void stop_waiting() override
    {
        checked(::fcntl(socket_.get(), F_SETFL, O_NONBLOCK), "O_NONBLOCK");
    }
    int handle() const noexcept override { return socket_.get(); }

    std::size_t try_read(char* data, std::size_t bytes) override
    {
        std::size_t total = 0;
        // OpenSSL may hold records that epoll knows nothing of.
        for (std::size_t count = 1; count != 0 && total < bytes; total += count) {
            count = tls_.read_some(data + total, bytes - total);
        }
        return total;
    }

    std::size_t try_write(const char* data, std::size_t bytes) override
    {
        std::size_t total = 0;
        for (std::size_t count = 1; count != 0 && total < bytes; total += count) {
            count = tls_.write_some(data + total, bytes - total);
        }
        return total;
    }

    void shut_down() noexcept override { ::shutdown(socket_.get(), SHUT_RDWR); }

private:
    static constexpr std::size_t record_bytes = 16 * 1024; ///< the most that one may have

    /// All ends of a kind share one, as those of a library do.
    static const tls_context& context_of(tls_side which)
    {
        static const tls_context client(tls_side::client, tls_version::tls_1_3);
        static const tls_context server(tls_side::server, tls_version::tls_1_3);
        return which == tls_side::client ? client : server;
    }

    descriptor socket_;
    tls_connection tls_;
};

connection connect_tls()
{
    auto [client, server] = connected_by_tcp();
    auto source = std::make_unique<tls_channel>(tls_side::client, std::move(client));
    auto sink = std::make_unique<tls_channel>(tls_side::server, std::move(server));
    std::exception_ptr failed;
    {
        const std::jthread other([&] {
            try {
                sink->shake_hands();
            } catch (...) {
                failed = std::current_exception();
                sink->shut_down();
            }
        });
        try {
            source->shake_hands();
        } catch (...) {
            source->shut_down(); // the other side may be waiting
            throw;
        }
    }
    if (failed) {
        std::rethrow_exception(failed);
    }
    return {std::move(source), std::move(sink)};
}

#endif

} // namespace

void channel::read_all(char* data, std::size_t bytes)
{
    while (bytes != 0) {
        const std::size_t count = read_some(data, bytes);
        data += count;
        bytes -= count;
    }
}

std::size_t channel::read_soon(char* data, std::size_t bytes, std::chrono::nanoseconds tries_for)
{
    using clock = std::chrono::steady_clock;
    if (tries_for.count() != 0) {
        const auto until = clock::now() + tries_for;
        do {
            if (const std::size_t count = try_read(data, bytes)) {
                return count;
            }
            std::this_thread::yield();
        } while (clock::now() < until);
    }
    return read_some(data, bytes);
}

bool can_connect(transport over)
{
    switch (over) {
    case transport::tcp:
    case transport::ipc:
        return true;
#ifdef ZLINK_HAS_TLS
    case transport::tls:
        return true;
#endif
    default:
        return false;
    }
}

connection connect(transport over)
{
#ifdef ZLINK_HAS_TLS
    if (over == transport::tls) {
        return connect_tls();
    }
#endif
    auto [source, sink] = over == transport::ipc ? connected_by_ipc() : connected_by_tcp();
    return {make_channel(std::move(source)), make_channel(std::move(sink))};
}

std::unique_ptr<channel> make_channel(descriptor socket)
{
    return std::make_unique<socket_channel>(std::move(socket));
}

} // namespace zlink::bench::bare
