// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/command_frames.hpp"
#include "engine/handshake/handshake.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "engine/handshake/handshake_script_for_tests.hpp"
#include "engine/handshake/socket_types.hpp"

namespace zlink::test {
namespace {

using namespace engine;

const std::string signature = "ff00000000000000017f";
const std::string minor_and_null =
    "01 4e554c4c00000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000";
const std::string null_greeting = signature + "03" + minor_and_null;

struct ready_row {
    int socket_type;
    int peer_type; // some type that it may talk to
    std::string frame;
};

const std::vector<ready_row> ready_frames{
    {0, 0, "041a0552454144590b536f636b65742d547970650000000450414952"},
    {1, 2, "04190552454144590b536f636b65742d5479706500000003505542"},
    {2, 9, "04190552454144590b536f636b65742d5479706500000003535542"},
    {3, 4, "04260552454144590b536f636b65742d5479706500000003524551084964656e7469747900000000"},
    {4, 3, "04190552454144590b536f636b65742d5479706500000003524550"},
    {5, 6,
     "04290552454144590b536f636b65742d54797065000000064445414c4552084964656e7469747900000000"},
    {6, 5,
     "04290552454144590b536f636b65742d5479706500000006524f55544552084964656e7469747900000000"},
    {7, 8, "041a0552454144590b536f636b65742d547970650000000450554c4c"},
    {8, 7, "041a0552454144590b536f636b65742d547970650000000450555348"},
    {9, 10, "041a0552454144590b536f636b65742d547970650000000458505542"},
    {10, 1, "041a0552454144590b536f636b65742d547970650000000458535542"},
    {12, 13, "041c0552454144590b536f636b65742d5479706500000006534552564552"},
    {13, 12, "041c0552454144590b536f636b65742d5479706500000006434c49454e54"},
    {14, 15, "041b0552454144590b536f636b65742d5479706500000005524144494f"},
    {15, 14, "041a0552454144590b536f636b65742d547970650000000444495348"},
    {16, 17, "041c0552454144590b536f636b65742d5479706500000006474154484552"},
    {17, 16, "041d0552454144590b536f636b65742d547970650000000753434154544552"},
    {19, 19, "041a0552454144590b536f636b65742d547970650000000450454552"},
    {20, 20, "041d0552454144590b536f636b65742d54797065000000074348414e4e454c"},
};

const std::string& ready_frame(int socket_type)
{
    for (const auto& row : ready_frames) {
        if (row.socket_type == socket_type) {
            return row.frame;
        }
    }
    throw std::out_of_range("no such socket type");
}

local_peer local(int socket_type)
{
    return {socket_type, "", {}};
}

/// A command frame around a body in hex.
std::string command_frame(std::string_view body)
{
    std::vector<std::byte> frame;
    append_frame(frame, zmtp3::flag_command, hex(body), *zmtp3_codec());
    return to_hex(frame);
}

std::string ready_with(const std::vector<property>& properties)
{
    std::vector<std::byte> body;
    append_command_body(body, "READY");
    for (const auto& property : properties) {
        EXPECT_TRUE(append_property(body, property.name, property.value));
    }
    return command_frame(to_hex(body));
}

/// A script of a DEALER up to where the greetings and the own READY are exchanged.
handshake_script greeted_dealer()
{
    handshake_script script(local(socket_types::dealer));
    script.expect(signature)
        .feed(null_greeting)
        .expect("03" + minor_and_null + ready_frame(socket_types::dealer));
    return script;
}

TEST(handshake, every_socket_type_greets_and_gets_ready)
{
    for (const auto& row : ready_frames) {
        SCOPED_TRACE(row.socket_type);
        handshake_script(local(row.socket_type))
            .expect(signature)
            .feed(signature)
            .expect("03")
            .feed("03")
            .expect(minor_and_null)
            .feed(minor_and_null)
            .expect(row.frame)
            .feed(ready_frame(row.peer_type))
            .ends_done([&](const handshake& done) {
                EXPECT_EQ(done.remote().major, 3);
                EXPECT_EQ(done.remote().minor, 1);
                EXPECT_EQ(done.remote().socket_type, row.peer_type);
                EXPECT_EQ(done.remote().routing_id, "");
                EXPECT_EQ(done.peer_reason(), "");
            });
    }
}

TEST(handshake, announces_routing_id_and_properties)
{
    handshake_script({socket_types::dealer, "ID1", {{"X-Foo", "bar"}, {"X-Alpha", "1:2"}}})
        .expect("ff00000000000000047f")
        .feed(null_greeting)
        .expect("03" + minor_and_null +
                "04480552454144590b536f636b65742d54797065000000064445414c4552"
                "084964656e7469747900000003494431"
                "07582d416c70686100000003313a32"
                "05582d466f6f00000003626172")
        .feed(ready_frame(socket_types::router))
        .ends_done();
}

TEST(handshake, long_metadata_goes_out_in_a_long_frame)
{
    handshake test({socket_types::pub, "", {{"X-Long", std::string(300, 'v')}}});
    test.start();
    test.feed(hex(null_greeting));
    const auto ready_bytes = 25u + 1 + 6 + 4 + 300;
    ASSERT_EQ(test.output().size(), greeting_bytes + 9 + ready_bytes);
    EXPECT_EQ(to_hex(test.output().subspan(greeting_bytes, 15)), "060000000000000150"
                                                                 "055245414459");
    handshake peer(local(socket_types::sub));
    peer.start();
    EXPECT_EQ(peer.feed(test.output()), test.output().size());
    EXPECT_TRUE(peer.done());
    EXPECT_EQ(peer.remote().properties.at(1).value, std::string(300, 'v'));
}

TEST(handshake, learns_what_the_peer_announces)
{
    const std::vector<property> properties{
        {"Socket-Type", "DEALER"}, {"Identity", "ID1"}, {"X-Foo", "bar"}, {"X-Foo", "baz"}};
    greeted_dealer().feed(ready_with(properties)).ends_done([&](const handshake& done) {
        EXPECT_EQ(done.remote().socket_type, socket_types::dealer);
        EXPECT_EQ(done.remote().routing_id, "ID1");
        EXPECT_EQ(done.remote().properties, properties);
    });
}

TEST(handshake, a_peer_of_zmtp_3_0_is_known_as_one)
{
    auto greeting_3_0 = null_greeting;
    greeting_3_0.replace(signature.size() + 2, 2, "00");
    handshake_script(local(socket_types::sub))
        .expect(signature)
        .feed(greeting_3_0)
        .expect("03" + minor_and_null + ready_frame(socket_types::sub))
        .feed(ready_frame(socket_types::pub))
        .ends_done([](const handshake& done) {
            EXPECT_EQ(done.remote().major, 3);
            EXPECT_EQ(done.remote().minor, 0);
        });
}

TEST(handshake, two_of_them_understand_each_other)
{
    handshake router({socket_types::router, "server", {}});
    handshake req({socket_types::req, "client", {}});
    router.start();
    req.start();
    for (int turn = 0; turn < 10 && !(router.done() && req.done()); ++turn) {
        router.consume_output(req.feed(router.output()));
        req.consume_output(router.feed(req.output()));
    }
    ASSERT_TRUE(router.done());
    ASSERT_TRUE(req.done());
    EXPECT_EQ(router.remote().routing_id, "client");
    EXPECT_EQ(req.remote().routing_id, "server");
    EXPECT_EQ(req.remote().socket_type, socket_types::router);
}

TEST(handshake, ready_is_taken_in_any_frame)
{
    const auto body = ready_frame(socket_types::router).substr(4);
    for (const auto* header :
         {"0029", "0529", "fc29", "060000000000000029", "020000000000000029"}) {
        greeted_dealer().feed(header + body).ends_done();
    }
}

TEST(handshake, ready_without_a_socket_type_is_accepted)
{
    greeted_dealer().feed("0406055245414459").ends_done([](const handshake& done) {
        EXPECT_EQ(done.remote().socket_type, -1);
    });
}

// --- peers older than ZMTP 3.0 ---

/// What a handshake with such a peer has found out.
handshake_script::check is_peer(int major, bool unversioned, std::string routing_id,
                                int socket_type)
{
    return [=](const handshake& done) {
        EXPECT_EQ(done.remote().major, major);
        EXPECT_EQ(done.remote().minor, 0);
        EXPECT_EQ(done.remote().unversioned, unversioned);
        EXPECT_EQ(done.remote().routing_id, routing_id);
        EXPECT_EQ(done.remote().socket_type, socket_type);
        EXPECT_TRUE(done.remote().properties.empty());
    };
}

const std::string named_signature = "ff00000000000000047f"; // for a routing id of 3 bytes

TEST(handshake, an_unversioned_peer_begins_with_its_identity)
{
    // The signature has been the header of the own identity frame.
    for (const auto* first : {"01 00", "01 7f", "ff 0000000000000001 00"})
        handshake_script({socket_types::dealer, "SRV", {}})
            .expect(named_signature)
            .feed(first)
            .expect("535256")
            .ends_done(is_peer(1, true, "", -1));
    for (const auto* first : {"04 00 504552", "ff 0000000000000004 00 504552"})
        handshake_script({socket_types::dealer, "SRV", {}})
            .expect(named_signature)
            .feed(first)
            .expect("535256")
            .ends_done(is_peer(1, true, "PER", -1));
    handshake_script(local(socket_types::dealer))
        .expect(signature)
        .feed("01 00")
        .ends_done(is_peer(1, true, "", -1));
}

TEST(handshake, a_peer_of_revision_0_has_a_greeting_and_frames_of_1_0)
{
    for (const auto* identity : {"04 00 504552", "ff 0000000000000004 00 504552"})
        handshake_script({socket_types::dealer, "SRV", {}})
            .expect(named_signature)
            .feed(signature)
            .expect("03")
            .feed("00")
            .expect("05")
            .feed("06")
            .expect("0400535256")
            .feed(identity)
            .ends_done(is_peer(1, false, "PER", 6));
}

TEST(handshake, a_peer_of_revision_1_has_a_greeting_and_frames_of_2_0)
{
    for (const auto* identity : {"00 03 504552", "02 0000000000000003 504552", "fd 03 504552"})
        handshake_script({socket_types::dealer, "SRV", {}})
            .expect(named_signature)
            .feed(signature)
            .expect("03")
            .feed("01")
            .expect("05")
            .feed("06")
            .expect("0003535256")
            .feed(identity)
            .ends_done(is_peer(2, false, "PER", 6));
}

TEST(handshake, every_socket_type_meets_older_peers_of_any_type)
{
    // Their types are not checked: those peers do not check ours either.
    for (const auto& row : ready_frames) {
        SCOPED_TRACE(row.socket_type);
        const std::string type = to_hex(std::array{static_cast<std::byte>(row.socket_type)});
        for (const auto* peer_type : {"00", "07", "ff"})
            handshake_script(local(row.socket_type))
                .expect(signature)
                .feed(signature + "01")
                .expect("03" + type)
                .feed(peer_type)
                .expect("0000")
                .feed("0000")
                .ends_done();
    }
}

TEST(handshake, identities_of_older_peers_have_a_limit)
{
    const std::string longest(510, '6');
    handshake_script(local(socket_types::router))
        .expect(signature)
        .feed("ff 0000000000000100 00" + longest)
        .ends_done(is_peer(1, true, std::string(255, 'f'), -1));
    handshake_script(local(socket_types::router))
        .expect(signature)
        .feed(signature + "01")
        .expect("0306")
        .feed("05")
        .expect("0000")
        .feed("00ff" + longest)
        .ends_done(is_peer(2, false, std::string(255, 'f'), 5));
    for (const auto* header : {"ff 0000000000000101 00", "ff ffffffffffffffff 00"})
        handshake_script(local(socket_types::router))
            .expect(signature)
            .feed(header)
            .ends_failed(handshake_error::invalid_metadata);
    for (const auto* header : {"02 0000000000000100", "02 ffffffffffffffff"})
        handshake_script(local(socket_types::router))
            .expect(signature)
            .feed(signature + "01")
            .expect("0306")
            .feed("05")
            .expect("0000")
            .feed(header)
            .ends_failed(handshake_error::invalid_metadata);
}

TEST(handshake, a_frame_of_zmtp_1_0_is_never_empty)
{
    handshake_script(local(socket_types::pull))
        .expect(signature)
        .feed("00")
        .ends_failed(handshake_error::invalid_metadata);
    handshake_script(local(socket_types::pull))
        .expect(signature)
        .feed("ff 0000000000000000 00")
        .ends_failed(handshake_error::invalid_metadata);
    handshake_script(local(socket_types::pull))
        .expect(signature)
        .feed(signature + "00")
        .expect("0307")
        .feed("08")
        .expect("0100")
        .feed("00")
        .ends_failed(handshake_error::invalid_metadata);
}

TEST(handshake, older_peers_cannot_be_authenticated)
{
    local_peer strict = local(socket_types::pull);
    strict.must_authenticate = true;
    handshake_script(strict).expect(signature).feed("01").ends_failed(
        handshake_error::unsupported_version);
    for (const auto* revision : {"00", "01"})
        handshake_script(strict)
            .expect(signature)
            .feed(signature + revision)
            .expect("0307")
            .feed("08")
            .ends_failed(handshake_error::unsupported_version);
}

TEST(handshake, another_mechanism_is_a_mismatch_and_gets_no_ready)
{
    handshake_script(local(socket_types::dealer))
        .expect(signature)
        .feed(signature + "03 01 504c41494e000000000000000000000000000000" + std::string(64, '0'))
        .expect("03" + minor_and_null)
        .ends_failed(handshake_error::mechanism_mismatch);
}

TEST(handshake, bodies_without_a_readable_name_are_malformed)
{
    for (const auto* body : {"", "00", "05", "0041", "0952454144"}) {
        greeted_dealer().feed(command_frame(body)).ends_failed(handshake_error::unexpected_command);
    }
}

TEST(handshake, other_commands_are_unexpected)
{
    for (const auto* name : {"HELLO", "WELCOME", "INITIATE", "MESSAGE", "SUBSCRIBE", "PING", "x"}) {
        std::vector<std::byte> body;
        append_command_body(body, name);
        greeted_dealer()
            .feed(command_frame(to_hex(body)))
            .ends_failed(handshake_error::unexpected_command);
    }
}

TEST(handshake, metadata_that_does_not_parse_is_invalid)
{
    for (const auto* list : {"01", "016100000002 61", "0161ffffffff", "016100000000 00"}) {
        greeted_dealer()
            .feed(command_frame(std::string("055245414459") + list))
            .ends_failed(handshake_error::invalid_metadata);
    }
}

TEST(handshake, an_identity_above_255_bytes_is_invalid)
{
    greeted_dealer()
        .feed(ready_with({{"Socket-Type", "DEALER"}, {"Identity", std::string(256, 'i')}}))
        .ends_failed(handshake_error::invalid_metadata);
}

TEST(handshake, socket_types_that_do_not_fit_are_refused)
{
    greeted_dealer()
        .feed(ready_frame(socket_types::sub))
        .ends_failed(handshake_error::incompatible_socket_type);
    greeted_dealer()
        .feed(ready_with({{"Socket-Type", "FOO"}}))
        .ends_failed(handshake_error::incompatible_socket_type);
}

TEST(handshake, a_peer_may_refuse_with_a_reason)
{
    greeted_dealer()
        .feed("040a054552524f5203343030")
        .ends_failed(handshake_error::refused_by_peer,
                     [](const handshake& failed) { EXPECT_EQ(failed.peer_reason(), "400"); });
    greeted_dealer()
        .feed(command_frame("054552524f5200"))
        .ends_failed(handshake_error::refused_by_peer,
                     [](const handshake& failed) { EXPECT_EQ(failed.peer_reason(), ""); });
}

TEST(handshake, a_refusal_without_a_readable_reason_is_malformed)
{
    for (const auto* body : {"054552524f52", "054552524f5204343030"}) {
        greeted_dealer()
            .feed(command_frame(body))
            .ends_failed(handshake_error::malformed_error_command);
    }
}

TEST(handshake, large_commands_are_refused_by_their_header)
{
    for (const auto* header : {"060000000000010001", "06ffffffffffffffff", "027fffffffffffffff"}) {
        greeted_dealer().feed(header).ends_failed(handshake_error::command_too_large);
    }
}

TEST(handshake, a_command_of_exactly_64_kib_is_accepted)
{
    const auto frame = ready_with({{"X-Large", std::string(65536 - 6 - 1 - 7 - 4, 'v')}});
    ASSERT_EQ(frame.size() / 2, 9u + 65536u);
    handshake test(local(socket_types::dealer));
    test.start();
    test.feed(hex(null_greeting));
    const auto bytes = hex(frame);
    EXPECT_EQ(test.feed(std::span(bytes).first(bytes.size() - 1)), bytes.size() - 1);
    EXPECT_EQ(test.buffered_bytes(), bytes.size() - 1);
    EXPECT_EQ(test.feed(std::span(bytes).last(1)), 1u);
    EXPECT_TRUE(test.done());
    EXPECT_EQ(test.buffered_bytes(), 0u);
}

/// A server with more than one step: HELLO is answered with WELCOME, READY ends it.
class two_step_mechanism final : public mechanism {
public:
    std::string_view name() const noexcept override { return "TWOSTEP"; }
    bool as_server() const noexcept override { return true; }
    bool next_command(negotiation&, std::vector<std::byte>& body) override
    {
        if (hello_received_ && !welcome_sent_) {
            append_command_body(body, "WELCOME");
            welcome_sent_ = true;
            return true;
        }
        return false;
    }
    handshake_error process_command(negotiation& state, std::span<const std::byte> body) override
    {
        const auto command = parse_command(body);
        if (!command || command->name != (hello_received_ ? "READY" : "HELLO")) {
            return handshake_error::unexpected_command;
        }
        if (!hello_received_) {
            hello_received_ = true;
            return handshake_error::none;
        }
        ready_received_ = true;
        return accept_remote_metadata(command->data, state.local, state.remote);
    }
    mechanism_status status() const noexcept override
    {
        return ready_received_ ? mechanism_status::ready : mechanism_status::handshaking;
    }

private:
    bool hello_received_ = false;
    bool welcome_sent_ = false;
    bool ready_received_ = false;
};

TEST(handshake, mechanisms_may_take_several_steps)
{
    const std::string minor_and_name =
        "01 54574f5354455000000000000000000000000000 01" + std::string(62, '0');
    handshake_script([] {
        return std::make_unique<handshake>(local(socket_types::dealer),
                                           std::make_unique<two_step_mechanism>());
    })
        .expect(signature)
        .feed(signature + "03" + minor_and_name)
        .expect("03" + minor_and_name)
        .feed("04060548454c4c4f")
        .expect("04080757454c434f4d45")
        .feed(ready_frame(socket_types::router))
        .ends_done([](const handshake& done) {
            EXPECT_EQ(done.remote().socket_type, socket_types::router);
        });
}

TEST(handshake, no_other_mechanism_serves_older_peers)
{
    const auto secure = [] {
        return std::make_unique<handshake>(local(socket_types::dealer),
                                           std::make_unique<two_step_mechanism>());
    };
    handshake_script(secure).expect(signature).feed("01").ends_failed(
        handshake_error::unsupported_version);
    handshake_script(secure)
        .expect(signature)
        .feed(signature + "01")
        .expect("0305")
        .feed("06")
        .ends_failed(handshake_error::unsupported_version);
}

TEST(handshake, consuming_more_than_there_is_empties_the_output)
{
    handshake test(local(socket_types::pair));
    test.start();
    test.consume_output(3);
    EXPECT_EQ(to_hex(test.output()), signature.substr(6));
    test.consume_output(100);
    EXPECT_TRUE(test.output().empty());
}

TEST(handshake, monitors_are_told_by_these_events)
{
    using enum failure_event::kind;
    const auto told = [](handshake_error error, failure_event expected) {
        EXPECT_EQ(event_of(error), expected) << static_cast<int>(error);
    };
    told(handshake_error::none, {});
    for (const auto error :
         {handshake_error::unsupported_version, handshake_error::incompatible_socket_type,
          handshake_error::refused_by_peer})
        told(error, {protocol, 0x10000000});
    told(handshake_error::closed_by_peer, {no_detail, 32});
    told(handshake_error::no_random_bytes, {no_detail, 5});
    told(handshake_error::no_upgrade, {protocol, 0x30000000});
    told(handshake_error::no_frame, {protocol, 0x30000000});
    told(handshake_error::command_too_large, {protocol, 0x10000011});
    told(handshake_error::invalid_metadata, {protocol, 0x10000018});
    told(handshake_error::unexpected_command, {protocol, 0x10000001});
    told(handshake_error::invalid_sequence, {protocol, 0x10000002});
    told(handshake_error::wrong_key, {protocol, 0x10000003});
    told(handshake_error::malformed_command, {protocol, 0x10000011});
    told(handshake_error::malformed_message, {protocol, 0x10000012});
    told(handshake_error::malformed_hello, {protocol, 0x10000013});
    told(handshake_error::malformed_initiate, {protocol, 0x10000014});
    told(handshake_error::malformed_error_command, {protocol, 0x10000015});
    told(handshake_error::malformed_ready, {protocol, 0x10000016});
    told(handshake_error::malformed_welcome, {protocol, 0x10000017});
    told(handshake_error::invalid_ready_metadata, {protocol, 0x10000018});
    told(handshake_error::not_authentic, {protocol, 0x11000001});
    told(handshake_error::mechanism_mismatch, {protocol, 0x11000002});
    told(handshake_error::denied_for_now, {denied, 300});
    told(handshake_error::denied, {denied, 400});
    told(handshake_error::authentication_failed, {denied, 500});
    told(handshake_error::no_authenticator, {no_detail, 14});
    told(handshake_error::unspecified_reply, {protocol, 0x20000000});
    told(handshake_error::malformed_reply, {protocol, 0x20000001});
    told(handshake_error::wrong_reply_request_id, {protocol, 0x20000002});
    told(handshake_error::wrong_reply_version, {protocol, 0x20000003});
    told(handshake_error::invalid_reply_status, {protocol, 0x20000004});
    told(handshake_error::invalid_reply_metadata, {protocol, 0x20000005});
    EXPECT_EQ(event_of(handshake_error::refused_by_peer, "400"), (failure_event{denied, 400}));
    EXPECT_EQ(event_of(handshake_error::refused_by_peer, "no"),
              (failure_event{protocol, 0x10000000}));
}

TEST(StatusCodes, are_the_three_of_the_protocol)
{
    for (const char* text : {"300", "400", "500"})
        EXPECT_EQ(status_code(text), static_cast<std::uint32_t>(std::stoi(text)));
    for (const char* text : {"", "200", "4000", "40", " 400", "no such user"})
        EXPECT_EQ(status_code(text), 0u) << text;
}

} // namespace
} // namespace zlink::test
