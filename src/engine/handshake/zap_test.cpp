// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/zap.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zlink::test {
namespace {

using namespace engine;
using namespace std::string_literals;

using texts = std::vector<std::string>;

texts request(const zap::question& about, const credentials& presented)
{
    const auto parts = zap::request_parts(about, presented);
    return {parts.begin(), parts.end()};
}

TEST(zap, requests_have_the_credentials_last)
{
    EXPECT_EQ(request({"global", "id"}, {.mechanism = "NULL", .address = "::1"}),
              (texts{"", "1.0", "1", "global", "::1", "id", "NULL"}));
    const std::string_view shown[] = {"admin", "secret"};
    EXPECT_EQ(request({"", ""}, {"PLAIN", "127.0.0.1", shown}),
              (texts{"", "1.0", "1", "", "127.0.0.1", "", "PLAIN", "admin", "secret"}));
}

handshake_error refusal(const texts& reply)
{
    return zap::read_reply(reply).refusal;
}

TEST(zap, a_reply_of_200_admits_and_tells_of_the_peer)
{
    const verdict read =
        zap::read_reply(texts{"", "1.0", "1", "200", "any text", "alice", "\5Hello\0\0\0\5World"s});
    EXPECT_EQ(read.refusal, handshake_error::none);
    EXPECT_EQ(read.user_id, "alice");
    EXPECT_EQ(read.properties, (std::vector<property>{{"Hello", "World"}}));
}

TEST(zap, other_replies_refuse)
{
    const auto with_status = [](const char* status) {
        return texts{"", "1.0", "1", status, "", "", ""};
    };
    EXPECT_EQ(refusal(with_status("300")), handshake_error::denied_for_now);
    EXPECT_EQ(refusal(with_status("400")), handshake_error::denied);
    EXPECT_EQ(refusal(with_status("500")), handshake_error::authentication_failed);
    for (const char* status : {"", "20", "2000", "201", "600", "abc", " 200"})
        EXPECT_EQ(refusal(with_status(status)), handshake_error::invalid_reply_status) << status;
}

TEST(zap, the_first_fault_of_a_reply_counts)
{
    EXPECT_EQ(refusal({}), handshake_error::malformed_reply);
    EXPECT_EQ(refusal({"x", "2", "2", "2", "", "\5"}), handshake_error::malformed_reply);
    EXPECT_EQ(refusal({"x", "2", "2", "2", "", "", "\5", ""}), handshake_error::malformed_reply);
    EXPECT_EQ(refusal({"x", "2", "2", "2", "", "", "\5"}), handshake_error::unspecified_reply);
    EXPECT_EQ(refusal({"", "2", "2", "2", "", "", "\5"}), handshake_error::wrong_reply_version);
    EXPECT_EQ(refusal({"", "1.0", "2", "2", "", "", "\5"}),
              handshake_error::wrong_reply_request_id);
    EXPECT_EQ(refusal({"", "1.0", "1", "2", "", "", "\5"}), handshake_error::invalid_reply_status);
    EXPECT_EQ(refusal({"", "1.0", "1", "200", "", "", "\5"}),
              handshake_error::invalid_reply_metadata);
}

} // namespace
} // namespace zlink::test
