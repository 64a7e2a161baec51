// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/certificates.hpp"
#include "support/memory_stream.hpp"
#include "transport/tls/openssl.hpp"
#include "transport/tls/upgrade.hpp"

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <string>

namespace zlink::transport::tls_parts {

using test::memory_stream;

inline const test::certificate& own_certificate()
{
    static const test::certificate made = test::certificate::self_signed();
    return made;
}

/// The other side: OpenSSL itself, between two buffers.
class openssl_peer {
public:
    openssl_peer(side which, int version)
        : context_(SSL_CTX_new(which == side::client ? TLS_client_method() : TLS_server_method())),
          ssl_((use_certificate(), SSL_new(context_))),
          in_(BIO_new(BIO_s_mem())),
          out_(BIO_new(BIO_s_mem()))
    {
        SSL_set_min_proto_version(ssl_, version);
        SSL_set_max_proto_version(ssl_, version);
        SSL_set_bio(ssl_, in_, out_);
        if (which == side::client)
            SSL_set_connect_state(ssl_);
        else
            SSL_set_accept_state(ssl_);
    }
    ~openssl_peer()
    {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }
    openssl_peer(const openssl_peer&) = delete;
    openssl_peer& operator=(const openssl_peer&) = delete;

    SSL* ssl() const { return ssl_; }
    void feed(const std::string& bytes) { BIO_write(in_, bytes.data(), int(bytes.size())); }
    std::string output()
    {
        char* bytes = nullptr;
        const long size = BIO_get_mem_data(out_, &bytes);
        std::string all(bytes, std::size_t(size));
        BIO_reset(out_);
        return all;
    }
    void write(const std::string& plain)
    {
        EXPECT_EQ(int(plain.size()), SSL_write(ssl_, plain.data(), int(plain.size())));
    }

private:
    void use_certificate()
    {
        const std::string& text = own_certificate().text();
        const std::string key_text = own_certificate().key();
        const bio_ptr in(BIO_new_mem_buf(text.data(), int(text.size())));
        const bio_ptr key_in(BIO_new_mem_buf(key_text.data(), int(key_text.size())));
        const x509_ptr made(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
        const key_ptr key(PEM_read_bio_PrivateKey(key_in.get(), nullptr, nullptr, nullptr));
        SSL_CTX_use_certificate(context_, made.get());
        SSL_CTX_use_PrivateKey(context_, key.get());
    }

    SSL_CTX* const context_;
    SSL* const ssl_;
    BIO* const in_;
    BIO* const out_;
};

/// A stream of the library, and the peer, after their handshake.
class joined {
public:
    explicit joined(side ours = side::server, int version = TLS1_3_VERSION)
        : peer(ours == side::server ? side::client : side::server, version)
    {
        tls_settings settings;
        settings.certificate = own_certificate().text();
        settings.key = own_certificate().key();
        settings.verify = false;
        error_code error;
        const auto upgrade = make_upgrade(context::make(ours, settings, "localhost", error));
        upgrade->start();
        for (int round = 0; round < 4; ++round) {
            const auto output = upgrade->output();
            peer.feed({reinterpret_cast<const char*>(output.data()), output.size()});
            upgrade->consume_output(output.size());
            SSL_do_handshake(peer.ssl());
            if (const std::string answer = peer.output(); !answer.empty())
                upgrade->feed(std::as_bytes(std::span(answer)));
        }
        EXPECT_EQ(exchange::state::done, upgrade->current_state());
        auto made = std::make_unique<memory_stream>();
        below = made.get();
        stream = upgrade->wrap(std::move(made), io_);
    }

    /// Hands over what the peer has to say.
    void deliver() { below->input += peer.output(); }
    io_result read()
    {
        iovec space{buffer_, sizeof buffer_};
        return stream->read_some(&space, 1);
    }

private:
    boost::asio::io_context io_;
    char buffer_[64 * 1024];

public:
    openssl_peer peer;
    std::unique_ptr<transport::stream> stream;
    memory_stream* below = nullptr;
};

} // namespace zlink::transport::tls_parts
