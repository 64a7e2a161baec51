// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/mechanisms/curve.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "engine/curve/cipher.hpp"
#include "engine/handshake/authenticator_for_tests.hpp"
#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/handshake/socket_types.hpp"

namespace zlink::test {
namespace {

using namespace engine;

// A handshake whose random bytes count up, computed by another program than this one. Frames.
constexpr std::string_view hello_frame =
    "04c80548454c4c4f010000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000008f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f"
    "000000000000000178490e29e5e6f089ef54e4f6ad14338a0a01ed142e6b9ca136bfa3755d99"
    "0f93b3dc2629851cd1e50d36e98b94b8d59c540cce051bc864074607194fd88d7d1e2052296a"
    "ad0f7e3c359ee915acd54eac";
constexpr std::string_view welcome_frame =
    "04a80757454c434f4d45707172737475767778797a7b7c7d7e7f44ae28df4d304f627d2432ee"
    "b0dbc1781001ff21ab67f5f91043682fddafa09bb14c5d3a6fd951725d5198093c2c0654f8e8"
    "917490be44fbb7bbd453bbcf91616765d8e300213088d4942c3e7397ec4a4e6494bdcaa5c44f"
    "d52bb17b4cbcf9e5b3755fc14a7f6eba207039346c731b8d557c36d1da463c2c3f4562537314"
    "931c8d3985dd09b5859b9dd3b0405ae8f744";
constexpr std::string_view initiate_frame =
    "06000000000000012408494e495449415445606162636465666768696a6b6c6d6e6f1050bba7"
    "93d05d7e3b7f92a1a070f3e3b1d33ed60383d20c8cdd551f57783687cf9a83446a88ddda157e"
    "e1af9e16227e08148b0fd562373aeabda1a116ee7a76c6019acad1d431c42419add786f938fc"
    "0000000000000002c196bc2951f462f6ba8866d6b6edbbe3c461a6d391b29acfbf14e6776eb6"
    "a4e43ee920d74f6b58353d0c5f1719a6bc4b424a02c9b646ad64fa5f64f3a90abe4fc1d70e6a"
    "0df63623705e783c6512d22d29da7fbe4926f48457b472793d58c2c8569320c2bf04a770d3b2"
    "6a71b53eb8cf693677b9416a0ac2ccc899f8f46ec475b685b2f5cc99f6fabb73748fcc349bfe"
    "534ed217c9463bc3fbc6ab3984de1af72633e676be7d336c9102064099c975d24fec1e";
constexpr std::string_view ready_frame =
    "04410552454144590000000000000001d19982b6bca8ec52fa0d2948e43a7f4f4d4d7be2aeb0"
    "14af79aaa714fc396c7d5e2e35ce6355a8a268e4058b47d7fb294e780d";
constexpr std::string_view client_message =
    "0026074d4553534147450000000000000003a0e86db7f5d3259b3f9b59337addd0c5cf0031d8"
    "c2f9";
constexpr std::string_view server_message =
    "0022074d45535341474500000000000000024aabf9f71095dfa4531787d077fcf8ca0682";
constexpr std::string_view client_public =
    "bb88471d65e2659b30c55a5321cebb5aab2b70a398645c26dca2b2fcb43fc518";
constexpr std::string_view client_secret =
    "7bb864b489afa3671fbe69101f94b38972f24816dfb01b51656b3fec8dfd0888";
constexpr std::string_view server_public =
    "54fcba24e93249969316fb617c872bb0c1d1ff14800427c594cbfacf1bc2d652";
constexpr std::string_view server_secret =
    "8e0bdd697628b91d8f245587ee95c5b04d48963f79259877b49cd9063aead3b7";
constexpr std::string_view client_short_term_public =
    "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f";
constexpr std::string_view server_short_term_public =
    "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254";

const std::string greeting_end =
    "01 4355525645000000000000000000000000000000 00" + std::string(62, '0');
const std::string server_greeting_end =
    "01 4355525645000000000000000000000000000000 01" + std::string(62, '0');
const std::string signature = "ff00000000000000017f";

// Gives the bytes from `next` on; where a side asks for what another would not, `next` jumps.
struct counting_bytes {
    std::uint8_t next;
    std::vector<std::pair<std::uint8_t, std::uint8_t>> jumps{}; ///< instead of one, the other

