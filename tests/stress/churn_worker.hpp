// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/draft.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/socket.hpp"

namespace zlink::test {

/// Socket types that may be connected with each other in any combination.
struct family {
    std::vector<int> types;
    bool in_parts = true;     ///< their messages may have several parts
    bool plain_bytes = false; ///< they send and receive no messages but what is there
    std::vector<std::string> addresses{};
};

/// The addresses all threads share, so that they meet each other; separate for each family.
class address_book {
public:
    /// @param per_family number of addresses of each transport and family
    address_book(const std::vector<transport>& transports, int per_family);
    const std::vector<family>& families() const { return families_; }

private:
    std::vector<family> families_;
};

/// How rough the workers are.
struct churn_habits {
    /// Sockets get a random SNDHWM below this; 0 leaves the default.
    std::size_t hwm_below = 20;
    /// Never turns away from a message before its last part was read.
    bool whole_messages = false;
};

/// Does random things with sockets of its own. One thread runs it; the observers may be called by
/// another one.
class churn_worker {
public:
    churn_worker(const address_book& addresses, const churn_habits& habits, unsigned seed);

    /// Works until the context says ETERM, then closes everything.
    void work_until_terminated(void* context);

    /// Notes what is being done now, for the watch over hangs.
    void mark(const char* action);
    const char* action() const { return action_; }
    std::uint64_t steps() const { return steps_; }
    std::chrono::milliseconds idle_for() const;
    std::uint64_t messages() const { return messages_; }
    /// An error that no call should have given. Read it when the thread is done.
    const std::string& complaint() const { return complaint_; }

private:
    struct open_socket {
        test_socket socket;
        const family* kin;
        int type;
        std::vector<std::string> bound;
        std::vector<std::string> connected;
        test_socket watcher; ///< hears what its monitor tells
    };

    std::size_t random_below(std::size_t limit);
    template <typename Value>
    const Value& any_of(const std::vector<Value>& values)
    {
        return values[random_below(values.size())];
    }
    void step(void* context);
    void open(void* context);
    void bind(open_socket& one);
    void connect(open_socket& one);
    void detach(open_socket& one);
    void configure(open_socket& one);
    void change_interest(open_socket& one);
    void watch(void* context, open_socket& one);
    void send(open_socket& one);
    bool send_part(open_socket& one, int flags);
    void keep(zmq_msg_t& message);
    bool pass_on(open_socket& one, int flags);
    void receive(open_socket& one);
    bool receive_part(open_socket& one);
    void check(const open_socket& one, const void* data, std::size_t bytes);
    void poll_all();
    void live_short_context();
    /// Accepts success and the errors that are part of the game. @return whether the call
    /// succeeded.
    bool expect(bool success, const char* call, std::initializer_list<int> allowed);
    void complain(const std::string& about);

    const address_book& addresses_;
    churn_habits habits_;
    std::mt19937 random_;
    std::vector<open_socket> sockets_;
    std::array<zmq_msg_t, 8> kept_; ///< messages to be sent on, or again
    std::size_t kept_count_ = 0;
    bool terminated_ = false;
    std::string complaint_;
    std::atomic<const char*> action_{"starting"};
    std::atomic<std::uint64_t> steps_{0};
    std::atomic<std::uint64_t> messages_{0};
    std::atomic<std::int64_t> moved_at_ms_{0};
};

} // namespace zlink::test
