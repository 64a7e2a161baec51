// SPDX-License-Identifier: Apache-2.0
#include "engine/curve/cipher.hpp"

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sodium.h>
#include <string_view>
#include <vector>

namespace zlink::engine::curve {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t text_offset = 32; // of a sealed body: name, counter and MAC

std::array<std::byte, key_bytes> shared_key()
{
    std::array<std::byte, key_bytes> key{};
    for (std::size_t i = 0; i < key.size(); ++i)
        key[i] = static_cast<std::byte>(i * 7 + 1);
    return key;
}

bytes body_of(std::size_t size)
{
    bytes body(size);
    for (std::size_t i = 0; i < size; ++i)
        body[i] = static_cast<std::byte>(i * 13 + i / 251);
    return body;
}

bytes sealed_by(cipher& by, std::uint8_t flags, const bytes& body)
{
    bytes out(by.sealed_bytes(body.size()));
    EXPECT_TRUE(by.seal(flags, body, out));
    return out;
}

// What a box of libsodium is for the same message.
bytes box_of(std::string_view prefix, std::uint64_t counter, unsigned char flags, const bytes& body)
{
    bytes plain{std::byte{flags}};
    plain.insert(plain.end(), body.begin(), body.end());
    bytes box(plain.size() + mac_bytes);
    seal(box, plain, counted_nonce(prefix, counter), shared_key());
    return box;
}

// Each size up to some pieces of the stream, and some beyond.
std::vector<std::size_t> sizes()
{
    std::vector<std::size_t> all;
    for (std::size_t size = 0; size <= 1'700; ++size)
        all.push_back(size);
    for (const std::size_t size : {4'095, 65'536, 100'001})
        all.push_back(size);
    return all;
}

TEST(curve_cipher, seals_as_libsodium_does)
{
    cipher client(cipher::role::client, shared_key(), 2, 2);
    std::uint64_t counter = 2;
    for (const std::size_t size : sizes()) {
        const bytes body = body_of(size);
        const bytes sealed = sealed_by(client, zmtp3::flag_more, body);
        const bytes box = box_of("CurveZMQMESSAGEC", ++counter, 1, body);
        ASSERT_EQ(text_offset - mac_bytes + box.size(), sealed.size());
        ASSERT_TRUE(std::equal(box.begin(), box.end(), sealed.begin() + text_offset - mac_bytes))
            << size;
    }
}

TEST(curve_cipher, opens_what_the_other_side_seals)
{
    cipher client(cipher::role::client, shared_key(), 2, 5);
    cipher server(cipher::role::server, shared_key(), 5, 2);
    for (const std::size_t size : sizes()) {
        const bytes body = body_of(size);
        bytes sealed = sealed_by(server, zmtp3::flag_command, body);
        const auto opened = client.open(0, sealed);
        ASSERT_EQ(cipher_fault::none, opened.fault) << size;
        ASSERT_EQ(zmtp3::flag_command, opened.flags);
        ASSERT_TRUE(std::ranges::equal(body, opened.body)) << size;
        bytes back = sealed_by(client, 0, body);
        ASSERT_EQ(cipher_fault::none, server.open(0, back).fault) << size;
    }
}

TEST(curve_cipher, refuses_each_change_of_a_sealed_body_and_leaves_it_as_it_was)
{
    for (const std::size_t size : {0, 1, 31, 32, 300, 479, 480, 1'000}) {
        cipher client(cipher::role::client, shared_key(), 2, 2);
        cipher server(cipher::role::server, shared_key(), 2, 2);
        const bytes sealed = sealed_by(client, 0, body_of(size));
        for (std::size_t i = 0; i < sealed.size(); ++i) {
            bytes changed = sealed;
            changed[i] ^= std::byte{0x10};
            const bytes before = changed;
            ASSERT_NE(cipher_fault::none, server.open(0, changed).fault) << size << " at " << i;
            ASSERT_EQ(before, changed);
        }
        bytes unchanged = sealed;
        ASSERT_EQ(cipher_fault::none, server.open(0, unchanged).fault) << size;
        bytes again = sealed;
        ASSERT_EQ(cipher_fault::out_of_sequence, server.open(0, again).fault) << size;
    }
}

TEST(curve_cipher, refuses_a_body_when_the_one_before_it_has_not_come)
{
    cipher client(cipher::role::client, shared_key(), 2, 2);
    cipher server(cipher::role::server, shared_key(), 2, 2);
    bytes first = sealed_by(client, 0, body_of(10));
    bytes second = sealed_by(client, 0, body_of(10));
    const bytes before = second;
    EXPECT_EQ(cipher_fault::out_of_sequence, server.open(0, second).fault);
    EXPECT_EQ(before, second);
    EXPECT_EQ(cipher_fault::none, server.open(0, first).fault);
    EXPECT_EQ(cipher_fault::none, server.open(0, second).fault);
}

} // namespace
} // namespace zlink::engine::curve
