// SPDX-License-Identifier: Apache-2.0
#include "soak_stage.hpp"

#include <array>
#include <exception>
#include <sstream>

#include "support/endpoint.hpp"
#if ZLINK_HAS_TLS
#include "support/certificates.hpp"
#endif

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int call_limit_ms = 20;
constexpr int reconnect_ms = 10;
constexpr auto settle_limit = 20s;
constexpr int tail_messages = 20;

struct key_pair {
    std::array<char, 41> open{};
    std::array<char, 41> secret{};
    key_pair() { zmq_curve_keypair(open.data(), secret.data()); }
};

#if ZLINK_HAS_TLS
struct certificates {
    certificate authority = certificate::authority();
    certificate own = authority.sign();
};
#endif

} // namespace

soak_stage::soak_stage(const soak_cell& cell, std::uint64_t seed) : cell_(cell), random_(seed)
{
    constexpr std::array<int, 5> hwms{1, 2, 10, 100, 1000};
    hwm_ = hwms[random(hwms.size())];
    for (test_context* const context : {near_.get(), far_.get()})
        zmq_ctx_set(*context, ZMQ_IO_THREADS, 1 + static_cast<int>(random(2)));
    if (cell.mechanism != "plain")
        return;
    auto handler = std::make_shared<test_socket>(test_socket::with_defaults(*near_, ZMQ_REP));
    handler->set(ZMQ_LINGER, 0);
    handler->bind("inproc://zeromq.zap.01");
    soak_record& record = records_.emplace_back("zap");
    zap_ = std::thread([this, handler, &record]() mutable {
        answer_zap(*handler, record);
        handler.reset();
    });
}

soak_stage::~soak_stage()
{
    phase_ = soak_phase::ended;
    join();
}

std::uint64_t soak_stage::random(std::uint64_t below)
{
    const std::lock_guard lock(mutex_);
    return random_() % below;
}

test_socket soak_stage::open(test_context& context, int type)
{
    test_socket socket = test_socket::with_defaults(context, type);
    socket.set(ZMQ_SNDHWM, hwm_);
    socket.set(ZMQ_RCVHWM, hwm_);
    socket.set(ZMQ_LINGER, -1);
    socket.set(ZMQ_SNDTIMEO, call_limit_ms);
    socket.set(ZMQ_RCVTIMEO, call_limit_ms);
    socket.set(ZMQ_RECONNECT_IVL, reconnect_ms);
    return socket;
}

test_socket soak_stage::open_bound(int type)
{
    test_socket socket = open(*near_, type);
    make_secure(socket, true);
    return socket;
}

test_socket soak_stage::open_connecting(int type)
{
    test_socket socket = open(cell_.scheme == "inproc" ? *near_ : *far_, type);
    make_secure(socket, false);
    return socket;
}

void soak_stage::make_secure(test_socket& socket, bool is_server) const
{
    if (cell_.mechanism == "plain") {
        if (is_server) {
            socket.set(ZMQ_PLAIN_SERVER, 1);
        } else {
            socket.set(ZMQ_PLAIN_USERNAME, "user");
            socket.set(ZMQ_PLAIN_PASSWORD, "word");
        }
    }
    if (cell_.mechanism == "curve") {
        static const key_pair server;
        static const key_pair client;
        if (is_server) {
            socket.set(ZMQ_CURVE_SERVER, 1);
            socket.set(ZMQ_CURVE_SECRETKEY, server.secret.data());
        } else {
            socket.set(ZMQ_CURVE_SERVERKEY, server.open.data());
            socket.set(ZMQ_CURVE_PUBLICKEY, client.open.data());
            socket.set(ZMQ_CURVE_SECRETKEY, client.secret.data());
        }
    }
#if ZLINK_HAS_TLS
    if (cell_.scheme == "tls" || cell_.scheme == "wss") {
        static const certificates all;
        if (is_server) {
            socket.set(ZMQ_TLS_CERT, all.own.text());
            socket.set(ZMQ_TLS_KEY, all.own.key());
        } else {
            socket.set(ZMQ_TLS_CA, all.authority.text());
        }
    }
#endif
}

