// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/tls/context.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <sys/uio.h>
#include <utility>
#include <vector>

struct bio_st;

namespace zlink::transport::tls_parts {

/// TLS between two buffers, or over a stream: one connection of OpenSSL. What it writes is kept
/// until it is taken; what it reads is what it was fed and then, if there is one, of the stream.
///
/// Thread safety: one thread at a time, which has the lock().
class connection {
public:
    /// Throws std::bad_alloc.
    explicit connection(std::shared_ptr<context> shared);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    std::unique_lock<std::mutex> lock() noexcept { return std::unique_lock(mutex_); }

    // --- the handshake
    enum class progress : unsigned char { running, done, failed };
    progress shake_hands();
    /// After it failed, what OpenSSL or the certificate's examination says.
    int error() const noexcept { return error_; }
    void feed(std::span<const std::byte> bytes);

    // --- the traffic
    /// What the handshake has shown of the peer, see tls_parts::peer_properties().
    std::vector<std::pair<std::string, std::string>> properties() const;
    void read_from(stream& below) noexcept
    {
        below_ = &below;
        if (output_.empty())
            output_.shrink_to_fit(); // what the handshake took
    }
    /// As stream::read_some(), of some records at a time. EPROTO: the peer has sent more messages
    /// other than data (new keys, session tickets, alerts) than anybody needs, or reads no answers
    /// to them.
    io_result read_some(const iovec* buffers, int count) noexcept;
    /// Is there input that needs no reading of the stream?
    bool has_input() const noexcept;
    /// Encrypts what fits in some records; returns how many bytes that are, -1: see output_error().
    std::ptrdiff_t encrypt(const iovec* buffers, int count) noexcept;
    /// Adds the record that says that nothing more follows, unless the output has failed.
    void end_output() noexcept;
    /// The output has failed, and stays so: what is there of it is dropped, and none is added.
    void fail_output(int error) noexcept;
    /// The errno it has failed with first; 0 as long as it has not.
    int output_error() const noexcept { return output_error_; }

    std::span<const std::byte> output() const noexcept
    {
        return std::span(output_).subspan(written_);
    }
    void consume_output(std::size_t bytes) noexcept;

private:
    friend struct bio_functions;

    int read_for_ssl(char* out, std::size_t bytes) noexcept;
    bool pin_matches() const noexcept;
    void fail() noexcept;
    void end_input() noexcept;
    bool write_record(std::span<const std::byte> plain) noexcept;
    void count_message(bool is_answer) noexcept;

    std::mutex mutex_;
    const std::shared_ptr<context> shared_;
    ssl_st* ssl_ = nullptr;
    stream* below_ = nullptr;
    std::vector<std::byte> input_; ///< was fed
    std::size_t taken_ = 0;        ///< of input_
    std::vector<std::byte> output_;
    std::size_t written_ = 0; ///< of output_
    std::chrono::steady_clock::time_point counted_since_{};
    unsigned messages_ = 0; ///< other than data that have come since then
    unsigned answers_ = 0;  ///< to such messages that may be in output_
    int output_error_ = 0;
    int error_ = 0;
    bool drained_ = false; ///< the stream had less than there was room for, a moment ago
    bool starved_ = false; ///< OpenSSL has asked in vain: what it has is no whole record
    bool ended_ = false;   ///< the stream has
    bool over_ = false;    ///< there is nothing to read any more but that it is so
};

} // namespace zlink::transport::tls_parts
