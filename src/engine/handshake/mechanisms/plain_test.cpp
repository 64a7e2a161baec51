// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/mechanisms/plain.hpp"

#include <gtest/gtest.h>

#include "engine/handshake/authenticator_for_tests.hpp"
#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/handshake/socket_types.hpp"

namespace zlink::test {
namespace {

using namespace engine;

// Bodies as they were captured from libzmq.
constexpr std::string_view hello = "0548454c4c4f0561646d696e06736563726574"; // admin, secret
constexpr std::string_view welcome = "0757454c434f4d45";
constexpr std::string_view initiate = "08494e4954494154450b536f636b65742d54797065000000064445414c45"
                                      "52084964656e7469747900000000"; // of a DEALER
constexpr std::string_view ready = "0552454144590b536f636b65742d5479706500000006524f55544552084964"
                                   "656e7469747900000000"; // of a ROUTER
constexpr std::string_view denied = "054552524f5203343030";
constexpr std::string_view nothing = "nothing";

struct side {
    std::unique_ptr<mechanism> plain;
    negotiation state;

    std::string send()
    {
        std::vector<std::byte> body;
        return plain->next_command(state, body) ? to_hex(body) : std::string(nothing);
    }
    handshake_error receive(std::string_view body)
    {
        return plain->process_command(state, hex(body));
    }
};

side client()
{
    return {std::make_unique<plain_client>("admin", base::secret(std::string_view("secret"))),
            {{socket_types::dealer, "", {}}, {}, ""}};
}

side server(const std::shared_ptr<asked_by_test>& asked)
{
    return {std::make_unique<plain_server>(asked), {{socket_types::router, "", {}}, {}, ""}};
}

TEST(plain_mechanism, has_two_roles)
{
    EXPECT_EQ(client().plain->name(), "PLAIN");
    EXPECT_FALSE(client().plain->as_server());
    EXPECT_EQ(server(nullptr).plain->name(), "PLAIN");
    EXPECT_TRUE(server(nullptr).plain->as_server());
}

// --- whole handshakes: step by step, in pieces, and with each byte damaged

const std::string signature = "ff00000000000000017f";
std::string greeting_end(bool as_server)
{
    return "01 504c41494e" + std::string(30, '0') + (as_server ? "01" : "00") +
           std::string(62, '0');
}
std::string frame_of(std::string_view body)
{
    return "04" + to_hex(std::vector{static_cast<std::byte>(body.size() / 2)}) + std::string(body);
}

std::unique_ptr<handshake> client_handshake()
{
    return std::make_unique<handshake>(local_peer{socket_types::dealer, "", {}}, client().plain);
}

TEST(plain_mechanism, a_client_is_done_after_ready)
{
    handshake_script(client_handshake)
        .expect(signature)
        .feed(signature + "03" + greeting_end(true))
        .expect("03" + greeting_end(false) + frame_of(hello))
        .feed(frame_of(welcome))
        .expect(frame_of(initiate))
        .feed(frame_of(ready))
        .ends_done([](const handshake& done) {
            EXPECT_EQ(done.remote().socket_type, socket_types::router);
        });
}

TEST(plain_mechanism, a_refused_client_is_done_after_error)
{
    handshake_script(client_handshake)
        .expect(signature)
        .feed(signature + "03" + greeting_end(true))
        .expect("03" + greeting_end(false) + frame_of(hello))
        .feed(frame_of(denied))
        .ends_failed(handshake_error::refused_by_peer,
                     [](const handshake& failed) { EXPECT_EQ(failed.peer_reason(), "400"); });
}

handshake_script server_script(handshake_error refusal)
{
    return handshake_script([refusal] {
        return std::make_unique<handshake>(
            local_peer{socket_types::router, "", {}},
            std::make_unique<plain_server>(std::make_shared<answering_at_once>(
                verdict{.refusal = refusal, .user_id = "alice"})));
    });
}

TEST(plain_mechanism, a_server_is_done_after_initiate)
{
    server_script(handshake_error::none)
        .expect(signature)
        .feed(signature + "03" + greeting_end(false))
        .expect("03" + greeting_end(true))
        .feed(frame_of(hello))
        .expect(frame_of(welcome))
        .feed(frame_of(initiate))
        .expect(frame_of(ready))
        .ends_done([](const handshake& done) {
            EXPECT_EQ(done.remote().socket_type, socket_types::dealer);
        });
}

TEST(plain_mechanism, a_server_that_refuses_is_done_after_hello)
{
    server_script(handshake_error::denied)
        .expect(signature)
        .feed(signature + "03" + greeting_end(false))
        .expect("03" + greeting_end(true))
        .feed(frame_of(hello))
        .expect(frame_of(denied))
        .ends_failed(handshake_error::denied);
}

// --- commands

TEST(plain_mechanism, a_client_shows_its_password_and_waits_for_each_answer)
{
    side test = client();
    EXPECT_EQ(test.send(), hello);
    EXPECT_EQ(test.send(), nothing);
    EXPECT_EQ(test.receive(welcome), handshake_error::none);
    EXPECT_EQ(test.send(), initiate);
    EXPECT_EQ(test.send(), nothing);
    EXPECT_EQ(test.plain->status(), mechanism_status::handshaking);
    EXPECT_EQ(test.receive(ready), handshake_error::none);
    EXPECT_EQ(test.plain->status(), mechanism_status::ready);
    EXPECT_EQ(test.state.remote.socket_type, socket_types::router);
    EXPECT_EQ(test.plain->make_cipher(), nullptr);
}

TEST(plain_mechanism, a_server_waits_for_the_answer_of_its_authenticator)
{
    const auto asked = std::make_shared<asked_by_test>();
    side test = server(asked);
    int resumed = 0;
    test.plain->on_resumed([&] { ++resumed; });
    EXPECT_EQ(test.send(), nothing);
    EXPECT_EQ(test.receive(hello), handshake_error::none);
    EXPECT_EQ(asked->presented, (std::vector<std::string>{"PLAIN", "admin", "secret"}));
    EXPECT_EQ(test.plain->status(), mechanism_status::waiting);
    EXPECT_EQ(test.send(), nothing);
    asked->answer({.user_id = "alice"});
    EXPECT_EQ(resumed, 1);
    EXPECT_EQ(test.plain->status(), mechanism_status::handshaking);
    EXPECT_EQ(test.send(), welcome);
    EXPECT_EQ(test.send(), nothing);
    EXPECT_EQ(test.receive(initiate), handshake_error::none);
    EXPECT_EQ(test.send(), ready);
    EXPECT_EQ(test.plain->status(), mechanism_status::ready);
    EXPECT_EQ(test.state.remote.socket_type, socket_types::dealer);
    ASSERT_FALSE(test.state.remote.properties.empty());
    EXPECT_EQ(test.state.remote.properties[0], (property{"User-Id", "alice"}));
}

TEST(plain_mechanism, a_server_tells_a_refused_client_once)
{
    for (const auto& [refusal, told] : {std::pair{handshake_error::denied, denied},
                                        std::pair{handshake_error::authentication_failed,
                                                  std::string_view("054552524f5203353030")},
                                        std::pair{handshake_error::denied_for_now, nothing},
                                        std::pair{handshake_error::no_authenticator, nothing}}) {
        const auto asked = std::make_shared<asked_by_test>();
        side test = server(asked);
        EXPECT_EQ(test.receive(hello), handshake_error::none);
        asked->answer({.refusal = refusal});
        EXPECT_EQ(test.send(), told);
        EXPECT_EQ(test.send(), nothing);
        EXPECT_EQ(test.plain->error(), refusal);
        EXPECT_NE(test.plain->status(), mechanism_status::ready);
    }
}

TEST(plain_mechanism, a_client_understands_why_it_was_refused)
{
    side test = client();
    test.send();
    EXPECT_EQ(test.receive(denied), handshake_error::refused_by_peer);
    EXPECT_EQ(test.state.peer_reason, "400");
}

TEST(plain_mechanism, a_client_understands_the_error_command_of_libzmq)
{
    side test = client();
    test.send();
    EXPECT_EQ(test.receive("5e52524f5203343030"), handshake_error::refused_by_peer);
    EXPECT_EQ(test.state.peer_reason, "400");
}

TEST(plain_mechanism, commands_have_to_come_in_their_order)
{
    for (const auto body : {welcome, initiate, ready}) {
        side test = server(std::make_shared<asked_by_test>());
        EXPECT_EQ(test.receive(body), handshake_error::unexpected_command) << body;
    }
    for (const auto body : {hello, initiate, ready}) {
        side test = client();
        test.send();
        EXPECT_EQ(test.receive(body), handshake_error::unexpected_command) << body;
    }
    side twice = client();
    twice.send();
    EXPECT_EQ(twice.receive(welcome), handshake_error::none);
    twice.send();
    EXPECT_EQ(twice.receive(welcome), handshake_error::unexpected_command);
}

TEST(plain_mechanism, malformed_commands_are_told_apart)
{
    const std::string_view wrong_hellos[] = {
        "0548454c4c4f",                             // no texts
        "0548454c4c4f05",                           // a length without its text
        "0548454c4c4f0561646d696e",                 // no password
        "0548454c4c4f0561646d696e07736563726574",   // a password that ends too early
        "0548454c4c4f0561646d696e0673656372657400", // something behind it
    };
    for (const auto body : wrong_hellos) {
        side test = server(std::make_shared<asked_by_test>());
        EXPECT_EQ(test.receive(body), handshake_error::malformed_hello) << body;
    }
    side test = client();
    test.send();
    EXPECT_EQ(test.receive("0757454c434f4d4500"), handshake_error::malformed_welcome);
    EXPECT_EQ(test.receive(""), handshake_error::malformed_command);
    EXPECT_EQ(test.receive("09"), handshake_error::malformed_command);
    EXPECT_EQ(test.receive("054552524f52"), handshake_error::malformed_error_command);
    EXPECT_EQ(test.receive(welcome), handshake_error::none);
    test.send();
    EXPECT_EQ(test.receive("05524541445901"), handshake_error::invalid_ready_metadata);
}

TEST(plain_mechanism, wrong_metadata_of_a_client_is_an_error)
{
    const auto asked = std::make_shared<asked_by_test>();
    side test = server(asked);
    EXPECT_EQ(test.receive(hello), handshake_error::none);
    asked->answer({});
    test.send();
    EXPECT_EQ(test.receive("08494e49544941544501"), handshake_error::invalid_metadata);
}

TEST(plain_mechanism, nobody_is_asked_for_a_connection_that_is_gone)
{
    const auto asked = std::make_shared<asked_by_test>();
    {
        side test = server(asked);
        EXPECT_EQ(test.receive(hello), handshake_error::none);
        EXPECT_FALSE(asked->cancelled);
    }
    EXPECT_TRUE(asked->cancelled);
}

} // namespace
} // namespace zlink::test
