// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/exchange.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace zlink::transport {

/// Where to, and with which credentials. The host is a literal or a name, which the proxy resolves.
struct socks5_request {
    std::string host;
    std::uint16_t port = 0;
    std::string username; ///< empty = no authentication is offered
    std::string password;
};

/// The client's side of SOCKS version 5 (RFC 1928) with user name and password (RFC 1929): has the
/// proxy at the other end of a stream connect to a target. The bytes after its last reply are those
/// of the target; nothing that follows the reply is ever read.
class socks5_client final : public upgrade {
public:
    /// `limit`: for all of it.
    explicit socks5_client(socks5_request request, std::chrono::milliseconds limit = {});

    std::span<const std::byte> output() const noexcept override
    {
        return std::span(output_).subspan(written_);
    }
    void consume_output(std::size_t bytes) noexcept override { written_ += bytes; }
    std::size_t most_input_bytes() const noexcept override { return wanted_ - input_.size(); }
    std::size_t feed(std::span<const std::byte> bytes) override;
    state current_state() const noexcept override
    {
        return error_ != 0                ? state::failed
               : step_ == step::connected ? state::done
                                          : state::running;
    }
    bool reaches_peer() const noexcept override { return true; }
    std::chrono::milliseconds limit() const noexcept override { return limit_; }
    /// EPROTO: the proxy does not speak SOCKS 5. EACCES: it refuses the methods, the credentials or
    /// the target. EINVAL: a name or password of more than 255 bytes. Otherwise what befell the
    /// proxy (ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ...).
    int error() const noexcept override { return error_; }

private:
    enum class step : std::uint8_t { method, authentication, reply, address, connected, failed };

    void advance();
    void method_chosen();
    void authenticated();
    void replied();
    void await(step next, std::size_t bytes) noexcept;
    void fail(int error) noexcept;
    void put(std::initializer_list<unsigned> bytes);
    void put_counted(const std::string& text);
    void put_credentials();
    void put_request();

    socks5_request request_;
    const std::chrono::milliseconds limit_;
    step step_ = step::method;
    int error_ = 0;
    std::vector<std::byte> output_;
    std::size_t written_ = 0;
    std::vector<std::byte> input_;
    std::size_t wanted_ = 0;
};

} // namespace zlink::transport
