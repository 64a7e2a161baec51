// SPDX-License-Identifier: Apache-2.0
#include "support/draft.hpp"

#include "soak_stage.hpp"

namespace zlink::test {
namespace {

struct types {
    int sender;
    int receiver;
};

types types_of(soak_pattern pattern)
{
    switch (pattern) {
    case soak_pattern::pair:
        return {ZMQ_PAIR, ZMQ_PAIR};
    case soak_pattern::channel:
        return {ZMQ_CHANNEL, ZMQ_CHANNEL};
    case soak_pattern::scatter_gather:
        return {ZMQ_SCATTER, ZMQ_GATHER};
    default:
        return {ZMQ_PUSH, ZMQ_PULL};
    }
}

void receive_all(soak_stage& stage, soak_record& record, test_socket socket, int receiver)
{
    bound_breaks breaks(stage, record,
                        [&] { return stage.open_bound(types_of(stage.cell().pattern).receiver); });
    while (stage.phase() != soak_phase::ended) {
        record.state = "receiving";
        if (const auto first = receive_part(socket)) {
            const message_key key = receive_rest(socket, stage.body(), *first);
            stage.ledger().arrived(key.stream, key.number, 0, receiver);
        }
        breaks.make(socket);
    }
}

/// Sends until the cell settles, or for a while if `leaves`. @return false if it has left.
bool send_stream(soak_stage& stage, soak_record& record, test_socket& socket, bool leaves)
{
    soak_turns moves(stage, soak_break::moving);
    soak_sender sender(stage, record, stage.ledger().open_stream(1),
                       [&](message_key key) { return send_message(socket, stage.body(), key); });
    const stopwatch age;
    const long life_ms = 30 + static_cast<long>(stage.random(200));
    while (stage.phase() == soak_phase::working) {
        record.state = "sending";
        sender.try_next();
        if (const soak_breaking now = moves.due()) {
            record.state = "moving";
            stage.ledger().note_break();
            socket.disconnect(stage.place());
            socket.connect(stage.place());
        }
        if (leaves && age.elapsed_ms() > life_ms)
            return false;
    }
    sender.settle();
    return true;
}

void send_all(soak_stage& stage, soak_record& record, test_socket bound)
{
    const bool leaves = stage.cell().breaks == soak_break::leaving;
    test_socket socket = std::move(bound);
    bool is_over = false;
    while (!is_over) {
        if (static_cast<void*>(socket) == nullptr) {
            record.state = "connecting";
            socket = stage.open_connecting(types_of(stage.cell().pattern).sender);
            socket.connect(stage.place());
        }
        is_over = send_stream(stage, record, socket, leaves);
        record.state = "closing";
        if (leaves)
            stage.ledger().note_break();
        socket.close();
    }
    stage.sender_is_done();
}

} // namespace

void launch_one_way(soak_stage& stage)
{
    const soak_break breaks = stage.cell().breaks;
    const types both = types_of(stage.cell().pattern);
    const bool has_one_peer = both.sender == both.receiver;
    const bool is_unbroken = breaks == soak_break::calm || breaks == soak_break::paused;
    const bool receivers_connect = (is_unbroken || breaks == soak_break::cut) && stage.random(2);
    const auto bound = std::make_shared<test_socket>(
        stage.open_bound(receivers_connect ? both.sender : both.receiver));
    stage.bind(*bound);
    // One path for each stream, where what is lost has to be explained.
    const bool may_be_many = !has_one_peer && (is_unbroken || !receivers_connect);
    const int peers = may_be_many ? 1 + static_cast<int>(stage.random(3)) : 1;
    if (receivers_connect) {
        for (int peer = 0; peer < peers; ++peer)
            stage.launch("receiver", [&stage, peer, both](soak_record& record) {
                test_socket socket = stage.open_connecting(both.receiver);
                socket.connect(stage.place());
                receive_all(stage, record, std::move(socket), peer);
            });
        stage.expect_sender();
        stage.launch("sender", [&stage, bound](soak_record& record) {
            send_all(stage, record, std::move(*bound));
        });
        return;
    }
    stage.launch("receiver", [&stage, bound](soak_record& record) {
        receive_all(stage, record, std::move(*bound), 0);
    });
    for (int peer = 0; peer < peers; ++peer) {
        stage.expect_sender();
        stage.launch("sender", [&stage](soak_record& record) { send_all(stage, record, {}); });
    }
}

} // namespace zlink::test
