// SPDX-License-Identifier: Apache-2.0
#include "support/draft.hpp"

#include <algorithm>

#include "soak_stage.hpp"

namespace zlink::test {
namespace {

constexpr long give_up_ms = 150;
enum : int { by_server, by_client }; ///< the ears of a stream of requests

int server_type(soak_pattern pattern)
{
    return pattern == soak_pattern::req_rep         ? ZMQ_REP
           : pattern == soak_pattern::dealer_router ? ZMQ_ROUTER
                                                    : ZMQ_SERVER;
}

int client_type(soak_pattern pattern)
{
    return pattern == soak_pattern::req_rep         ? ZMQ_REQ
           : pattern == soak_pattern::dealer_router ? ZMQ_DEALER
                                                    : ZMQ_CLIENT;
}

test_socket open_server(soak_stage& stage)
{
    test_socket socket = stage.open_bound(server_type(stage.cell().pattern));
    if (stage.cell().pattern == soak_pattern::dealer_router)
        socket.set(ZMQ_ROUTER_MANDATORY, 1);
    return socket;
}

/// Offers an answer again and again. The one who asked may be gone where connections break.
template <typename Offer>
void answer(soak_stage& stage, const Offer& offer)
{
    try {
        while (!offer()) {
            stage.look();
            if (stage.phase() == soak_phase::ended)
                return;
        }
    } catch (const call_failed& error) {
        if (error.code() != EHOSTUNREACH || stage.cell().loses_nothing())
            throw;
    }
}

bool offer_id(test_socket& socket, const std::string& id)
{
    if (zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE) >= 0)
        return true;
    if (zmq_errno() != EAGAIN && zmq_errno() != EINTR)
        throw call_failed("zmq_send of a routing id");
    return false;
}

void serve_one(soak_stage& stage, test_socket& socket)
{
    const bodies body = stage.body();
    const auto note = [&](message_key key) {
        stage.ledger().arrived(key.stream, key.number, by_server, 0);
    };
    auto first = receive_as_message(socket);
    if (!first)
        return;
    switch (stage.cell().pattern) {
    case soak_pattern::dealer_router: {
        const message_key key = receive_rest(socket, body, receive_next_part(socket));
        note(key);
        answer(stage, [&] {
            if (!offer_id(socket, first->bytes))
                return false;
            return send_message(socket, body, key);
        });
        break;
    }
    case soak_pattern::client_server: {
        const message_key key = receive_rest(socket, body, *first);
        note(key);
        answer(stage, [&] {
            return send_message(socket, body, key, 0, {.routing_id = first->routing_id});
        });
        break;
    }
    default: {
        const message_key key = receive_rest(socket, body, *first);
        note(key);
        answer(stage, [&] { return send_message(socket, body, key); });
    }
    }
}

void serve(soak_stage& stage, soak_record& record, test_socket socket)
{
    // What one that is replaced has answered is gone with the connections anyway.
    bound_breaks breaks(stage, record, [&] { return open_server(stage); });
    while (stage.phase() != soak_phase::ended) {
        record.state = "serving";
        serve_one(stage, socket);
        breaks.make(socket);
    }
}

/// One that asks. Lives in one thread.
class client {
public:
    client(soak_stage& stage, soak_record& record, int name)
        : stage_(stage),
          name_(name),
          is_req_(stage.cell().pattern == soak_pattern::req_rep),
          socket_(stage.open_connecting(client_type(stage.cell().pattern))),
          most_(is_req_ ? 1 : 1 + stage.random(30)),
          sender_(stage, record, stage.ledger().open_stream(2),
                  [this](message_key key) { return ask(key); })
    {
        socket_.set(ZMQ_RCVTIMEO, 2);
        if (is_req_ && !stage.cell().loses_nothing()) {
            socket_.set(ZMQ_REQ_RELAXED, 1);
            socket_.set(ZMQ_REQ_CORRELATE, 1);
        }
        socket_.connect(stage.place());
    }

    soak_sender& sender() { return sender_; }
    bool has_all_answers() const { return waiting_ == 0; }

    void move()
    {
        stage_.ledger().note_break();
        socket_.disconnect(stage_.place());
        socket_.connect(stage_.place());
    }

    /// Takes an answer, or waits a little.
    void take()
    {
        if (is_req_ && waiting_ == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            return;
        }
        if (const auto first = receive_part(socket_)) {
            const message_key key = receive_rest(socket_, stage_.body(), *first);
            stage_.ledger().arrived(key.stream, key.number, by_client, name_);
            waiting_ -= std::min<std::uint64_t>(waiting_, 1);
            since_last_ = {};
        } else if (!stage_.cell().loses_nothing() && since_last_.elapsed_ms() > give_up_ms) {
            waiting_ = 0;
            since_last_ = {};
        }
    }

private:
    bool ask(message_key key)
    {
        if (waiting_ >= most_ || !send_message(socket_, stage_.body(), key, ZMQ_DONTWAIT))
            return false;
        ++waiting_;
        return true;
    }

    soak_stage& stage_;
    const int name_;
    const bool is_req_;
    test_socket socket_;
    const std::uint64_t most_;
    soak_sender sender_;
    std::uint64_t waiting_ = 0;
    stopwatch since_last_;
};

void ask_all(soak_stage& stage, soak_record& record, int name)
{
    const bool leaves = stage.cell().breaks == soak_break::leaving;
    soak_turns moves(stage, soak_break::moving);
    while (true) {
        client own(stage, record, name);
        const stopwatch age;
        const long life_ms = 30 + static_cast<long>(stage.random(200));
        const auto is_alive = [&] { return !leaves || age.elapsed_ms() < life_ms; };
        while (stage.phase() == soak_phase::working && is_alive()) {
            record.state = "asking";
            if (!own.sender().try_next())
                own.take();
            if (const soak_breaking now = moves.due())
                own.move();
        }
        if (stage.phase() == soak_phase::working) {
            record.state = "waiting for the last answers";
            while (!own.has_all_answers() && stage.phase() != soak_phase::ended)
                own.take();
            stage.ledger().note_break();
            continue;
        }
        own.sender().settle([&] { own.take(); });
        stage.sender_is_done();
        record.state = "waiting for the last answers";
        while (stage.phase() != soak_phase::ended)
            own.take();
        return;
    }
}

} // namespace

void launch_answered(soak_stage& stage)
{
    const auto server = std::make_shared<test_socket>(open_server(stage));
    stage.bind(*server);
    stage.launch("server", [&stage, server](soak_record& record) {
        serve(stage, record, std::move(*server));
    });
    const int peers = 1 + static_cast<int>(stage.random(3));
    for (int peer = 0; peer < peers; ++peer) {
        stage.expect_sender();
        stage.launch("client",
                     [&stage, peer](soak_record& record) { ask_all(stage, record, peer); });
    }
}

} // namespace zlink::test
