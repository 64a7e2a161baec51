// SPDX-License-Identifier: Apache-2.0
#include "churn_worker.hpp"

#include <algorithm>

#include "churn_body.hpp"

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
    : families_{{.types = {ZMQ_PAIR}},
                {.types = {ZMQ_PUB, ZMQ_SUB, ZMQ_XPUB, ZMQ_XSUB}},
                {.types = {ZMQ_PUSH, ZMQ_PULL}},
                {.types = {ZMQ_REQ, ZMQ_REP, ZMQ_DEALER, ZMQ_ROUTER}},
                {.types = {ZMQ_CLIENT, ZMQ_SERVER}, .in_parts = false},
                {.types = {ZMQ_RADIO, ZMQ_DISH}, .in_parts = false},
                {.types = {ZMQ_SCATTER, ZMQ_GATHER}, .in_parts = false},
                {.types = {ZMQ_CHANNEL}, .in_parts = false},
                {.types = {ZMQ_PEER}, .in_parts = false},
                {.types = {ZMQ_STREAM}, .plain_bytes = true}}
{
    for (family& one : families_)
        for (int index = 0; index < per_family; ++index)
            for (const transport kind : transports)
                if (kind != transport::inproc || !one.plain_bytes)
                    one.addresses.push_back(known_address(kind));
    std::erase_if(families_, [](const family& one) { return one.addresses.empty(); });
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
    while (kept_count_ > 0)
        zmq_msg_close(&kept_[--kept_count_]);
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
    open_socket one{{}, &kin, type, {}, {}, {}};
    try {
        one.socket = test_socket(context, type);
        configure(one);
    } catch (const call_failed& failure) {
        terminated_ = failure.code() == ETERM;
        if (!terminated_)
            complain(failure.what());
        return;
    }
    sockets_.push_back(std::move(one));
}

void churn_worker::configure(open_socket& one)
{
    test_socket& socket = one.socket;
    socket.set(ZMQ_LINGER, random_below(2) == 0 ? 0 : 5);
    socket.set(ZMQ_SNDTIMEO, random_below(8) == 0 ? 3 : 0);
    socket.set(ZMQ_RCVTIMEO, random_below(8) == 0 ? 3 : 0);
    socket.set(ZMQ_RECONNECT_IVL, 1 + static_cast<int>(random_below(20)));
    if (habits_.hwm_below > 0)
        socket.set(ZMQ_SNDHWM, static_cast<int>(random_below(habits_.hwm_below)));
    if (one.type == ZMQ_SUB)
        socket.set(ZMQ_SUBSCRIBE, "");
    if (one.type == ZMQ_DISH)
        change_interest(one);

    struct setting {
        int option;
        int value;
        std::vector<int> types; ///< empty = all
    };
    static const std::vector<setting> settings{
        {ZMQ_IMMEDIATE, 1, {}},
        {ZMQ_HEARTBEAT_IVL, 3, {}},
        {ZMQ_HANDSHAKE_IVL, 20, {}},
        {ZMQ_RCVHWM, 2, {}},
        {ZMQ_CONFLATE, 1, {ZMQ_PUSH, ZMQ_PULL, ZMQ_PUB, ZMQ_SUB, ZMQ_DEALER}},
        {ZMQ_ROUTER_MANDATORY, 1, {ZMQ_ROUTER}},
        {ZMQ_ROUTER_HANDOVER, 1, {ZMQ_ROUTER}},
        {ZMQ_PROBE_ROUTER, 1, {ZMQ_REQ, ZMQ_DEALER, ZMQ_ROUTER}},
        {ZMQ_REQ_RELAXED, 1, {ZMQ_REQ}},
        {ZMQ_REQ_CORRELATE, 1, {ZMQ_REQ}},
        {ZMQ_XPUB_VERBOSE, 1, {ZMQ_XPUB}},
        {ZMQ_XPUB_MANUAL, 1, {ZMQ_XPUB}},
        {ZMQ_XPUB_NODROP, 1, {ZMQ_PUB, ZMQ_XPUB}},
        {ZMQ_INVERT_MATCHING, 1, {ZMQ_PUB, ZMQ_SUB, ZMQ_XPUB, ZMQ_XSUB}},
        {ZMQ_STREAM_NOTIFY, 0, {ZMQ_STREAM}},
    };
    for (const setting& each : settings)
        if (random_below(12) == 0 &&
            (each.types.empty() || std::ranges::find(each.types, one.type) != each.types.end()))
            socket.set(each.option, each.value);
    if (random_below(4) == 0 && !one.kin->plain_bytes)
        socket.set(ZMQ_ROUTING_ID, std::string("one of the ") + char('0' + random_below(6)));
    if (const std::int64_t most = 100'000; random_below(12) == 0)
        expect(zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) == 0, "ZMQ_MAXMSGSIZE",
               {});
    if (random_below(12) == 0)
        socket.set(ZMQ_HELLO_MSG, "hello");
    if (random_below(12) == 0)
        socket.set(ZMQ_DISCONNECT_MSG, "goodbye");
}