    bool operator()(std::span<std::byte> out)
    {
        for (const auto& [from, to] : jumps)
            if (next == from)
                next = to;
        for (std::byte& each : out)
            each = static_cast<std::byte>(next++);
        return true;
    }
};

curve::public_key key_of(std::string_view text)
{
    curve::public_key result{};
    std::ranges::copy(hex(text), result.begin());
    return result;
}

base::secret secret_of(std::string_view text)
{
    return base::secret(std::span<const std::byte>(hex(text)));
}

std::unique_ptr<mechanism> make_client(std::string_view server = server_public,
                                       std::string_view secret = client_secret)
{
    return std::make_unique<curve_client>(key_of(client_public), secret_of(secret), key_of(server),
                                          counting_bytes{0x00, {{0x20, 0x80}}});
}

std::unique_ptr<mechanism>
make_server(std::shared_ptr<authenticator> asked = nullptr,
            curve_server::clock::time_point (*now)() = curve_server::clock::now)
{
    return std::make_unique<curve_server>(secret_of(server_secret), std::move(asked),
                                          counting_bytes{0x20}, now);
}

std::unique_ptr<handshake> client_handshake()
{
    return std::make_unique<handshake>(local_peer{socket_types::dealer, "", {}}, make_client());
}

std::unique_ptr<handshake> server_handshake()
{
    return std::make_unique<handshake>(local_peer{socket_types::router, "", {}}, make_server());
}

std::vector<std::byte> body_of(std::string_view frame)
{
    const auto bytes = hex(frame);
    const std::size_t head = (bytes[0] & std::byte{2}) != std::byte{0} ? 9 : 2;
    return {bytes.begin() + static_cast<std::ptrdiff_t>(head), bytes.end()};
}

TEST(curve_mechanism, a_client_says_and_hears_the_same_as_any_other)
{
    handshake_script(client_handshake)
        .expect(signature)
        .feed(signature + "03" + greeting_end)
        .expect("03" + greeting_end + std::string(hello_frame))
        .feed(std::string(welcome_frame))
        .expect(std::string(initiate_frame))
        .feed(std::string(ready_frame))
        .ends_done([](const handshake& done) {
            EXPECT_EQ(done.remote().socket_type, socket_types::router);
        });
}

TEST(curve_mechanism, a_server_says_and_hears_the_same_as_any_other)
{
    handshake_script(server_handshake)
        .expect(signature)
        .feed(signature + "03" + greeting_end)
        .expect("03" + server_greeting_end)
        .feed(std::string(hello_frame))
        .expect(std::string(welcome_frame))
        .feed(std::string(initiate_frame))
        .expect(std::string(ready_frame))
        .ends_done([](const handshake& done) {
            EXPECT_EQ(done.remote().socket_type, socket_types::dealer);
        });
}

/// One side, to which commands are given.
struct side {
    std::unique_ptr<mechanism> curve;
    negotiation state;

