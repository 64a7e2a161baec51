// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/connection.hpp"

#include "base/tuning.hpp"

#include "base/memory/lasting.hpp"
#include "transport/tls/library_context.hpp"
#include "transport/tls/openssl.hpp"
#include "transport/tls/peer_properties.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>
#include <unordered_set>
#include <utility>

namespace zlink::transport::tls_parts {
namespace {

constexpr std::size_t record_bytes = 16 * 1024;   // the most that one may have
constexpr std::size_t record_overhead_bytes = 64; // no cipher has more
// Messages other than data, each of which may cost a new key or an answer: so many in so long a
// time, and so many answers that are not read. Peers that mean well send a few in an hour.
constexpr unsigned most_messages = 64;
constexpr std::chrono::minutes counted_time{1};

// Why a certificate is not accepted, as an errno.
int errno_of(long verify_result) noexcept
{
    switch (verify_result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
    case X509_V_ERR_CRL_HAS_EXPIRED:
        return EKEYEXPIRED;
    case X509_V_ERR_CERT_REVOKED:
        return EKEYREVOKED;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return EADDRNOTAVAIL;
    default:
        return EKEYREJECTED;
    }
}

// The same of what the peer says in its alert, and of what has no certificate to it.
int errno_of_reason(int reason) noexcept
{
    switch (reason) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return ENOKEY;
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return EKEYEXPIRED;
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        return EKEYREVOKED;
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        return EKEYREJECTED;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY:
        return EPROTONOSUPPORT;
    default:
        return EPROTO;
    }
}

// SSL_get_error() would say what else the thread has in its list of errors.
bool is_in_error(const SSL* ssl) noexcept
{
    return std::strcmp(SSL_state_string(ssl), "SSLERR") == 0;
}

/// The connections there are.
struct live_connections {
    std::mutex mutex;
    std::unordered_set<connection*> all; ///< with the mutex
    std::atomic<bool> over{false};
};

live_connections& live() noexcept
{
    static base::lasting<live_connections> made;
    return made.value;
}

// Runs before OpenSSL's own function, which, if there is one, was registered before. Afterwards no
// thread is inside of OpenSSL, and none goes there.
void end_all() noexcept
{
    live_connections& those = live();
    const std::lock_guard lock(those.mutex);
    those.over = true;
    for (connection* const each : those.all)
        each->lock().unlock();
}

} // namespace

bool is_over() noexcept
{
    return live().over.load(std::memory_order_acquire);
}

struct bio_functions {
    static connection& of(BIO* bio) noexcept
    {
        return *static_cast<connection*>(BIO_get_data(bio));
    }

    static int read(BIO* bio, char* out, int size)
    {
        BIO_clear_retry_flags(bio);
        const int got = of(bio).read_for_ssl(out, static_cast<std::size_t>(size));
        if (got < 0)
            BIO_set_retry_read(bio);
        return got;
    }

    static int write(BIO* bio, const char* bytes, int size)
    {
        BIO_clear_retry_flags(bio);
        const auto* const begin = reinterpret_cast<const std::byte*>(bytes);
        if (of(bio).output_error_ != 0)
            return size; // nobody gets it
        try {
            std::vector<std::byte>& output = of(bio).output_;
            output.insert(output.end(), begin, begin + size);
        } catch (...) {
            of(bio).fail_output(ENOMEM);
            return -1;
        }
        return size;
    }

    // After the handshake. Heads of records are told of, too.
    static void observe(int is_written, int, int type, const void*, std::size_t, SSL*, void* who)
    {
        if (type == SSL3_RT_HANDSHAKE || type == SSL3_RT_ALERT)
            static_cast<connection*>(who)->count_message(is_written != 0);
    }

    static long control(BIO* bio, int command, long, void*)
    {
        if (command == BIO_CTRL_EOF)
            return of(bio).ended_ ? 1 : 0;
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    }

    static BIO_METHOD* method() noexcept
    {
        return made_once<[] {
            BIO_METHOD* const functions = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "zlink");
            if (functions) {
                BIO_meth_set_read(functions, read);
                BIO_meth_set_write(functions, write);
                BIO_meth_set_ctrl(functions, control);
            }
            return functions;
        }>();
    }
};

