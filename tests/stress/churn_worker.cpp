// SPDX-License-Identifier: Apache-2.0
#include "churn_worker.hpp"

#include <algorithm>

namespace zlink::test {
namespace {

constexpr std::size_t most_open_sockets = 8;

std::int64_t now_ms()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

address_book::address_book(const std::vector<transport>& transports, int per_family)
    : families_{{{ZMQ_PAIR}, {}},
                {{ZMQ_PUB, ZMQ_SUB, ZMQ_XPUB, ZMQ_XSUB}, {}},
                {{ZMQ_PUSH, ZMQ_PULL}, {}},
                {{ZMQ_REQ, ZMQ_REP, ZMQ_DEALER, ZMQ_ROUTER}, {}}}
{
    for (family& one : families_)
        for (int index = 0; index < per_family; ++index)
            for (const transport kind : transports)
                one.addresses.push_back(known_address(kind));
}

churn_worker::churn_worker(const address_book& addresses, const churn_habits& habits, unsigned seed)
    : addresses_(addresses), habits_(habits), random_(seed)
{}

void churn_worker::mark(const char* action)
{
    action_ = action;
    moved_at_ms_ = now_ms();
}

std::chrono::milliseconds churn_worker::idle_for() const
{
    return std::chrono::milliseconds(now_ms() - moved_at_ms_);
}

void churn_worker::work_until_terminated(void* context)
{
    terminated_ = false;
    while (!terminated_) {
        step(context);
        ++steps_;
    }
    mark("closing all");
    sockets_.clear();
}

std::size_t churn_worker::random_below(std::size_t limit)
{
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
}

void churn_worker::step(void* context)
{
    if (sockets_.size() < 2)
        return open(context);
    open_socket& one = sockets_[random_below(sockets_.size())];
    const std::size_t dice = random_below(200);
    if (dice < 4 && sockets_.size() < most_open_sockets)
        open(context);
    else if (dice < 12)
        bind(one);
    else if (dice < 24)
        connect(one);
    else if (dice < 32)
        detach(one);
    else if (dice < 35) {
        mark("closing");
        std::swap(one, sockets_.back());
        sockets_.pop_back();
    } else if (dice < 36 && random_below(10) == 0)
        live_short_context();
    else if (dice < 60)
        poll_all();
    else if (dice < 130)
        send(one);
    else
        receive(one);
}

void churn_worker::open(void* context)
{
    mark("opening");
    const family& kin = any_of(addresses_.families());
    const int type = any_of(kin.types);
    test_socket socket;
    try {
        socket = test_socket(context, type);
        socket.set(ZMQ_LINGER, random_below(2) == 0 ? 0 : 5);
        socket.set(ZMQ_SNDTIMEO, static_cast<int>(random_below(4)));
        socket.set(ZMQ_RCVTIMEO, static_cast<int>(random_below(4)));
        socket.set(ZMQ_RECONNECT_IVL, 1 + static_cast<int>(random_below(20)));
        if (habits_.hwm_below > 0)
            socket.set(ZMQ_SNDHWM, static_cast<int>(random_below(habits_.hwm_below)));
        if (type == ZMQ_SUB)
            socket.set(ZMQ_SUBSCRIBE, "");
    } catch (const call_failed& failure) {
        terminated_ = failure.code() == ETERM;
        if (!terminated_)
            complaint_ = failure.what();
        return;
    }
    sockets_.push_back({std::move(socket), &kin, {}, {}});
}

void churn_worker::bind(open_socket& one)
{
    mark("binding");
    const std::string& address = any_of(one.kin->addresses);
    if (expect(zmq_bind(one.socket, address.c_str()) == 0, "zmq_bind", {EADDRINUSE}))
        one.bound.push_back(address);
}

void churn_worker::connect(open_socket& one)
{
    mark("connecting");
    const std::string& address = any_of(one.kin->addresses);
    if (expect(zmq_connect(one.socket, address.c_str()) == 0, "zmq_connect", {}))
        one.connected.push_back(address);
}

void churn_worker::detach(open_socket& one)
{
    const bool unbind = random_below(2) == 0;
    std::vector<std::string>& from = unbind ? one.bound : one.connected;
    if (from.empty())
        return;
    mark(unbind ? "unbinding" : "disconnecting");
    const std::string address = any_of(from);
    // An inproc connection is forgotten when its peer closes; equal addresses go at once.
    if (unbind)
        expect(zmq_unbind(one.socket, address.c_str()) == 0, "zmq_unbind", {ENOENT});
    else
        expect(zmq_disconnect(one.socket, address.c_str()) == 0, "zmq_disconnect", {ENOENT});
    std::erase(from, address);
}

void churn_worker::send(open_socket& one)
{
    mark("sending");
    static const std::string body(3000, 'c');
    const int more = random_below(4) == 0 ? ZMQ_SNDMORE : 0;
    const std::size_t size = random_below(10) == 0 ? random_below(body.size()) : random_below(60);
    for (const int flags : {more, 0}) {
        if (flags != more && more == 0)
            break;
        if (!expect(zmq_send(one.socket, body.data(), size, flags) >= 0, "zmq_send",
                    {EAGAIN, EFSM, ENOTSUP}))
            break;
    }
}

void churn_worker::receive(open_socket& one)
{
    mark("receiving");
    char buffer[128];
    bool more = false;
    for (int index = 0; index < 20 || (more && habits_.whole_messages); ++index) {
        if (!expect(zmq_recv(one.socket, buffer, sizeof buffer, 0) >= 0, "zmq_recv",
                    {EAGAIN, EFSM, ENOTSUP}))
            return;
        ++messages_;
        int flag = 0;
        std::size_t size = sizeof flag;
        if (!expect(zmq_getsockopt(one.socket, ZMQ_RCVMORE, &flag, &size) == 0, "zmq_getsockopt",
                    {}))
            return;
        more = flag != 0;
    }
}

void churn_worker::poll_all()
{
    mark("polling");
    std::vector<zmq_pollitem_t> items;
    for (const open_socket& one : sockets_)
        items.push_back({one.socket, 0, ZMQ_POLLIN, 0});
    expect(zmq_poll(items.data(), static_cast<int>(items.size()), 2) >= 0, "zmq_poll", {});
}

void churn_worker::live_short_context()
{
    mark("living in a short context");
    const bool wired = random_below(2) == 0;
    test_context context;
    test_socket pull(context, ZMQ_PULL);
    test_socket push(context, ZMQ_PUSH);
    pull.set(ZMQ_RCVTIMEO, 20);
    push.connect(
        pull.bind_and_resolve(wired ? "tcp://127.0.0.1:*" : fresh_bind_address(transport::inproc)));
    push.set(ZMQ_LINGER, 10);
    for (std::size_t left = random_below(100); left > 0; --left)
        push.try_send("short");
    if (zmq_recv(pull, nullptr, 0, 0) >= 0)
        ++messages_;
}

bool churn_worker::expect(bool success, const char* call, std::initializer_list<int> allowed)
{
    if (success)
        return true;
    const int code = zmq_errno();
    if (code == ETERM)
        terminated_ = true;
    else if (std::find(allowed.begin(), allowed.end(), code) == allowed.end() && complaint_.empty())
        complaint_ = std::string(call) + ": " + zmq_strerror(code);
    return false;
}

} // namespace zlink::test
