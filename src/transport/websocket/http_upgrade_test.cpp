// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/http_upgrade.hpp"

#include "support/bytes.hpp"
#include "transport/websocket/key.hpp"

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::transport::websocket {
namespace {

using namespace std::string_literals;
using state = exchange::state;
using test::bytes_of;
using test::take_output;

/// Feeds `text` in pieces of at most `piece` bytes; returns what was left.
std::string_view feed(http_upgrade& to, std::string_view text, std::size_t piece = SIZE_MAX)
{
    while (!text.empty() && to.current_state() == state::running) {
        const auto some = text.substr(0, piece);
        const std::size_t taken = to.feed(bytes_of(some));
        text.remove_prefix(taken);
        if (taken < some.size())
            break;
    }
    return text;
}

std::string line_of(std::string_view text, std::string_view name)
{
    const auto at = text.find("\r\n" + std::string(name) + ": ");
    if (at == std::string_view::npos)
        return "none";
    const auto begin = at + 2 + name.size() + 2;
    return std::string(text.substr(begin, text.find("\r\n", begin) - begin));
}

// --- the side that has connected

const std::vector<std::string> null_offers{"ZWS2.0/NULL", "ZWS2.0"};

/// A client that has sent its request.
struct asking_client {
    explicit asking_client(std::vector<std::string> offers = null_offers)
    {
        client.offer(std::move(offers));
        client.start();
        request = take_output(client);
        key = line_of(request, "Sec-WebSocket-Key");
    }
    std::string answer(const std::string& protocol = "ZWS2.0") const
    {
        return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: " +
               accept_value(key) + "\r\nSec-WebSocket-Protocol: " + protocol + "\r\n\r\n";
    }

    http_upgrade_client client{{"example.com:8080", "/a/b?c"}};
    std::string request;
    std::string key;
};

TEST(HttpUpgradeClient, asks_as_the_table_says)
{
    const asking_client asking;
    EXPECT_EQ("GET /a/b?c HTTP/1.1\r\nHost: example.com:8080\r\nUpgrade: websocket\r\n"
              "Connection: Upgrade\r\nSec-WebSocket-Key: " +
                  asking.key +
                  "\r\nSec-WebSocket-Protocol: ZWS2.0/NULL,ZWS2.0\r\n"
                  "Sec-WebSocket-Version: 13\r\n\r\n",
              asking.request);
    EXPECT_EQ(24u, asking.key.size());
    EXPECT_NE(asking.key, asking_client().key);
    EXPECT_EQ("ZWS2.0/PLAIN",
              line_of(asking_client({"ZWS2.0/PLAIN"}).request, "Sec-WebSocket-Protocol"));
}

TEST(HttpUpgradeClient, takes_the_answer_in_pieces_and_leaves_what_follows)
{
    for (std::size_t piece = 1; piece < 250; ++piece) {
        asking_client asking;
        // Of one piece that holds the end, the rest is left; later pieces are not offered.
        const std::string all = asking.answer("ZWS2.0/NULL") + "\x82";
        EXPECT_EQ("\x82", feed(asking.client, all, piece)) << piece;
        EXPECT_TRUE((asking.client.current_state() == state::done)) << piece;
        EXPECT_EQ("ZWS2.0/NULL", asking.client.protocol());
        EXPECT_EQ(0, asking.client.error());
    }
}

std::string replaced(std::string text, const std::string& what, const std::string& with)
{
    const auto at = text.find(what);
    EXPECT_NE(std::string::npos, at) << what;
    return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(HttpUpgradeClient, takes_what_is_allowed)
{
    const std::pair<const char*, const char*> rows[] = {
        {"Switching Protocols", "Off we go"},
        {"Switching Protocols", ""},
        {"Upgrade: websocket", "upgrade: WebSocket"},
        {"Connection: Upgrade", "connection: keep-alive, upgrade"},
        {"Protocol: ZWS2.0", "Protocol:   ZWS2.0  "},
    };
    for (const auto& [what, with] : rows) {
        asking_client asking;
        feed(asking.client, replaced(asking.answer(), what, with));
        EXPECT_TRUE((asking.client.current_state() == state::done)) << with;
        EXPECT_EQ("ZWS2.0", asking.client.protocol()) << with;
    }
}

TEST(HttpUpgradeClient, refuses_what_is_not)
{
    const std::pair<const char*, const char*> rows[] = {
        {"101", "200"},
        {"101", "403"},
        {"HTTP/1.1", "HTTP/1.0"},
        {"HTTP/1.1", "HTTP/2"},
        {"Upgrade: websocket\r\n", ""},
        {"Upgrade: websocket", "Upgrade: h2c"},
        {"Connection: Upgrade\r\n", ""},
        {"Connection: Upgrade", "Connection: close"},
        {"Accept: ", "Accept: x"},
        {"Sec-WebSocket-Accept", "Sec-WebSocket-Refuse"},
        {"Protocol: ZWS2.0", "Protocol: zws2.0"},
        {"Protocol: ZWS2.0", "Protocol: ZWS2.0/PLAIN"},
        {"Protocol: ZWS2.0", "Protocol: ZWS2.0, ZWS2.0/NULL"},
        {"Protocol: ZWS2.0", "Protocol: "},
        {"Sec-WebSocket-Protocol", "Sec-WebSocket-Prot"},
        {"Upgrade: websocket\r\n",
         "Upgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"},
        {"Upgrade: websocket\r\n", "Upgrade: websocket\n"},
        {"Upgrade: websocket\r\n", "Upgrade websocket\r\n"},
    };
    for (const auto& [what, with] : rows) {
        asking_client asking;
        feed(asking.client, replaced(asking.answer(), what, with));
        EXPECT_TRUE((asking.client.current_state() == state::failed)) << with;
        EXPECT_EQ(EPROTO, asking.client.error()) << with;
        EXPECT_TRUE(asking.client.was_violated()) << with;
        EXPECT_TRUE(asking.client.output().empty()) << with;
    }
}

TEST(HttpUpgradeClient, tells_a_server_that_cannot_now_from_one_that_does_not_want_to)
{
    for (const char* status :
         {"503 Service Unavailable", "502 Bad Gateway", "429 Too Many", "404 Not Found"}) {
        asking_client asking;
        feed(asking.client, "HTTP/1.1 "s + status + "\r\nContent-Length: 3\r\n\r\n");
        EXPECT_TRUE((asking.client.current_state() == state::failed)) << status;
        EXPECT_EQ(EAGAIN, asking.client.error()) << status;
        EXPECT_FALSE(asking.client.was_violated()) << status;
    }
}

TEST(HttpUpgradeClient, sees_another_protocol_at_once)
{
    for (const std::string& other : {"\xff"s, "SSH-2.0"s, "\n"s, "HTTP/1.0"s, "HTTP/1\r\n"s}) {
        asking_client asking;
        feed(asking.client, other);
        EXPECT_EQ(EPROTO, asking.client.error()) << other;
    }
}

TEST(HttpUpgradeClient, limits_the_answer)
{
    asking_client asking;
    const std::string start = asking.answer().substr(0, asking.answer().size() - 2) + "X: ";
    feed(asking.client, start + std::string(most_head_bytes - start.size() - 1, 'x'));
    EXPECT_TRUE((asking.client.current_state() == state::running));
    EXPECT_EQ("y", feed(asking.client, "xy"));
    EXPECT_EQ(EPROTO, asking.client.error());
}

// --- the side that was connected to

const std::string good_request =
    "GET /path HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ZWS2.0\r\n"
    "Sec-WebSocket-Version: 13\r\n\r\n";

std::unique_ptr<http_upgrade_server> server(std::vector<std::string> offers = null_offers)
{
    auto made = std::make_unique<http_upgrade_server>();
    made->offer(std::move(offers));
    made->start();
    return made;
}

TEST(HttpUpgradeServer, answers_as_the_table_says)
{
    const auto to = server();
    EXPECT_EQ("", feed(*to, good_request));
    EXPECT_EQ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
              "Sec-WebSocket-Protocol: ZWS2.0\r\n\r\n",
              take_output(*to));
    EXPECT_TRUE((to->current_state() == state::done));
    EXPECT_EQ("ZWS2.0", to->protocol());
}

TEST(HttpUpgradeServer, takes_the_request_in_pieces_and_leaves_what_follows)
{
    for (std::size_t piece = 1; piece <= good_request.size() + 1; ++piece) {
        const auto to = server();
        EXPECT_EQ("\x82", feed(*to, good_request + "\x82", piece)) << piece;
        EXPECT_TRUE((to->current_state() == state::done)) << piece;
    }
}

TEST(HttpUpgradeServer, takes_what_is_allowed)
{
    const std::pair<const char*, const char*> rows[] = {
        {"/path", "/"},
        {"/path", "/other?x=1"},
        {"Upgrade: websocket", "UPGRADE: WebSocket"},
        {"Connection: Upgrade", "connection: keep-alive,  uPgrade"},
        {"Connection: Upgrade", "Connection: keep-alive\r\nConnection: Upgrade"},
        {"Host: h\r\n", ""},
        {"Sec-WebSocket-Version: 13\r\n", ""},
        {"Host: h\r\n", "Host: h\r\nOrigin: http://elsewhere.example\r\n"},
        {"Host: h\r\n", "Host: h\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"},
        {"Host: h\r\n", "Host: h\r\nContent-Length: 0\r\n"},
    };
    for (const auto& [what, with] : rows) {
        const auto to = server();
        feed(*to, replaced(good_request, what, with));
        EXPECT_TRUE((to->current_state() == state::done)) << with;
        EXPECT_EQ("none", line_of(take_output(*to), "Sec-WebSocket-Extensions")) << with;
    }
}

TEST(HttpUpgradeServer, chooses_the_first_protocol_that_it_speaks)
{
    const std::tuple<std::string, std::vector<std::string>, std::string> rows[] = {
        {"ZWS2.0,ZWS2.0/NULL", null_offers, "ZWS2.0"},
        {"ZWS2.0/NULL,ZWS2.0", null_offers, "ZWS2.0/NULL"},
        {"mqtt, ZWS2.0/CURVE, ZWS2.0", null_offers, "ZWS2.0"},
        {"mqtt\r\nSec-WebSocket-Protocol: ZWS2.0/NULL", null_offers, "ZWS2.0/NULL"},
        {"ZWS2.0/NULL,ZWS2.0/PLAIN", {"ZWS2.0/PLAIN"}, "ZWS2.0/PLAIN"},
        {"ZWS2.0/CURVE", null_offers, ""},
        {"ZWS2.0", {"ZWS2.0/CURVE"}, ""},
        {"zws2.0", null_offers, ""},
        {"", null_offers, ""},
    };
    for (const auto& [asked, offers, chosen] : rows) {
        const auto to = server(offers);
        feed(*to, replaced(good_request, "Protocol: ZWS2.0", "Protocol: " + asked));
        EXPECT_EQ(chosen, to->protocol()) << asked;
        const std::string answer = take_output(*to);
        EXPECT_EQ(chosen.empty() ? "none" : chosen, line_of(answer, "Sec-WebSocket-Protocol"));
        EXPECT_EQ(chosen.empty(), answer.starts_with("HTTP/1.1 400 ")) << asked;
    }
}

TEST(HttpUpgradeServer, says_what_is_wrong_with_a_request)
{
    const std::tuple<const char*, const char*, const char*> rows[] = {
        {"GET", "POST", "405 Method Not Allowed"},
        {"GET", "BREW", "405 Method Not Allowed"},
        {"HTTP/1.1", "HTTP/1.0", "505 HTTP Version Not Supported"},
        {"Upgrade: websocket\r\n", "", "426 Upgrade Required"},
        {"Upgrade: websocket", "Upgrade: h2c", "426 Upgrade Required"},
        {"Connection: Upgrade\r\n", "", "426 Upgrade Required"},
        {"Connection: Upgrade", "Connection: close", "426 Upgrade Required"},
        {"Version: 13", "Version: 8", "426 Upgrade Required"},
        {"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", "400 Bad Request"},
        {"dGhlIHNhbXBsZSBub25jZQ==", "", "400 Bad Request"},
        {"Sec-WebSocket-Protocol: ZWS2.0\r\n", "", "400 Bad Request"},
        {"Protocol: ZWS2.0", "Protocol: mqtt", "400 Bad Request"},
        {"Host: h\r\n", "Content-Length: 5\r\n", "400 Bad Request"},
        {"Host: h\r\n", "Transfer-Encoding: chunked\r\n", "400 Bad Request"},
        {"Host: h\r\n", "Host: h\n", "400 Bad Request"},
        {"GET /path HTTP/1.1\r\n", "GET /path HTTP/1.1\n", "400 Bad Request"},
        {"Host: h", "Host h", "400 Bad Request"},
        {"GET /path HTTP/1.1", "GET /path", "400 Bad Request"},
        {"GET /path HTTP/1.1", "GET  HTTP/1.1", "400 Bad Request"},
    };
    for (const auto& [what, with, status] : rows) {
        const auto to = server();
        feed(*to, replaced(good_request, what, with));
        EXPECT_TRUE((to->current_state() == state::failed)) << with;
        EXPECT_EQ(EPROTO, to->error()) << with;
        EXPECT_TRUE(to->was_violated()) << with;
        const std::string answer = take_output(*to);
        EXPECT_EQ("HTTP/1.1 "s + status, answer.substr(0, answer.find("\r\n"))) << with;
        const auto body = answer.substr(answer.find("\r\n\r\n") + 4);
        EXPECT_EQ(std::to_string(body.size()), line_of(answer, "Content-Length")) << with;
        EXPECT_NE(std::string::npos, line_of(answer, "Connection").find("close")) << with;
        EXPECT_EQ(status[0] == '4' && status[1] == '2' ? "13" : "none",
                  line_of(answer, "Sec-WebSocket-Version"))
            << with;
        EXPECT_EQ(status[2] == '5' && status[0] == '4' ? "GET" : "none", line_of(answer, "Allow"))
            << with;
    }
}

TEST(HttpUpgradeServer, answers_a_request_for_the_head_alone_without_a_body)
{
    const auto to = server();
    feed(*to, replaced(good_request, "GET", "HEAD"));
    const std::string answer = take_output(*to);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 ")) << answer;
    EXPECT_EQ(answer.size() - 4, answer.find("\r\n\r\n")) << answer;
    EXPECT_NE("none", line_of(answer, "Content-Length"));
}

TEST(HttpUpgradeServer, sees_another_protocol_at_once)
{
    const std::string others[] = {"\xff"s, "\x16\x03\x01"s, "\n"s, "\0"s, "GET /\x80"s};
    for (const std::string& other : others) {
        const auto to = server();
        feed(*to, other);
        EXPECT_EQ(EPROTO, to->error());
        EXPECT_TRUE(take_output(*to).starts_with("HTTP/1.1 400 "));
    }
}

TEST(HttpUpgradeServer, limits_the_request)
{
    const std::string start = good_request.substr(0, good_request.size() - 2) + "X: ";
    const std::string longest =
        start + std::string(most_head_bytes - start.size() - 4, 'x') + "\r\n\r\n";
    const auto fits = server();
    EXPECT_EQ("rest", feed(*fits, longest + "rest"));
    EXPECT_TRUE((fits->current_state() == state::done));
    const auto large = server();
    feed(*large, replaced(longest, "\r\n\r\n", "x\r\n\r\n"));
    EXPECT_EQ(EPROTO, large->error());
    EXPECT_TRUE(take_output(*large).starts_with("HTTP/1.1 431 "));
}

TEST(HttpUpgradeServer, waits_for_what_is_cut)
{
    for (std::size_t bytes = 0; bytes < good_request.size(); ++bytes) {
        const auto to = server();
        feed(*to, good_request.substr(0, bytes));
        EXPECT_TRUE((to->current_state() == state::running)) << bytes;
        EXPECT_TRUE(to->output().empty()) << bytes;
    }
}

// --- both

TEST(HttpUpgradeServer, knows_whom_a_request_is_for)
{
    boost::asio::io_context io;
    const auto port = std::make_shared<shared_port>(std::make_shared<options>(), nullptr);
    const auto mine = std::make_shared<passed_inbox>(io, std::make_shared<options>());
    const auto yours = std::make_shared<passed_inbox>(io, std::make_shared<options>());
    const auto ask = [&](const std::string& target) {
        auto server = std::make_unique<http_upgrade_server>(port, mine);
        server->offer({"ZWS2.0"});
        std::string request = good_request;
        request.replace(request.find("/path"), 5, target);
        feed(*server, request);
        return server;
    };
    EXPECT_TRUE(port->add("/mine", mine, -1));
    EXPECT_FALSE(port->add("/mine", yours, -1));
    EXPECT_TRUE(take_output(*ask("/anything")).starts_with("HTTP/1.1 101 "));
    EXPECT_TRUE(port->add("/yours", yours, -1));
    EXPECT_TRUE(port->add("/yours?q", mine, -1));
    EXPECT_TRUE(take_output(*ask("/mine")).starts_with("HTTP/1.1 101 "));
    EXPECT_TRUE(take_output(*ask("/mine?x")).starts_with("HTTP/1.1 101 "));
    EXPECT_FALSE(ask("/yours?q")->is_for_another());
    EXPECT_TRUE(take_output(*ask("/")).starts_with("HTTP/1.1 404 "));

    const auto passing = ask("/yours?x");
    EXPECT_EQ(state::done, passing->current_state());
    EXPECT_TRUE(passing->is_for_another());
    EXPECT_TRUE(passing->output().empty());
    passing->pass_on(nullptr, io, bytes_of("rest"));
    auto passed = yours->take();
    ASSERT_TRUE(passed && passed->passed);
    EXPECT_EQ(&io, passed->passed->home);
    ASSERT_EQ(1u, passed->passed->through.size());
    auto& next = static_cast<http_upgrade&>(*passed->passed->through[0]);
    next.offer({"ZWS2.0"});
    const std::string begun(reinterpret_cast<const char*>(passed->passed->begun.data()),
                            passed->passed->begun.size());
    EXPECT_EQ("rest", feed(next, begun));
    EXPECT_TRUE(take_output(next).starts_with("HTTP/1.1 101 "));
}

std::shared_ptr<const options> admitting(std::string origins)
{
    options settings;
    settings.origins.edit().allowed = std::move(origins);
    return std::make_shared<options>(settings);
}

TEST(HttpUpgradeServer, admits_the_origins_that_it_lists)
{
    boost::asio::io_context io;
    const std::string good = "Origin: https://page.example\r\n";
    const std::tuple<std::string, std::string, const char*> rows[] = {
        {"https://page.example", good, "101"},
        {"https://page.example", "origin:HTTPS://PAGE.example:443  \r\n", "101"},
        {"http://other.example, https://page.example", good, "101"},
        {"", good, "101"},
        {"", "", "101"},
        {"null", "Origin: null\r\n", "101"},
        {"https://page.example", "Origin: null\r\n", "403"},
        {"https://page.example", "", "403"},
        {"null", "", "403"},
        {"null", "Origin:\r\n", "403"},
        {"https://page.example", "Origin: http://page.example\r\n", "403"},
        {"https://page.example", "Origin: https://page.example:8443\r\n", "403"},
        {"https://page.example", "Origin: https://page.example.evil.example\r\n", "403"},
        {"https://page.example", "Origin: https://page.example/\r\n", "403"},
        {"https://page.example", "Origin: https://page.example https://evil.example\r\n", "403"},
        {"https://page.example", good + good, "403"},
        {"https://page.example", good + "Origin: https://evil.example\r\n", "403"},
        {"https://page.example", "Origin: https://evil.example\r\n" + good, "403"},
        {"https://page.example", "Referer: https://page.example\r\n", "403"},
    };
    for (const auto& [allowed, fields, status] : rows) {
        http_upgrade_server to(nullptr, std::make_shared<passed_inbox>(io, admitting(allowed)));
        to.offer(null_offers);
        feed(to, replaced(good_request, "Host: h\r\n", "Host: h\r\n" + fields));
        const bool admitted = status == "101"s;
        EXPECT_EQ(admitted ? state::done : state::failed, to.current_state()) << fields;
        EXPECT_EQ(!admitted, to.was_violated()) << fields;
        EXPECT_EQ("HTTP/1.1 "s + status, take_output(to).substr(0, 12)) << fields;
    }
}

TEST(HttpUpgradeServer, leaves_the_origin_to_whom_a_request_is_for)
{
    boost::asio::io_context io;
    const auto port = std::make_shared<shared_port>(std::make_shared<options>(), nullptr);
    const auto open = std::make_shared<passed_inbox>(io, admitting(""));
    const auto choosy = std::make_shared<passed_inbox>(io, admitting("https://page.example"));
    port->add("/open", open, -1);
    port->add("/choosy", choosy, -1);
    const auto answer = [&](const auto& first, const auto& second, const char* path) {
        http_upgrade_server to(port, first);
        to.offer(null_offers);
        feed(to, replaced(good_request, "/path", path));
        EXPECT_TRUE(to.is_for_another());
        to.pass_on(nullptr, io, {});
        const auto passed = second->take();
        auto& next = static_cast<http_upgrade&>(*passed->passed->through[0]);
        next.offer(null_offers);
        next.feed(passed->passed->begun);
        return take_output(next).substr(0, 12);
    };
    EXPECT_EQ("HTTP/1.1 101", answer(choosy, open, "/open"));
    EXPECT_EQ("HTTP/1.1 403", answer(open, choosy, "/choosy"));
}

TEST(HttpUpgrade, names_the_origin_that_it_is_told)
{
    boost::asio::io_context io;
    http_upgrade_client client({"localhost", "/", "https://page.example"});
    client.start();
    const std::string request = take_output(client);
    EXPECT_EQ("https://page.example", line_of(request, "Origin"));
    EXPECT_EQ("none", line_of(asking_client().request, "Origin"));
    http_upgrade_server server(
        nullptr, std::make_shared<passed_inbox>(io, admitting("https://page.example")));
    feed(server, request);
    EXPECT_EQ(state::done, server.current_state());
}

TEST(HttpUpgrade, needs_no_protocol)
{
    http_upgrade_client client({"localhost", "/"});
    client.start();
    const std::string request = take_output(client);
    EXPECT_EQ("none", line_of(request, "Sec-WebSocket-Protocol"));
    http_upgrade_server server;
    feed(server, request);
    EXPECT_EQ(state::done, server.current_state());
    EXPECT_EQ("", server.protocol());
    feed(client, take_output(server));
    EXPECT_EQ(state::done, client.current_state());
    EXPECT_EQ("", client.protocol());

    http_upgrade_server choosy;
    choosy.offer(null_offers);
    feed(choosy, request);
    EXPECT_TRUE(take_output(choosy).starts_with("HTTP/1.1 400 "));
}

TEST(HttpUpgrade, leads_one_side_to_the_other)
{
    asking_client asking;
    const auto to = server();
    EXPECT_EQ("", feed(*to, asking.request));
    EXPECT_EQ("", feed(asking.client, take_output(*to)));
    EXPECT_TRUE((asking.client.current_state() == state::done));
    EXPECT_EQ("ZWS2.0/NULL", asking.client.protocol());
    EXPECT_EQ("ZWS2.0/NULL", to->protocol());
}

} // namespace
} // namespace zlink::transport::websocket
