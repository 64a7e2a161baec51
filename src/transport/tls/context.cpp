// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/context.hpp"

#include "base/memory/lasting.hpp"
#include "transport/tls/library_context.hpp"
#include "transport/tls/openssl.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <netinet/in.h>
#include <new>
#include <openssl/pemerr.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace zlink::transport::tls_parts {

namespace {

// With forward secrecy, and authenticated in one step; those of TLS 1.3 all are.
constexpr const char* good_ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

// What others offer as well today, the quick ones first. Where OpenSSL knows it (3.5), the group
// comes before them whose secrets stay safe from quantum computers.
constexpr const char* good_groups = "X25519:P-256:P-384:P-521";
constexpr const char* quantum_safe_group = "X25519MLKEM768:";
constexpr const char* good_signatures =
    "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:ed448:"
    "rsa_pss_pss_sha256:rsa_pss_pss_sha384:rsa_pss_pss_sha512:"
    "rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:"
    "RSA+SHA256:RSA+SHA384:RSA+SHA512";

// RSA keys of 2048 bits, and no SHA-1.
constexpr int security_level = 2;

// Enough for several full records in one call of the kernel.
constexpr std::size_t read_buffer_bytes = 64 * 1024;

bool is_text(const std::string& text_or_path) noexcept
{
    return text_or_path.find("-----BEGIN") != std::string::npos;
}

// The text itself, or what the file has that it names. Anything but a file could make its reader
// wait, or have no end.
bio_ptr open_pem(const std::string& text_or_path)
{
    if (is_text(text_or_path))
        return bio_ptr(BIO_new_mem_buf(text_or_path.data(), static_cast<int>(text_or_path.size())));
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(text_or_path, unknown))
        return nullptr;
    return bio_ptr(BIO_new_file(text_or_path.c_str(), "r"));
}

// Never asks anybody: without a callback OpenSSL would read from the terminal.
int give_password(char* out, int size, int, void* settings)
{
    const std::string& password = static_cast<const tls_settings*>(settings)->password;
    if (password.empty() || password.size() > static_cast<std::size_t>(size))
        return -1;
    password.copy(out, password.size());
    return static_cast<int>(password.size());
}

x509_ptr next_certificate(BIO* in)
{
    X509* certificate = X509_new_ex(library_context(), nullptr);
    if (certificate &&
        !PEM_read_bio_X509(in, &certificate, give_password,
                           const_cast<tls_settings*>(&*seldom_set<tls_settings>()))) {
        X509_free(certificate);
        certificate = nullptr;
    }
    return x509_ptr(certificate);
}

// After next_certificate() has found none: was that because there are no more, rather than a
// damaged one?
bool are_all_read() noexcept
{
    const unsigned long why = ERR_peek_last_error();
    return ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
}

bool use_certificate(SSL_CTX* context, const tls_settings& settings)
{
    const bio_ptr in = open_pem(settings.certificate);
    if (!in)
        return false;
    const x509_ptr own = next_certificate(in.get());
    if (!own || SSL_CTX_use_certificate(context, own.get()) != 1)
        return false;
    while (x509_ptr link = next_certificate(in.get())) {
        if (SSL_CTX_add0_chain_cert(context, link.get()) != 1)
            return false;
        static_cast<void>(link.release());
    }
    if (!are_all_read())
        return false;
    const bio_ptr key_in = open_pem(settings.key);
    if (!key_in)
        return false;
    const key_ptr key(PEM_read_bio_PrivateKey_ex(key_in.get(), nullptr, give_password,
                                                 const_cast<tls_settings*>(&settings),
                                                 library_context(), nullptr));
    return key && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
           SSL_CTX_check_private_key(context) == 1;
}

