// SPDX-License-Identifier: Apache-2.0
#include "handshakes/parties.hpp"

#include "bare/sockets.hpp"
#include "common/certificates.hpp"
#include "handshakes/zmtp_script.hpp"
#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace zlink::bench {

namespace {

using bare::tls_connection;
using bare::tls_context;
using bare::tls_session;
using bare::tls_side;
using bare::tls_version;

constexpr int io_threads = 1;

class openssl_server final : public handshake_server {
public:
    explicit openssl_server(tls_version version)
        : context_(tls_side::server, version), listener_(bare::listen_on_loopback(port_))
    {}

    std::uint16_t port() const override { return port_; }

    void serve(int connections, arrivals& arrived) override
    {
        for (int i = 0; i < connections; ++i) {
            const bare::descriptor socket = bare::accept_from(listener_);
            tls_connection tls(context_, socket.get());
            tls.shake_hands();
            exchange_as_server(tls);
            arrived.release();
        }
    }

private:
    tls_context context_;
    std::uint16_t port_ = 0;
    bare::descriptor listener_;
};

class openssl_client final : public handshake_client {
public:
    openssl_client(tls_version version, bool resume)
        : context_(tls_side::client, version), resume_(resume)
    {}

    void connect(std::uint16_t port, int connections, arrivals&) override
    {
        for (int i = 0; i < connections; ++i) {
            const bare::descriptor socket = bare::connect_to_loopback(port);
            tls_connection tls(context_, socket.get(), last_);
            tls.shake_hands();
            exchange_as_client(tls);
            if (tls.was_resumed() != (last_ != nullptr)) {
                throw std::runtime_error(last_ ? "the server does not resume"
                                               : "the server resumes what was not");
            }
            if (resume_) {
                last_ = tls.session();
            }
            tls.end_output();
        }
    }

private:
    tls_context context_;
    bool resume_;
    tls_session last_;
};

/// Both sides of the library say which version, as either peer may be of it.
void set_version(worker::socket& target, tls_version version)
{
    if (version == tls_version::tls_1_3) {
        target.set(ZMQ_TLS_MIN_VERSION, ZMQ_TLS_1_3);
    } else { // without a cipher of TLS 1.3, that is not spoken
        target.set(ZMQ_TLS_CIPHERS, "ECDHE-ECDSA-AES256-GCM-SHA384");
    }
}

class library_server final : public handshake_server {
public:
    explicit library_server(tls_version version) : context_(io_threads), socket_(context_, ZMQ_PULL)
    {
        socket_.set(ZMQ_TLS_CERT, server_certificate);
        socket_.set(ZMQ_TLS_KEY, server_key);
        set_version(socket_, version);
        socket_.bind("tls://127.0.0.1:*");
        const std::string endpoint = socket_.last_endpoint();
        port_ = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
    }

    std::uint16_t port() const override { return port_; }

    void serve(int connections, arrivals& arrived) override
    {
        for (int i = 0; i < connections; ++i) {
            std::array<char, handshake_message_bytes + 1> body{};
            const int size = worker::checked(
                zmq_recv(socket_.handle(), body.data(), body.size(), 0), "zmq_recv");
            if (std::string_view(body.data(), static_cast<std::size_t>(size)) !=
                handshake_message) {
                throw std::runtime_error("the message of the peer is another one");
            }
            arrived.release();
        }
    }

private:
    worker::context context_;
    worker::socket socket_;
    std::uint16_t port_ = 0;
};

/// Each connection has a socket of its own. With other settings than those of the sockets before,
/// it has no session to resume, and what OpenSSL needs for an endpoint is made anew.
class library_client final : public handshake_client {
public:
    library_client(tls_version version, bool resume)
        : version_(version), resume_(resume), context_(io_threads)
    {}

    void connect(std::uint16_t port, int connections, arrivals& arrived) override
    {
        const std::string endpoint = fmt::format("tls://127.0.0.1:{}", port);
        std::unique_ptr<worker::socket> before; // has the session
        for (int i = 0; i < connections; ++i) {
            auto made = std::make_unique<worker::socket>(context_, ZMQ_PUSH);
            worker::socket& socket = *made;
            socket.set(ZMQ_TLS_CA, resume_ ? std::string(authority_certificate)
                                           : fmt::format("{}# {}\n", authority_certificate, i));
            set_version(socket, version_);
            socket.connect(endpoint);
            worker::checked(
                zmq_send(socket.handle(), handshake_message, handshake_message_bytes, 0),
                "zmq_send");
            arrived.acquire(); // as closing drops what is not sent
            before = std::move(made);
        }
    }

private:
    tls_version version_;
    bool resume_;
    worker::context context_;
};

} // namespace

std::unique_ptr<handshake_server> make_server(party who, tls_version version)
{
    if (who == party::openssl) {
        return std::make_unique<openssl_server>(version);
    }
    return std::make_unique<library_server>(version);
}

std::unique_ptr<handshake_client> make_client(party who, tls_version version, bool resume)
{
    if (who == party::openssl) {
        return std::make_unique<openssl_client>(version, resume);
    }
    return std::make_unique<library_client>(version, resume);
}

} // namespace zlink::bench
