// SPDX-License-Identifier: Apache-2.0
// Input: one byte of flags; then settings of the options for TLS of a server that binds and of a
// client that connects to it, up to 40 of them. With what they end up as, both make their contexts,
// and if they can, they shake hands, twice.
//
// Flags: bit 0: the thread has an error in OpenSSL's list already; bit 1: the certificate of the
// server takes the place of a good one while it runs; bit 2: before the settings, both sides have
// what they need; bit 3 with bits 6-7: the client may trust the authorities of the system; bits
// 4-5: how what is sent is cut into pieces.
//
// A setting: one byte (bits 0-3: the option, as in `rows`; bits 4-5: 0 for both sides, 1 the
// server, 2 the client; bits 6-7: what the data says), the length of the data in two bytes, the
// data.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <zmq.h>

#include "core/options/option_table.hpp"
#include "fuzz_check.hpp"
#include "live_memory.hpp"
#include "tls_material.hpp"
#include "transport/tls/connection.hpp"
#include "transport/tls/openssl.hpp"

namespace {

using namespace zlink;
using namespace zlink::transport;
using namespace zlink::transport::tls_parts;
namespace material = zlink::fuzz::tls_material;
using progress = connection::progress;

constexpr std::size_t most_settings = 40;
constexpr std::string_view connected_host = "host.test";

// --- the options -------------------------------------------------------------------------------

enum class kind { text, flag, range };

/// What docs/tls.md says of an option.
struct option_row {
    int id;
    kind what;
    std::string tls_settings::*text = nullptr;
    std::size_t most = SIZE_MAX; ///< characters
    bool is_file = false;        ///< the text of a PEM file or the path of one
    bool is_readable = true;
    int least = 0;
    int greatest = 1;
};

using settings = tls_settings;
constexpr std::array rows{
    option_row{ZMQ_TLS_CERT, kind::text, &settings::certificate, SIZE_MAX, true},
    option_row{ZMQ_TLS_KEY, kind::text, &settings::key, SIZE_MAX, true, false},
    option_row{ZMQ_TLS_CA, kind::text, &settings::ca, SIZE_MAX, true},
    option_row{ZMQ_TLS_VERIFY, kind::flag},
    option_row{.id = ZMQ_TLS_REQUIRE_CLIENT_CERT, .what = kind::range, .greatest = 2},
    option_row{ZMQ_TLS_HOSTNAME, kind::text, &settings::host, 255},
    option_row{ZMQ_TLS_TRUST_SYSTEM, kind::flag},
    option_row{ZMQ_TLS_PASSWORD, kind::text, &settings::password, 255, false, false},
    option_row{.id = ZMQ_TLS_MIN_VERSION, .what = kind::range, .least = 0x0303, .greatest = 0x0304},
    option_row{ZMQ_TLS_CIPHERS, kind::text, &settings::ciphers},
    option_row{ZMQ_TLS_PINNED, kind::text, &settings::pinned},
    option_row{ZMQ_WSS_CERT_PEM, kind::text, &settings::certificate, SIZE_MAX, true, false},
    option_row{ZMQ_WSS_KEY_PEM, kind::text, &settings::key, SIZE_MAX, true, false},
    option_row{ZMQ_WSS_TRUST_PEM, kind::text, &settings::ca, SIZE_MAX, true, false},
    option_row{ZMQ_WSS_HOSTNAME, kind::text, &settings::host, 255, false, false},
    option_row{.id = ZMQ_WSS_TRUST_SYSTEM, .what = kind::flag, .is_readable = false},
};
static_assert(rows.size() == 16);

/// The options of a socket, and what they have to be.
struct endpoint_options {
    core::socket_options real;
    tls_settings expected;

    endpoint_options() { real.type = ZMQ_PAIR; }
    const tls_settings& tls() const { return *real.transport.tls; }