void soak_stage::bind(test_socket& socket)
{
    if (!address_.empty()) {
        socket.bind(address_);
        return;
    }
    std::string fresh = cell_.scheme + "://127.0.0.1:*";
    for (const transport own : {transport::ipc, transport::inproc})
        if (cell_.scheme == name_of(own))
            fresh = fresh_bind_address(own);
    address_ = socket.bind_and_resolve(fresh);
    if (cell_.breaks != soak_break::cut)
        return;
    if (cell_.scheme == "ipc") {
        relay_ = std::make_unique<soak_relay>(transport::ipc, address_);
        return;
    }
    const std::string host = address_.substr(0, address_.find('/', cell_.scheme.size() + 3));
    relay_ = std::make_unique<soak_relay>(transport::tcp, "tcp" + host.substr(host.find(':')));
}

std::string soak_stage::place() const
{
    if (!relay_)
        return address_;
    const std::string there = relay_->endpoint();
    return cell_.scheme == "ipc" ? there : cell_.scheme + there.substr(there.find(':'));
}

void soak_stage::answer_zap(test_socket& socket, soak_record& record) const
{
    record.state = "answering";
    while (phase_ != soak_phase::ended) {
        if (!socket.readable(std::chrono::milliseconds{call_limit_ms}))
            continue;
        const parts question = socket.recv_parts();
        socket.send_parts({"1.0", question.at(1), "200", "OK", "user", ""});
    }
    record.state = "done";
}

void soak_stage::launch(const std::string& name, std::function<void(soak_record&)> work)
{
    const std::lock_guard lock(mutex_);
    soak_record& own = records_.emplace_back(name);
    threads_.emplace_back([this, &own, work = std::move(work)]() mutable {
        try {
            // Its sockets end with it.
            std::exchange(work, nullptr)(own);
            own.state = "done";
        } catch (const std::exception& error) {
            fail(own.name + ", " + own.state.load() + ": " + error.what());
        }
    });
}

void soak_stage::nap(std::chrono::milliseconds time) const
{
    const auto end = clock::now() + time;
    while (!failed_ && !hurried_ && clock::now() < end)
        std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(time, 10ms));
}

void soak_stage::look() const
{
    if (failed_)
        throw crowd_failure("has to end because of another");
}

void soak_stage::fail(const std::string& why)
{
    const std::lock_guard lock(mutex_);
    if (failed_.exchange(true))
        return;
    failure_ = why;
    phase_ = soak_phase::ended;
}

void soak_stage::work(std::chrono::milliseconds time)
{
    const auto end = clock::now() + time;
    soak_turns turns(*this, soak_break::cut);
    while (!failed_ && !hurried_ && clock::now() < end) {
        std::this_thread::sleep_for(5ms);
        if (const soak_breaking now = turns.due()) {
            ledger_.note_break();
            relay_->cut();
        }
    }
}

void soak_stage::wait_until_complete()
{
    std::uint64_t steps = ledger_.steps();
    auto moved_at = clock::now();
    while (!failed_ && (senders_ > 0 || !ledger_.is_complete(cell_.loses_nothing()))) {
        std::this_thread::sleep_for(2ms);
        if (steps != ledger_.steps()) {
            steps = ledger_.steps();
            moved_at = clock::now();
        } else if (senders_ == 0 && clock::now() - moved_at > settle_limit) {
            fail(ledger_.missing(cell_.loses_nothing()));
        }
    }
}

void soak_stage::join()
{
    for (std::thread& thread : threads_)
        if (thread.joinable())
            thread.join();
    if (zap_.joinable())
        zap_.join();
}

