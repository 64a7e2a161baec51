// SPDX-License-Identifier: Apache-2.0
// The handshakes of mechanisms that ask an authenticator, over connections that fail at each
// operation or damage each byte.
#include "core/connection/opening_for_tests.hpp"
#include "engine/handshake/authenticator_for_tests.hpp"
#if ZLINK_HAS_CURVE
#include "engine/handshake/mechanisms/curve.hpp"
#endif
#include "engine/handshake/mechanisms/plain.hpp"
#include "engine/handshake/socket_types.hpp"
#include "support/each_lack_of_memory.hpp"

#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
using engine::handshake_error;
using kind = opening::end_kind;
using side = test::opening_side;

struct security {
    const char* name;
    bool encrypts;
    bool ends_with_server; ///< the client succeeds only when the server has done so
    std::unique_ptr<engine::mechanism> (*make_client)();
    std::unique_ptr<engine::mechanism> (*make_server)(std::shared_ptr<engine::authenticator>);

    friend std::ostream& operator<<(std::ostream& out, const security& of)
    {
        return out << of.name;
    }
};

std::unique_ptr<engine::mechanism> null_client()
{
    return std::make_unique<engine::null_mechanism>();
}
std::unique_ptr<engine::mechanism> null_server(std::shared_ptr<engine::authenticator> asked)
{
    return std::make_unique<engine::null_mechanism>(std::move(asked));
}

std::unique_ptr<engine::mechanism> plain_client()
{
    return std::make_unique<engine::plain_client>("admin",
                                                  base::secret(std::string_view("secret")));
}
std::unique_ptr<engine::mechanism> plain_server(std::shared_ptr<engine::authenticator> asked)
{
    return std::make_unique<engine::plain_server>(std::move(asked));
}

#if ZLINK_HAS_CURVE
using key = std::array<std::byte, engine::curve::key_bytes>;
constexpr key client_secret{std::byte{1}};
constexpr key server_secret{std::byte{2}};

std::unique_ptr<engine::mechanism> curve_client()
{
    using engine::curve::public_key_of;
    return std::make_unique<engine::curve_client>(
        public_key_of(client_secret), base::secret(client_secret), public_key_of(server_secret));
}
std::unique_ptr<engine::mechanism> curve_server(std::shared_ptr<engine::authenticator> asked)
{
    return std::make_unique<engine::curve_server>(base::secret(server_secret), std::move(asked));
}
#endif

/// What the authenticator does.
enum class answer { at_once, later, refusal_at_once, refusal_later, never };

bool refuses(answer of)
{
    return of == answer::refusal_at_once || of == answer::refusal_later;
}

/// A client and a server on one connection.
struct played {
    played(boost::asio::io_context& io, const security& by, answer given)
        : given_(given),
          client(io, types::dealer, {}, by.make_client()),
          server(io, types::router, {}, by.make_server(authenticator()))
    {}

    /// Until neither has anything to do; where one has ended without success, the other one finds
    /// the end of the stream.
    void run(int limit_ms = 0)
    {
        client.start(limit_ms);
        server.start(limit_ms);
        exchange();
        if (later_->asks() && !later_->cancelled && given_ != answer::never) {
            later_->answer(verdict());
            exchange();
        }
        end_after(client, server);
        end_after(server, client);
    }

    std::shared_ptr<test::asked_by_test> later_ = std::make_shared<test::asked_by_test>();
    const answer given_;
    side client;
    side server;
    std::function<void(std::string&)> to_server{}; ///< changes what comes
    std::function<void(std::string&)> to_client{};

private:
    engine::verdict verdict() const
    {
        return {.refusal = refuses(given_) ? handshake_error::denied : handshake_error::none};
    }
    std::shared_ptr<engine::authenticator> authenticator() const
    {
        if (given_ == answer::at_once || given_ == answer::refusal_at_once)
            return std::make_shared<test::answering_at_once>(verdict());
        return later_;
    }
    void exchange()
    {
        for (bool busy = true; busy;) {
            busy = move(client, server, to_server);
            busy |= move(server, client, to_client);
            busy |= client.stream.call_waiting();
            busy |= server.stream.call_waiting();
        }
    }
    static bool move(side& from, side& to, const std::function<void(std::string&)>& change)
    {
        const test::memory_of_test own;
        std::string bytes = std::exchange(from.stream.written, {});
        bytes += std::exchange(from.unsent, {}); // a finished handshake leaves it to the traffic
        if (change && !bytes.empty())
            change(bytes);
        to.stream.input += bytes;
        return !bytes.empty();
    }
    static void end_after(side& first, side& second)
    {
        if (first.ends == 0 || first.ending.kind == kind::succeeded)
            return;
        second.stream.ended = true;
        while (second.ends == 0 && second.stream.call_waiting()) {
        }
    }
};

class SecuredOpening : public ::testing::TestWithParam<security> {
protected:
    boost::asio::io_context io_;
};

std::string name_of(const ::testing::TestParamInfo<security>& of)
{
    return of.param.name;
}