    void set(const option_row& row, const void* value, std::size_t bytes)
    {
        const int error = core::set_option(real, row.id, value, bytes);
        fuzz_check(error == (expect(row, value, bytes) ? 0 : EINVAL));
        fuzz_check(tls() == expected);
        read(row);
    }

private:
    // Is it to be accepted? Then it is.
    bool expect(const option_row& row, const void* value, std::size_t bytes)
    {
        if (row.what == kind::text) {
            if (!value || bytes == 0) {
                (expected.*row.text).clear();
                return true;
            }
            const auto* const given = static_cast<const char*>(value);
            if (bytes > row.most || (row.text == &settings::host && given[0] == '.'))
                return false;
            (expected.*row.text).assign(given, bytes);
            return true;
        }
        int number = 0;
        if (!value || bytes != sizeof number)
            return false;
        std::memcpy(&number, value, sizeof number);
        if (number < row.least || number > row.greatest)
            return false;
        set_number(row.id, number);
        return true;
    }

    void set_number(int id, int number)
    {
        switch (id) {
        case ZMQ_TLS_VERIFY:
            expected.verify = number != 0;
            break;
        case ZMQ_TLS_REQUIRE_CLIENT_CERT:
            expected.client_certificate = number;
            break;
        case ZMQ_TLS_MIN_VERSION:
            expected.min_version = number;
            break;
        default:
            expected.trust_system = number != 0;
        }
    }

    int number(int id) const
    {
        switch (id) {
        case ZMQ_TLS_VERIFY:
            return expected.verify ? 1 : 0;
        case ZMQ_TLS_REQUIRE_CLIENT_CERT:
            return expected.client_certificate;
        case ZMQ_TLS_MIN_VERSION:
            return expected.min_version;
        default:
            return expected.trust_system ? 1 : 0;
        }
    }

    void read(const option_row& row) const
    {
        std::string wanted;
        if (row.what == kind::text) {
            wanted = expected.*row.text;
            wanted.push_back('\0');
        } else {
            const int value = number(row.id);
            wanted.assign(reinterpret_cast<const char*>(&value), sizeof value);
        }
        std::string got(wanted.size(), 'x');
        std::size_t bytes = got.size();
        const int error = core::get_option(real, row.id, got.data(), &bytes);
        fuzz_check(error == (row.is_readable ? 0 : EINVAL));
        fuzz_check(error != 0 || (bytes == wanted.size() && got == wanted));
        bytes = wanted.size() - 1;
        fuzz_check(core::get_option(real, row.id, got.data(), &bytes) == EINVAL);
    }
};

// --- the input ---------------------------------------------------------------------------------

class reader {
public:
    explicit reader(std::span<const std::uint8_t> bytes) : left_(bytes) {}

    bool is_at_end() const noexcept { return left_.empty(); }
    unsigned byte()
    {
        const auto one = take(1);
        return one.empty() ? 0 : static_cast<std::uint8_t>(one[0]);
    }
    std::string_view take(std::size_t bytes)
    {
        const auto some = left_.first(std::min(bytes, left_.size()));
        left_ = left_.subspan(some.size());
        return {reinterpret_cast<const char*>(some.data()), some.size()};
    }

private:
    std::span<const std::uint8_t> left_;
};

enum class data_kind { bytes, names, der, null };

// The data of `names` are numbers of these, whose texts follow each other.
constexpr std::array texts{
    material::ca,
    material::middle,
    material::server,
    material::server_key,
    material::client,
    material::client_key,
    material::expired,
    material::expired_key,
    material::stranger,
    material::stranger_key,
    material::server_key_old,
    material::server_key_locked,
    material::server_pin,
    material::client_pin,
    std::string_view(","),
    std::string_view("secret"),
};

// The first byte of the data of `der` is the number of one, the others are what it contains.
constexpr std::array<std::string_view, 8> labels{
    "CERTIFICATE",     "PRIVATE KEY",   "EC PRIVATE KEY", "TRUSTED CERTIFICATE",
    "RSA PRIVATE KEY", "EC PARAMETERS", "PUBLIC KEY",     "X509 CERTIFICATE",
};

std::string as_pem(std::string_view label, std::string_view der)
{
    std::string base64(4 * (der.size() / 3 + 1) + 1, '\0');
    const int bytes = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()),
                                      reinterpret_cast<const unsigned char*>(der.data()),
                                      static_cast<int>(der.size()));
    base64.resize(static_cast<std::size_t>(bytes));
    std::string text = "-----BEGIN " + std::string(label) + "-----\n";
    for (std::size_t at = 0; at < base64.size(); at += 64)
        text += base64.substr(at, 64) + "\n";
    return text + "-----END " + std::string(label) + "-----\n";
}

