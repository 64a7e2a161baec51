// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/listening_post.hpp" // first: it declares the draft API

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/fixture.hpp"
#include "support/frame_relay.hpp"
#include "support/key_pair.hpp"

/// Connections that somebody on the way damages: for tests of what becomes of them.
namespace zlink::test {

/// A server (ROUTER) with two clients (DEALER): one is connected to it, the other by way of a
/// relay.
class relayed_test : public transport_test {
protected:
    using direction = frame_relay::direction;
    using frame = frame_relay::frame;
    using passed = frame_relay::passed;

    static constexpr std::uint64_t events =
        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;

    configuration curve_server() const
    {
        return [this](test_socket& socket) {
            socket.set(ZMQ_CURVE_SERVER, 1);
            socket.set(ZMQ_CURVE_SECRETKEY, server_keys_.secret_key.data());
        };
    }
    configuration curve_client() const
    {
        return [this](test_socket& socket) {
            socket.set(ZMQ_CURVE_SERVERKEY, server_keys_.public_key.data());
            socket.set(ZMQ_CURVE_PUBLICKEY, client_keys_.public_key.data());
            socket.set(ZMQ_CURVE_SECRETKEY, client_keys_.secret_key.data());
        };
    }

    /// The server, the relay, and the healthy client.
    void begin(const configuration& configure_server, const configuration& configure_client)
    {
        configure_client_ = configure_client;
        server_ = test_socket(context_, ZMQ_ROUTER);
        server_.set(ZMQ_ROUTER_HANDOVER, 1);
        server_.set(ZMQ_ROUTER_MANDATORY, 1);
        configure_server(server_);
        address_ = server_.bind_and_resolve(fresh_bind_address(GetParam()));
        relay_.emplace(GetParam(), address_);
        healthy_ = make_client("healthy");
        healthy_.connect(address_);
        exchange(healthy_, "healthy", "begin");
    }
    test_socket make_client(const std::string& routing_id)
    {
        test_socket client(context_, ZMQ_DEALER);
        client.set(ZMQ_ROUTING_ID, routing_id);
        client.set(ZMQ_RECONNECT_IVL, 1);
        configure_client_(client);
        return client;
    }
    /// The client that is damaged; connected, with monitors of both sides if they are wanted.
    void connect_client(bool with_monitors)
    {
        client_ = make_client("relayed");
        client_.connect(relay_->endpoint());
        exchange(client_, "relayed", "begin");
        if (!with_monitors)
            return;
        at_server_.emplace(context_, server_, events);
        at_client_.emplace(context_, client_, events | ZMQ_EVENT_CONNECT_RETRIED);
    }
    /// One message each way, with nothing before it.
    void exchange(test_socket& client, const std::string& routing_id, const std::string& text)
    {
        client.send(text);
        ASSERT_EQ((parts{routing_id, text}), server_.recv_parts());
        server_.send_parts({routing_id, text});
        ASSERT_EQ(parts{text}, client.recv_parts());
    }
    /// The other connections are as they were, and the damaged one is there again.
    void expect_health(const std::string& text)
    {
        exchange(client_, "relayed", text);
        exchange(healthy_, "healthy", text);
    }

    const key_pair server_keys_;
    const key_pair client_keys_;
    configuration configure_client_;
    std::string address_;
    std::optional<frame_relay> relay_;
    test_socket server_;
    test_socket healthy_;
    test_socket client_;
    std::optional<listening_post> at_server_;
    std::optional<listening_post> at_client_;
};

/// A rule that does something else with one frame of a direction, the next one, and passes on all
/// others.
inline frame_relay::rule next_frame(frame_relay::direction way,
                                    std::function<frame_relay::passed(const std::string&)> change)
{
    return [way, change = std::move(change),
            done = std::make_shared<bool>(false)](const frame_relay::frame& at) {
        if (at.way != way || std::exchange(*done, true))
            return frame_relay::passed(at.bytes);
        return change(at.bytes);
    };
}

inline std::string flipped(std::string bytes, std::size_t at, unsigned mask)
{
    bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ mask);
    return bytes;
}

} // namespace zlink::test
