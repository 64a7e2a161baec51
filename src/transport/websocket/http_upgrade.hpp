// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/exchange.hpp"
#include "transport/shared_ports.hpp"

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::transport::websocket {

/// Limit for the head of a request or an answer, its empty line included.
inline constexpr std::size_t most_head_bytes = 8 * 1024;

/// What both sides of the opening of a WebSocket (RFC 6455, section 4) have in common: the head of
/// a message of HTTP comes in, ended by an empty line, and one goes out. The bytes that follow are
/// those of the WebSocket. No extensions are offered or agreed to.
///
/// Memory: the two heads, until it is done.
class http_upgrade : public upgrade {
public:
    std::span<const std::byte> output() const noexcept override
    {
        return std::as_bytes(std::span(output_)).subspan(written_);
    }
    void consume_output(std::size_t bytes) noexcept override { written_ += bytes; }
    std::size_t feed(std::span<const std::byte> bytes) override;
    state current_state() const noexcept override { return state_; }
    bool was_violated() const noexcept override { return error_ == EPROTO; }
    int error() const noexcept override { return error_; }
    void offer(std::vector<std::string> protocols) override { offers_ = std::move(protocols); }
    std::string_view protocol() const noexcept override { return protocol_; }

protected:
    /// `beginning`: what the head that comes in has to begin with.
    explicit http_upgrade(std::string_view beginning) noexcept : beginning_(beginning) {}

    enum class fault : unsigned char { malformed, too_large };
    /// A whole head, with its empty line.
    virtual void take_head(std::string_view head) = 0;
    virtual void refuse_head(fault what) = 0;
    void send(std::string text) { output_ += text; }
    void succeed(std::string_view protocol)
    {
        protocol_ = protocol;
        state_ = state::done;
    }
    void fail(int error) noexcept
    {
        error_ = error;
        state_ = state::failed;
    }
    const std::vector<std::string>& offers() const noexcept { return offers_; }
    /// All that was taken.
    std::string_view input() const noexcept { return input_; }

private:
    const std::string_view beginning_;
    std::vector<std::string> offers_;
    std::string input_;
    std::string output_;
    std::size_t written_ = 0;
    std::string protocol_;
    state state_ = state::running;
    int error_ = 0;
};

/// What a request to open a WebSocket says of itself.
struct request_fields {
    std::string host; ///< see host_field()
    std::string path;
    std::string origin{}; ///< empty: it names none
};

/// The side that has connected: asks for a path and checks the answer.
///
/// error(): EPROTO if the peer refuses or does not speak the protocol; EAGAIN if it says that it
/// cannot serve now (status 404, 429, 5xx); EIO if the system gives no random bytes.
class http_upgrade_client final : public http_upgrade {
public:
    explicit http_upgrade_client(request_fields fields);
    void start() override;

private:
    void take_head(std::string_view head) override;
    void refuse_head(fault) override { fail(EPROTO); }

    const request_fields fields_;
    std::string key_;
};

/// The side that was connected to. A request that will not do gets an answer of HTTP that says why:
/// 400, 403 (the listener does not admit the origin), 404 (nobody listens at the path), 405 (not
/// GET), 426 (no WebSocket, or another version of it), 431 (head too large), 505 (not HTTP/1.1).
///
/// error(): EPROTO.
class http_upgrade_server final : public http_upgrade {
public:
    /// For the listener with the inbox `own` of this port; without a port, for all paths.
    explicit http_upgrade_server(std::shared_ptr<const shared_port> port = nullptr,
                                 std::shared_ptr<passed_inbox> own = nullptr) noexcept;
    bool is_for_another() const noexcept override { return to_ != own_; }
    void pass_on(std::unique_ptr<stream> connection, boost::asio::io_context& home,
                 std::span<const std::byte> rest) override;

private:
    void take_head(std::string_view head) override;
    void refuse_head(fault what) override;

    const std::shared_ptr<const shared_port> port_;
    const std::shared_ptr<passed_inbox> own_;
    std::shared_ptr<passed_inbox> to_;
};

} // namespace zlink::transport::websocket
