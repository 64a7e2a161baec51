// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

namespace zlink::bench::bare {

enum class tls_side { client, server };

/// 1.2 and 1.3, as OpenSSL numbers them.
enum class tls_version { tls_1_2 = 0x0303, tls_1_3 = 0x0304 };

/// What OpenSSL keeps for a handshake that resumes an earlier connection; null: nothing.
struct free_session {
    void operator()(ssl_session_st* session) const noexcept;
};
using tls_session = std::unique_ptr<ssl_session_st, free_session>;

/// OpenSSL with the benchmark's certificates and its defaults for ciphers: the server has the
/// certificate, the client examines it, with its name. Any thread may use it.
class tls_context {
public:
    /// Connections have this version and no other.
    tls_context(tls_side which, tls_version version);
    ~tls_context();
    tls_context(const tls_context&) = delete;
    tls_context& operator=(const tls_context&) = delete;

    tls_side which() const noexcept { return which_; }
    ssl_ctx_st* handle() const noexcept { return handle_; }

private:
    tls_side which_;
    ssl_ctx_st* handle_;
};

/// TLS on a socket that is connected. Functions throw std::runtime_error. One thread at a time.
class tls_connection {
public:
    /// Neither the context nor the descriptor is owned. A client resumes `session` if it can.
    tls_connection(const tls_context& context, int fd, const tls_session& session = nullptr);
    ~tls_connection();
    tls_connection(const tls_connection&) = delete;
    tls_connection& operator=(const tls_connection&) = delete;

    void shake_hands();
    bool was_resumed() const;
    std::string cipher() const; ///< "TLSv1.3 TLS_AES_256_GCM_SHA384"

    /// Writes a record of 16 KiB, or what there is to write; returns its size. 0: the socket does
    /// not wait, and has no room; then the same has to be written again.
    std::size_t write_some(const char* data, std::size_t bytes);

    /// Reads what there is, at most so many bytes. 0: there is nothing, and the socket does not
    /// wait.
    std::size_t read_some(char* data, std::size_t bytes);

    /// The same for all of the bytes, with a socket that waits.
    void write_all(const char* data, std::size_t bytes);
    void read_all(char* data, std::size_t bytes);

    /// A client: what a later connection can resume. With TLS 1.3 it has come once the server's
    /// first bytes have been read.
    tls_session session() const;

    /// Says that nothing more follows. Without waiting for an answer.
    void end_output();

private:
    bool retry(int result) const;

    ssl_st* handle_;
};

/// The version of OpenSSL.
std::string openssl_version();

} // namespace zlink::bench::bare