connection::connection(std::shared_ptr<context> shared) : shared_(std::move(shared))
{
    const own_errors ours;
    BIO_METHOD* const method = bio_functions::method();
    BIO* const bio = method ? BIO_new(method) : nullptr;
    ssl_ = bio ? shared_->make_connection() : nullptr;
    if (!ssl_) {
        BIO_free(bio);
        throw std::bad_alloc();
    }
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_, bio, bio);
    [[maybe_unused]] static const bool registered = std::atexit(end_all) == 0;
    try {
        live_connections& those = live();
        const std::lock_guard lock(those.mutex);
        those.all.insert(this);
    } catch (...) {
        SSL_free(ssl_);
        throw;
    }
}

connection::~connection()
{
    live_connections& those = live();
    const std::lock_guard lock(those.mutex);
    those.all.erase(this);
    if (!those.over)
        SSL_free(ssl_);
}

// --- the handshake

connection::progress connection::shake_hands()
{
    if (is_over())
        return progress::running;
    const own_errors ours;
    starved_ = false;
    if (SSL_do_handshake(ssl_) == 1) {
        SSL_set_msg_callback(ssl_, bio_functions::observe);
        SSL_set_msg_callback_arg(ssl_, this);
        shared_->handshake_ended(true);
        if (pin_matches())
            return progress::done;
        error_ = EKEYREJECTED;
        return progress::failed;
    }
    if (starved_)
        return progress::running;
    fail();
    shared_->handshake_ended(false);
    return progress::failed;
}

void connection::feed(std::span<const std::byte> bytes)
{
    input_.insert(input_.end(), bytes.begin(), bytes.end());
}

bool connection::pin_matches() const noexcept
{
    const std::vector<fingerprint>& pins = shared_->pinned();
    if (pins.empty())
        return true;
    const X509* const certificate = SSL_get0_peer_certificate(ssl_);
    fingerprint found{};
    std::size_t size = 0;
    unsigned char* key = nullptr;
    const int key_bytes =
        certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key) : 0;
    const bool made =
        key_bytes > 0 &&
        EVP_Q_digest(library_context(), "SHA256", nullptr, key, static_cast<std::size_t>(key_bytes),
                     reinterpret_cast<unsigned char*>(found.data()), &size) == 1;
    OPENSSL_free(key);
    return made && std::find(pins.begin(), pins.end(), found) != pins.end();
}

