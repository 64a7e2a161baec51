// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/fixture.hpp"

namespace zlink::test {

/// A subscription as XPUB receives it and XSUB sends it.
inline std::string subscribe(const std::string& topic)
{
    return std::string("\1", 1) + topic;
}

inline std::string cancel(const std::string& topic)
{
    return std::string("\0", 1) + topic;
}

/// Fixture with a bound XPUB socket.
class xpub_test : public transport_test {
protected:
    xpub_test() { address_ = publisher_.bind_and_resolve(fresh_bind_address(GetParam())); }

    test_socket subscriber(int type = ZMQ_SUB)
    {
        test_socket socket(context_, type);
        socket.connect(address_);
        return socket;
    }

    /// Two peers ask for the same, and both take it back.
    void expect_every_request_shown()
    {
        test_socket one = subscriber();
        test_socket two = subscriber();
        for (test_socket* socket : {&one, &two}) {
            socket->set(ZMQ_SUBSCRIBE, "a");
            EXPECT_EQ(subscribe("a"), publisher_.recv());
        }
        for (test_socket* socket : {&one, &two}) {
            socket->set(ZMQ_UNSUBSCRIBE, "a");
            EXPECT_EQ(cancel("a"), publisher_.recv());
        }
    }

    test_socket publisher_{context_, ZMQ_XPUB};
    std::string address_;
};

} // namespace zlink::test