// Of TLS 1.3 (TLS_...) and of TLS 1.2, which OpenSSL keeps apart.
bool choose_ciphers(SSL_CTX* context, const std::string& ciphers)
{
    if (ciphers.empty())
        return SSL_CTX_set_cipher_list(context, good_ciphers) == 1;
    std::string modern;
    std::string older;
    for (std::size_t begin = 0; begin <= ciphers.size();) {
        const std::size_t end = std::min(ciphers.find(':', begin), ciphers.size());
        const std::string name = ciphers.substr(begin, end - begin);
        std::string& list = name.starts_with("TLS_") ? modern : older;
        list += (list.empty() ? "" : ":") + name;
        begin = end + 1;
    }
    // Without one for a version, that version is not spoken. Whatever the list says, with a cipher
    // that has no certificate nobody could be examined.
    if (older.empty()) {
        SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    } else {
        older += ":!aNULL:!eNULL";
        if (SSL_CTX_set_cipher_list(context, older.c_str()) != 1)
            return false;
    }
    SSL_CTX_set_security_level(context, security_level); // a list can change it
    if (modern.empty())
        return SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION) == 1;
    return SSL_CTX_set_ciphersuites(context, modern.c_str()) == 1;
}

// OpenSSL knows what is in these lists: only memory can be missing.
void choose_groups_and_signatures(SSL_CTX* context)
{
    const std::string safest = std::string(quantum_safe_group) + good_groups;
    if ((SSL_CTX_set1_groups_list(context, safest.c_str()) != 1 &&
         SSL_CTX_set1_groups_list(context, good_groups) != 1) ||
        SSL_CTX_set1_sigalgs_list(context, good_signatures) != 1)
        throw std::bad_alloc();
}

int digit(char c) noexcept
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// 64 digits each, perhaps with ':' between bytes.
bool parse_pins(const std::string& text, std::vector<fingerprint>& pins)
{
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        std::string digits = text.substr(begin, end - begin);
        std::erase_if(digits, [](char c) { return c == ':' || c == ' '; });
        fingerprint pin{};
        if (digits.size() != 2 * pin.size())
            return false;
        for (std::size_t i = 0; i < pin.size(); ++i) {
            const int high = digit(digits[2 * i]);
            const int low = digit(digits[2 * i + 1]);
            if (high < 0 || low < 0)
                return false;
            pin[i] = static_cast<std::byte>(high * 16 + low);
        }
        pins.push_back(pin);
        begin = end + 1;
    }
    return true;
}

bool is_address(const std::string& host) noexcept
{
    in6_addr address{};
    return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

constexpr std::size_t most_host_characters = 255; // that a client can tell the server

// Who sets a text in C may have counted the NUL behind it.
std::string wanted_host(const tls_settings& settings, std::string_view connected)
{
    std::string_view set(settings.host);
    if (set.ends_with('\0'))
        set.remove_suffix(1);
    return std::string(set.empty() ? connected : set);
}

// Who resumes a session shows no certificate: that of the session must still be good.
bool has_expired(const SSL_SESSION* session) noexcept
{
    const X509* const shown = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(session));
    return shown && X509_cmp_current_time(X509_get0_notAfter(shown)) < 0;
}

int make_ticket(SSL*, void*)
{
    return 1;
}

// The client is asked for its certificate anew where that has expired.
SSL_TICKET_RETURN judge_ticket(SSL*, SSL_SESSION* session, const unsigned char*, std::size_t,
                               SSL_TICKET_STATUS status, void*)
{
    switch (status) {
    case SSL_TICKET_SUCCESS:
        return has_expired(session) ? SSL_TICKET_RETURN_IGNORE_RENEW : SSL_TICKET_RETURN_USE;
    case SSL_TICKET_SUCCESS_RENEW:
        return has_expired(session) ? SSL_TICKET_RETURN_IGNORE_RENEW : SSL_TICKET_RETURN_USE_RENEW;
    default: // empty, or of other keys
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
}

// A client keeps the last one to resume.
int new_session(SSL* ssl, SSL_SESSION* session)
{
    static_cast<context*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->keep_session(session);
    return 1;
}

} // namespace