INSTANTIATE_TEST_SUITE_P(By, SecuredOpening,
                         ::testing::Values(
#if ZLINK_HAS_CURVE
                             security{"curve", true, true, curve_client, curve_server},
#endif
                             security{"null", false, false, null_client, null_server},
                             security{"plain", false, true, plain_client, plain_server}),
                         name_of);

TEST_P(SecuredOpening, succeeds_on_both_sides_whenever_the_answer_comes)
{
    for (const answer given : {answer::at_once, answer::later}) {
        played on(io_, GetParam(), given);
        on.run();
        for (const side* each : {&on.client, &on.server}) {
            ASSERT_EQ(each->ends, 1);
            EXPECT_EQ(each->ending.kind, kind::succeeded);
            EXPECT_EQ(each->ending.cipher != nullptr, GetParam().encrypts);
        }
        EXPECT_EQ(on.client.ending.remote.socket_type, types::router);
        EXPECT_EQ(on.server.ending.remote.socket_type, types::dealer);
    }
}

TEST_P(SecuredOpening, is_refused_on_both_sides_whenever_the_answer_comes)
{
    for (const answer given : {answer::refusal_at_once, answer::refusal_later}) {
        played on(io_, GetParam(), given);
        on.server.stream.portion = SIZE_MAX; // the client is told with one attempt
        on.server.stream.blocks_every_other_write = false;
        on.run();
        EXPECT_EQ(on.server.ends, 1);
        EXPECT_EQ(on.server.ending.kind, kind::refused);
        EXPECT_EQ(on.server.ending.refusal, handshake_error::denied);
        EXPECT_EQ(on.client.ends, 1);
        EXPECT_EQ(on.client.ending.kind, kind::refused);
        EXPECT_EQ(on.client.ending.refusal, handshake_error::refused_by_peer);
    }
}

