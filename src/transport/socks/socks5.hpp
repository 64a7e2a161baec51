// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// The client's side of SOCKS version 5 (RFC 1928) with user name and password (RFC 1929), without
/// I/O: ask for a connection, and the bytes after the last reply are those of the target.
///
/// Use: write output(); read exactly wanted() bytes at a time and feed() them, until done() or
/// error(). Nothing that follows the reply is ever read.
/// Thread safety: one thread at a time.
class socks5_client {
public:
    explicit socks5_client(socks5_request request);

    /// Bytes to be written now.
    std::span<const std::byte> output() const noexcept
    {
        return std::span(output_).subspan(written_);
    }
    void consume_output(std::size_t bytes) noexcept { written_ += bytes; }
    /// How many bytes must be read before anything else happens; 0 = none.
    std::size_t wanted() const noexcept { return wanted_ - input_.size(); }
    /// Takes at most wanted() bytes.
    void feed(std::span<const std::byte> bytes);

    /// The proxy has connected to the target.
    bool done() const noexcept { return step_ == step::connected; }
    /// errno; 0 = none. EPROTO: the proxy does not speak SOCKS 5. EACCES: it refuses the methods,
    /// the credentials or the target. EINVAL: a name or password of more than 255 bytes. Otherwise
    /// what befell the proxy (ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ...).
    int error() const noexcept { return error_; }

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
    step step_ = step::method;
    int error_ = 0;
    std::vector<std::byte> output_;
    std::size_t written_ = 0;
    std::vector<std::byte> input_;
    std::size_t wanted_ = 0;
};

} // namespace zlink::transport