std::shared_ptr<context> context::make(side which, const tls_settings& settings,
                                       std::string_view host, error_code& error)
{
    if (!library_context()) // before anything else asks OpenSSL for something
        throw std::bad_alloc();
    const own_errors ours;
    ours.be_ready();
    // OpenSSL does not always say that memory was exhausted. A setting that is wrong stays so.
    for (int times = 0; times < 2; ++times) {
        std::shared_ptr<context> made(new context(which, wanted_host(settings, host)));
        const bool is_set_up = made->set_up(settings);
        if (ours.has_lack_of_memory()) // perhaps it only lacks a cipher, and would never do
            throw std::bad_alloc();
        if (is_set_up)
            return made;
    }
    error = {EINVAL, boost::system::system_category()};
    return nullptr;
}

context::~context()
{
    if (is_over())
        return;
    SSL_SESSION_free(session_);
    SSL_CTX_free(context_);
}

bool context::set_up(const tls_settings& settings)
{
    // OpenSSL would take what is in front of a NUL for the name, or not examine it at all; and a
    // name that begins with a dot for any name that ends so.
    if (which_ == side::client && (host_.size() > most_host_characters ||
                                   host_.find('\0') != std::string::npos || host_.starts_with('.')))
        return false;
    context_ = SSL_CTX_new_ex(library_context(), nullptr,
                              which_ == side::client ? TLS_client_method() : TLS_server_method());
    if (!context_)
        throw std::bad_alloc();
    SSL_CTX_set_app_data(context_, this);
    SSL_CTX_set_security_level(context_, security_level);
    SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                      SSL_OP_IGNORE_UNEXPECTED_EOF |
                                      SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    // An idle connection has no buffers.
    SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context_, 1);
    SSL_CTX_set_default_read_buffer_len(context_, read_buffer_bytes);
    choose_groups_and_signatures(context_);
    if (SSL_CTX_set_min_proto_version(context_, settings.min_version) != 1 ||
        !choose_ciphers(context_, settings.ciphers) || !parse_pins(settings.pinned, pinned_))
        return false;
    if (which_ == side::server || !settings.certificate.empty() || !settings.key.empty()) {
        if (!use_certificate(context_, settings))
            return false;
    }
    if (which_ == side::server) {
        static constexpr unsigned char sessions_of[] = "zlink";
        SSL_CTX_set_session_id_context(context_, sessions_of, sizeof sessions_of - 1);
        SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF); // tickets have it all
        SSL_CTX_set_num_tickets(context_, 1);
        SSL_CTX_set_session_ticket_cb(context_, make_ticket, judge_ticket, nullptr);
    } else {
        SSL_CTX_set_session_cache_mode(context_,
                                       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context_, new_session);
    }
    return trust(settings);
}

bool context::trust(const tls_settings& settings)
{
    const bool asks = which_ == side::server ? settings.client_certificate != 0 : settings.verify;
    if (!asks) {
        SSL_CTX_set_verify(context_, SSL_VERIFY_NONE, nullptr);
        return true;
    }
    X509_STORE* const store = SSL_CTX_get_cert_store(context_);
    if (!settings.ca.empty()) {
        const bio_ptr in = open_pem(settings.ca);
        if (!in)
            return false;
        bool any = false;
        while (const x509_ptr trusted = next_certificate(in.get())) {
            any = true;
            if (X509_STORE_add_cert(store, trusted.get()) != 1 ||
                (which_ == side::server && SSL_CTX_add_client_CA(context_, trusted.get()) != 1))
                return false;
        }
        if (!any || !are_all_read())
            return false;
    } else if (which_ == side::client && settings.trust_system) {
        // By their paths: OpenSSL's own function would read environment variables.
        X509_STORE_load_path(store, X509_get_default_cert_dir());
        X509_STORE_load_file_ex(store, X509_get_default_cert_file(), library_context(), nullptr);
    } else {
        return false; // nobody could be trusted
    }
    checks_host_ = which_ == side::client;
    SSL_CTX_set_verify(context_,
                       SSL_VERIFY_PEER |
                           (settings.client_certificate == 2 ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       nullptr);
    return !checks_host_ || !host_.empty();
}

SSL* context::make_connection()
{
    SSL* const made = SSL_new(context_);
    if (!made)
        return nullptr;
    if (which_ == side::server) {
        SSL_set_accept_state(made);
        return made;
    }
    SSL_set_connect_state(made);
    const bool is_number = is_address(host_);
    bool fits = is_number || host_.empty() || SSL_set_tlsext_host_name(made, host_.c_str()) == 1;
    if (checks_host_) {
        X509_VERIFY_PARAM* const wanted = SSL_get0_param(made);
        X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        fits = fits && (is_number ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host_.c_str())
                                  : X509_VERIFY_PARAM_set1_host(wanted, host_.c_str(), 0)) == 1;
    }
    if (!fits) {
        SSL_free(made);
        return nullptr;
    }
    const std::lock_guard lock(mutex_);
    if (session_ && !(checks_host_ && has_expired(session_)))
        SSL_set_session(made, session_);
    return made;
}