// The examination of the certificate says more than the error that it led to.
void connection::fail() noexcept
{
    const long examined = SSL_get_verify_result(ssl_);
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    if (examined != X509_V_OK && reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        error_ = errno_of(examined);
    else
        error_ = errno_of_reason(reason);
}

// --- the traffic

std::vector<std::pair<std::string, std::string>> connection::properties() const
{
    if (is_over())
        return {};
    const own_errors ours;
    return peer_properties(ssl_);
}

// What was fed comes first. A stream that had less than there was room for is not asked again at
// once. 0 = the end, also after an error of the stream, which is kept. -1 = nothing now; with that
// the function of OpenSSL ends, too, and is no failure. SSL_get_error() would say the same, but
// only after what else is in the thread's list of errors.
int connection::read_for_ssl(char* out, std::size_t bytes) noexcept
{
    if (taken_ != input_.size()) {
        const std::size_t some = std::min(bytes, input_.size() - taken_);
        std::memcpy(out, input_.data() + taken_, some);
        taken_ += some;
        if (taken_ == input_.size()) {
            input_ = std::vector<std::byte>();
            taken_ = 0;
        }
        return static_cast<int>(some);
    }
    if (ended_)
        return 0;
    if (!below_ || drained_) {
        starved_ = true;
        return -1;
    }
    const iovec space{out, bytes};
    const io_result got = below_->read_some(&space, 1);
    if (got.would_block()) {
        drained_ = starved_ = true;
        return -1;
    }
    if (got.failed() || got.bytes == 0) {
        error_ = got.error;
        ended_ = true;
        return 0;
    }
    drained_ = got.bytes < bytes && !got.more;
    return static_cast<int>(got.bytes);
}

bool connection::has_input() const noexcept
{
    return !starved_ && !is_over() &&
           (over_ || taken_ != input_.size() || SSL_has_pending(ssl_) == 1);
}

io_result connection::read_some(const iovec* buffers, int count) noexcept
{
    if (is_over())
        return {.error = EAGAIN};
    const own_errors ours;
    drained_ = starved_ = false;
    if (over_)
        return {.error = error_};
    std::size_t all = 0;
    int records = 0;
    for (int i = 0; i < count; ++i) {
        for (std::size_t filled = 0; filled < buffers[i].iov_len;) {
            if (records++ == tuning::turn::operations_per_call)
                return {.bytes = all, .more = true};
            std::size_t some = 0;
            if (SSL_read_ex(ssl_, static_cast<std::byte*>(buffers[i].iov_base) + filled,
                            buffers[i].iov_len - filled, &some) == 1) {
                filled += some;
                all += some;
                continue;
            }
            if (!starved_)
                end_input();
            if (all != 0) // an end is told the next time
                return {.bytes = all, .more = over_};
            return {.error = starved_ ? EAGAIN : error_};
        }
    }
    return {.bytes = all, .more = has_input() || !drained_};
}

// OpenSSL is not asked again: it might go on behind what it could not read.
void connection::end_input() noexcept
{
    over_ = true;
    if (error_ != 0)
        return;
    // An alert that says what is wrong counts as an end as well.
    if ((SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0 && !is_in_error(ssl_))
        SSL_shutdown(ssl_); // TLS 1.2 wants an answer
    else
        fail();
}

// Within OpenSSL, which goes on with the next message of what it has read already unless it takes
// the input for ended.
void connection::count_message(bool is_answer) noexcept
{
    if (is_answer) {
        ++answers_;
    } else {
        const auto now = std::chrono::steady_clock::now();
        if (now - counted_since_ >= counted_time) {
            counted_since_ = now;
            messages_ = 0;
        }
        ++messages_;
    }
    if (messages_ <= most_messages && answers_ <= most_messages)
        return;
    error_ = EPROTO;
    SSL_set_shutdown(ssl_, SSL_get_shutdown(ssl_) | SSL_RECEIVED_SHUTDOWN);
}

std::ptrdiff_t connection::encrypt(const iovec* buffers, int count) noexcept
{
    if (is_over())
        return 0;
    if (output_error_ != 0)
        return -1;
    const own_errors ours;
    std::size_t all = 0;
    try {
        const std::size_t plain =
            std::min(total_bytes(buffers, count), tuning::stream::tls_batch_bytes);
        output_.reserve(output_.size() + plain +
                        (plain / record_bytes + 1) * record_overhead_bytes);
    } catch (...) {
        fail_output(ENOMEM);
        return -1;
    }
    std::byte gathered[record_bytes];
    std::size_t held = 0;
    const auto write_gathered = [&] {
        const std::size_t bytes = std::exchange(held, 0);
        return bytes == 0 || write_record({gathered, bytes});
    };
    for (int i = 0; i < count && all < tuning::stream::tls_batch_bytes; ++i) {
        std::span left(static_cast<const std::byte*>(buffers[i].iov_base), buffers[i].iov_len);
        left = left.first(std::min(left.size(), tuning::stream::tls_batch_bytes - all));
        all += left.size();
        while (!left.empty()) {
            if (held == 0 && left.size() >= record_bytes) { // as it lies
                if (!write_record(left.first(record_bytes)))
                    return -1;
                left = left.subspan(record_bytes);
                continue;
            }
            const std::size_t some = std::min(left.size(), record_bytes - held);
            std::memcpy(gathered + held, left.data(), some);
            held += some;
            left = left.subspan(some);
            if (held == record_bytes && !write_gathered())
                return -1;
        }
    }
    return write_gathered() ? static_cast<std::ptrdiff_t>(all) : -1;
}

bool connection::write_record(std::span<const std::byte> plain) noexcept
{
    std::size_t taken = 0;
    if (SSL_write_ex(ssl_, plain.data(), plain.size(), &taken) == 1 && taken == plain.size())
        return true;
    fail_output(EPIPE); // also the records before it: what they have is going to be sent again
    return false;
}

void connection::end_output() noexcept
{
    if (is_over() || output_error_ != 0)
        return;
    const own_errors ours;
    if (SSL_is_init_finished(ssl_))
        SSL_shutdown(ssl_);
}

void connection::fail_output(int error) noexcept
{
    if (output_error_ == 0)
        output_error_ = error;
    output_ = std::vector<std::byte>();
    written_ = 0;
}

void connection::consume_output(std::size_t bytes) noexcept
{
    written_ += bytes;
    if (written_ != output_.size())
        return;
    written_ = 0;
    answers_ = 0;
    if (output_.capacity() > record_bytes)
        output_ = std::vector<std::byte>();
    else
        output_.clear();
}

} // namespace zlink::transport::tls_parts