    std::vector<std::byte> send()
    {
        std::vector<std::byte> body;
        curve->next_command(state, body);
        return body;
    }
    handshake_error receive(std::span<const std::byte> body)
    {
        return curve->process_command(state, body);
    }
};

side a_client()
{
    return {make_client(), {{socket_types::dealer, "", {}}, {}, ""}};
}
side a_server(std::shared_ptr<authenticator> asked = nullptr)
{
    return {make_server(std::move(asked)), {{socket_types::router, "", {}}, {}, ""}};
}

TEST(curve_mechanism, no_damaged_byte_of_a_command_is_overlooked)
{
    const auto damaged = [](std::string_view frame, std::size_t at) {
        auto body = body_of(frame);
        body[at] ^= std::byte{0x10};
        return body;
    };
    const std::size_t hello_bytes = body_of(hello_frame).size();
    for (std::size_t at = 0; at < hello_bytes; ++at) {
        if (at >= 8 && at < 80)
            continue; // padding that says nothing
        side server = a_server();
        EXPECT_NE(server.receive(damaged(hello_frame, at)), handshake_error::none) << at;
    }
    for (std::size_t at = 0; at < body_of(initiate_frame).size(); ++at) {
        side server = a_server();
        ASSERT_EQ(server.receive(body_of(hello_frame)), handshake_error::none);
        server.send();
        EXPECT_NE(server.receive(damaged(initiate_frame, at)), handshake_error::none) << at;
    }
    for (std::size_t at = 0; at < body_of(welcome_frame).size(); ++at) {
        side client = a_client();
        client.send();
        EXPECT_NE(client.receive(damaged(welcome_frame, at)), handshake_error::none) << at;
    }
    for (std::size_t at = 0; at < body_of(ready_frame).size(); ++at) {
        side client = a_client();
        client.send();
        ASSERT_EQ(client.receive(body_of(welcome_frame)), handshake_error::none);
        client.send();
        EXPECT_NE(client.receive(damaged(ready_frame, at)), handshake_error::none) << at;
    }
}

TEST(curve_mechanism, commands_of_the_wrong_size_are_told_apart)
{
    const auto resized = [](std::string_view frame, std::ptrdiff_t by) {
        auto body = body_of(frame);
        body.resize(body.size() + static_cast<std::size_t>(by));
        return body;
    };
    for (const std::ptrdiff_t by : {-1, 1}) {
        EXPECT_EQ(a_server().receive(resized(hello_frame, by)), handshake_error::malformed_hello);
        side client = a_client();
        client.send();
        EXPECT_EQ(client.receive(resized(welcome_frame, by)), handshake_error::malformed_welcome);
    }
    side server = a_server();
    server.receive(body_of(hello_frame));
    server.send();
    auto initiate = body_of(initiate_frame);
    initiate.resize(256);
    EXPECT_EQ(server.receive(initiate), handshake_error::malformed_initiate);
    side client = a_client();
    client.send();
    client.receive(body_of(welcome_frame));
    client.send();
    auto ready = body_of(ready_frame);
    ready.resize(29);
    EXPECT_EQ(client.receive(ready), handshake_error::malformed_ready);
    EXPECT_EQ(client.receive({}), handshake_error::malformed_command);
}

TEST(curve_mechanism, commands_have_to_come_in_their_order)
{
    for (const auto frame : {welcome_frame, initiate_frame, ready_frame})
        EXPECT_EQ(a_server().receive(body_of(frame)), handshake_error::unexpected_command);
    side server = a_server();
    EXPECT_EQ(server.receive(body_of(hello_frame)), handshake_error::none);
    server.send();
    EXPECT_EQ(server.receive(body_of(hello_frame)), handshake_error::unexpected_command);
    for (const auto frame : {hello_frame, initiate_frame, ready_frame}) {
        side client = a_client();
        client.send();
        EXPECT_EQ(client.receive(body_of(frame)), handshake_error::unexpected_command);
    }
}

TEST(curve_mechanism, a_recorded_handshake_cannot_be_replayed)
{
    side server{
        std::make_unique<curve_server>(secret_of(server_secret), nullptr, counting_bytes{0x21}),
        {{socket_types::router, "", {}}, {}, ""}};
    EXPECT_EQ(server.receive(body_of(hello_frame)), handshake_error::none);
    server.send();
    EXPECT_EQ(server.receive(body_of(initiate_frame)), handshake_error::not_authentic);
}

TEST(curve_mechanism, a_cookie_is_good_for_a_minute)
{
    static curve_server::clock::time_point now;
    for (const int late_s : {60, 61}) {
        now = curve_server::clock::time_point(std::chrono::hours(1));
        side server{make_server(nullptr, [] { return now; }),
                    {{socket_types::router, "", {}}, {}, ""}};
        server.receive(body_of(hello_frame));
        server.send();
        now += std::chrono::seconds(late_s);
        EXPECT_EQ(server.receive(body_of(initiate_frame)),
                  late_s > 60 ? handshake_error::not_authentic : handshake_error::none);
    }
}

TEST(curve_mechanism, keys_have_to_fit)
{
    side stranger{make_client(client_public), {{socket_types::dealer, "", {}}, {}, ""}};
    EXPECT_EQ(a_server().receive(stranger.send()), handshake_error::not_authentic);
    side liar{make_client(server_public, server_secret), {{socket_types::dealer, "", {}}, {}, ""}};
    side server = a_server();
    EXPECT_EQ(server.receive(liar.send()), handshake_error::none);
    EXPECT_EQ(liar.receive(server.send()), handshake_error::none);
    EXPECT_EQ(server.receive(liar.send()), handshake_error::not_authentic);
    side keyless{make_client(std::string(64, '0')), {{socket_types::dealer, "", {}}, {}, ""}};
    EXPECT_TRUE(keyless.send().empty());
    EXPECT_EQ(keyless.curve->error(), handshake_error::not_authentic);
}

TEST(curve_mechanism, an_authenticator_is_told_the_key_of_a_client_that_has_it)
{
    const auto asked = std::make_shared<asked_by_test>();
    side server = a_server(asked);
    server.receive(body_of(hello_frame));
    server.send();
    EXPECT_EQ(server.receive(body_of(initiate_frame)), handshake_error::none);
    EXPECT_EQ(asked->presented,
              (std::vector<std::string>{"CURVE", std::string(as_text(hex(client_public)))}));
    EXPECT_EQ(server.curve->status(), mechanism_status::waiting);
    EXPECT_TRUE(server.send().empty());
    asked->answer({.user_id = "carol"});
    EXPECT_EQ(server.send(), body_of(ready_frame));
    EXPECT_EQ(server.curve->status(), mechanism_status::ready);
    EXPECT_EQ(server.state.remote.properties.at(0), (property{"User-Id", "carol"}));
}

TEST(curve_mechanism, a_system_without_random_bytes_ends_the_handshake)
{
    const auto none = [](std::span<std::byte>) { return false; };
    side client{std::make_unique<curve_client>(key_of(client_public), secret_of(client_secret),
                                               key_of(server_public), none),
                {{socket_types::dealer, "", {}}, {}, ""}};
    EXPECT_TRUE(client.send().empty());
    EXPECT_EQ(client.curve->error(), handshake_error::no_random_bytes);
}

// --- traffic

struct ciphers {
    side client = a_client();
    side server = a_server();
    std::shared_ptr<frame_cipher> at_client;
    std::shared_ptr<frame_cipher> at_server;

