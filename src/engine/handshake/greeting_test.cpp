// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/greeting.hpp"

#include <gtest/gtest.h>
#include <initializer_list>

#include "engine/handshake/handshake_script_for_tests.hpp"

namespace zlink::test {
namespace {

using namespace engine;

constexpr std::size_t name_offset = 12;

std::vector<std::byte> own_greeting(std::string_view mechanism, bool as_server = false,
                                    std::size_t routing_id_bytes = 0)
{
    greeting sender(mechanism, as_server, routing_id_bytes, 5);
    std::vector<std::byte> output;
    sender.start(output);
    greeting answer("NULL", false, 0, 5);
    std::vector<std::byte> signature_and_version;
    answer.start(signature_and_version);
    signature_and_version.push_back(std::byte{3});
    sender.feed(signature_and_version, output);
    return output;
}

/// A NULL greeting with some bytes replaced, fed to a NULL greeting.
struct fed {
    explicit fed(std::initializer_list<std::pair<std::size_t, unsigned>> changes)
    {
        auto bytes = own_greeting("NULL");
        for (const auto& [offset, value] : changes) {
            bytes[offset] = static_cast<std::byte>(value);
        }
        receiver.start(output);
        taken = receiver.feed(bytes, output);
    }

    greeting receiver{"NULL", false, 0, 5};
    std::vector<std::byte> output;
    std::size_t taken = 0;
};

TEST(greeting, sends_the_64_bytes_of_zmtp_3_1)
{
    EXPECT_EQ(to_hex(own_greeting("NULL")),
              "ff00000000000000017f03014e554c4c00000000000000000000000000000000"
              "0000000000000000000000000000000000000000000000000000000000000000");
    EXPECT_EQ(to_hex(own_greeting("NULL", false, 3)),
              "ff00000000000000047f03014e554c4c00000000000000000000000000000000"
              "0000000000000000000000000000000000000000000000000000000000000000");
    const auto with_longest_id = own_greeting("NULL", false, 255);
    EXPECT_EQ(to_hex(std::span(with_longest_id).first(10)), "ff00000000000001007f");
}

TEST(greeting, names_the_mechanism_and_the_server_role)
{
    const auto plain = own_greeting("PLAIN", true);
    EXPECT_EQ(to_hex(std::span(plain).subspan(name_offset, 20)),
              "504c41494e000000000000000000000000000000");
    EXPECT_EQ(plain[32], std::byte{1});
    const auto curve = own_greeting("CURVE");
    EXPECT_EQ(to_hex(std::span(curve).subspan(name_offset, 20)),
              "4355525645000000000000000000000000000000");
    EXPECT_EQ(curve[32], std::byte{0});
}

TEST(greeting, goes_out_in_three_parts_as_the_peer_proves_itself)
{
    greeting receiver("NULL", false, 0, 5);
    std::vector<std::byte> output;
    receiver.start(output);
    EXPECT_EQ(output.size(), 10u);
    const auto bytes = own_greeting("NULL");
    for (std::size_t received = 1; received <= bytes.size(); ++received) {
        receiver.feed(std::span(bytes).subspan(received - 1, 1), output);
        EXPECT_EQ(output.size(), received < 10 ? 10u : received < 11 ? 11u : 64u) << received;
        EXPECT_EQ(receiver.done(), received == bytes.size());
    }
    EXPECT_EQ(output, bytes);
}

TEST(greeting, selects_the_version_by_the_peers_bytes)
{
    struct row {
        unsigned major;
        unsigned minor;
        int effective_minor;
    };
    for (const auto& [major, minor, effective_minor] :
         {row{3, 0, 0}, row{3, 1, 1}, row{3, 2, 1}, row{3, 255, 1}, row{2, 0, 1}, row{4, 0, 1},
          row{255, 0, 1}}) {
        fed peer({{10, major}, {11, minor}});
        EXPECT_TRUE(peer.receiver.done()) << major << '.' << minor;
        EXPECT_EQ(peer.receiver.minor(), effective_minor) << major << '.' << minor;
    }
}

TEST(greeting, older_peers_are_recognised_as_soon_as_possible)
{
    struct row {
        std::size_t offset;
        unsigned value;
        greeted_version version;
        std::size_t taken;
        std::size_t sent_bytes;
    };
    for (const auto& [offset, value, version, taken, sent_bytes] :
         {row{0, 0x01, greeted_version::unversioned, 1, 10},
          row{0, 'H', greeted_version::unversioned, 1, 10},
          row{9, 0x00, greeted_version::unversioned, 10, 10},
          row{9, 0x7e, greeted_version::unversioned, 10, 10},
          row{10, 0, greeted_version::revision_0, 12, 12},
          row{10, 1, greeted_version::revision_1, 12, 12}}) {
        SCOPED_TRACE(offset);
        fed peer({{offset, value}});
        EXPECT_EQ(peer.receiver.error(), handshake_error::none);
        EXPECT_TRUE(peer.receiver.done());
        EXPECT_EQ(peer.receiver.version(), version);
        EXPECT_EQ(peer.taken, taken);
        EXPECT_EQ(peer.output.size(), sent_bytes);
        const auto unversioned = version == greeted_version::unversioned;
        EXPECT_EQ(peer.receiver.first_frame_bytes().size(), unversioned ? taken : 0);
    }
}

TEST(greeting, peers_of_zmtp_2_0_are_told_the_socket_type)
{
    for (const unsigned revision : {0u, 1u}) {
        greeting receiver("NULL", false, 0, 9);
        std::vector<std::byte> output;
        receiver.start(output);
        auto bytes = output;
        bytes.push_back(static_cast<std::byte>(revision));
        receiver.feed(bytes, output);
        EXPECT_EQ(to_hex(output), "ff00000000000000017f0309");
        EXPECT_FALSE(receiver.done());
        EXPECT_EQ(receiver.feed(hex("0200"), output), 1u);
        EXPECT_TRUE(receiver.done());
        EXPECT_EQ(receiver.peer_socket_type(), 2);
        EXPECT_EQ(output.size(), 12u);
    }
}

TEST(greeting, ignores_padding_server_role_filler_and_spare_signature_bits)
{
    for (const auto offset : {1u, 8u, 32u, 33u, 63u}) {
        for (const auto value : {1u, 0xffu}) {
            EXPECT_TRUE(fed({{offset, value}}).receiver.done()) << offset;
        }
    }
    EXPECT_TRUE(fed({{9, 0x01}}).receiver.done());
    EXPECT_TRUE(fed({{9, 0xff}}).receiver.done());
}

TEST(greeting, reports_the_server_role_of_the_peer)
{
    EXPECT_TRUE(fed({{32, 1}}).receiver.peer_as_server());
    EXPECT_FALSE(fed({}).receiver.peer_as_server());
}

TEST(greeting, all_20_bytes_of_the_mechanism_count)
{
    for (std::size_t offset = 12; offset < 32; ++offset) {
        fed peer({{offset, 'n'}});
        EXPECT_EQ(peer.receiver.error(), handshake_error::mechanism_mismatch) << offset;
        EXPECT_EQ(peer.taken, 64u);
        EXPECT_EQ(peer.output.size(), 64u);
    }
}

TEST(greeting, takes_nothing_beyond_its_end)
{
    greeting receiver("NULL", false, 0, 5);
    std::vector<std::byte> output;
    auto bytes = own_greeting("NULL");
    bytes.push_back(std::byte{4});
    EXPECT_EQ(receiver.feed(bytes, output), 64u);
    EXPECT_EQ(receiver.feed(bytes, output), 0u);
}

} // namespace
} // namespace zlink::test
