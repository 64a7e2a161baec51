// SPDX-License-Identifier: Apache-2.0
#include "crowd_stage.hpp"

#include <algorithm>
#include <exception>
#include <future>
#include <sstream>

#include "no_loss_payload.hpp"

namespace zlink::test {

using namespace std::chrono_literals;

namespace {

constexpr int shared_threads = 2;
constexpr int messages_per_turn = 16;
constexpr std::chrono::milliseconds longest_wait{5};
constexpr std::size_t most_whereabouts = 40;

using peer_list = std::vector<std::unique_ptr<crowd_peer>>;

/// Replaces those that are done by their successors.
void renew(crowd_stage& stage, peer_list& peers)
{
    for (auto& peer : peers) {
        while (peer && peer->done()) {
            peer->record().done = true;
            peer->socket().close();
            peer = peer->successor();
            if (peer && stage.cell().threads == readers::own)
                peer->socket().set(ZMQ_RCVTIMEO, static_cast<int>(longest_wait.count()));
            if (peer)
                peer->begin();
        }
    }
    std::erase(peers, nullptr);
}

void live(crowd_stage& stage, crowd_record& thread, peer_list& peers)
{
    for (const auto& peer : peers)
        peer->begin();
    std::vector<zmq_pollitem_t> items;
    for (renew(stage, peers); !peers.empty(); renew(stage, peers)) {
        items.clear();
        for (const auto& peer : peers)
            items.push_back({peer->socket(), 0, ZMQ_POLLIN, 0});
        thread.state = "polling";
        if (zmq_poll(items.data(), static_cast<int>(items.size()), longest_wait.count()) < 0 &&
            zmq_errno() != EINTR)
            throw call_failed("zmq_poll");
        thread.state = "working";
        for (std::size_t i = 0; i < peers.size(); ++i) {
            crowd_peer& peer = *peers[i];
            int left = (items[i].revents & ZMQ_POLLIN) ? messages_per_turn : 0;
            while (left-- > 0 && !peer.done() && peer.take(ZMQ_DONTWAIT)) {
            }
            peer.look();
        }
        if (stage.failed())
            return;
    }
}

void live_alone(crowd_stage& stage, crowd_record& thread, peer_list& peers)
{
    peers.front()->socket().set(ZMQ_RCVTIMEO, static_cast<int>(longest_wait.count()));
    peers.front()->begin();
    for (renew(stage, peers); !peers.empty(); renew(stage, peers)) {
        thread.state = "receiving";
        peers.front()->take(0);
        thread.state = "looking";
        peers.front()->look();
        if (stage.failed())
            return;
    }
}

} // namespace

// --- stage

crowd_stage::crowd_stage(const crowd_cell& cell) : cell_(cell)
{
    for (test_context* const context : {&near_, &far_})
        zmq_ctx_set(*context, ZMQ_MAX_SOCKETS, 4096);
}

crowd_stage::~crowd_stage()
{
    for (std::thread& thread : threads_)
        thread.join();
}

test_socket crowd_stage::open(test_context& context, int type)
{
    test_socket socket = test_socket::with_defaults(context, type);
    socket.set(ZMQ_SNDHWM, cell_.hwm);
    socket.set(ZMQ_RCVHWM, cell_.hwm);
    socket.set(ZMQ_LINGER, -1);
    return socket;
}

std::string crowd_stage::bind(test_socket& socket)
{
    return socket.bind_and_resolve(fresh_bind_address(cell_.kind));
}

crowd_record& crowd_stage::record(const std::string& name)
{
    const std::lock_guard lock(mutex_);
    return records_.emplace_back(name);
}

void crowd_stage::launch(const std::string& name, std::function<void(crowd_record&)> work)
{
    crowd_record& own = record(name);
    ++running_;
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, &own, work = std::move(work)]() mutable {
        try {
            std::exchange(work, nullptr)(own);
            own.done = true;
        } catch (const std::exception& error) {
            fail(own.name + ": " + error.what());
        }
        --running_;
    });
}

void crowd_stage::await(crowd_record& who, const char* what, const std::function<bool()>& condition)
{
    who.state = what;
    for (auto nap = 20us; !condition(); nap = std::min<std::chrono::microseconds>(2 * nap, 1ms)) {
        if (failed_)
            throw crowd_failure("has to end because of another");
        std::this_thread::sleep_for(nap);
    }
    who.state = "working";
}

