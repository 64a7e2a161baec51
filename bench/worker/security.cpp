// SPDX-License-Identifier: Apache-2.0
#include "worker/security.hpp"

#include "common/certificates.hpp"

#include <zmq.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace zlink::bench::worker {

namespace {

// The same in every run and on both sides, so that nothing has to be exchanged; they protect
// nothing. The example of RFC 26 for a secret key, and another.
constexpr const char* server_secret_key = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";
constexpr const char* client_secret_key = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";

constexpr std::size_t key_characters = 40;

std::array<char, key_characters + 1> public_key_of(const char* secret_key)
{
    std::array<char, key_characters + 1> key{};
    checked(zmq_curve_public(key.data(), secret_key), "zmq_curve_public");
    return key;
}

void set_key(socket& target, int option, const char* key)
{
    target.set(option, std::string_view(key, key_characters));
}

void require_curve()
{
    if (zmq_has("curve") != 1) {
        throw unsupported("the library has no CURVE");
    }
}

} // namespace

void secure_server(socket& target, const cell& what)
{
    if (has_tls(what.transport)) {
        target.set(ZMQ_TLS_CERT, server_certificate);
        target.set(ZMQ_TLS_KEY, server_key);
    }
    if (what.mechanism == mechanism::null) {
        return;
    }
    require_curve();
    target.set(ZMQ_CURVE_SERVER, 1);
    set_key(target, ZMQ_CURVE_SECRETKEY, server_secret_key);
}

void secure_client(socket& target, const cell& what)
{
    if (has_tls(what.transport)) {
        target.set(ZMQ_TLS_CA, authority_certificate);
    }
    if (what.mechanism == mechanism::null) {
        return;
    }
    require_curve();
    set_key(target, ZMQ_CURVE_SERVERKEY, public_key_of(server_secret_key).data());
    set_key(target, ZMQ_CURVE_PUBLICKEY, public_key_of(client_secret_key).data());
    set_key(target, ZMQ_CURVE_SECRETKEY, client_secret_key);
}

} // namespace zlink::bench::worker
