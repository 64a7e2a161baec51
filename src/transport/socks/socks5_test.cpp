// SPDX-License-Identifier: Apache-2.0
#include "transport/socks/socks5.hpp"

#include "support/bytes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::transport {
namespace {

using namespace std::string_literals;
using test::bytes_of;
using test::take_output;

/// Feeds `text` in pieces of at most `piece` bytes, as a reader that reads what is wanted does.
/// Returns what it left.
std::string_view feed(socks5_client& client, std::string_view text, std::size_t piece = 1000)
{
    while (!text.empty() && client.most_input_bytes() != 0) {
        const std::size_t bytes = std::min({piece, client.most_input_bytes(), text.size()});
        client.feed(bytes_of(text.substr(0, bytes)));
        text.remove_prefix(bytes);
    }
    return text;
}

const std::string granted_v4 = "\5\0\0\1\x7f\0\0\1\x12\x34"s;
const std::string granted_v6 = "\5\0\0\4"s + std::string(16, 'x') + "\x12\x34"s;
const std::string granted_name = "\5\0\0\3\5proxy\x12\x34"s;
const std::string granted_no_name = "\5\0\0\3\0\x12\x34"s;

TEST(Socks5, asks_for_a_name_without_authentication)
{
    socks5_client client({"peer.example", 5555, "", ""});
    EXPECT_EQ("\5\1\0"s, take_output(client));
    EXPECT_EQ("", feed(client, "\5\0"s));
    EXPECT_EQ("\5\1\0\3\x0cpeer.example\x15\xb3"s, take_output(client));
    EXPECT_EQ("ZMTP", feed(client, granted_v4 + "ZMTP"));
    EXPECT_TRUE((client.current_state() == exchange::state::done));
    EXPECT_EQ(0, client.error());
    EXPECT_EQ(0u, client.most_input_bytes());
}

TEST(Socks5, asks_for_literals_as_numbers)
{
    socks5_client v4({"192.0.2.1", 80, "", ""});
    take_output(v4);
    feed(v4, "\5\0"s);
    EXPECT_EQ("\5\1\0\1\xc0\0\2\1\0\x50"s, take_output(v4));
    socks5_client v6({"::1", 80, "", ""});
    take_output(v6);
    feed(v6, "\5\0"s);
    EXPECT_EQ("\5\1\0\4"s + std::string(15, '\0') + "\1\0\x50"s, take_output(v6));
}

TEST(Socks5, gives_name_and_password_if_they_are_asked_for)
{
    socks5_client client({"h", 1, "me", "secret"});
    EXPECT_EQ("\5\2\0\2"s, take_output(client));
    feed(client, "\5\2"s);
    EXPECT_EQ("\1\2me\6secret"s, take_output(client));
    feed(client, "\1\0"s);
    EXPECT_EQ("\5\1\0\3\1h\0\1"s, take_output(client));
    feed(client, granted_v4);
    EXPECT_TRUE((client.current_state() == exchange::state::done));
}

TEST(Socks5, does_without_them_if_the_proxy_does)
{
    socks5_client client({"h", 1, "me", ""});
    take_output(client);
    feed(client, "\5\0"s);
    EXPECT_EQ("\5\1\0\3\1h\0\1"s, take_output(client));
}

TEST(Socks5, takes_every_split_of_every_form_of_reply)
{
    for (const std::string& granted : {granted_v4, granted_v6, granted_name, granted_no_name}) {
        const std::string all = "\5\2"s + "\1\0"s + granted;
        for (std::size_t piece = 1; piece <= all.size(); ++piece) {
            socks5_client client({"h", 1, "me", "secret"});
            EXPECT_EQ("rest", feed(client, all + "rest", piece));
            EXPECT_TRUE((client.current_state() == exchange::state::done)) << piece;
        }
        for (std::size_t cut = 0; cut < all.size(); ++cut) {
            socks5_client client({"h", 1, "me", "secret"});
            feed(client, all.substr(0, cut));
            EXPECT_FALSE((client.current_state() == exchange::state::done)) << cut;
            EXPECT_EQ(0, client.error()) << cut;
            EXPECT_LT(0u, client.most_input_bytes()) << cut;
        }
    }
}

int error_after(socks5_request request, std::string_view input)
{
    socks5_client client(std::move(request));
    feed(client, input);
    EXPECT_FALSE((client.current_state() == exchange::state::done));
    EXPECT_TRUE(client.error() == 0 || client.most_input_bytes() == 0);
    EXPECT_TRUE(client.error() == 0 || client.output().empty());
    return client.error();
}

TEST(Socks5, gives_up_when_no_method_suits)
{
    const socks5_request open{"h", 1, "", ""};
    const socks5_request closed{"h", 1, "me", "secret"};
    EXPECT_EQ(EACCES, error_after(open, "\5\xff"s));
    EXPECT_EQ(EACCES, error_after(open, "\5\2"s)); // not offered
    EXPECT_EQ(EACCES, error_after(closed, "\5\1"s));
    EXPECT_EQ(EACCES, error_after(closed, "\5\2\1\1"s));
    EXPECT_EQ(EACCES, error_after(closed, "\5\2\1\xff"s));
}

TEST(Socks5, gives_up_on_what_is_not_socks)
{
    const socks5_request open{"h", 1, "", ""};
    const socks5_request closed{"h", 1, "me", "secret"};
    EXPECT_EQ(EPROTO, error_after(open, "HTTP/1.1 400"));
    EXPECT_EQ(EPROTO, error_after(open, "\4\0"s));
    EXPECT_EQ(EPROTO, error_after(closed, "\5\2\5\0"s));
    EXPECT_EQ(EPROTO, error_after(open, "\5\0\4\0"s));
    EXPECT_EQ(EPROTO, error_after(open, "\5\0\5\0\0\2x"s));
    EXPECT_EQ(EPROTO, error_after(open, "\5\0\5\x63"s));
}

TEST(Socks5, passes_on_what_befell_the_proxy)
{
    const int errors[] = {0,           ECONNABORTED, EACCES,
                          ENETUNREACH, EHOSTUNREACH, ECONNREFUSED,
                          ETIMEDOUT,   EOPNOTSUPP,   EAFNOSUPPORT};
    for (char reply = 1; reply <= 8; ++reply) {
        const std::string refusal = "\5\0\5"s + reply;
        // Whether or not the proxy gives the rest of its reply.
        EXPECT_EQ(errors[static_cast<int>(reply)], error_after({"h", 1, "", ""}, refusal));
        EXPECT_EQ(errors[static_cast<int>(reply)],
                  error_after({"h", 1, "", ""}, refusal + "\0\1\0\0\0\0\0\0"s));
    }
}

TEST(Socks5, refuses_what_does_not_fit)
{
    const std::string longest(255, 'n');
    EXPECT_EQ(EINVAL, error_after({longest + "n", 1, "", ""}, ""));
    EXPECT_EQ(EINVAL, error_after({"", 1, "", ""}, ""));
    EXPECT_EQ(EINVAL, error_after({"h", 1, longest + "n", ""}, ""));
    EXPECT_EQ(EINVAL, error_after({"h", 1, "me", longest + "n"}, ""));
    socks5_client client({longest, 1, longest, longest});
    take_output(client);
    feed(client, "\5\2"s);
    EXPECT_EQ("\1\xff"s + longest + "\xff"s + longest, take_output(client));
    feed(client, "\1\0"s);
    EXPECT_EQ("\5\1\0\3\xff"s + longest + "\0\1"s, take_output(client));
}

} // namespace
} // namespace zlink::transport
