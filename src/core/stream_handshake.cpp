// SPDX-License-Identifier: Apache-2.0
#include "core/stream_handshake.hpp"

#include <cerrno>
#include <utility>

namespace zlink::core {
namespace {

constexpr std::size_t read_bytes = 512;

} // namespace

stream_handshake::stream_handshake(boost::asio::io_context& io, transport::stream& stream,
                                   engine::local_peer local)
    : io_(io), stream_(stream), handshake_(std::move(local))
{}

void stream_handshake::start(int limit_ms, end_handler ended, first_look look)
{
    ended_ = std::move(ended);
    if (limit_ms > 0) {
        timer_.emplace(io_, std::chrono::milliseconds(limit_ms));
        timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
            if (!error && self->ended_)
                self->end_broken(EAGAIN);
        });
    }
    handshake_.start();
    if (look == first_look::none || read())
        pump();
}

void stream_handshake::stop() noexcept
{
    ended_ = nullptr;
    timer_.reset();
}

// The answer to what was written takes its time: it is waited for, rather than looked for.
void stream_handshake::pump()
{
    if (write())
        wait(transport::direction::read);
}

// Takes what is there. False if that was the end.
bool stream_handshake::read()
{
    std::byte buffer[read_bytes];
    const iovec space{buffer, sizeof buffer};
    const auto result = stream_.read_some(&space, 1);
    if (result.would_block())
        return true;
    if (result.failed() || result.bytes == 0) {
        end_broken(result.error ? result.error : EPIPE);
        return false;
    }
    const std::span<const std::byte> bytes(buffer, result.bytes);
    const std::size_t taken = handshake_.feed(bytes);
    if (handshake_.failed()) {
        end_refused();
        return false;
    }
    if (!handshake_.done())
        return true;
    const auto output = handshake_.output();
    end({.kind = end_kind::succeeded,
         .remote = handshake_.remote(),
         .unsent = {output.begin(), output.end()},
         .rest = bytes.subspan(taken)});
    return false;
}

// False if the connection is broken.
bool stream_handshake::write()
{
    while (!handshake_.output().empty()) {
        const auto output = handshake_.output();
        const iovec bytes{const_cast<std::byte*>(output.data()), output.size()};
        const auto result = stream_.write_some(&bytes, 1);
        if (result.failed()) {
            end_broken(result.error);
            return false;
        }
        handshake_.consume_output(result.bytes);
        if (result.would_block()) {
            wait(transport::direction::write);
            break;
        }
    }
    return true;
}

void stream_handshake::wait(transport::direction which)
{
    const bool to_read = which == transport::direction::read;
    bool& waiting = to_read ? waiting_to_read_ : waiting_to_write_;
    if (std::exchange(waiting, true))
        return;
    stream_.async_wait(which,
                       [self = shared_from_this(), to_read](const transport::error_code& error) {
                           (to_read ? self->waiting_to_read_ : self->waiting_to_write_) = false;
                           if (!self->ended_)
                               return;
                           if (error)
                               return self->end_broken(error.value());
                           if (!to_read || self->read())
                               self->pump();
                       });
}

void stream_handshake::end_refused()
{
    const auto output = handshake_.output();
    const iovec bytes{const_cast<std::byte*>(output.data()), output.size()};
    if (bytes.iov_len != 0)
        stream_.write_some(&bytes, 1); // the peer may be told why
    end({.kind = end_kind::refused,
         .refusal = handshake_.error(),
         .reason = handshake_.peer_reason()});
}

void stream_handshake::end(const ending& how)
{
    const auto self = shared_from_this(); // who is told may let go of it
    timer_.reset();
    std::exchange(ended_, nullptr)(how);
}

} // namespace zlink::core
