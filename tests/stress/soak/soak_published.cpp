// SPDX-License-Identifier: Apache-2.0
#include "support/draft.hpp"

#include <algorithm>
#include <atomic>

#include "soak_stage.hpp"

namespace zlink::test {
namespace {

constexpr const char* group = "soak";

int publisher_type(soak_pattern pattern)
{
    return pattern == soak_pattern::pub_sub     ? ZMQ_PUB
           : pattern == soak_pattern::xpub_xsub ? ZMQ_XPUB
                                                : ZMQ_RADIO;
}

test_socket open_subscriber(soak_stage& stage)
{
    test_socket socket;
    switch (stage.cell().pattern) {
    case soak_pattern::pub_sub:
        socket = stage.open_connecting(ZMQ_SUB);
        socket.set(ZMQ_SUBSCRIBE, "");
        break;
    case soak_pattern::xpub_xsub:
        socket = stage.open_connecting(ZMQ_XSUB);
        socket.send(std::string_view("\1", 1));
        break;
    default:
        socket = stage.open_connecting(ZMQ_DISH);
        if (zmq_join(socket, group) != 0)
            throw call_failed("zmq_join");
    }
    socket.connect(stage.place());
    return socket;
}

/// The sockets of one cell have one stream, and ears with names of their own.
struct publication {
    std::uint32_t stream = 0;
    std::atomic<int> ears{0};

    int add_ear(soak_stage& stage)
    {
        const int ear = ears++;
        stage.ledger().add_ear(stream, ear);
        return ear;
    }
};

void subscribe(soak_stage& stage, soak_record& record, publication& what, int ear)
{
    soak_turns pauses(stage, soak_break::paused);
    soak_turns moves(stage, soak_break::moving);
    soak_turns ends(stage, soak_break::replaced);
    test_socket socket = open_subscriber(stage);
    while (stage.phase() != soak_phase::ended) {
        record.state = "receiving";
        if (const auto first = receive_part(socket)) {
            const message_key key = receive_rest(socket, stage.body(), *first);
            stage.ledger().arrived(key.stream, key.number, ear, ear);
        }
        if (const soak_breaking now = pauses.due()) {
            record.state = "pausing";
            stage.nap(std::chrono::milliseconds(stage.random(250)));
        }
        if (const soak_breaking now = moves.due()) {
            record.state = "moving";
            stage.ledger().note_break();
            socket.disconnect(stage.place());
            socket.connect(stage.place());
        }
        if (const soak_breaking now = ends.due()) {
            record.state = "closing";
            stage.ledger().note_break();
            stage.ledger().drop_ear(what.stream, ear);
            socket.close();
            record.state = "taking its place";
            ear = what.add_ear(stage);
            socket = open_subscriber(stage);
        }
    }
}

void publish(soak_stage& stage, soak_record& record, test_socket socket, publication& what)
{
    const bool is_radio = stage.cell().pattern == soak_pattern::radio_dish;
    const bool is_strict = stage.cell().loses_nothing();
    const bool waits_itself = is_strict && !is_radio && stage.random(2) != 0;
    if (waits_itself)
        socket.set(ZMQ_XPUB_NODROP, 1);
    soak_sender sender(stage, record, what.stream, [&](message_key key) {
        // Subscriptions come in, which nobody wants to know.
        while (stage.cell().pattern == soak_pattern::xpub_xsub &&
               receive_part(socket, ZMQ_DONTWAIT)) {
        }
        return send_message(socket, stage.body(), key, 0, {.group = is_radio ? group : nullptr});
    });
    record.state = "waiting for subscribers";
    while (!stage.ledger().all_have_begun(what.stream)) {
        stage.look();
        sender.try_next();
        stage.nap(std::chrono::milliseconds{1});
    }
    soak_turns unbinds(stage, soak_break::rebound);
    const auto window = static_cast<std::uint64_t>(std::max(stage.hwm() / 2, 1));
    stopwatch since_last;
    while (stage.phase() == soak_phase::working) {
        record.state = "publishing";
        if (waits_itself || stage.ledger().in_flight(what.stream) < window ||
            (!is_strict && since_last.elapsed_ms() > 10)) {
            sender.try_next();
            since_last = {};
        } else {
            std::this_thread::yield();
        }
        if (const soak_breaking now = unbinds.due()) {
            record.state = "binding again";
            stage.ledger().note_break();
            stage.unbind(socket);
            bind_again(stage, socket);
        }
    }
    sender.settle();
    record.state = "closing";
    socket.close();
    stage.sender_is_done();
}

} // namespace

void launch_published(soak_stage& stage)
{
    const auto what = std::make_shared<publication>();
    what->stream = stage.ledger().open_stream(0);
    const auto publisher =
        std::make_shared<test_socket>(stage.open_bound(publisher_type(stage.cell().pattern)));
    stage.bind(*publisher);
    const int peers = 1 + static_cast<int>(stage.random(3));
    for (int peer = 0; peer < peers; ++peer)
        stage.launch("subscriber", [&stage, what, ear = what->add_ear(stage)](soak_record& record) {
            subscribe(stage, record, *what, ear);
        });
    stage.expect_sender();
    stage.launch("publisher", [&stage, what, publisher](soak_record& record) {
        publish(stage, record, std::move(*publisher), *what);
    });
}

} // namespace zlink::test
