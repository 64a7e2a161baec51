// SPDX-License-Identifier: Apache-2.0
#include "transport/socks/socks_connect.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

namespace zlink::transport {
namespace {

namespace asio = boost::asio;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

class socks_connect final : public connect_attempt,
                            public std::enable_shared_from_this<socks_connect> {
public:
    socks_connect(asio::io_context& io, std::unique_ptr<stream> proxy, socks5_request request,
                  connect_handler handler)
        : io_(io),
          timer_(io),
          proxy_(std::move(proxy)),
          client_(std::move(request)),
          handler_(std::move(handler))
    {}

    void start(std::chrono::milliseconds limit)
    {
        timer_.expires_after(limit);
        timer_.async_wait([self = shared_from_this()](const error_code& stopped) {
            if (!stopped)
                self->finish(system_error(ETIMEDOUT));
        });
        asio::post(io_, [self = shared_from_this()] { self->go_on(); });
    }

    void cancel() noexcept override { finish(asio::error::operation_aborted); }

private:
    void go_on()
    {
        while (handler_) {
            if (client_.error())
                return finish(system_error(client_.error()));
            if (client_.done())
                return finish({});
            const bool writing = !client_.output().empty();
            const io_result moved = writing ? write() : read();
            if (moved.would_block())
                return wait(writing ? direction::write : direction::read);
            if (moved.failed())
                return finish(system_error(moved.error));
            if (moved.bytes == 0)
                return finish(system_error(ECONNRESET));
        }
    }

    io_result write()
    {
        const auto output = client_.output();
        const iovec bytes{const_cast<std::byte*>(output.data()), output.size()};
        const auto result = proxy_->write_some(&bytes, 1);
        client_.consume_output(result.bytes);
        return result;
    }

    // No more than the reply: what follows it is not ours.
    io_result read()
    {
        std::array<std::byte, 300> buffer;
        const iovec space{buffer.data(), std::min(buffer.size(), client_.wanted())};
        const auto result = proxy_->read_some(&space, 1);
        client_.feed(std::span(buffer).first(result.bytes));
        return result;
    }

    void wait(direction which)
    {
        proxy_->async_wait(which, [self = shared_from_this()](const error_code& error) {
            if (error)
                return self->finish(error);
            self->go_on();
        });
    }

    void finish(const error_code& error)
    {
        if (!handler_)
            return;
        const connect_handler handler = std::exchange(handler_, nullptr);
        timer_.cancel();
        if (!error)
            return handler(error, std::move(proxy_));
        const int fd = proxy_->descriptor();
        proxy_->close();
        handler.tell(connect_handler::step::closed, fd);
        handler(error, nullptr);
    }

    asio::io_context& io_;
    asio::steady_timer timer_;
    std::unique_ptr<stream> proxy_;
    socks5_client client_;
    connect_handler handler_;
};

} // namespace

std::shared_ptr<connect_attempt>
connect_through(asio::io_context& io, std::unique_ptr<stream> proxy, socks5_request request,
                std::chrono::milliseconds limit, connect_handler handler)
{
    auto attempt = std::make_shared<socks_connect>(io, std::move(proxy), std::move(request),
                                                   std::move(handler));
    attempt->start(limit);
    return attempt;
}

} // namespace zlink::transport
