// SPDX-License-Identifier: Apache-2.0
#include "support/fixture.hpp"

#include <cstring>

namespace zlink::test {
namespace {

const char* const sync_marker = "\xFFsync";

bool publishes(int type)
{
    return type == ZMQ_PUB;
}

/// A bound socket of these types becomes writable exactly when the peer is there.
bool writable_means_connected(int type)
{
    return type == ZMQ_PAIR || type == ZMQ_PUSH || type == ZMQ_DEALER || type == ZMQ_REQ;
}

void synchronise(test_socket& bound, int bound_type, test_socket& peer, int peer_type)
{
    if (writable_means_connected(bound_type)) {
        if (!bound.writable())
            throw std::runtime_error("the peer did not connect");
    } else if (publishes(bound_type)) {
        publish_until_received(bound, peer, sync_marker);
    } else if (publishes(peer_type)) {
        publish_until_received(peer, bound, sync_marker);
    } else if (bound_type == ZMQ_XPUB) {
        bound.recv_parts();
    } else if (bound_type == ZMQ_ROUTER && peer_type == ZMQ_DEALER) {
        peer.send(sync_marker);
        bound.recv_parts();
    }
}

} // namespace

connected_pair link(test_context& context, link_kind kind, int bound_type, int peer_type,
                    const configuration& configure_bound, const configuration& configure_peer)
{
    connected_pair result{test_socket(context, bound_type), test_socket(context, peer_type), {}};
    if (configure_bound)
        configure_bound(result.bound);
    if (configure_peer)
        configure_peer(result.peer);
    const link_in_use scope(kind);
    result.address = result.bound.bind_and_resolve(fresh_bind_address(kind));
    result.peer.connect(result.address);
    return result;
}

connected_pair connect_pair(test_context& context, link_kind kind, int bound_type, int peer_type,
                            const configuration& configure_bound,
                            const configuration& configure_peer)
{
    connected_pair result =
        link(context, kind, bound_type, peer_type, configure_bound, configure_peer);
    for (auto [socket, type] : {std::pair{&result.bound, bound_type}, {&result.peer, peer_type}})
        if (type == ZMQ_SUB)
            socket->set(ZMQ_SUBSCRIBE, "");
    synchronise(result.bound, bound_type, result.peer, peer_type);
    return result;
}

void publish_until_received(test_socket& publisher, test_socket& subscriber,
                            const std::string& marker)
{
    const bool arrived = wait_until([&] {
        publisher.send(marker);
        return subscriber.readable(std::chrono::milliseconds(5));
    });
    if (!arrived)
        throw std::runtime_error("the subscription did not become effective");
    const std::string last = marker + "-last";
    publisher.send(last);
    while (subscriber.recv_parts().front() != last) {
    }
}

int send_until_stuck(test_socket& socket, const std::string& body,
                     std::chrono::milliseconds patience)
{
    int sent = 0;
    for (; poll_socket(socket, ZMQ_POLLOUT, patience) != 0; ++sent)
        socket.send(body);
    return sent;
}

::testing::AssertionResult fails_with(int expected_code, long result)
{
    const int code = zmq_errno();
    if (result != -1)
        return ::testing::AssertionFailure() << "returned " << result << ", expected failure";
    if (code != expected_code)
        return ::testing::AssertionFailure() << "failed with " << code << " (" << zmq_strerror(code)
                                             << "), expected " << zmq_strerror(expected_code);
    return ::testing::AssertionSuccess();
}

::testing::AssertionResult fails_with(int expected_code, const void* result)
{
    return fails_with(expected_code, result == nullptr ? -1L : 0L);
}

} // namespace zlink::test
