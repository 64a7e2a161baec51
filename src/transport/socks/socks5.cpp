// SPDX-License-Identifier: Apache-2.0
#include "transport/socks/socks5.hpp"

#include "transport/ip/host.hpp"

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <utility>

namespace zlink::transport {
namespace {

// What the bytes of RFC 1928 and RFC 1929 mean.
enum versions : unsigned { version = 5, negotiation_version = 1 };
enum methods : unsigned { no_authentication = 0, username_password = 2 };
enum commands : unsigned { connect_command = 1 };
enum address_types : unsigned { ipv4 = 1, domain_name = 3, ipv6 = 4 };

// Of the choice of a method, and of the result of the negotiation.
constexpr std::size_t answer_bytes = 2;
// Up to the first byte of the address, which tells its length if it is a name.
constexpr std::size_t reply_head_bytes = 5;
constexpr std::size_t port_bytes = 2;
constexpr std::size_t most_text_bytes = 255;

unsigned at(const std::vector<std::byte>& bytes, std::size_t index)
{
    return std::to_integer<unsigned>(bytes[index]);
}

int reply_error(unsigned reply)
{
    switch (reply) {
    case 1:
        return ECONNABORTED;
    case 2:
        return EACCES;
    case 3:
        return ENETUNREACH;
    case 4:
        return EHOSTUNREACH;
    case 5:
        return ECONNREFUSED;
    case 6:
        return ETIMEDOUT;
    case 7:
        return EOPNOTSUPP;
    case 8:
        return EAFNOSUPPORT;
    default:
        return EPROTO;
    }
}

} // namespace

socks5_client::socks5_client(socks5_request request, std::chrono::milliseconds limit)
    : request_(std::move(request)), limit_(limit)
{
    if (request_.host.empty() || request_.host.size() > most_text_bytes ||
        request_.username.size() > most_text_bytes || request_.password.size() > most_text_bytes) {
        fail(EINVAL);
        return;
    }
    if (request_.username.empty())
        put({version, 1, no_authentication});
    else
        put({version, 2, no_authentication, username_password});
    await(step::method, answer_bytes);
}

void socks5_client::put(std::initializer_list<unsigned> bytes)
{
    for (const unsigned byte : bytes)
        output_.push_back(static_cast<std::byte>(byte));
}

void socks5_client::put_counted(const std::string& text)
{
    put({static_cast<unsigned>(text.size())});
    for (const char c : text)
        put({static_cast<unsigned char>(c)});
}

void socks5_client::put_credentials()
{
    put({negotiation_version});
    put_counted(request_.username);
    put_counted(request_.password);
    await(step::authentication, answer_bytes);
}

void socks5_client::put_request()
{
    put({version, connect_command, 0});
    const auto literal = ip_host::literal(request_.host);
    if (!literal) {
        put({domain_name});
        put_counted(request_.host);
    } else if (literal->is_v4()) {
        put({ipv4});
        for (const unsigned byte : literal->to_v4().to_bytes())
            put({byte});
    } else {
        put({ipv6});
        for (const unsigned byte : literal->to_v6().to_bytes())
            put({byte});
    }
    put({request_.port / 256U, request_.port % 256U});
    await(step::reply, reply_head_bytes);
}

std::size_t socks5_client::feed(std::span<const std::byte> bytes)
{
    const std::size_t taken = std::min(bytes.size(), most_input_bytes());
    input_.insert(input_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    // A refusal may end right after the byte that says so.
    if (step_ == step::reply && input_.size() >= 2 && (at(input_, 0) != version || at(input_, 1)))
        replied();
    else if (most_input_bytes() == 0)
        advance();
    return taken;
}

void socks5_client::advance()
{
    switch (step_) {
    case step::method:
        return method_chosen();
    case step::authentication:
        return authenticated();
    case step::reply:
        return replied();
    case step::address:
        return await(step::connected, 0);
    case step::connected:
    case step::failed:
        return;
    }
}

void socks5_client::method_chosen()
{
    if (at(input_, 0) != version)
        return fail(EPROTO);
    const unsigned method = at(input_, 1);
    if (method == no_authentication)
        return put_request();
    if (method == username_password && !request_.username.empty())
        return put_credentials();
    fail(EACCES);
}

void socks5_client::authenticated()
{
    if (at(input_, 0) != negotiation_version)
        return fail(EPROTO);
    if (at(input_, 1) != 0)
        return fail(EACCES);
    put_request();
}

void socks5_client::replied()
{
    if (at(input_, 0) != version)
        return fail(EPROTO);
    if (const unsigned reply = at(input_, 1))
        return fail(reply_error(reply));
    // The address the proxy connects from is of no interest, but it has to be read.
    switch (at(input_, 3)) {
    case ipv4:
        return await(step::address, 4 - 1 + port_bytes);
    case ipv6:
        return await(step::address, 16 - 1 + port_bytes);
    case domain_name:
        return await(step::address, at(input_, 4) + port_bytes);
    default:
        return fail(EPROTO);
    }
}

void socks5_client::await(step next, std::size_t bytes) noexcept
{
    step_ = next;
    input_.clear();
    wanted_ = bytes;
}

void socks5_client::fail(int error) noexcept
{
    error_ = error;
    await(step::failed, 0);
    output_.clear();
    written_ = 0;
}

} // namespace zlink::transport
