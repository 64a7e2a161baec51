// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/seldom_set.hpp"
#include "transport/stream.hpp"
#include "transport/tls_settings.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

namespace zlink::transport::tls_parts {

enum class side : unsigned char { client, server };

using fingerprint = std::array<std::byte, 32>; ///< SHA-256

/// When and as which file something was written.
struct file_stamp {
    std::uint64_t file = 0;
    std::int64_t bytes = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const file_stamp&) const = default;
};
using file_stamps = std::array<file_stamp, 3>;

/// What the connections of one endpoint share: the certificates, who is trusted, and of a client
/// the session that the next connection may resume.
///
/// Thread safety: any thread.
class context {
public:
    /// Null and EINVAL: a setting is no certificate, key, list of ciphers and so on or cannot be
    /// read, a server has no certificate, or nothing says which peers are to be trusted.
    /// `host`: what a client connects to. Throws std::bad_alloc.
    static std::shared_ptr<context> make(side which, const tls_settings& settings,
                                         std::string_view host, error_code& error);
    ~context();
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    side which() const noexcept { return which_; }
    /// What it was made from. Once.
    void note(const tls_settings& settings, const file_stamps& files)
    {
        settings_ = settings;
        files_ = files;
    }
    bool is_for(side which, const tls_settings& settings, std::string_view host,
                const file_stamps& files) const noexcept
    {
        return which == which_ && host == host_ && files == files_ && settings == settings_;
    }
    /// A connection of OpenSSL, to be freed with SSL_free(); null: no memory.
    ssl_st* make_connection();
    /// One of these must be the peer's public key; empty = any.
    const std::vector<fingerprint>& pinned() const noexcept { return pinned_; }
    /// Takes over a reference to a session to resume.
    void keep_session(ssl_session_st* session) noexcept;
    /// Any thread: a handshake with it has ended.
    void handshake_ended(bool is_done) noexcept
    {
        if (is_done)
            proven_.store(true, std::memory_order_relaxed);
        else if (!proven_.load(std::memory_order_relaxed))
            doubtful_.store(true, std::memory_order_relaxed);
    }
    /// Any thread: has a handshake failed before any was done? OpenSSL may have made it without a
    /// cipher for lack of memory, and does not say so: it had better be made again.
    bool is_doubtful() const noexcept
    {
        return doubtful_.load(std::memory_order_relaxed) &&
               !proven_.load(std::memory_order_relaxed);
    }

private:
    context(side which, std::string host) : which_(which), host_(std::move(host)) {}
    bool set_up(const tls_settings& settings);
    bool trust(const tls_settings& settings);

    const side which_;
    const std::string host_;
    tls_settings settings_;
    file_stamps files_{};
    bool checks_host_ = false;
    ssl_ctx_st* context_ = nullptr;
    std::vector<fingerprint> pinned_;
    std::mutex mutex_;
    ssl_session_st* session_ = nullptr; ///< with the mutex
    std::atomic<bool> proven_{false};   ///< a handshake was done
    std::atomic<bool> doubtful_{false}; ///< one has failed before that
};

/// The context of an endpoint for each new connection: when a file that a setting names or the
/// certificate itself has changed, a new one, unless that cannot be made. Endpoints with the same
/// settings share a context while any of them has it.
///
/// Thread safety: any thread.
class context_source {
public:
    /// As context::make().
    static std::shared_ptr<context_source> make(side which, tls_settings settings, std::string host,
                                                error_code& error);
    /// Throws std::bad_alloc.
    std::shared_ptr<context> current();
    /// The certificate of these settings and its key take the place of those before. While the two
    /// do not fit, as between two options that are set one after the other, the context stays.
    /// Throws std::bad_alloc.
    void set_certificate(const tls_settings& settings);

private:
    context_source(side which, tls_settings settings, std::string host)
        : which_(which), host_(std::move(host)), settings_(std::move(settings))
    {}
    file_stamps look() const noexcept;
    std::shared_ptr<context> find_or_make(error_code& error) const;

    const side which_;
    const std::string host_;
    std::mutex mutex_;
    tls_settings settings_; ///< with the mutex, like what follows
    std::shared_ptr<context> current_;
    file_stamps seen_{};
    bool outdated_ = false; ///< the settings are not those of the context, and were not tried
};

} // namespace zlink::transport::tls_parts