// Topics and groups come and go.
void churn_worker::change_interest(open_socket& one)
{
    mark("changing interest");
    const std::string what(1, static_cast<char>('A' + random_below(8)));
    const bool more = random_below(2) == 0;
    if (one.type == ZMQ_SUB || (one.type == ZMQ_XPUB && !one.bound.empty())) {
        const int option = more ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE;
        expect(zmq_setsockopt(one.socket, option, what.data(), 1) == 0, "zmq_setsockopt", {EINVAL});
    } else if (one.type == ZMQ_XSUB) {
        const std::string wish = (more ? '\1' : '\0') + what;
        expect(zmq_send(one.socket, wish.data(), wish.size(), 0) >= 0, "zmq_send", {EAGAIN});
    } else if (one.type == ZMQ_DISH) {
        expect((more ? zmq_join : zmq_leave)(one.socket, what.c_str()) == 0, "zmq_join", {EINVAL});
    }
}

void churn_worker::watch(void* context, open_socket& one)
{
    if (one.watcher) {
        mark("leaving the monitor");
        if (random_below(2) == 0)
            expect(zmq_socket_monitor(one.socket, nullptr, 0) == 0, "zmq_socket_monitor", {});
        one.watcher = {};
        return;
    }
    mark("monitoring");
    const std::string address = fresh_bind_address(transport::inproc);
    if (!expect(zmq_socket_monitor(one.socket, address.c_str(), ZMQ_EVENT_ALL) == 0,
                "zmq_socket_monitor", {}))
        return;
    try {
        one.watcher = test_socket(context, ZMQ_PAIR);
        one.watcher.connect(address);
    } catch (const call_failed& failure) {
        terminated_ = failure.code() == ETERM;
        if (!terminated_)
            complain(failure.what());
    }
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
    if (one.kin->in_parts && random_below(4) == 0 && !send_part(one, ZMQ_SNDMORE))
        return;
    send_part(one, 0);
}

bool churn_worker::send_part(open_socket& one, int flags)
{
    const std::size_t kind = random_below(40);
    std::size_t bytes = random_below(60);
    if (kind < 6)
        bytes = random_below(5000);
    else if (kind < 8)
        bytes = random_below(300'000);
    if (random_below(8) == 0 && kept_count_ > 0)
        return pass_on(one, flags);
    if (random_below(2) == 0) {
        std::string body(bytes, '\0');
        churn_body::fill(body.data(), bytes);
        return expect(zmq_send(one.socket, body.data(), bytes, flags) >= 0, "zmq_send",
                      {EAGAIN, EFSM, ENOTSUP, EHOSTUNREACH});
    }
    zmq_msg_t message;
    if (!churn_body::wrap(message, bytes))
        return false;
    if (one.type == ZMQ_RADIO)
        zmq_msg_set_group(&message,
                          std::string(1, static_cast<char>('A' + random_below(8))).c_str());
    if (random_below(4) == 0)
        keep(message);
    const bool sent = expect(zmq_msg_send(&message, one.socket, flags) >= 0, "zmq_msg_send",
                             {EAGAIN, EFSM, ENOTSUP, EHOSTUNREACH});
    zmq_msg_close(&message);
    return sent;
}

// A copy of it.
void churn_worker::keep(zmq_msg_t& message)
{
    if (kept_count_ == kept_.size())
        return;
    zmq_msg_init(&kept_[kept_count_]);
    zmq_msg_copy(&kept_[kept_count_++], &message);
}

// A message of another socket, or one that was sent already.
bool churn_worker::pass_on(open_socket& one, int flags)
{
    zmq_msg_t& message = kept_[--kept_count_];
    const bool sent = expect(zmq_msg_send(&message, one.socket, flags) >= 0, "zmq_msg_send",
                             {EAGAIN, EFSM, ENOTSUP, EHOSTUNREACH});
    zmq_msg_close(&message);
    return sent;
}

void churn_worker::receive(open_socket& one)
{
    mark("receiving");
    if (one.watcher)
        for (int index = 0; index < 20; ++index)
            if (zmq_recv(one.watcher, nullptr, 0, ZMQ_DONTWAIT) < 0)
                break;
    bool more = false;
    for (int index = 0; index < 20 || (more && habits_.whole_messages); ++index) {
        if (!receive_part(one))
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

bool churn_worker::receive_part(open_socket& one)
{
    const auto choice = random_below(3);
    if (choice == 0) {
        char buffer[128];
        return expect(zmq_recv(one.socket, buffer, sizeof buffer, 0) >= 0, "zmq_recv",
                      {EAGAIN, EFSM, ENOTSUP});
    }
    if (choice == 1) {
        std::vector<char> buffer(300'000);
        const int bytes = zmq_recv(one.socket, buffer.data(), buffer.size(), 0);
        if (!expect(bytes >= 0, "zmq_recv", {EAGAIN, EFSM, ENOTSUP}))
            return false;
        check(one, buffer.data(), std::min<std::size_t>(buffer.size(), bytes));
        return true;
    }
    zmq_msg_t message;
    zmq_msg_init(&message);
    const bool received =
        expect(zmq_msg_recv(&message, one.socket, 0) >= 0, "zmq_msg_recv", {EAGAIN, EFSM, ENOTSUP});
    if (received)
        check(one, zmq_msg_data(&message), zmq_msg_size(&message));
    if (received && !one.kin->plain_bytes)
        keep(message);
    zmq_msg_close(&message);
    return received;
}

void churn_worker::check(const open_socket& one, const void* data, std::size_t bytes)
{
    if (!one.kin->plain_bytes && !churn_body::whole(data, bytes))
        complain("a body is not what was sent");
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
    else if (std::find(allowed.begin(), allowed.end(), code) == allowed.end())
        complain(std::string(call) + ": " + zmq_strerror(code));
    return false;
}

void churn_worker::complain(const std::string& about)
{
    if (complaint_.empty())
        complaint_ = about;
}

} // namespace zlink::test