std::string soak_stage::run(std::chrono::milliseconds working_time)
{
    switch (shape_of(cell_.pattern)) {
    case soak_shape::one_way:
        launch_one_way(*this);
        break;
    case soak_shape::published:
        launch_published(*this);
        break;
    case soak_shape::answered:
        launch_answered(*this);
        break;
    case soak_shape::bytes:
        launch_bytes(*this);
        break;
    }
    work(working_time);
    auto working = soak_phase::working;
    phase_.compare_exchange_strong(working, soak_phase::settling);
    wait_until_complete();
    phase_ = soak_phase::ended;
    join();
    ++own_steps_;
    {
        const std::lock_guard lock(mutex_);
        records_.emplace_back("end of the contexts").state = "waiting";
        if (failed_) {
            // What is still to be sent would keep the contexts from ending: a failed cell leaves
            // them.
            static_cast<void>(near_.release());
            static_cast<void>(far_.release());
            return failure_;
        }
    }
    near_->term();
    far_->term();
    return {};
}

std::string soak_stage::whereabouts() const
{
    const std::lock_guard lock(mutex_);
    std::ostringstream text;
    for (const soak_record& each : records_)
        text << "\n    " << each.name << ": " << each.state;
    return text.str();
}

// --- what scenes share

bool soak_sender::try_next()
{
    stage_.ledger().offer(stream_, number_);
    if (!send_({stream_, number_}))
        return false;
    stage_.ledger().accepted(stream_, number_++);
    return true;
}

void soak_sender::next(const std::function<void()>& idle)
{
    while (!try_next()) {
        stage_.look();
        if (idle)
            idle();
    }
}

void soak_sender::settle(const std::function<void()>& idle)
{
    const auto end = clock::now() + settle_limit;
    bool has_come = false;
    record_.state = "waiting for the last break";
    while (stage_.is_breaking()) {
        stage_.look();
        if (idle)
            idle();
    }
    while (!has_come) {
        record_.state = "settling";
        next(idle);
        const auto again = clock::now() + 200ms;
        while (!has_come && clock::now() < again) {
            stage_.look();
            if (idle)
                idle();
            else
                std::this_thread::sleep_for(1ms);
            has_come = stage_.ledger().have_all(stream_, number_ - 1);
        }
        if (!has_come && clock::now() > end)
            throw crowd_failure("deaf: nothing arrives any more; " +
                                stage_.ledger().missing(false) + stage_.ledger().missing(true));
    }
    record_.state = "sending the last ones";
    stage_.ledger().all_is_due(stream_, number_);
    for (int count = 0; count < tail_messages; ++count) {
        next(idle);
        // Types that drop what does not fit have to wait here.
        while (stage_.ledger().in_flight(stream_) >= static_cast<std::uint64_t>(stage_.hwm())) {
            stage_.look();
            if (idle)
                idle();
            else
                std::this_thread::sleep_for(1ms);
        }
    }
}

void bind_again(soak_stage& stage, test_socket& socket)
{
    while (true) {
        try {
            stage.bind(socket);
            return;
        } catch (const call_failed& error) {
            if (error.code() != EADDRINUSE)
                throw;
            stage.look();
            std::this_thread::sleep_for(1ms);
        }
    }
}

soak_breaking soak_turns::due()
{
    if (stage_.cell().breaks != kind_ || clock::now() < at_)
        return soak_breaking(nullptr);
    // First announced, then looked: who settles looks in the opposite order.
    ++stage_.breaking();
    if (stage_.phase() != soak_phase::working) {
        --stage_.breaking();
        return soak_breaking(nullptr);
    }
    choose();
    return soak_breaking(&stage_.breaking());
}

void soak_turns::choose()
{
    constexpr std::uint64_t mean_ms = 120;
    at_ = clock::now() + std::chrono::milliseconds(mean_ms / 2 + stage_.random(mean_ms));
}

void bound_breaks::make(test_socket& socket)
{
    if (const soak_breaking now = pauses_.due()) {
        record_.state = "pausing";
        stage_.nap(std::chrono::milliseconds(stage_.random(250)));
    }
    if (const soak_breaking now = unbinds_.due()) {
        record_.state = "binding again";
        stage_.ledger().note_break();
        stage_.unbind(socket);
        bind_again(stage_, socket);
    }
    if (const soak_breaking now = ends_.due()) {
        record_.state = "closing";
        stage_.ledger().note_break();
        socket.close();
        record_.state = "taking its place";
        socket = open_();
        bind_again(stage_, socket);
    }
}

} // namespace zlink::test