TEST_P(SecuredOpening, is_broken_once_by_each_operation_that_fails)
{
    for (const answer given : {answer::at_once, answer::later}) {
        for (side played::*const failing : {&played::client, &played::server}) {
            side played::*const other =
                failing == &played::client ? &played::server : &played::client;
            played whole(io_, GetParam(), given);
            whole.run();
            const int operations = (whole.*failing).stream.operations;
            ASSERT_GT(operations, 20);
            for (int at = 0; at < operations; ++at) {
                SCOPED_TRACE((failing == &played::client ? "client " : "server ") +
                             std::to_string(at) + " of " + std::to_string(operations));
                played on(io_, GetParam(), given);
                (on.*failing).stream.fail_at = at;
                on.run();
                EXPECT_EQ((on.*failing).ends, 1);
                EXPECT_EQ((on.*failing).ending.kind, kind::broken);
                EXPECT_EQ((on.*failing).ending.error, ECONNRESET);
                EXPECT_EQ((on.*other).ends, 1);
                // Who has done its part need not know of it yet: the server, if the client fails.
                if ((on.*other).ending.kind != kind::succeeded ||
                    (failing == &played::server && GetParam().ends_with_server)) {
                    EXPECT_EQ((on.*other).ending.kind, kind::broken);
                    EXPECT_EQ((on.*other).ending.error, EPIPE);
                }
                if (on.later_->asks()) {
                    EXPECT_TRUE(on.later_->cancelled);
                }
            }
        }
    }
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
// Each end is told once, and none is for good; the next connection is not affected.
TEST_P(SecuredOpening, ends_once_whichever_allocation_fails)
{
    constexpr int limit_ms = 60'000;
    const auto has_succeeded = [](const side& on) {
        return on.ends == 1 && on.ending.kind == kind::succeeded;
    };
    for (const answer given : {answer::at_once, answer::later}) {
        test::play_with_each_lack_of_memory([&](test::lack_of_memory& lack) {
            boost::asio::io_context io;
            bool is_open = false;
            lack.during([&] {
                std::optional<played> on;
                try {
                    on.emplace(io, GetParam(), given);
                } catch (const std::bad_alloc&) {
                    return;
                }
                on->run(limit_ms);
                const test::memory_of_test own;
                for (const side* each : {&on->client, &on->server})
                    test::expect_ended_for_now(*each);
                is_open = has_succeeded(on->client) && has_succeeded(on->server);
                if (on->later_->asks()) {
                    EXPECT_TRUE(on->later_->cancelled);
                }
            });
            EXPECT_TRUE(is_open || lack.has_come());
            played next(io, GetParam(), given);
            next.run(limit_ms);
            EXPECT_TRUE(has_succeeded(next.client) && has_succeeded(next.server));
        });
    }
}
#endif

TEST_P(SecuredOpening, that_waits_for_an_answer_asks_no_more_when_it_is_stopped)
{
    played on(io_, GetParam(), answer::never);
    on.run();
    ASSERT_TRUE(on.later_->asks());
    EXPECT_EQ(on.server.ends, 0);
    EXPECT_EQ(on.client.ends, 0);
    EXPECT_FALSE(on.later_->cancelled);
    on.server.opens->stop();
    EXPECT_TRUE(on.later_->cancelled);
    on.server.opens.reset();
    on.server.stream.call_waiting(boost::asio::error::operation_aborted);
    on.client.opens->stop();
}

TEST_P(SecuredOpening, that_waits_for_an_answer_notices_that_the_peer_leaves)
{
    played on(io_, GetParam(), answer::never);
    on.run();
    ASSERT_TRUE(on.later_->asks());
    on.server.stream.input = std::string(1000, 'x'); // is not looked at
    while (on.server.stream.call_waiting()) {
    }
    EXPECT_EQ(on.server.ends, 0);
    on.server.stream.ended = true;
    while (on.server.stream.call_waiting()) {
    }
    EXPECT_EQ(on.server.ends, 1);
    EXPECT_TRUE(on.later_->cancelled);
    on.client.opens->stop();
}

TEST_P(SecuredOpening, that_waits_for_an_answer_keeps_little_of_what_comes)
{
    played on(io_, GetParam(), answer::never);
    on.run();
    ASSERT_TRUE(on.later_->asks());
    on.server.stream.portion = 100;
    on.server.stream.input = std::string(100'000, 'x');
    while (on.server.stream.call_waiting()) {
    }
    EXPECT_GT(on.server.stream.input.size(), 90'000U);
    EXPECT_EQ(on.server.ends, 0);
    on.server.opens->stop();
    on.client.opens->stop();
}

TEST(SecuredOpening, that_waits_for_an_answer_hears_why_the_peer_leaves)
{
    boost::asio::io_context io;
    const auto with = [](std::shared_ptr<engine::authenticator> asked) {
        return std::make_unique<engine::null_mechanism>(std::move(asked));
    };
    const auto asked = std::make_shared<test::asked_by_test>();
    side waiting(io, types::dealer, {}, with(asked));
    side refusing(io, types::router, {},
                  with(std::make_shared<test::answering_at_once>(
                      engine::verdict{.refusal = handshake_error::denied})));
    refusing.stream.portion = SIZE_MAX; // its last words are written once
    refusing.stream.blocks_every_other_write = false;
    waiting.start();
    refusing.start();
    test::connect(waiting, refusing);
    ASSERT_EQ(refusing.ends, 1);
    EXPECT_EQ(waiting.ends, 0);
    waiting.stream.ended = true;
    while (waiting.stream.call_waiting()) {
    }
    EXPECT_EQ(waiting.ends, 1);
    EXPECT_EQ(waiting.ending.kind, kind::refused);
    EXPECT_TRUE(asked->cancelled);
}

TEST_P(SecuredOpening, takes_the_answer_that_comes_when_the_stream_has_failed)
{
    for (const auto refusal : {handshake_error::none, handshake_error::denied}) {
        played on(io_, GetParam(), answer::never);
        on.run();
        ASSERT_TRUE(on.later_->asks());
        on.server.stream.fail_at = 0;
        on.later_->answer({.refusal = refusal});
        while (on.server.stream.call_waiting()) {
        }
        // CURVE has nothing to write but READY, which goes along with the traffic.
        EXPECT_EQ(on.server.ends, 1);
        EXPECT_EQ(on.server.ending.kind, refusal != handshake_error::none ? kind::refused
                                         : GetParam().encrypts            ? kind::succeeded
                                                                          : kind::broken);
        on.client.opens->stop();
    }
}

/// Nobody ends twice or hangs, and whoever succeeds does so with a peer that is admitted.
TEST_P(SecuredOpening, stands_each_damaged_byte)
{
    for (const answer given : {answer::at_once, answer::later}) {
        for (const bool damages_client : {false, true}) {
            std::size_t bytes = 0;
            played whole(io_, GetParam(), given);
            (damages_client ? whole.to_client : whole.to_server) = [&](std::string& some) {
                bytes += some.size();
            };
            whole.run();
            ASSERT_GT(bytes, 64U);
            for (std::size_t at = 0; at < bytes; ++at) {
                SCOPED_TRACE((damages_client ? "to the client " : "to the server ") +
                             std::to_string(at));
                played on(io_, GetParam(), given);
                std::size_t passed = 0;
                (damages_client ? on.to_client : on.to_server) = [&](std::string& some) {
                    if (at >= passed && at < passed + some.size())
                        some[at - passed] = static_cast<char>(some[at - passed] ^ 0x11);
                    passed += some.size();
                };
                on.run();
                for (side* each : {&on.client, &on.server}) {
                    EXPECT_LE(each->ends, 1);
                    if (each->ends == 0) // it waits for bytes that do not come
                        each->opens->stop();
                    else if (each->ending.kind == kind::succeeded) {
                        EXPECT_EQ(each->ending.cipher != nullptr, GetParam().encrypts);
                    }
                }
                if (GetParam().ends_with_server && on.client.ends == 1 &&
                    on.client.ending.kind == kind::succeeded) {
                    EXPECT_TRUE(on.server.ends == 1 && on.server.ending.kind == kind::succeeded);
                }
            }
        }
    }
}

} // namespace
} // namespace zlink::core
