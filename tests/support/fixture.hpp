// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

#include "support/endpoint.hpp"
#include "support/socket.hpp"

namespace zlink::test {

/// Sets the options of a socket before it is bound or connected.
using configuration = std::function<void(test_socket&)>;

/// Two sockets, one bound and one connected to it.
struct connected_pair {
    test_socket bound;
    test_socket peer;
    std::string address;
};

/// Binds and connects two sockets and returns when a message sent now from either side (as far as
/// its type can send) is going to arrive. SUB sockets are subscribed to everything unless
/// `configure_peer` did something else and said so by subscribing itself: then use `link` and
/// synchronise by hand.
connected_pair connect_pair(test_context& context, link_kind kind, int bound_type, int peer_type,
                            const configuration& configure_bound = {},
                            const configuration& configure_peer = {});

/// The same without waiting for anything after zmq_connect.
connected_pair link(test_context& context, link_kind kind, int bound_type, int peer_type,
                    const configuration& configure_bound = {},
                    const configuration& configure_peer = {});

/// Publishes `marker` until `subscriber` has received it, and removes the copies that are still on
/// their way. The subscriber must have a subscription that matches.
void publish_until_received(test_socket& publisher, test_socket& subscriber,
                            const std::string& marker);

/// Sends `body` whenever there is room, until there has been none for `patience`. The kernel may
/// take a little more now and then though nobody reads: when a delayed acknowledgement comes (40
/// ms), and when a probe of a closed window fills what is left of it (250 ms).
/// @return the number of messages sent.
int send_until_stuck(test_socket& socket, const std::string& body,
                     std::chrono::milliseconds patience);

/// Checks that a call of the C API returned -1 (or NULL) with the given error.
::testing::AssertionResult fails_with(int expected_code, long result);
::testing::AssertionResult fails_with(int expected_code, const void* result);

/// Fixture with one context, for tests that go through rows of the table of links: their sockets
/// get what the row needs, see link_in_use.
class transport_test : public ::testing::TestWithParam<link_kind> {
    const link_in_use link_{GetParam()};

protected:
    test_context context_;
};

} // namespace zlink::test

/// Instantiates a parametrised suite for some rows of the table of links, of which the library
/// under test may have none.
#define ZLINK_LINKS(suite, rows)                                                                   \
    GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                          \
    INSTANTIATE_TEST_SUITE_P(Over, suite, ::testing::ValuesIn(rows), [](const auto& info) {        \
        return std::string(::zlink::test::name_of(info.param));                                    \
    })

/// Instantiates a parametrised suite for every row.
#define ZLINK_ALL_TRANSPORTS(suite) ZLINK_LINKS(suite, ::zlink::test::all_links())

/// Instantiates a parametrised suite for the rows with a trait, see link_traits.
#define ZLINK_LINKS_WITH(suite, trait)                                                             \
    ZLINK_LINKS(suite, ::zlink::test::links_with(&::zlink::test::link_traits::trait))

/// Instantiates a parametrised suite for the rows that have a wire, which are all but inproc.
#define ZLINK_WIRE_TRANSPORTS(suite) ZLINK_LINKS_WITH(suite, has_wire)