std::shared_ptr<context_source> context_source::make(side which, tls_settings settings,
                                                     std::string host, error_code& error)
{
    std::shared_ptr<context_source> made(
        new context_source(which, std::move(settings), std::move(host)));
    made->seen_ = made->look(); // before the files are read: a change meanwhile is seen later
    made->current_ = made->find_or_make(error);
    return made->current_ ? made : nullptr;
}

std::shared_ptr<context> context_source::current()
{
    const std::lock_guard lock(mutex_);
    if (const file_stamps now = look(); outdated_ || now != seen_ || current_->is_doubtful()) {
        const file_stamps before = std::exchange(seen_, now);
        error_code unusable;
        std::shared_ptr<context> renewed;
        try {
            renewed = find_or_make(unusable);
        } catch (const std::bad_alloc&) {
            seen_ = before; // to be tried again
            throw;
        }
        outdated_ = false;
        if (renewed)
            current_ = std::move(renewed);
    }
    return current_;
}

// What OpenSSL has for a context is as large as several connections, and takes as long to make as a
// handshake.
std::shared_ptr<context> context_source::find_or_make(error_code& error) const
{
    struct all_contexts {
        std::mutex mutex;
        std::vector<std::weak_ptr<context>> list;
    };
    static base::lasting<all_contexts> made_before;
    all_contexts& all = made_before.value;
    const std::string host = wanted_host(settings_, host_);
    {
        const std::lock_guard lock(all.mutex);
        for (const auto& each : all.list)
            if (auto other = each.lock();
                other && !other->is_doubtful() && other->is_for(which_, settings_, host, seen_))
                return other;
    }
    auto made = context::make(which_, settings_, host_, error);
    if (made) {
        made->note(settings_, seen_);
        const std::lock_guard lock(all.mutex);
        std::erase_if(all.list, [](const auto& each) { return each.expired(); });
        all.list.push_back(made);
    }
    return made;
}

void context_source::set_certificate(const tls_settings& settings)
{
    std::string certificate = settings.certificate;
    std::string key = settings.key;
    std::string password = settings.password;
    const std::lock_guard lock(mutex_);
    settings_.certificate = std::move(certificate);
    settings_.key = std::move(key);
    settings_.password = std::move(password);
    outdated_ = true;
}

file_stamps context_source::look() const noexcept
{
    file_stamps found;
    const std::string* const places[] = {&settings_.certificate, &settings_.key, &settings_.ca};
    for (std::size_t i = 0; i < found.size(); ++i) {
        struct stat facts {};
        if (!places[i]->empty() && !is_text(*places[i]) && ::stat(places[i]->c_str(), &facts) == 0)
            found[i] = {facts.st_ino, facts.st_size,
                        facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec};
    }
    return found;
}

void context::keep_session(SSL_SESSION* session) noexcept
{
    const std::lock_guard lock(mutex_);
    SSL_SESSION_free(std::exchange(session_, session));
}

} // namespace zlink::transport::tls_parts
