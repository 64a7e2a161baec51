// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/http_upgrade.hpp"

#include "transport/websocket/key.hpp"
#include "transport/websocket/origin.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <iterator>

namespace zlink::transport::websocket {
namespace {

namespace http = boost::beast::http;
using http::field;

constexpr unsigned http_1_1 = 11;
constexpr std::string_view websocket_version = "13";

std::string_view view(boost::beast::string_view text)
{
    return {text.data(), text.size()};
}

boost::beast::string_view beast(std::string_view text)
{
    return {text.data(), text.size()};
}

bool same_but_for_case(std::string_view a, std::string_view b)
{
    return boost::beast::iequals(beast(a), beast(b));
}

std::string_view trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The items of a list with commas, which may be spread over several fields of the same name.
std::vector<std::string_view> items_of(const http::fields& fields, field name)
{
    std::vector<std::string_view> items;
    const auto range = fields.equal_range(name);
    for (auto at = range.first; at != range.second; ++at) {
        std::string_view left = view(at->value());
        for (;;) {
            const auto comma = left.find(',');
            if (const auto item = trimmed(left.substr(0, comma)); !item.empty())
                items.push_back(item);
            if (comma == std::string_view::npos)
                break;
            left.remove_prefix(comma + 1);
        }
    }
    return items;
}

bool lists(const http::fields& fields, field name, std::string_view wanted)
{
    return std::ranges::any_of(items_of(fields, name), [wanted](std::string_view item) {
        return same_but_for_case(item, wanted);
    });
}

bool upgrades_to_websocket(const http::fields& fields)
{
    return lists(fields, field::upgrade, "websocket") &&
           lists(fields, field::connection, "upgrade");
}

// A request that names two origins, in one field or in several, names none that can be trusted.
bool is_from(std::string_view allowed, const http::fields& fields)
{
    const auto [first, last] = fields.equal_range(field::origin);
    return first != last && std::next(first) == last &&
           admits_origin(allowed, view(first->value()));
}

bool has_body(const http::fields& fields)
{
    const auto length = fields.find(field::content_length);
    return fields.find(field::transfer_encoding) != fields.end() ||
           (length != fields.end() && length->value() != "0");
}

template <bool is_request, class Body, class Fields>
std::string text_of(http::message<is_request, Body, Fields>& message)
{
    std::string text;
    http::serializer<is_request, Body, Fields> serializer(message);
    while (!serializer.is_done()) {
        boost::beast::error_code error;
        std::size_t bytes = 0;
        serializer.next(error, [&](boost::beast::error_code&, const auto& buffers) {
            for (const boost::asio::const_buffer piece : boost::beast::buffers_range_ref(buffers)) {
                text.append(static_cast<const char*>(piece.data()), piece.size());
                bytes += piece.size();
            }
        });
        if (error)
            break;
        serializer.consume(bytes);
    }
    return text;
}

/// Parses a whole head. False if it is none.
template <bool is_request>
bool parse(std::string_view head, http::parser<is_request, http::empty_body>& parser)
{
    parser.header_limit(most_head_bytes);
    parser.skip(true); // what follows is the WebSocket, or of no interest
    boost::beast::error_code error;
    parser.put(boost::asio::buffer(head.data(), head.size()), error);
    return !error && parser.is_header_done();
}

/// Is this the beginning of a head? Its first line must begin with `beginning`, as far as it has
/// come, and be made of printable characters.
bool may_become_head(std::string_view input, std::string_view beginning)
{
    const std::size_t line_end = input.find('\n');
    const bool is_whole = line_end != std::string_view::npos;
    if (is_whole && (line_end <= beginning.size() || input[line_end - 1] != '\r'))
        return false;
    const std::string_view line = input.substr(0, is_whole ? line_end - 1 : line_end);
    const std::size_t known = std::min(line.size(), beginning.size());
    const bool ends_in_return = !is_whole && line.ends_with('\r');
    return line.substr(0, known) == beginning.substr(0, known) &&
           std::all_of(line.begin(), line.end() - (ends_in_return ? 1 : 0),
                       [](char c) { return c >= ' ' && c <= '~'; });
}

} // namespace

std::size_t http_upgrade::feed(std::span<const std::byte> bytes)
{
    static constexpr std::string_view end = "\r\n\r\n";
    const std::size_t before = input_.size();
    const std::size_t room = most_head_bytes - before;
    const std::size_t offered = std::min(bytes.size(), room);
    input_.append(reinterpret_cast<const char*>(bytes.data()), offered);
    const std::size_t at = input_.find(end, before < end.size() ? 0 : before - end.size() + 1);
    if (at != std::string::npos)
        input_.resize(at + end.size());
    const std::size_t taken = input_.size() - before;
    // Who speaks something else is told at once; it might never send what ends a head.
    if (!may_become_head(input_, beginning_))
        refuse_head(fault::malformed);
    else if (at != std::string::npos)
        take_head(input_);
    else if (input_.size() == most_head_bytes)
        refuse_head(fault::too_large);
    return taken;
}

// --- the side that has connected

http_upgrade_client::http_upgrade_client(request_fields fields)
    : http_upgrade("HTTP/1.1 "), fields_(std::move(fields))
{}

void http_upgrade_client::start()
{
    key_ = fresh_key();
    if (key_.empty())
        return fail(EIO);
    std::string names;
    for (const auto& name : offers())
        names += (names.empty() ? "" : ",") + name;
    http::request<http::empty_body> request(http::verb::get, fields_.path, http_1_1);
    request.set(field::host, fields_.host);
    request.set(field::upgrade, "websocket");
    request.set(field::connection, "Upgrade");
    if (!fields_.origin.empty())
        request.set(field::origin, fields_.origin);
    request.set(field::sec_websocket_key, key_);
    if (!names.empty())
        request.set(field::sec_websocket_protocol, names);
    request.set(field::sec_websocket_version, beast(websocket_version));
    send(text_of(request));
}

void http_upgrade_client::take_head(std::string_view head)
{
    http::response_parser<http::empty_body> parser;
    if (!parse(head, parser))
        return fail(EPROTO);
    const auto& answer = parser.get();
    const unsigned status = answer.result_int();
    // 404: who is to listen there may not have begun yet, as where a port is not bound yet.
    if (status == 404 || status == 429 || status / 100 == 5)
        return fail(EAGAIN);
    const auto accepted = items_of(answer, field::sec_websocket_accept);
    const auto chosen = items_of(answer, field::sec_websocket_protocol);
    const bool good =
        status == 101 && upgrades_to_websocket(answer) &&
        answer.find(field::sec_websocket_extensions) == answer.end() && accepted.size() == 1 &&
        accepted.front() == accept_value(key_) &&
        (offers().empty()
             ? chosen.empty()
             : chosen.size() == 1 && std::ranges::find(offers(), chosen.front()) != offers().end());
    if (!good)
        return fail(EPROTO);
    succeed(chosen.empty() ? std::string_view() : chosen.front());
}

// --- the side that was connected to

namespace {

std::string refusal(http::status status, std::string_view why, unsigned version = http_1_1)
{
    http::response<http::string_body> answer(status, version);
    answer.set(field::connection, "close");
    if (status == http::status::method_not_allowed)
        answer.set(field::allow, "GET");
    if (status == http::status::upgrade_required) {
        answer.set(field::connection, "Upgrade, close");
        answer.set(field::upgrade, "websocket");
        answer.set(field::sec_websocket_version, beast(websocket_version));
    }
    answer.set(field::content_type, "text/plain");
    answer.body() = std::string(why) + "\n";
    answer.prepare_payload();
    return text_of(answer);
}

} // namespace

http_upgrade_server::http_upgrade_server(std::shared_ptr<const shared_port> port,
                                         std::shared_ptr<passed_inbox> own) noexcept
    : http_upgrade(""), port_(std::move(port)), own_(std::move(own)), to_(own_)
{}

void http_upgrade_server::pass_on(std::unique_ptr<stream> connection, boost::asio::io_context& home,
                                  std::span<const std::byte> rest)
{
    auto how = std::make_unique<acceptor::passed>();
    how->home = &home;
    how->through.push_back(std::make_unique<http_upgrade_server>(port_, to_));
    const auto head = std::as_bytes(std::span(input()));
    how->begun.assign(head.begin(), head.end());
    how->begun.insert(how->begun.end(), rest.begin(), rest.end());
    to_->put({.error = {}, .connection = std::move(connection), .passed = std::move(how)});
}

void http_upgrade_server::refuse_head(fault what)
{
    send(what == fault::too_large
             ? refusal(http::status::request_header_fields_too_large, "The request is too large.")
             : refusal(http::status::bad_request, "This is no request of HTTP/1.1."));
    fail(EPROTO);
}

void http_upgrade_server::take_head(std::string_view head)
{
    http::request_parser<http::empty_body> parser;
    const auto refuse = [&](http::status status, std::string_view why) {
        std::string answer = refusal(status, why);
        if (parser.get().method() == http::verb::head)
            answer.resize(answer.find("\r\n\r\n") + 4); // that asks for no body
        send(std::move(answer));
        fail(EPROTO);
    };
    if (!parse(head, parser))
        return refuse_head(fault::malformed);
    const auto& request = parser.get();
    if (request.version() != http_1_1)
        return refuse(http::status::http_version_not_supported, "The version is not HTTP/1.1.");
    if (request.method() != http::verb::get)
        return refuse(http::status::method_not_allowed, "A WebSocket is opened by GET.");
    if (has_body(request))
        return refuse(http::status::bad_request, "The request has a body.");
    if (!upgrades_to_websocket(request))
        return refuse(http::status::upgrade_required, "Only WebSockets are served here.");
    // Who names no version is taken to mean the only one there is.
    const auto version = items_of(request, field::sec_websocket_version);
    if (!version.empty() && std::ranges::find(version, websocket_version) == version.end())
        return refuse(http::status::upgrade_required, "The version of WebSockets is not 13.");
    const auto key = items_of(request, field::sec_websocket_key);
    if (key.size() != 1)
        return refuse(http::status::bad_request, "There is no Sec-WebSocket-Key.");
    if (port_) {
        to_ = port_->find(view(request.target()));
        if (!to_)
            return refuse(http::status::not_found, "Nobody listens at this path.");
        if (to_ != own_)
            return succeed({}); // the answer is the other one's
    }
    if (own_ && !own_->settings().origins->allowed.empty() &&
        !is_from(own_->settings().origins->allowed, request))
        return refuse(http::status::forbidden, "The Origin is none that is served here.");
    const auto asked = items_of(request, field::sec_websocket_protocol);
    const auto chosen = std::ranges::find_if(asked, [this](std::string_view name) {
        return std::ranges::find(offers(), name) != offers().end();
    });
    const bool agrees_on_none = asked.empty() && offers().empty();
    if (chosen == asked.end() && !agrees_on_none)
        return refuse(http::status::bad_request,
                      "No Sec-WebSocket-Protocol is one that is spoken here.");
    http::response<http::empty_body> answer(http::status::switching_protocols, http_1_1);
    answer.set(field::upgrade, "websocket");
    answer.set(field::connection, "Upgrade");
    answer.set(field::sec_websocket_accept, accept_value(key.front()));
    const std::string_view protocol = agrees_on_none ? std::string_view() : *chosen;
    if (!agrees_on_none)
        answer.set(field::sec_websocket_protocol, beast(protocol));
    send(text_of(answer));
    succeed(protocol);
}

} // namespace zlink::transport::websocket
