// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/upgrade.hpp"

#include "transport/tls/connection.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

namespace zlink::transport::tls_parts {
namespace {

/// Reading and writing take turns, as they share what OpenSSL has for a connection; and as reading
/// may lead to an answer (a new key), whoever has the turn may write.
class tls_stream final : public stream, private direct_input {
public:
    tls_stream(std::unique_ptr<stream> below, std::unique_ptr<connection> tls,
               boost::asio::io_context& io)
        : below_(std::move(below)), tls_(std::move(tls)), io_(io)
    {
        tls_->read_from(*below_);
    }

    io_result read_some(const iovec* buffers, int count) noexcept override
    {
        const auto lock = tls_->lock();
        const std::size_t before = tls_->output().size();
        const io_result got = tls_->read_some(buffers, count);
        if (tls_->output().size() != before)
            pass_on(); // an alert or a new key; what does not fit goes with what is written next
        return got;
    }

    io_result write_some(const iovec* buffers, int count) noexcept override
    {
        const auto lock = tls_->lock();
        if (const io_result passed = pass_on(); passed.error != 0)
            return passed;
        const std::ptrdiff_t taken = tls_->encrypt(buffers, count);
        if (taken <= 0) // nothing: the process ends
            return {.error = taken < 0 ? tls_->output_error() : EAGAIN};
        const io_result passed = pass_on();
        if (passed.failed())
            return passed;
        return {.bytes = static_cast<std::size_t>(taken), .more = passed.error != 0};
    }

    io_result flush() noexcept override
    {
        const auto lock = tls_->lock();
        return pass_on();
    }

    void async_wait(direction which, wait_handler handler) override
    {
        if (which == direction::read && !is_shut_down_ && has_input()) {
            boost::asio::post(io_, [handler = std::move(handler)] { handler({}); });
            return;
        }
        below_->async_wait(which, std::move(handler));
    }

    direct_input* direct() noexcept override { return below_->direct() ? this : nullptr; }
    int release() noexcept override { return has_input() ? -1 : below_->direct()->release(); }
    bool reclaim() noexcept override { return below_->direct()->reclaim(); }

    bool shutdown() noexcept override
    {
        if (!std::exchange(is_shut_down_, true)) {
            const auto lock = tls_->lock();
            tls_->end_output();
            pass_on();
        }
        return below_->shutdown();
    }

    std::size_t undelivered_bytes() const noexcept override
    {
        const auto lock = tls_->lock();
        return tls_->output().size() + below_->undelivered_bytes();
    }

    void close() noexcept override { below_->close(); }

    stream_info info() const override
    {
        stream_info known = below_->info();
        known.packet_bytes = 0; // a write has another size below
        const auto lock = tls_->lock();
        known.properties = tls_->properties();
        return known;
    }

private:
    bool has_input() const noexcept
    {
        const auto lock = tls_->lock();
        return tls_->has_input();
    }

    // No error: all is out. What has failed once stays so.
    io_result pass_on() noexcept
    {
        if (tls_->output_error() != 0)
            return {.error = tls_->output_error()};
        const io_result passed = write_output();
        if (passed.failed())
            tls_->fail_output(passed.error);
        return passed;
    }

    io_result write_output() noexcept
    {
        while (!tls_->output().empty()) {
            const auto output = tls_->output();
            const iovec bytes{const_cast<std::byte*>(output.data()), output.size()};
            const io_result written = below_->write_some(&bytes, 1);
            if (written.error != 0)
                return {.error = written.error};
            tls_->consume_output(written.bytes);
            if (written.bytes != output.size())
                return {.error = EAGAIN}; // asking again would say the same
        }
        return below_->flush();
    }

    const std::unique_ptr<stream> below_;
    const std::unique_ptr<connection> tls_;
    boost::asio::io_context& io_;
    bool is_shut_down_ = false;
};

class tls_upgrade final : public upgrade {
public:
    explicit tls_upgrade(std::shared_ptr<context> shared)
        : tls_(std::make_unique<connection>(std::move(shared)))
    {}

    void start() override { advance(); }
    std::span<const std::byte> output() const noexcept override { return tls_->output(); }
    void consume_output(std::size_t bytes) noexcept override { tls_->consume_output(bytes); }

    std::size_t feed(std::span<const std::byte> bytes) override
    {
        tls_->feed(bytes);
        advance();
        return bytes.size();
    }

    state current_state() const noexcept override
    {
        return progress_ == connection::progress::running ? state::running
               : progress_ == connection::progress::done  ? state::done
                                                          : state::failed;
    }

    int error() const noexcept override { return tls_->error(); }

    std::unique_ptr<stream> wrap(std::unique_ptr<stream>&& below,
                                 boost::asio::io_context& io) override
    {
        // Without memory, make_unique takes nothing from what it is given.
        return std::make_unique<tls_stream>(std::move(below), std::move(tls_), io);
    }

private:
    void advance()
    {
        const auto lock = tls_->lock();
        if (progress_ == connection::progress::running)
            progress_ = tls_->shake_hands();
    }

    std::unique_ptr<connection> tls_;
    connection::progress progress_ = connection::progress::running;
};

} // namespace

std::unique_ptr<upgrade> make_upgrade(std::shared_ptr<context> shared)
{
    return std::make_unique<tls_upgrade>(std::move(shared));
}

} // namespace zlink::transport::tls_parts
