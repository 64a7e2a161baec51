// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/openssl.hpp"

#include <gtest/gtest.h>
#include <string>

namespace zlink::transport::tls_parts {
namespace {

std::string next_error()
{
    const char* data = nullptr;
    int flags = 0;
    const unsigned long code = ERR_get_error_all(nullptr, nullptr, nullptr, &data, &flags);
    return code == 0 ? "none" : std::to_string(ERR_GET_REASON(code)) + " " + data;
}

TEST(own_errors, gives_back_those_of_the_application)
{
    ERR_clear_error();
    ERR_raise_data(ERR_LIB_USER, 77, "of the %s", "application");
    ERR_raise(ERR_LIB_USER, 78);
    {
        const own_errors ours;
        EXPECT_EQ(0U, ERR_peek_error());
        ERR_clear_error();           // as a handshake does
        for (int i = 0; i < 20; ++i) // more than the list holds
            ERR_raise(ERR_LIB_USER, 79);
    }
    EXPECT_EQ("77 of the application", next_error());
    EXPECT_EQ("78 ", next_error());
    EXPECT_EQ("none", next_error());
}

TEST(own_errors, leaves_none)
{
    ERR_clear_error();
    {
        const own_errors ours;
        ERR_raise(ERR_LIB_USER, 79);
    }
    EXPECT_EQ(0U, ERR_peek_error());
}

} // namespace
} // namespace zlink::transport::tls_parts
