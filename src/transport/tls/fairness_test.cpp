// SPDX-License-Identifier: Apache-2.0
// What a peer sends beside data, or in tiny records, costs little.
#include "transport/tls/joined_for_tests.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace zlink::transport::tls_parts {
namespace {

void update_key(openssl_peer& peer, int asks = SSL_KEY_UPDATE_NOT_REQUESTED)
{
    SSL_key_update(peer.ssl(), asks);
    EXPECT_EQ(1, SSL_do_handshake(peer.ssl()));
}

void send_ticket(openssl_peer& peer)
{
    SSL_new_session_ticket(peer.ssl());
    EXPECT_EQ(1, SSL_do_handshake(peer.ssl()));
}

void ask_to_begin_anew(openssl_peer& peer)
{
    SSL_renegotiate(peer.ssl()); // TLS 1.2
    SSL_do_handshake(peer.ssl());
}

TEST(tls_fairness, of_a_few_new_keys_and_data)
{
    joined pair;
    for (int i = 0; i < 20; ++i) {
        update_key(pair.peer, SSL_KEY_UPDATE_REQUESTED);
        pair.peer.write("data");
    }
    pair.deliver();
    EXPECT_EQ(80U, pair.read().bytes);
    EXPECT_EQ(EAGAIN, pair.read().error);
    const iovec bytes{const_cast<char*>("answer"), 6};
    EXPECT_EQ(6U, pair.stream->write_some(&bytes, 1).bytes);
    pair.peer.feed(pair.below->written); // the answers to the new keys, and the data behind them
    char answer[6];
    EXPECT_EQ(6, SSL_read(pair.peer.ssl(), answer, sizeof answer));
}

TEST(tls_fairness, ends_a_flood_of_new_keys)
{
    joined pair;
    pair.peer.write("data");
    for (int i = 0; i < 2000; ++i)
        update_key(pair.peer);
    pair.deliver();
    EXPECT_EQ(4U, pair.read().bytes);
    EXPECT_EQ(EPROTO, pair.read().error);
    EXPECT_EQ(EPROTO, pair.read().error);
}

TEST(tls_fairness, ends_a_flood_of_new_keys_between_data)
{
    joined pair;
    for (int i = 0; i < 2000; ++i) {
        update_key(pair.peer);
        pair.peer.write("x");
    }
    pair.deliver();
    std::size_t bytes = 0;
    io_result got;
    while ((got = pair.read()).error == 0 && got.bytes != 0)
        bytes += got.bytes;
    EXPECT_EQ(EPROTO, got.error);
    EXPECT_LT(bytes, 100U);
}

TEST(tls_fairness, holds_few_answers)
{
    joined pair;
    pair.below->room = 0;
    for (int i = 0; i < 2000; ++i)
        update_key(pair.peer, SSL_KEY_UPDATE_REQUESTED);
    pair.deliver();
    EXPECT_EQ(EPROTO, pair.read().error);
    EXPECT_LT(pair.stream->undelivered_bytes(), 8'000U);
}

TEST(tls_fairness, ends_a_flood_of_tickets)
{
    joined pair(side::client);
    for (int i = 0; i < 200; ++i)
        send_ticket(pair.peer);
    pair.deliver();
    EXPECT_EQ(EPROTO, pair.read().error);
}

TEST(tls_fairness, ends_a_flood_of_wishes_to_begin_anew)
{
    joined pair(side::client, TLS1_2_VERSION);
    for (int i = 0; i < 200; ++i)
        ask_to_begin_anew(pair.peer);
    pair.deliver();
    EXPECT_EQ(EPROTO, pair.read().error);
}

TEST(tls_fairness, reads_some_tiny_records_at_a_time)
{
    joined pair;
    for (int i = 0; i < 1000; ++i)
        pair.peer.write("x");
    pair.deliver();
    const io_result first = pair.read();
    EXPECT_GT(first.bytes, 0U);
    EXPECT_LE(first.bytes, 100U);
    EXPECT_TRUE(first.more);
    std::size_t bytes = first.bytes;
    for (io_result got; (got = pair.read()).error == 0;)
        bytes += got.bytes;
    EXPECT_EQ(1000U, bytes);
}

} // namespace
} // namespace zlink::transport::tls_parts