// Also makes every call return.
void crowd_stage::fail(const std::string& why)
{
    {
        const std::lock_guard lock(mutex_);
        if (failed_.exchange(true))
            return;
        failure_ = why;
    }
    zmq_ctx_shutdown(near_);
    zmq_ctx_shutdown(far_);
}

std::uint64_t crowd_stage::steps() const
{
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = records_.size();
    for (const crowd_record& each : records_)
        sum += each.sent + each.received + each.done;
    return sum;
}

bool crowd_stage::watch(std::chrono::milliseconds stall)
{
    std::uint64_t last = 0;
    auto moved_at = std::chrono::steady_clock::now();
    for (auto nap = 500us; running_ != 0 && !failed_;
         nap = std::min<std::chrono::microseconds>(2 * nap, 10ms)) {
        std::this_thread::sleep_for(nap);
        const auto now = std::chrono::steady_clock::now();
        if (const std::uint64_t reached = steps(); reached != last) {
            last = reached;
            moved_at = now;
        } else if (now - moved_at > stall) {
            return false;
        }
    }
    return !failed_;
}

bool crowd_stage::stop()
{
    fail("stuck");
    return wait_until([this] { return running_ == 0; }, 5s);
}

bool crowd_stage::terminate(std::chrono::milliseconds limit)
{
    auto ended = std::make_shared<std::promise<void>>();
    auto end = ended->get_future();
    std::thread([this, ended] {
        near_.term();
        far_.term();
        ended->set_value();
    }).detach();
    return end.wait_for(limit) == std::future_status::ready;
}

std::string crowd_stage::failure() const
{
    const std::lock_guard lock(mutex_);
    return failure_;
}

std::string crowd_stage::whereabouts() const
{
    const std::lock_guard lock(mutex_);
    std::ostringstream text;
    std::size_t told = 0;
    for (const crowd_record& each : records_) {
        if (each.done || ++told > most_whereabouts)
            continue;
        text << "\n    " << each.name << ": " << each.state << ", " << each.sent << " sent, "
             << each.received << " received";
    }
    if (told > most_whereabouts)
        text << "\n    and " << told - most_whereabouts << " more";
    return text.str();
}

// --- peers

crowd_peer::crowd_peer(crowd_stage& stage, int type, const std::string& name)
    : stage_(stage), socket_(stage.open_peer(type)), record_(stage.record("  " + name))
{}

void crowd_peer::complain(const std::string& about) const
{
    throw crowd_failure(record_.name + ": " + about);
}

void launch_peers(crowd_stage& stage, const std::string& name, peer_list peers)
{
    const bool alone = stage.cell().threads == readers::own;
    const std::size_t threads =
        alone ? peers.size() : std::min<std::size_t>(shared_threads, peers.size());
    std::vector<std::shared_ptr<peer_list>> shares(threads);
    for (auto& share : shares)
        share = std::make_shared<peer_list>();
    for (std::size_t i = 0; i < peers.size(); ++i)
        shares[i % threads]->push_back(std::move(peers[i]));
    for (std::size_t i = 0; i < threads; ++i)
        stage.launch(name + " thread " + std::to_string(i),
                     [&stage, alone, share = shares[i]](crowd_record& record) {
                         (alone ? live_alone : live)(stage, record, *share);
                     });
}

int generations(const crowd_cell& cell)
{
    return cell.come_and_go ? 6 : 1;
}

std::uint64_t messages_per_life(const crowd_cell& cell)
{
    return std::max<std::uint64_t>(4, cell.count / std::uint64_t(cell.peers * generations(cell)));
}

std::uint64_t quota_of(const crowd_cell& cell, std::uint32_t stream)
{
    const std::uint64_t mean = messages_per_life(cell);
    return mean / 2 + 1 + mix(stream) % mean;
}

void crowd_offers::put(offer one)
{
    const std::lock_guard lock(mutex_);
    offers_.push_back(std::move(one));
    ++size_;
}

std::optional<crowd_offers::offer> crowd_offers::take()
{
    const std::lock_guard lock(mutex_);
    if (offers_.empty())
        return {};
    offer one = std::move(offers_.front());
    offers_.pop_front();
    --size_;
    return one;
}

} // namespace zlink::test
