// SPDX-License-Identifier: Apache-2.0
#include "conversations.hpp"

#include "message.hpp"

#include <poll.h>
#include <unistd.h>

#include <iostream>
#include <thread>

namespace demo {

namespace {

void send_all(peer_socket& socket, std::uint64_t count, tally& result)
{
    while (result.sent < count) {
        socket.send(make_message(result.sent++));
    }
}

// Counts one verified message; the first one starts the clock.
void count_received(tally& result, std::string_view message)
{
    verify(message, result.received);
    if (result.received++ == 0) {
        result.begin = std::chrono::steady_clock::now();
    }
}

void receive_all(peer_socket& socket, std::uint64_t count, tally& result)
{
    std::string part;
    while (result.received < count) {
        if (socket.receive(part)) {
            throw std::runtime_error("a single-part message arrived with more parts");
        }
        count_received(result, part);
    }
}

tally pair_talker(peer_socket& socket, const settings& how)
{
    tally result;
    send_all(socket, how.count, result);
    const auto begin = result.begin;
    receive_all(socket, how.count, result);
    result.begin = begin;
    return result;
}

tally pair_listener(peer_socket& socket, const settings& how)
{
    tally result;
    receive_all(socket, how.count, result);
    send_all(socket, how.count, result);
    return result;
}

tally pusher(peer_socket& socket, const settings& how)
{
    tally result;
    send_all(socket, how.count, result);
    return result;
}

tally puller(peer_socket& socket, const settings& how)
{
    tally result;
    receive_all(socket, how.count, result);
    return result;
}

// Repeats a probe until the subscriber has seen one, then publishes: before each wanted message one
// with a topic that nobody asked for.
tally publisher(peer_socket& socket, const settings& how, const readiness& ready)
{
    const auto give_up =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(how.timeout_ms);
    do {
        socket.send("probe");
        if (std::chrono::steady_clock::now() > give_up) {
            throw std::runtime_error("the subscriber never became ready");
        }
    } while (!ready.wait_ms(5));
    tally result;
    for (std::uint64_t sequence = 0; sequence < how.count; ++sequence) {
        const std::string message = make_message(sequence);
        socket.send("other", ZMQ_SNDMORE);
        socket.send(message);
        socket.send("wanted", ZMQ_SNDMORE);
        socket.send(message);
        result.sent += 2;
    }
    return result;
}

tally subscriber(peer_socket& socket, const settings& how, const readiness& ready)
{
    std::string topic;
    std::string body;
    socket.receive(topic);
    ready.announce();
    tally result;
    while (result.received < how.count) {
        const bool more = socket.receive(topic);
        if (topic == "probe" && !more) {
            continue;
        }
        if (topic != "wanted" || !more || socket.receive(body)) {
            throw std::runtime_error("an unexpected message came through the filter: " + topic);
        }
        count_received(result, body);
    }
    return result;
}

tally requester(peer_socket& socket, const settings& how)
{
    tally result;
    std::string reply;
    while (result.received < how.count) {
        socket.send(make_message(result.sent++));
        if (socket.receive(reply)) {
            throw std::runtime_error("a reply has more parts than its request");
        }
        verify(reply, result.received++);
    }
    return result;
}

tally replier(peer_socket& socket, const settings& how)
{
    tally result;
    std::string request;
    while (result.sent < how.count) {
        if (socket.receive(request)) {
            throw std::runtime_error("a request has more parts than were sent");
        }
        count_received(result, request);
        socket.send(request);
        ++result.sent;
    }
    return result;
}

tally dealer(peer_socket& socket, const settings& how)
{
    constexpr std::uint64_t window = 64;
    tally result;
    std::string part;
    while (result.received < how.count) {
        while (result.sent < how.count && result.sent - result.received < window) {
            socket.send("work", ZMQ_SNDMORE);
            socket.send(make_message(result.sent++));
        }
        if (!socket.receive(part) || part != "work" || socket.receive(part)) {
            throw std::runtime_error("a reply lost its shape");
        }
        verify(part, result.received++);
    }
    return result;
}

tally router(peer_socket& socket, const settings& how)
{
    tally result;
    std::string id;
    std::string tag;
    std::string body;
    while (result.sent < how.count) {
        if (!socket.receive(id) || !socket.receive(tag) || socket.receive(body)) {
            throw std::runtime_error("a request lost its shape");
        }
        count_received(result, body);
        socket.send(id, ZMQ_SNDMORE);
        socket.send(tag, ZMQ_SNDMORE);
        socket.send(body);
        ++result.sent;
    }
    return result;
}

struct conversation {
    const char* name;
    int talker_type;
    int listener_type;
};

constexpr conversation conversations[] = {
    {"pair", ZMQ_PAIR, ZMQ_PAIR}, {"pipeline", ZMQ_PUSH, ZMQ_PULL},   {"pubsub", ZMQ_PUB, ZMQ_SUB},
    {"reqrep", ZMQ_REQ, ZMQ_REP}, {"dealer", ZMQ_DEALER, ZMQ_ROUTER},
};

} // namespace

void readiness::announce() const
{
    if (shared != nullptr) {
        *shared = true;
    } else {
        std::cout << "READY" << std::endl;
    }
}

bool readiness::wait_ms(int ms) const
{
    if (shared != nullptr) {
        std::this_thread::yield();
        return *shared;
    }
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, ms) == 1;
}

int socket_type(const settings& how)
{
    for (const conversation& candidate : conversations) {
        if (how.pattern == candidate.name) {
            return how.role == role::talker ? candidate.talker_type : candidate.listener_type;
        }
    }
    throw std::runtime_error("no such pattern: " + how.pattern);
}

void prepare(peer_socket& socket, int type)
{
    if (type == ZMQ_PUB || type == ZMQ_SUB) {
        // A publisher drops what a slow subscriber cannot take; here every message is counted.
        socket.set(ZMQ_SNDHWM, 0);
        socket.set(ZMQ_RCVHWM, 0);
    }
    if (type == ZMQ_SUB) {
        // All that a subscriber could still have to deliver when it closes is its subscriptions,
        // queued for a publisher that it would have to reconnect to.
        socket.set(ZMQ_LINGER, 0);
        socket.subscribe("probe");
        socket.subscribe("wanted");
    }
}

tally converse(peer_socket& socket, int type, const settings& how, const readiness& ready)
{
    switch (type) {
    case ZMQ_PAIR:
        return how.role == role::talker ? pair_talker(socket, how) : pair_listener(socket, how);
    case ZMQ_PUSH:
        return pusher(socket, how);
    case ZMQ_PULL:
        return puller(socket, how);
    case ZMQ_PUB:
        return publisher(socket, how, ready);
    case ZMQ_SUB:
        return subscriber(socket, how, ready);
    case ZMQ_REQ:
        return requester(socket, how);
    case ZMQ_REP:
        return replier(socket, how);
    case ZMQ_DEALER:
        return dealer(socket, how);
    default:
        return router(socket, how);
    }
}

} // namespace demo
