// SPDX-License-Identifier: Apache-2.0
#include "core/options/shared_options.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string_view>
#include <vector>

namespace zlink::core {
namespace {

using shared = std::shared_ptr<const socket_options>;

std::shared_ptr<socket_options> with_linger(int linger_ms)
{
    auto made = std::make_shared<socket_options>();
    made->linger_ms = linger_ms;
    return made;
}

TEST(SharedOptions, are_the_same_for_sockets_that_set_the_same)
{
    const shared one = share_options(with_linger(1234));
    EXPECT_EQ(one, share_options(with_linger(1234)));
    EXPECT_NE(one, share_options(with_linger(1235)));
}

TEST(SharedOptions, differ_by_what_lies_deep_in_them)
{
    const shared one = share_options(with_linger(2345));
    const auto with_ca = with_linger(2345);
    with_ca->transport.tls.edit().ca = "a certificate";
    EXPECT_NE(one, share_options(with_ca));
    const auto same_ca = with_linger(2345);
    same_ca->transport.tls.edit().ca = "a certificate";
    EXPECT_EQ(with_ca, share_options(same_ca));
    const auto with_ping = with_linger(2345);
    with_ping->heartbeat.interval_ms = 1;
    EXPECT_NE(one, share_options(with_ping));
}

// Keys are not compared.
TEST(SharedOptions, with_secrets_of_their_own_are_not_the_same)
{
    const auto one = with_linger(3456);
    one->security.plain_password = base::secret(std::string_view("password"));
    const auto other = with_linger(3456);
    other->security.plain_password = base::secret(std::string_view("password"));
    EXPECT_EQ(one, share_options(one));
    EXPECT_EQ(other, share_options(other));
    EXPECT_EQ(one, share_options(std::make_shared<socket_options>(*one)));
}

// Nobody else keeps them.
TEST(SharedOptions, go_with_the_last_socket_that_has_them)
{
    std::weak_ptr<const socket_options> remaining;
    {
        const shared one = share_options(with_linger(4567));
        remaining = one;
        EXPECT_EQ(1, one.use_count());
    }
    EXPECT_TRUE(remaining.expired());
}

TEST(SharedOptions, are_known_again_after_many_others)
{
    std::vector<shared> others;
    for (int i = 0; i < 100; ++i)
        others.push_back(share_options(with_linger(10'000 + i)));
    const shared last = share_options(with_linger(5678));
    EXPECT_EQ(last, share_options(with_linger(5678)));
    for (int i = 0; i < 1000; ++i)
        share_options(with_linger(20'000 + i)); // such as a socket has on its way
    EXPECT_EQ(last, share_options(with_linger(5678)));
}

} // namespace
} // namespace zlink::core