// Neither does a path lead to a file, as reading that could take for ever, nor does a key say how
// often its password is to be hashed.
std::string harmless(std::string value)
{
    const auto replaced = [](std::string text, std::string_view part) {
        if (const auto at = text.find(part); at != std::string::npos)
            text.erase(at, part.size());
        return text;
    };
    if (value.empty())
        return value;
    if (value.find("-----BEGIN") == std::string::npos ||
        replaced(value, material::server_key_locked).find("ENCRYPTED PRIVATE KEY") !=
            std::string::npos)
        return "/there/is/no/such/file/" + replaced(value, "-----BEGIN");
    return value;
}

struct setting {
    const option_row& row;
    unsigned sides;
    bool is_null;
    std::string value;

    explicit setting(reader& in) : setting(in, in.byte()) {}

private:
    setting(reader& in, unsigned head)
        : row(rows[head & 15]),
          sides((head >> 4) & 3),
          is_null(data_kind(head >> 6) == data_kind::null)
    {
        const unsigned high = in.byte();
        const std::string_view data = in.take(high << 8 | in.byte());
        switch (data_kind(head >> 6)) {
        case data_kind::names:
            for (const char number : data.substr(0, 8))
                value += texts[static_cast<std::uint8_t>(number) % texts.size()];
            break;
        case data_kind::der:
            if (!data.empty())
                value = as_pem(labels[static_cast<std::uint8_t>(data[0]) % labels.size()],
                               data.substr(1));
            break;
        default:
            value = data;
        }
        if (row.is_file)
            value = harmless(std::move(value));
    }
};

// --- what the certificates say, found out in another way ----------------------------------------

int no_password(char*, int, int, void*)
{
    return -1;
}

using certificates = std::vector<x509_ptr>;

certificates parse(const std::string& pem)
{
    certificates all;
    const bio_ptr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    while (X509* const next = PEM_read_bio_X509(in.get(), nullptr, no_password, nullptr))
        all.emplace_back(next);
    return all;
}

