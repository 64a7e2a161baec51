// SPDX-License-Identifier: Apache-2.0
#include "bare/tls.hpp"

#include "common/certificates.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace zlink::bench::bare {

namespace {

constexpr std::size_t record_bytes = 16 * 1024;
constexpr const char* server_address = "127.0.0.1";

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const noexcept
    {
        Free(object);
    }
};
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free>>;
using x509_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;

[[noreturn]] void throw_openssl_error(std::string_view call)
{
    const unsigned long code = ERR_get_error();
    const char* const reason = ERR_reason_error_string(code);
    throw std::runtime_error(
        fmt::format("{}: {}", call, reason == nullptr ? "the connection has ended" : reason));
}

void check(bool well, std::string_view call)
{
    if (!well) {
        throw_openssl_error(call);
    }
}

x509_ptr read_certificate(const char* text)
{
    const bio_ptr in(BIO_new_mem_buf(text, -1));
    x509_ptr certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
    check(certificate != nullptr, "PEM_read_bio_X509");
    return certificate;
}

void use_own_certificate(SSL_CTX* context)
{
    const bio_ptr in(BIO_new_mem_buf(server_key, -1));
    const key_ptr key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
    check(SSL_CTX_use_certificate(context, read_certificate(server_certificate).get()) == 1 &&
              SSL_CTX_use_PrivateKey(context, key.get()) == 1,
          "SSL_CTX_use_certificate");
}

void trust_authority(SSL_CTX* context)
{
    const x509_ptr authority = read_certificate(authority_certificate);
    check(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) == 1,
          "X509_STORE_add_cert");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    // Sessions are asked for; OpenSSL's own store of them is for servers.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}

} // namespace

void free_session::operator()(ssl_session_st* session) const noexcept
{
    SSL_SESSION_free(session);
}

tls_context::tls_context(tls_side which, tls_version version)
    : which_(which),
      handle_(SSL_CTX_new(which == tls_side::client ? TLS_client_method() : TLS_server_method()))
{
    check(handle_ != nullptr, "SSL_CTX_new");
    const int number = static_cast<int>(version);
    check(SSL_CTX_set_min_proto_version(handle_, number) == 1 &&
              SSL_CTX_set_max_proto_version(handle_, number) == 1,
          "SSL_CTX_set_min_proto_version");
    // One read of the socket for a record, not one for its head and one for the rest.
    SSL_CTX_set_read_ahead(handle_, 1);
    if (which == tls_side::server) {
        use_own_certificate(handle_);
        SSL_CTX_set_session_cache_mode(handle_, SSL_SESS_CACHE_OFF); // tickets have it all
        SSL_CTX_set_num_tickets(handle_, 1);
    } else {
        trust_authority(handle_);
    }
}

tls_context::~tls_context()
{
    SSL_CTX_free(handle_);
}

tls_connection::tls_connection(const tls_context& context, int fd, const tls_session& session)
    : handle_(SSL_new(context.handle()))
{
    check(handle_ != nullptr && SSL_set_fd(handle_, fd) == 1, "SSL_new");
    if (context.which() == tls_side::server) {
        SSL_set_accept_state(handle_);
        return;
    }
    SSL_set_connect_state(handle_);
    check(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(handle_), server_address) == 1,
          "X509_VERIFY_PARAM_set1_ip_asc");
    if (session) {
        check(SSL_set_session(handle_, session.get()) == 1, "SSL_set_session");
    }
}

tls_connection::~tls_connection()
{
    SSL_free(handle_);
}

// The socket has nothing, or no room, and does not wait.
bool tls_connection::retry(int result) const
{
    const int reason = SSL_get_error(handle_, result);
    return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE;
}

void tls_connection::shake_hands()
{
    ERR_clear_error();
    check(SSL_do_handshake(handle_) == 1, "SSL_do_handshake");
}

bool tls_connection::was_resumed() const
{
    return SSL_session_reused(handle_) == 1;
}

std::string tls_connection::cipher() const
{
    return fmt::format("{} {}", SSL_get_version(handle_), SSL_get_cipher_name(handle_));
}

std::size_t tls_connection::write_some(const char* data, std::size_t bytes)
{
    ERR_clear_error();
    std::size_t taken = 0;
    const int result = SSL_write_ex(handle_, data, std::min(bytes, record_bytes), &taken);
    if (result != 1 && !retry(result)) {
        throw_openssl_error("SSL_write_ex");
    }
    return taken;
}

std::size_t tls_connection::read_some(char* data, std::size_t bytes)
{
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(handle_, data, bytes, &count);
    if (result != 1 && !retry(result)) {
        throw_openssl_error("SSL_read_ex");
    }
    return count;
}

void tls_connection::write_all(const char* data, std::size_t bytes)
{
    while (bytes != 0) {
        const std::size_t taken = write_some(data, bytes);
        data += taken;
        bytes -= taken;
    }
}

void tls_connection::read_all(char* data, std::size_t bytes)
{
    while (bytes != 0) {
        const std::size_t count = read_some(data, bytes);
        data += count;
        bytes -= count;
    }
}

tls_session tls_connection::session() const
{
    return tls_session(SSL_get1_session(handle_));
}

void tls_connection::end_output()
{
    SSL_shutdown(handle_);
}

std::string openssl_version()
{
    return OpenSSL_version(OPENSSL_FULL_VERSION_STRING);
}

} // namespace zlink::bench::bare
