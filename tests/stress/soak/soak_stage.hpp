// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "soak_cell.hpp"
#include "soak_ledger.hpp"
#include "soak_relay.hpp"
#include "stress/crowd_message.hpp"
#include "support/socket.hpp"

namespace zlink::test {

/// What a cell does now. Only goes on to the next.
enum class soak_phase : std::uint8_t {
    working,  ///< with breaks
    settling, ///< without: from here on everything has to arrive
    ended,    ///< everything has, or the cell has failed
};

/// What a thread of a cell is at, for the report about one that hangs.
struct soak_record {
    explicit soak_record(std::string its_name) : name(std::move(its_name)) {}
    const std::string name;
    std::atomic<const char*> state{"starting"};
};

/// Contexts, sockets, accounts and threads of one cell.
/// Thread safety: any thread, but for run() and what scenes call before it.
class soak_stage {
public:
    soak_stage(const soak_cell& cell, std::uint64_t seed);
    soak_stage(const soak_stage&) = delete;
    soak_stage& operator=(const soak_stage&) = delete;
    ~soak_stage();

    const soak_cell& cell() const { return cell_; }
    soak_ledger& ledger() { return ledger_; }
    bodies body() const { return is_thread_safe(cell_.pattern) ? bodies::any : bodies::any_parts; }
    int hwm() const { return hwm_; }
    soak_phase phase() const { return phase_; }
    std::atomic<int>& breaking() { return breaking_; }
    bool has_failed() const { return failed_; }
    std::uint64_t random(std::uint64_t below);

    /// The one that is bound is the server of the mechanism.
    test_socket open_bound(int type);
    test_socket open_connecting(int type);
    /// Binds the first time to a fresh address, later again to that.
    void bind(test_socket& socket);
    void unbind(test_socket& socket) { socket.unbind(address_); }
    /// Where those that connect have to go: the relay, if there is one.
    std::string place() const;

    /// A thread of the cell. What it throws is the failure of the cell.
    void launch(const std::string& name, std::function<void(soak_record&)> work);
    /// The cell is complete only after everybody who sends has said that all is sent.
    void expect_sender() { ++senders_; }
    void sender_is_done() { --senders_; }
    /// True until every break that was begun in the working phase has been made.
    bool is_breaking() const { return breaking_ != 0; }
    /// Waits a little, or less if the cell has failed.
    void nap(std::chrono::milliseconds time) const;
    /// Throws if the cell has failed, so that a thread ends.
    void look() const;
    void fail(const std::string& why);

    /// Breaks what the cell is to break in this time, lets it settle, and waits until all is there.
    /// Everything has ended when it returns. @return why it failed, empty if it did not.
    std::string run(std::chrono::milliseconds working_time);
    /// Ends the working phase. Any thread.
    void hurry() { hurried_ = true; }
    /// Any thread.
    std::uint64_t steps() const { return ledger_.steps() + own_steps_; }
    std::string whereabouts() const;

private:
    test_socket open(test_context& context, int type);
    void make_secure(test_socket& socket, bool is_server) const;
    void answer_zap(test_socket& socket, soak_record& record) const;
    void work(std::chrono::milliseconds time);
    void wait_until_complete();
    void join();

    const soak_cell cell_;
    mutable std::mutex mutex_;
    std::mt19937_64 random_; ///< under the mutex
    int hwm_;
    soak_ledger ledger_;
    std::unique_ptr<test_context> near_ = std::make_unique<test_context>();
    std::unique_ptr<test_context> far_ = std::make_unique<test_context>();
    std::string address_;
    std::unique_ptr<soak_relay> relay_;
    std::string failure_;             ///< under the mutex
    std::deque<soak_record> records_; ///< under the mutex
    std::deque<std::thread> threads_; ///< under the mutex
    std::thread zap_;
    std::atomic<int> senders_{0};
    std::atomic<int> breaking_{0};
    std::atomic<std::uint64_t> own_steps_{0};
    std::atomic<soak_phase> phase_{soak_phase::working};
    std::atomic<bool> failed_{false};
    std::atomic<bool> hurried_{false};
};

/// Opens the sockets of a cell, and launches its threads.
void launch_one_way(soak_stage& stage);
void launch_published(soak_stage& stage);
void launch_answered(soak_stage& stage);
void launch_bytes(soak_stage& stage);

/// Sends the messages of one stream.
class soak_sender {
public:
    /// @param send  offers a message to a socket; false if there is no room now
    soak_sender(soak_stage& stage, soak_record& record, std::uint32_t stream,
                std::function<bool(message_key)> send)
        : stage_(stage), record_(record), stream_(stream), send_(std::move(send))
    {}

    /// @return false if there was no room.
    bool try_next();
    /// Sends the next one, however long it takes. @param idle  called while there is no room
    void next(const std::function<void()>& idle = {});
    /// Sends one after the other until a last one has come everywhere; after that, some that must
    /// come. @param idle  called while it waits
    void settle(const std::function<void()>& idle = {});
    std::uint64_t number() const { return number_; }

private:
    soak_stage& stage_;
    soak_record& record_;
    const std::uint32_t stream_;
    const std::function<bool(message_key)> send_;
    std::uint64_t number_ = 0;
};

/// Binds again to where something was bound a moment ago.
void bind_again(soak_stage& stage, test_socket& socket);

/// Breaks are made while one of these lives: nothing settles before.
class soak_breaking {
public:
    explicit soak_breaking(std::atomic<int>* count) : count_(count) {}
    ~soak_breaking()
    {
        if (count_ != nullptr)
            --*count_;
    }
    soak_breaking(const soak_breaking&) = delete;
    soak_breaking& operator=(const soak_breaking&) = delete;
    explicit operator bool() const { return count_ != nullptr; }

private:
    std::atomic<int>* const count_;
};

/// When a break is to be made again, at random times, if the cell is of that kind.
class soak_turns {
public:
    soak_turns(soak_stage& stage, soak_break kind) : stage_(stage), kind_(kind) { choose(); }
    /// False if it is not time, or not the working phase any more.
    soak_breaking due();

private:
    void choose();

    soak_stage& stage_;
    const soak_break kind_;
    std::chrono::steady_clock::time_point at_;
};

/// The breaks of a socket that is bound and receives.
class bound_breaks {
public:
    /// @param open  opens the socket that takes the place of the one there was
    bound_breaks(soak_stage& stage, soak_record& record, std::function<test_socket()> open)
        : stage_(stage), record_(record), open_(std::move(open))
    {}
    /// Makes those that are due: stops for a while, binds it again, or replaces it.
    void make(test_socket& socket);

private:
    soak_stage& stage_;
    soak_record& record_;
    const std::function<test_socket()> open_;
    soak_turns pauses_{stage_, soak_break::paused};
    soak_turns unbinds_{stage_, soak_break::rebound};
    soak_turns ends_{stage_, soak_break::replaced};
};

} // namespace zlink::test
