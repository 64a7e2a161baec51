// SPDX-License-Identifier: Apache-2.0
#define ZMQ_BUILD_DRAFT_API
#include "no_loss_cell.hpp"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "no_loss_payload.hpp"
#include "support/endpoint.hpp"
#include "support/socket.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

/// How often a slow receiver stops in the course of a cell.
constexpr std::uint64_t stalls_per_cell = 20;
const char* const probe = "probe";
const char* const receiver_id = "receiver";

/// What the two sides tell each other and the watchdog.
struct progress {
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> received{0};
    std::atomic<const char*> sender_state{"starting"};
    std::atomic<const char*> receiver_state{"starting"};
    std::atomic<bool> receiver_ready{false};
    std::atomic<bool> sender_done{false};
};

void pause_for(std::chrono::milliseconds time)
{
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, time);
}

int sender_type(flow pattern)
{
    switch (pattern) {
    case flow::pair:
        return ZMQ_PAIR;
    case flow::pub_sub:
        return ZMQ_PUB;
    case flow::push_pull:
        return ZMQ_PUSH;
    case flow::dealer_dealer:
    case flow::dealer_router:
        return ZMQ_DEALER;
    case flow::router_router:
        return ZMQ_ROUTER;
    }
    throw std::logic_error("unknown flow");
}

int receiver_type(flow pattern)
{
    switch (pattern) {
    case flow::pair:
        return ZMQ_PAIR;
    case flow::pub_sub:
        return ZMQ_SUB;
    case flow::push_pull:
        return ZMQ_PULL;
    case flow::dealer_dealer:
        return ZMQ_DEALER;
    case flow::dealer_router:
    case flow::router_router:
        return ZMQ_ROUTER;
    }
    throw std::logic_error("unknown flow");
}

link_kind link_of(const std::string& name)
{
    for (const link_kind each : all_links())
        if (name == name_of(each))
            return each;
    throw std::invalid_argument("the library has no " + name);
}

class cell_run {
public:
    explicit cell_run(const cell& what) : what_(what), buffer_(what.size_bytes + 1)
    {
        sender_ = test_socket::with_defaults(context_, sender_type(what.pattern));
        receiver_ = test_socket::with_defaults(context_, receiver_type(what.pattern));
        for (test_socket* socket : {&sender_, &receiver_}) {
            socket->set(ZMQ_SNDHWM, what.hwm);
            socket->set(ZMQ_RCVHWM, what.hwm);
            socket->set(ZMQ_LINGER, 0);
        }
        if (what.pattern == flow::pub_sub) {
            sender_.set(ZMQ_XPUB_NODROP, 1);
            receiver_.set(ZMQ_SUBSCRIBE, "");
        }
        if (what.pattern == flow::router_router) {
            receiver_.set(ZMQ_ROUTING_ID, receiver_id);
            sender_.set(ZMQ_ROUTER_MANDATORY, 1);
            sender_.set(ZMQ_CONNECT_ROUTING_ID, receiver_id);
        }
        const link_kind link = link_of(what.link);
        const link_in_use scope(link);
        sender_.connect(receiver_.bind_and_resolve(fresh_bind_address(link)));
    }

    void send_all(progress& state)
    {
        if (what_.pattern == flow::pub_sub)
            probe_until_ready(state);
        std::vector<unsigned char> message(what_.size_bytes);
        state.sender_state = "sending";
        for (std::uint64_t number = 0; number < what_.count; ++number) {
            fill_payload(message.data(), message.size(), number);
            if (what_.pattern == flow::router_router)
                sender_.send(receiver_id, ZMQ_SNDMORE);
            send_one(message, number);
            state.sent.store(number + 1, std::memory_order_relaxed);
        }
        state.sender_done = true;
        state.sender_state = "done";
    }

    /// @return what was wrong with the messages, empty if nothing.
    std::string receive_all(progress& state)
    {
        const std::uint64_t burst = std::max<std::uint64_t>(what_.count / stalls_per_cell, 1);
        for (std::uint64_t number = 0; number < what_.count; ++number) {
            if (what_.slow_receiver && number % burst == 0)
                wait_until_sender_is_stuck(state);
            state.receiver_state = "receiving";
            const int size = receive_one(state);
            if (size < 0 || !payload_is(buffer_.data(), static_cast<std::size_t>(size),
                                        what_.size_bytes, number))
                return "message " + std::to_string(number) + " is not what was sent next";
            state.received.store(number + 1, std::memory_order_relaxed);
        }
        state.receiver_state = "looking for surplus";
        if (poll_socket(receiver_, ZMQ_POLLIN, 0ms) != 0)
            return "more messages than were sent";
        state.receiver_state = "done";
        return {};
    }

    /// Makes every blocked call return.
    void interrupt() { zmq_ctx_shutdown(context_); }

private:
    void probe_until_ready(progress& state)
    {
        state.sender_state = "waiting for the subscription";
        while (!state.receiver_ready) {
            sender_.send(probe);
            pause_for(1ms);
        }
    }

