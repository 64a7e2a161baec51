// SPDX-License-Identifier: Apache-2.0
// A context that is made while memory runs out for a moment is as good as any, or there is none.
#include "support/certificates.hpp"
#include "support/scarce_memory.hpp"
#include "transport/tls/context.hpp"
#include "transport/tls/upgrade.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <span>
#include <string>

namespace zlink::transport::tls_parts {
namespace {

tls_settings settings_of(side which)
{
    static const test::certificate authority = test::certificate::authority();
    static const test::certificate own = authority.sign();
    tls_settings settings;
    if (which == side::server) {
        settings.certificate = own.text();
        settings.key = own.key();
    } else {
        settings.ca = authority.text();
    }
    return settings;
}

std::shared_ptr<context_source> make_source(side which, const tls_settings& settings)
{
    error_code error;
    return context_source::make(which, settings, "localhost", error);
}

void move_output(upgrade& from, upgrade& to)
{
    const auto output = from.output();
    const std::string bytes(reinterpret_cast<const char*>(output.data()), output.size());
    from.consume_output(bytes.size());
    if (!bytes.empty())
        to.feed(std::as_bytes(std::span(bytes)));
}

bool can_shake_hands(const std::shared_ptr<context>& client, const std::shared_ptr<context>& server)
{
    const auto connected = make_upgrade(client);
    const auto accepted = make_upgrade(server);
    connected->start();
    accepted->start();
    for (int round = 0; round < 4; ++round) {
        move_output(*connected, *accepted);
        move_output(*accepted, *connected);
    }
    return connected->current_state() == exchange::state::done &&
           accepted->current_state() == exchange::state::done;
}

TEST(tls_context, that_has_failed_at_once_is_made_again)
{
    const auto server = make_source(side::server, settings_of(side::server));
    tls_settings strangers = settings_of(side::client);
    strangers.ca = test::certificate::authority().text();
    const auto first = make_source(side::client, strangers);
    const auto before = first->current();
    EXPECT_FALSE(can_shake_hands(before, server->current()));
    EXPECT_NE(before, first->current());
}

TEST(tls_context, that_was_of_use_is_kept)
{
    const auto server = make_source(side::server, settings_of(side::server));
    const auto client = make_source(side::client, settings_of(side::client));
    tls_settings strangers = settings_of(side::client);
    strangers.ca = test::certificate::authority().text();
    const auto kept = server->current();
    ASSERT_TRUE(can_shake_hands(client->current(), kept));
    EXPECT_FALSE(can_shake_hands(make_source(side::client, strangers)->current(), kept));
    EXPECT_EQ(kept, server->current());
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
// OpenSSL makes do without what it has no memory for, such as a cipher, and does not always say so.
TEST(tls_context, made_without_memory_for_all_of_it_is_thrown_away)
{
    const auto client = make_source(side::client, settings_of(side::client));
    const auto server = make_source(side::server, settings_of(side::server));
    ASSERT_TRUE(can_shake_hands(client->current(), server->current()));
    const auto works = [&](side which, context_source& made) {
        return which == side::client ? can_shake_hands(made.current(), server->current())
                                     : can_shake_hands(client->current(), made.current());
    };
    for (const side which : {side::client, side::server}) {
        int number = 0;
        bool was_refused = true;
        for (long allocations = 0; was_refused; allocations += 17) {
            tls_settings settings = settings_of(which);
            settings.ciphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384";
            std::shared_ptr<context_source> made;
            {
                const test::memory_but_once scarce(allocations);
                try {
                    made = make_source(which, settings);
                } catch (const std::bad_alloc&) {
                }
                was_refused = scarce.was_refused();
            }
            ++number;
            EXPECT_TRUE(made || was_refused);
            if (made) {
                EXPECT_TRUE(works(which, *made) || works(which, *made))
                    << (which == side::client ? "client, " : "server, ") << allocations;
            }
        }
        EXPECT_LT(20, number);
    }
}
#endif

} // namespace
} // namespace zlink::transport::tls_parts
