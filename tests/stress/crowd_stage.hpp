// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "crowd_cell.hpp"
#include "crowd_message.hpp"
#include "support/socket.hpp"

namespace zlink::test {

/// What a thread or a peer tells of itself, for the watch over hangs. Each is written by one
/// thread.
struct crowd_record {
    explicit crowd_record(std::string its_name) : name(std::move(its_name)) {}
    const std::string name;
    std::atomic<const char*> state{"starting"};
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> received{0};
    std::atomic<bool> done{false};
};

/// Contexts, threads and the watch over them, for one cell.
/// Thread safety: any thread, but for those of the thread that runs the cell.
class crowd_stage {
public:
    explicit crowd_stage(const crowd_cell& cell);
    crowd_stage(const crowd_stage&) = delete;
    crowd_stage& operator=(const crowd_stage&) = delete;
    ~crowd_stage();

    const crowd_cell& cell() const { return cell_; }
    /// The context of the one socket that many talk to, and that of the others: the same for
    /// inproc.
    test_context& hub_context() { return near_; }
    test_context& peer_context() { return cell_.kind == transport::inproc ? near_ : far_; }
    /// Sockets with the high-water mark of the cell that keep what is sent.
    test_socket open_hub(int type) { return open(hub_context(), type); }
    test_socket open_peer(int type) { return open(peer_context(), type); }
    std::string bind(test_socket& socket);

    std::uint32_t new_stream() { return ++streams_; }
    crowd_record& record(const std::string& name);
    /// A thread that works with a record of its own. What it throws is the failure of the cell.
    void launch(const std::string& name, std::function<void(crowd_record&)> work);
    /// Waits for what another thread does. Throws if the cell has failed meanwhile.
    void await(crowd_record& who, const char* what, const std::function<bool()>& condition);
    void fail(const std::string& why);
    bool failed() const { return failed_; }

    // --- of the thread that runs the cell

    /// Waits until all threads have ended. False if nothing moved for `stall`, or the cell failed.
    bool watch(std::chrono::milliseconds stall);
    /// Ends all calls. False if there are threads that do not end.
    bool stop();
    /// Terminates the contexts. False if that does not end.
    bool terminate(std::chrono::milliseconds limit);
    std::string failure() const;
    /// Who is not done, and what they do.
    std::string whereabouts() const;

private:
    test_socket open(test_context& context, int type);
    std::uint64_t steps() const;

    const crowd_cell cell_;
    test_context near_;
    test_context far_;
    std::atomic<std::uint32_t> streams_{0};
    std::atomic<bool> failed_{false};
    mutable std::mutex mutex_; ///< of what follows
    std::string failure_;
    std::deque<crowd_record> records_;
    std::deque<std::thread> threads_;
    std::atomic<std::size_t> running_{0};
};

/// One of the many. Lives in one thread at a time.
class crowd_peer {
public:
    crowd_peer(crowd_stage& stage, int type, const std::string& name);
    virtual ~crowd_peer() = default;
    crowd_peer(const crowd_peer&) = delete;
    crowd_peer& operator=(const crowd_peer&) = delete;

    test_socket& socket() { return socket_; }
    crowd_record& record() { return record_; }

    /// Called once, in the thread that it lives in.
    virtual void begin() {}
    /// Takes one message. False if there is none.
    virtual bool take(int flags) = 0;
    /// Called now and then, also when nothing comes.
    virtual void look() {}
    virtual bool done() const = 0;
    /// Who takes the place of this one, which is done and closed. Null: nobody.
    virtual std::unique_ptr<crowd_peer> successor() { return {}; }

protected:
    [[noreturn]] void complain(const std::string& about) const;

    crowd_stage& stage_;
    test_socket socket_;

private:
    crowd_record& record_;
};

/// Has peers live in threads, as the cell says how.
void launch_peers(crowd_stage& stage, const std::string& name,
                  std::vector<std::unique_ptr<crowd_peer>> peers);

/// So many peers follow each other at one place.
int generations(const crowd_cell& cell);
/// How many messages belong to a stream. They differ, so that not all end at once.
std::uint64_t quota_of(const crowd_cell& cell, std::uint32_t stream);
/// So many messages come from or to one place between two that take it, on average.
std::uint64_t messages_per_life(const crowd_cell& cell);

/// Makes as many peers as the cell has, and has them live.
template <typename Peer, typename Scene>
void launch_all(crowd_stage& stage, Scene& scene, const char* name)
{
    std::vector<std::unique_ptr<crowd_peer>> peers;
    for (int i = 0; i < stage.cell().peers; ++i)
        peers.push_back(std::make_unique<Peer>(stage, scene, generations(stage.cell())));
    launch_peers(stage, name, std::move(peers));
}

/// Addresses that peers have bound, for the thread that connects to them.
class crowd_offers {
public:
    struct offer {
        std::string address;
        std::function<void(std::uint64_t)> tell_to_leave; ///< any thread
    };
    void put(offer one);
    std::optional<offer> take();
    std::size_t size() const { return size_; }

private:
    std::mutex mutex_;
    std::deque<offer> offers_;
    std::atomic<std::size_t> size_{0};
};

/// What runs in a cell. Its threads may use it until all have ended.
class crowd_scene {
public:
    virtual ~crowd_scene() = default;
    virtual void launch() = 0;
    /// After all threads have ended well: throws if something is missing.
    virtual void check() {}
};
std::unique_ptr<crowd_scene> scene_to_each(crowd_stage& stage);
std::unique_ptr<crowd_scene> scene_to_any(crowd_stage& stage);
std::unique_ptr<crowd_scene> scene_to_all(crowd_stage& stage);
std::unique_ptr<crowd_scene> scene_of_requests(crowd_stage& stage);
std::unique_ptr<crowd_scene> scene_from_many(crowd_stage& stage);
std::unique_ptr<crowd_scene> scene_of_broker(crowd_stage& stage);

} // namespace zlink::test