    void send_one(const std::vector<unsigned char>& message, std::uint64_t number)
    {
        if (number % 8 != 0) {
            if (zmq_send(sender_, message.data(), message.size(), 0) < 0)
                throw call_failed("zmq_send");
            return;
        }
        zmq_msg_t copy;
        zmq_msg_init_size(&copy, message.size());
        std::memcpy(zmq_msg_data(&copy), message.data(), message.size());
        if (zmq_msg_send(&copy, sender_, 0) < 0) {
            zmq_msg_close(&copy);
            throw call_failed("zmq_msg_send");
        }
    }

    /// @return the size of the next message that is no probe; -1 if it had the wrong parts.
    int receive_one(progress& state)
    {
        const bool has_id = receiver_type(what_.pattern) == ZMQ_ROUTER;
        while (true) {
            if (has_id && receiver_.recv().empty())
                return -1;
            const int size = zmq_recv(receiver_, buffer_.data(), buffer_.size(), 0);
            if (size < 0)
                throw call_failed("zmq_recv");
            if (receiver_.get(ZMQ_RCVMORE) != 0)
                return -1;
            if (what_.pattern != flow::pub_sub || std::memcmp(buffer_.data(), probe, 5) != 0 ||
                size != 5)
                return size;
            state.receiver_ready = true;
        }
    }

    /// A stuck sender is one that has not moved for a moment; a finished one counts as well.
    void wait_until_sender_is_stuck(progress& state)
    {
        if (what_.pattern == flow::pub_sub && !state.receiver_ready)
            return;
        state.receiver_state = "stalling";
        std::uint64_t before = state.sent;
        do {
            before = state.sent;
            pause_for(2ms);
        } while (!state.sender_done && before != state.sent);
    }

    cell what_;
    test_context context_;
    test_socket sender_;
    test_socket receiver_;
    std::vector<unsigned char> buffer_;
};

std::string whereabouts(const progress& state)
{
    std::ostringstream text;
    text << "sender: " << state.sent << " sent, " << state.sender_state
         << "; receiver: " << state.received << " received, " << state.receiver_state;
    return text.str();
}

/// Everything the threads of a cell use; leaked as a whole when they cannot be stopped.
struct live_cell {
    explicit live_cell(const cell& what) : run(what) {}

    void start()
    {
        receiving = launch("receiver", [this] { return run.receive_all(state); });
        sending = launch("sender", [this] {
            run.send_all(state);
            return std::string();
        });
    }

    cell_run run;
    progress state;
    std::future<std::string> receiving;
    std::future<std::string> sending;

private:
    /// A side that fails ends the other one, which would wait for ever.
    template <typename Work>
    std::future<std::string> launch(const char* name, Work work)
    {
        return std::async(std::launch::async, [this, name, work]() -> std::string {
            std::string failure;
            try {
                failure = work();
            } catch (const std::exception& error) {
                failure = error.what();
            }
            if (failure.empty())
                return failure;
            run.interrupt();
            return std::string(name) + ": " + failure + ". ";
        });
    }
};

/// Waits for both sides. @return false when nothing moved for `stall`.
bool watch(live_cell& live, std::chrono::milliseconds stall)
{
    std::uint64_t last = 0;
    auto moved_at = std::chrono::steady_clock::now();
    for (std::future<std::string>* side : {&live.receiving, &live.sending}) {
        while (side->wait_for(50ms) != std::future_status::ready) {
            const std::uint64_t now = live.state.sent + live.state.received;
            if (now != last) {
                last = now;
                moved_at = std::chrono::steady_clock::now();
            } else if (std::chrono::steady_clock::now() - moved_at > stall) {
                return false;
            }
        }
    }
    return true;
}

/// Ends the threads of a stuck cell. @return false if they do not even react to the termination.
bool stop(live_cell& live)
{
    live.run.interrupt();
    return live.receiving.wait_for(5s) == std::future_status::ready &&
           live.sending.wait_for(5s) == std::future_status::ready;
}

} // namespace

const char* name_of(flow pattern)
{
    switch (pattern) {
    case flow::pair:
        return "pair";
    case flow::pub_sub:
        return "pub-sub";
    case flow::push_pull:
        return "push-pull";
    case flow::dealer_dealer:
        return "dealer-dealer";
    case flow::dealer_router:
        return "dealer-router";
    case flow::router_router:
        return "router-router";
    }
    return "?";
}

std::string cell::description() const
{
    std::ostringstream text;
    text << name_of(pattern) << ' ' << link << ' ' << size_bytes << " B x " << count << " hwm "
         << hwm << (slow_receiver ? " slow" : " fast");
    return text.str();
}

cell_result run_cell(const cell& what, std::chrono::milliseconds stall)
{
    const stopwatch clock;
    auto live = std::make_unique<live_cell>(what);
    live->start();
    cell_result result;
    if (!watch(*live, stall)) {
        result.failure = "stuck: " + whereabouts(live->state);
        if (!stop(*live)) {
            result.failure += "; not even termination wakes it";
            result.unstoppable = true;
            static_cast<void>(live.release());
        }
        return result;
    }
    result.failure = live->receiving.get() + live->sending.get();
    if (!result.failure.empty())
        result.failure += whereabouts(live->state);
    result.passed = result.failure.empty();
    result.seconds = static_cast<double>(clock.elapsed_ms()) / 1000.0;
    return result;
}

} // namespace zlink::test
