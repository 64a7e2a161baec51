// SPDX-License-Identifier: Apache-2.0
// Listening kernel sockets, see socket_stream.hpp.
#include "base/memory/give_back.hpp"
#include "base/system/owned_descriptor.hpp"
#include "base/system/sockets_of_parent.hpp"
#include "transport/open_socket.hpp"
#include "transport/socket_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink::transport {
namespace {

namespace asio = boost::asio;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

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
        if (!kind_.admits(own.get(), settings_))
            return {};
        kind_.tune(own.get(), settings_);
        return {{}, make_socket_stream(target, std::move(own), kind_, settings_)};
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
        int fd = -1;
        do
            fd = ::accept4(listener_->native_handle(), nullptr, nullptr,
                           SOCK_CLOEXEC | SOCK_NONBLOCK);
        while (fd < 0 && has_passed(errno));
        if (fd < 0)
            return {-1, errno};
        base::close_in_children(fd);
        return {fd, 0};
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

} // namespace

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

} // namespace zlink::transport