std::string hex(std::span<const unsigned char> bytes)
{
    std::string text;
    for (const unsigned char byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

std::string fingerprint_of(const X509* certificate)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    fuzz_check(X509_digest(certificate, EVP_sha256(), digest, &bytes) == 1);
    return hex({digest, bytes});
}

std::string pin_of(X509* certificate)
{
    unsigned char* der = nullptr;
    const int der_bytes = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
    fuzz_check(der_bytes > 0);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    fuzz_check(EVP_Digest(der, static_cast<std::size_t>(der_bytes), digest, &bytes, EVP_sha256(),
                          nullptr) == 1);
    OPENSSL_free(der);
    return hex({digest, bytes});
}

bool has_pin(const std::string& pinned, const std::string& pin)
{
    std::string plain;
    for (const char c : pinned)
        if (c != ':' && c != ' ')
            plain += c >= 'A' && c <= 'F' ? static_cast<char>(c + ('a' - 'A')) : c;
    return ("," + plain + ",").find("," + pin + ",") != std::string::npos;
}

/// Does the certificate lead to one of `trusted`, and is it made for this side?
bool is_trusted(X509* certificate, const std::string& trusted, const tls_settings& shown_by,
                side which)
{
    X509_STORE* const store = X509_STORE_new();
    for (const auto& each : parse(trusted))
        X509_STORE_add_cert(store, each.get());
    // Who has no chain sends what it finds among those that it trusts itself.
    const certificates chain = parse(shown_by.certificate + "\n" + shown_by.ca);
    STACK_OF(X509)* const others = sk_X509_new_null();
    for (const auto& each : chain)
        sk_X509_push(others, each.get());
    X509_STORE_CTX* const examination = X509_STORE_CTX_new();
    fuzz_check(store && others && examination);
    X509_STORE_CTX_init(examination, store, certificate, others);
    X509_STORE_CTX_set_purpose(examination, which == side::server ? X509_PURPOSE_SSL_SERVER
                                                                  : X509_PURPOSE_SSL_CLIENT);
    const bool is_good = X509_verify_cert(examination) == 1;
    X509_STORE_CTX_free(examination);
    sk_X509_free(others);
    X509_STORE_free(store);
    return is_good;
}

// A NUL at its end does not count.
std::string_view without_nul(std::string_view host)
{
    if (host.ends_with('\0'))
        host.remove_suffix(1);
    return host;
}

bool is_of_host(X509* certificate, std::string_view wanted)
{
    const std::string host(wanted.empty() ? connected_host : wanted);
    return (X509_check_ip_asc(certificate, host.c_str(), 0) == 1 ||
            X509_check_host(certificate, host.data(), host.size(),
                            X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1);
}

// --- the handshake -----------------------------------------------------------------------------

bool is_documented(int error)
{
    static constexpr int documented[]{EKEYREJECTED, EKEYEXPIRED,     EKEYREVOKED, EADDRNOTAVAIL,
                                      ENOKEY,       EPROTONOSUPPORT, EPROTO};
    return std::ranges::find(documented, error) != std::end(documented);
}

struct party {
    explicit party(std::shared_ptr<context> shared) : tls(std::move(shared)) {}

    void advance()
    {
        if (how == progress::running)
            how = tls.shake_hands();
        fuzz_check((how == progress::failed) == (tls.error() != 0));
        fuzz_check(how != progress::failed || is_documented(tls.error()));
    }
    // True if there was something.
    bool give(party& to, std::size_t piece)
    {
        const bool any = !tls.output().empty();
        while (!tls.output().empty()) {
            const auto some = tls.output().first(std::min(piece, tls.output().size()));
            to.tls.feed(some);
            tls.consume_output(some.size());
            to.advance();
        }
        return any;
    }
    std::string property(std::string_view name) const
    {
        for (const auto& [key, value] : tls.properties())
            if (key == name)
                return value;
        return {};
    }

    connection tls;
    progress how = progress::running;
};

bool shake_hands(party& client, party& server, std::size_t piece)
{
    client.advance();
    server.advance();
    constexpr int most_turns = 20;
    int turns = 0;
    for (bool any = true; any; ++turns) {
        any = client.give(server, piece);
        any = server.give(client, piece) || any;
    }
    fuzz_check(turns < most_turns);
    const bool is_done = client.how == progress::done && server.how == progress::done;
    // Neither waits for ever.
    fuzz_check(is_done || client.how == progress::failed || server.how == progress::failed);
    return is_done;
}

void pass(party& from, party& to, std::size_t piece)
{
    std::string text = "both understand this";
    const iovec sent{text.data(), text.size()};
    fuzz_check(from.tls.encrypt(&sent, 1) == static_cast<std::ptrdiff_t>(text.size()));
    from.give(to, piece);
    std::string got(text.size() + 1, '\0');
    const iovec room{got.data(), got.size()};
    const io_result read = to.tls.read_some(&room, 1);
    fuzz_check(read.error == 0 && got.substr(0, read.bytes) == text);
}

/// Was `one` right to go on with the peer that has shown `shown_by`? `shown`: null: nothing.
void judge(const party& one, const tls_settings& own, X509* shown, const tls_settings& shown_by,
           side which)
{
    const std::string version = one.property(peer_property::tls_version);
    fuzz_check(version == "TLSv1.3" || (version == "TLSv1.2" && own.min_version == ZMQ_TLS_1_2));
    const std::string name = one.property(peer_property::common_name);
    const std::string names = one.property(peer_property::alternative_names);
    for (const char c : name + names)
        fuzz_check(static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
    if (!shown) {
        fuzz_check(own.pinned.empty() && name.empty() && names.empty());
        fuzz_check(which == side::server && own.client_certificate != 2);
        return;
    }
    const bool is_examined = which == side::client ? own.verify : own.client_certificate != 0;
    fuzz_check(own.pinned.empty() || has_pin(own.pinned, pin_of(shown)));
    if (is_examined) {
        fuzz_check(!own.ca.empty());
        fuzz_check(is_trusted(shown, own.ca, shown_by,
                              which == side::client ? side::server : side::client));
        fuzz_check(which == side::server || is_of_host(shown, without_nul(own.host)));
    }
}

// A certificate that was shown is the one that is set.
X509* shown_to(const party& one, const certificates& of_peer)
{
    const std::string told = one.property(peer_property::fingerprint);
    if (told.empty())
        return nullptr;
    fuzz_check(!of_peer.empty() && told == fingerprint_of(of_peer.front().get()));
    return of_peer.front().get();
}

/// True if both sides are content. `replaced`: the server has another certificate than it says.
bool meet(const std::shared_ptr<context>& client_context,
          const std::shared_ptr<context>& server_context, const tls_settings& of_client,
          const tls_settings& of_server, std::size_t piece)
{
    party client(client_context);
    party server(server_context);
    if (!shake_hands(client, server, piece))
        return false;
    {
        const own_errors ours;
        const certificates own = parse(of_client.certificate);
        const certificates peers = parse(of_server.certificate);
        X509* const server_shown = shown_to(client, peers);
        fuzz_check(server_shown);
        judge(client, of_client, server_shown, of_server, side::client);
        judge(server, of_server, shown_to(server, own), of_client, side::server);
    }
    fuzz_check(client.property(peer_property::tls_version) ==
               server.property(peer_property::tls_version));
    pass(client, server, piece);
    pass(server, client, piece);
    return true;
}

// --- contexts ----------------------------------------------------------------------------------

/// Must it be refused? Other settings may be wrong as well.
bool is_unusable(side which, const tls_settings& own)
{
    const bool is_server = which == side::server;
    const bool examines = is_server ? own.client_certificate != 0 : own.verify;
    const bool trusts_any = !own.ca.empty() || (!is_server && own.trust_system);
    const bool has_one = is_server || !own.certificate.empty() || !own.key.empty();
    const bool has_both = !own.certificate.empty() && !own.key.empty();
    constexpr std::string_view of_pins = "0123456789abcdefABCDEF: ,";
    const bool has_host = without_nul(own.host).find('\0') == std::string_view::npos;
    return (examines && !trusts_any) || (!is_server && !has_host) || (has_one && !has_both) ||
           own.pinned.find_first_not_of(of_pins) != std::string::npos;
}

std::shared_ptr<context_source> make_source(side which, const tls_settings& own)
{
    error_code error;
    auto made = context_source::make(
        which, own, which == side::client ? std::string(connected_host) : std::string(), error);
    fuzz_check(made ? !error : error.value() == EINVAL);
    fuzz_check(!made || !is_unusable(which, own));
    return made;
}

tls_settings good_server()
{
    tls_settings good;
    good.certificate = std::string(material::server) + std::string(material::middle);
    good.key = material::server_key;
    return good;
}

bool would_meet(const tls_settings& of_client, const tls_settings& of_server)
{
    const auto client = make_source(side::client, of_client);
    const auto server = make_source(side::server, of_server);
    fuzz_check(client && server);
    return meet(client->current(), server->current(), of_client, of_server, SIZE_MAX);
}

// Good settings lead somewhere, and a wrong one does not: otherwise this program examines nothing.
bool examine_itself()
{
    tls_settings client;
    client.ca = material::ca;
    tls_settings server = good_server();
    fuzz_check(would_meet(client, server));
    client.pinned = material::client_pin;
    fuzz_check(!would_meet(client, server));
    client.pinned += "," + std::string(material::server_pin);
    fuzz_check(would_meet(client, server));
    server.ca = material::ca;
    server.client_certificate = 2;
    fuzz_check(!would_meet(client, server));
    client.certificate = material::client;
    client.key = material::client_key;
    fuzz_check(would_meet(client, server));
    client.host = "elsewhere.test";
    fuzz_check(!would_meet(client, server));
    return true;
}

void play(reader in)
{
    const unsigned flags = in.byte();
    endpoint_options server;
    endpoint_options client;
    if ((flags & 4) != 0) {
        server.expected = server.real.transport.tls.edit() = good_server();
        client.expected.ca = client.real.transport.tls.edit().ca = material::ca;
    }
    if ((flags & 0xc8) != 0xc8) // that takes long
        client.expected.trust_system = client.real.transport.tls.edit().trust_system = false;
    for (std::size_t i = 0; i < most_settings && !in.is_at_end(); ++i) {
        const setting next(in);
        const void* const value = next.is_null ? nullptr : next.value.data();
        if (next.sides != 2)
            server.set(next.row, value, next.value.size());
        if (next.sides != 1)
            client.set(next.row, value, next.value.size());
    }
    if ((flags & 0xc8) != 0xc8 && client.tls().trust_system && client.tls().ca.empty())
        client.expected.trust_system = client.real.transport.tls.edit().trust_system = false;

    static constexpr std::array<std::size_t, 4> piece_sizes{SIZE_MAX, 300, 7, 1};
    const std::size_t piece = piece_sizes[(flags >> 4) & 3];
    const auto contexts = make_source(side::client, client.tls());
    if ((flags & 2) != 0) {
        tls_settings before = good_server();
        const auto replaced = make_source(side::server, before);
        fuzz_check(replaced != nullptr);
        const auto first = replaced->current();
        replaced->set_certificate(server.tls());
        const auto second = replaced->current();
        tls_settings after = before;
        after.certificate = server.tls().certificate;
        after.key = server.tls().key;
        after.password = server.tls().password;
        fuzz_check(second != nullptr);
        // What cannot be used does not count.
        fuzz_check((second != first) ==
                   (after != before && make_source(side::server, after) != nullptr));
        if (contexts)
            meet(contexts->current(), second, client.tls(), second == first ? before : after,
                 piece);
        return;
    }
    const auto listening = make_source(side::server, server.tls());
    if (!contexts || !listening)
        return;
    // The second time they may resume what the first has left.
    const bool is_good =
        meet(contexts->current(), listening->current(), client.tls(), server.tls(), piece);
    fuzz_check(meet(contexts->current(), listening->current(), client.tls(), server.tls(),
                    SIZE_MAX) == is_good);
}

std::vector<std::string> take_errors()
{
    std::vector<std::string> all;
    const char* file = nullptr;
    const char* function = nullptr;
    const char* data = nullptr;
    int line = 0;
    int flags = 0;
    while (const unsigned long code = ERR_get_error_all(&file, &line, &function, &data, &flags))
        all.push_back(std::to_string(code) + " " + std::to_string(line) + file + " " + function +
                      " " + data);
    return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    [[maybe_unused]] static const bool is_examined = examine_itself();
    if (size == 0)
        return 0;
    ERR_clear_error();
    std::vector<std::string> before;
    for (int i = 0; i < 2; ++i) { // the first time to see what there is
        if ((data[0] & 1) != 0) {
            ERR_raise(ERR_LIB_USER, 77);
            ERR_raise_data(ERR_LIB_USER, 78, "of the %s", "application");
        }
        if (i == 0)
            before = take_errors();
    }
    {
        const fuzz::memory_counting on(true);
        play(reader({data, size}));
    }
    fuzz_check(take_errors() == before);
    // The list of contexts that may be shared forgets those that are gone only with the next one.
    constexpr std::size_t most_left_bytes = 1024;
    fuzz_check(fuzz::live_bytes() <= most_left_bytes);
    return 0;
}
