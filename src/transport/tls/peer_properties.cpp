// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/peer_properties.hpp"

#include "transport/stream.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <openssl/x509v3.h>
#include <span>
#include <string_view>

namespace zlink::transport::tls_parts {
namespace {

using names_ptr = std::unique_ptr<GENERAL_NAMES, freed_by<GENERAL_NAMES_free>>;

bool is_clear(std::string_view text) noexcept
{
    return !text.empty() && std::ranges::none_of(text, [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    });
}

std::string_view text_of(const ASN1_STRING* text) noexcept
{
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// The last one is the most specific.
std::string common_name(const X509* certificate)
{
    const X509_NAME* const subject = X509_get_subject_name(certificate);
    int last = -1;
    for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
        last = at;
    if (last < 0)
        return {};
    unsigned char* utf8 = nullptr;
    const int bytes =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
    if (bytes < 0)
        return {};
    const std::unique_ptr<unsigned char, freed_by<[](unsigned char* text) { OPENSSL_free(text); }>>
        owner(utf8);
    const std::string_view name(reinterpret_cast<const char*>(utf8),
                                static_cast<std::size_t>(bytes));
    return is_clear(name) ? std::string(name) : std::string();
}

template <class Address>
std::string text_if(std::string_view bytes)
{
    typename Address::bytes_type own;
    if (bytes.size() != own.size())
        return {};
    std::memcpy(own.data(), bytes.data(), own.size());
    return Address(own).to_string();
}

std::string address_text(std::string_view bytes)
{
    namespace ip = boost::asio::ip;
    const std::string v4 = text_if<ip::address_v4>(bytes);
    return v4.empty() ? text_if<ip::address_v6>(bytes) : v4;
}

std::string alternative_name(const GENERAL_NAME& name)
{
    std::string_view kind;
    std::string text;
    switch (name.type) {
    case GEN_DNS:
        kind = "DNS:";
        text = text_of(name.d.dNSName);
        break;
    case GEN_EMAIL:
        kind = "email:";
        text = text_of(name.d.rfc822Name);
        break;
    case GEN_URI:
        kind = "URI:";
        text = text_of(name.d.uniformResourceIdentifier);
        break;
    case GEN_IPADD:
        kind = "IP:";
        text = address_text(text_of(name.d.iPAddress));
        break;
    default:
        break;
    }
    if (!is_clear(text) || text.find(',') != std::string::npos)
        return {};
    return std::string(kind) + text;
}

std::string alternative_names(const X509* certificate)
{
    const names_ptr names(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::string all;
    for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i)
        if (const std::string one = alternative_name(*sk_GENERAL_NAME_value(names.get(), i));
            !one.empty())
            all += (all.empty() ? "" : ",") + one;
    return all;
}

std::string fingerprint_of(const X509* certificate)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    std::string text;
    if (X509_digest(certificate, EVP_sha256(), digest, &bytes) == 1)
        for (const unsigned char byte : std::span(digest, bytes)) {
            text += "0123456789abcdef"[byte >> 4];
            text += "0123456789abcdef"[byte & 15];
        }
    return text;
}

} // namespace

std::vector<std::pair<std::string, std::string>> peer_properties(const SSL* ssl)
{
    std::vector<std::pair<std::string, std::string>> properties;
    const auto add = [&](std::string_view name, std::string value) {
        if (!value.empty())
            properties.emplace_back(name, std::move(value));
    };
    add(peer_property::tls_version, SSL_get_version(ssl));
    const X509* const certificate = SSL_get0_peer_certificate(ssl);
    if (!certificate)
        return properties;
    add(peer_property::fingerprint, fingerprint_of(certificate));
    if (SSL_get_verify_result(ssl) != X509_V_OK)
        return properties;
    add(peer_property::common_name, common_name(certificate));
    add(peer_property::alternative_names, alternative_names(certificate));
    return properties;
}

} // namespace zlink::transport::tls_parts
