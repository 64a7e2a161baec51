// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "support/draft.hpp"
#include "support/flooder.hpp"
#include "support/zmtp.hpp"

/// How much of a steady rate of messages reaches the peers beside a hostile one, which floods the
/// same socket over tcp with what that drops or only takes note of.
namespace zlink::test {

namespace steady_rate_details {

using clock = std::chrono::steady_clock;

inline void without_limits(test_socket& socket)
{
    for (const int option : {ZMQ_SNDHWM, ZMQ_RCVHWM})
        socket.set(option, 0);
}

// Sends until it is heard, and leaves nothing on its way.
inline void tune_in(test_socket& sender, test_socket& receiver)
{
    if (!wait_until([&] {
            sender.send("x begin");
            return receiver.readable(std::chrono::milliseconds(5));
        }))
        throw std::runtime_error("nothing is heard");
    sender.send("x last");
    while (receiver.recv() != "x last") {
    }
}

// A second's worth of messages, each at its time. @return messages/s received.
inline double measure(test_socket& sender, test_socket& receiver, int rate)
{
    const auto begin = clock::now();
    std::thread sending([&] {
        for (int number = 0; number < rate; ++number) {
            const auto due = begin + number * std::chrono::nanoseconds(1'000'000'000 / rate);
            if (due - clock::now() > std::chrono::microseconds(100))
                std::this_thread::sleep_until(due);
            zmq_send(sender, "x", 1, 0);
        }
    });
    char byte = 0;
    int received = 0;
    while (received < rate && zmq_recv(receiver, &byte, 1, 0) == 1)
        ++received;
    const std::chrono::duration<double> passed = clock::now() - begin;
    sending.join();
    return received / passed.count();
}

} // namespace steady_rate_details

/// From a PUB, XPUB or RADIO that is flooded with subscriptions to a subscriber. @return messages/s
inline double steady_rate_of_publisher(int type, int rate)
{
    namespace details = steady_rate_details;
    const bool in_groups = type == ZMQ_RADIO;
    test_context context;
    test_context other_context;
    test_socket publisher(context, type);
    publisher.set(ZMQ_SNDHWM, 0);
    test_socket healthy(other_context, in_groups ? ZMQ_DISH : ZMQ_SUB);
    details::without_limits(healthy);
    if (!in_groups)
        healthy.set(ZMQ_SUBSCRIBE, "");
    else if (zmq_join(healthy, "") != 0)
        throw call_failed("zmq_join");
    const std::string address = publisher.bind_and_resolve("tcp://127.0.0.1:*");
    healthy.connect(address);
    details::tune_in(publisher, healthy);
    raw_peer peer(address);
    zmtp::shake_hands(peer, in_groups ? "DISH" : "SUB");
    const flooder hostile(std::move(peer), in_groups ? zmtp::command("JOIN", "group") +
                                                           zmtp::command("LEAVE", "group")
                                                     : zmtp::command("SUBSCRIBE", "topic"));
    return details::measure(publisher, healthy, rate);
}

/// From a publisher to a SUB that is flooded with topics it has not subscribed to.
/// @return messages/s
inline double steady_rate_of_subscriber(int rate)
{
    namespace details = steady_rate_details;
    test_context context;
    test_context other_context;
    test_socket subscriber(context, ZMQ_SUB);
    details::without_limits(subscriber);
    subscriber.set(ZMQ_SUBSCRIBE, "x");
    test_socket healthy(other_context, ZMQ_PUB);
    details::without_limits(healthy);
    const std::string address = subscriber.bind_and_resolve("tcp://127.0.0.1:*");
    healthy.connect(address);
    details::tune_in(healthy, subscriber);
    // The hostile one's pipe has a limit, and the other one's as well, but that is mostly empty.
    subscriber.set(ZMQ_RCVHWM, 100'000);
    raw_peer peer(address);
    zmtp::shake_hands(peer, "PUB");
    const flooder hostile(std::move(peer), zmtp::frame("other"));
    return details::measure(healthy, subscriber, rate);
}

} // namespace zlink::test