    ciphers()
    {
        EXPECT_EQ(server.receive(client.send()), handshake_error::none);
        EXPECT_EQ(client.receive(server.send()), handshake_error::none);
        EXPECT_EQ(server.receive(client.send()), handshake_error::none);
        EXPECT_EQ(client.receive(server.send()), handshake_error::none);
        at_client = client.curve->make_cipher();
        at_server = server.curve->make_cipher();
    }
};

std::vector<std::byte> sealed(frame_cipher& by, std::uint8_t flags, std::string_view body)
{
    std::vector<std::byte> out(by.sealed_bytes(body.size()));
    EXPECT_TRUE(by.seal(flags, as_bytes(body), out));
    return out;
}

TEST(curve_cipher, seals_as_any_other)
{
    ciphers both;
    EXPECT_EQ(to_hex(sealed(*both.at_client, 0, "hello")), client_message.substr(4));
    EXPECT_EQ(to_hex(sealed(*both.at_server, 1, "A")), server_message.substr(4));
    EXPECT_EQ(both.at_client->outer_flags(5), 0);
}

TEST(curve_cipher, marks_a_command_as_the_protocol_says)
{
    ciphers both;
    auto frame = sealed(*both.at_client, zmtp3::flag_command, "\4PING");
    const curve::nonce nonce = curve::counted_nonce("CurveZMQMESSAGEC", 3);
    std::array<std::byte, curve::key_bytes> key{};
    std::array<std::byte, curve::key_bytes> short_term{};
    std::ranges::generate(short_term, [next = 0]() mutable { return std::byte(next++); });
    ASSERT_TRUE(curve::share(key, key_of(server_short_term_public), short_term));
    std::vector<std::byte> text(frame.size() - 32);
    ASSERT_TRUE(curve::open(text, std::span(frame).subspan(16), nonce, key));
    EXPECT_EQ(text[0], std::byte{2});
    EXPECT_EQ(both.at_server->open(0, frame).flags, zmtp3::flag_command);
}

TEST(curve_cipher, opens_bodies_of_all_sizes_in_place)
{
    ciphers both;
    for (std::size_t bytes :
         {0, 1, 30, 31, 32, 63, 64, 95, 96, 511, 512, 513, 575, 576, 4096, 65536, 1000003}) {
        std::string body(bytes, '\0');
        std::iota(body.begin(), body.end(), 'a');
        for (const auto& [from, to] : {std::pair{both.at_client, both.at_server},
                                       std::pair{both.at_server, both.at_client}}) {
            auto frame = sealed(*from, 1, body);
            const auto opened = to->open(0, frame);
            ASSERT_EQ(opened.fault, cipher_fault::none) << bytes;
            EXPECT_EQ(opened.flags, 1);
            EXPECT_EQ(as_text(opened.body), body);
        }
    }
}

TEST(curve_cipher, no_damaged_byte_is_overlooked)
{
    ciphers both;
    const auto frame = sealed(*both.at_client, 0, std::string(100, 'x'));
    for (std::size_t at = 0; at < frame.size(); ++at) {
        auto damaged = frame;
        damaged[at] ^= std::byte{1};
        EXPECT_NE(both.at_server->open(0, damaged).fault, cipher_fault::none) << at;
    }
    for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
        auto cut = frame;
        cut.resize(bytes);
        EXPECT_EQ(both.at_server->open(0, cut).fault, bytes < 8    ? cipher_fault::not_encrypted
                                                      : bytes < 33 ? cipher_fault::too_short
                                                                   : cipher_fault::not_authentic);
    }
    auto whole = frame;
    EXPECT_EQ(both.at_server->open(0, whole).fault, cipher_fault::none);
}

TEST(curve_cipher, frames_may_neither_be_missing_nor_repeated_nor_put_out_of_order)
{
    ciphers both;
    auto first = sealed(*both.at_client, 0, "first");
    auto second = sealed(*both.at_client, 0, "second");
    auto third = sealed(*both.at_client, 0, "third");
    auto again = second;
    EXPECT_EQ(both.at_server->open(0, again).fault, cipher_fault::out_of_sequence);
    EXPECT_EQ(both.at_server->open(0, first).fault, cipher_fault::none);
    EXPECT_EQ(both.at_server->open(0, third).fault, cipher_fault::out_of_sequence);
    EXPECT_EQ(both.at_server->open(0, second).fault, cipher_fault::none);
    EXPECT_EQ(both.at_server->open(0, third).fault, cipher_fault::none);
}

TEST(curve_cipher, what_a_side_has_sealed_itself_cannot_be_given_back_to_it)
{
    ciphers both;
    auto frame = sealed(*both.at_client, 0, "hello");
    EXPECT_EQ(both.at_client->open(0, frame).fault, cipher_fault::not_authentic);
}

TEST(curve_cipher, stops_when_its_counter_is_used_up)
{
    std::array<std::byte, curve::key_bytes> key{};
    curve::cipher last(curve::cipher::role::client, key, UINT64_MAX - 1, 0);
    std::vector<std::byte> out(last.sealed_bytes(0));
    EXPECT_TRUE(last.seal(0, {}, out));
    EXPECT_FALSE(last.seal(0, {}, out));
}

} // namespace
} // namespace zlink::test
