// SPDX-License-Identifier: Apache-2.0
#include "transport/close_after_peer.hpp"

#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace zlink::transport {
namespace {

/// Lives in its handlers.
class last_wait : public std::enable_shared_from_this<last_wait> {
public:
    last_wait(boost::asio::io_context& io, std::unique_ptr<stream> ended)
        : ended_(std::move(ended)), timer_(io, most_wait_for_peer)
    {}
    ~last_wait() { close(); }
    last_wait(const last_wait&) = delete;
    last_wait& operator=(const last_wait&) = delete;

    void start()
    {
        timer_.async_wait([self = shared_from_this()](const error_code&) { self->close(); });
        wait();
    }

private:
    void wait()
    {
        ended_->async_wait(direction::read, [self = shared_from_this()](const error_code& error) {
            if (!self->ended_)
                return;
            if (error || !self->ended_->shutdown())
                return self->close();
            self->wait();
        });
    }

    void close() noexcept
    {
        timer_.cancel();
        if (const auto ended = std::exchange(ended_, nullptr))
            ended->close();
    }

    std::unique_ptr<stream> ended_;
    boost::asio::steady_timer timer_;
};

} // namespace

void close_after_peer(boost::asio::io_context& io, std::unique_ptr<stream> ended) noexcept
{
    if (!ended->shutdown())
        return ended->close();
    try {
        std::make_shared<last_wait>(io, std::move(ended))->start();
    } catch (...) { // no memory to wait
        if (ended)
            ended->close();
    }
}

} // namespace zlink::transport
