// SPDX-License-Identifier: Apache-2.0
// A model of the agreements between the two sides of a byte_queue, in which every order of their
// steps is tried. Stores of the producer that are not read-modify-writes may become visible late.
#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <set>
#include <tuple>
#include <vector>

namespace zlink::base {
namespace {

struct rules {
    bool is_owner;    ///< plain stores and a look at the recall, instead of read-modify-writes
    bool heavy_fence; ///< recall() makes late stores visible
    bool sleep_is_compare_exchange;
};

constexpr int commits = 3;

struct state {
    // shared memory
    int published = 0;
    bool asleep = false;
    bool recalled = false;
    // the producer's store that is not visible yet; 0 = none
    int late = 0;
    // producer: commits begun, and where it stands in one
    int begun = 0;
    enum producer_step : std::uint8_t { ready, stored } producer = ready;
    bool owner = false;
    bool woke = false; ///< the consumer was woken and has not noticed yet
    // consumer
    int seen = 0;
    enum consumer_step : std::uint8_t {
        looking,
        fencing,
        checking,
        falling,
        sleeping
    } consumer = looking;

    auto key() const
    {
        return std::tuple(published, asleep, recalled, late, begun, producer, owner, woke, seen,
                          consumer);
    }
    bool operator<(const state& other) const { return key() < other.key(); }
};

class exploration {
public:
    explicit exploration(rules applied) : rules_(applied) {}

    /// True if in some order the consumer sleeps for ever beside something it has not seen.
    bool loses_a_wake_up()
    {
        state first;
        first.owner = rules_.is_owner;
        visit(first);
        return lost_;
    }
    std::size_t states() const { return known_.size(); }

private:
    void visit(const state& from)
    {
        if (!known_.insert(from).second)
            return;
        const std::size_t before = steps_;
        step_producer(from);
        step_consumer(from);
        if (from.late) { // becomes visible by itself
            state next = from;
            flush(next);
            go(next);
        }
        if (steps_ == before && from.seen != commits)
            lost_ = true;
    }
    void go(const state& next)
    {
        ++steps_;
        visit(next);
    }
    static void flush(state& s)
    {
        if (s.late) {
            s.published = s.late;
            s.asleep = false; // the word holds both
            s.late = 0;
        }
    }
    static void wake(state& s) { s.woke = true; }

    void step_producer(const state& from)
    {
        state next = from;
        if (from.producer == state::ready) {
            if (from.begun == commits)
                return;
            ++next.begun;
            if (from.owner) {
                if (next.late)
                    flush(next); // stores stay in order
                next.late = next.begun;
                next.producer = state::stored;
            } else {
                flush(next); // a read-modify-write is never late
                const bool was_asleep = next.asleep;
                next.published = next.begun;
                next.asleep = false;
                if (was_asleep)
                    wake(next);
            }
            return go(next);
        }
        // stored: the look at the recall
        next.producer = state::ready;
        if (from.recalled) {
            next.recalled = false;
            next.owner = false;
            flush(next); // waking is a system call
            wake(next);
        }
        go(next);
    }

    void step_consumer(const state& from)
    {
        state next = from;
        switch (from.consumer) {
        case state::looking:
            if (from.published != from.seen) {
                next.seen = from.published;
            } else if (rules_.is_owner && from.owner && !from.recalled) {
                next.recalled = true;
                next.consumer = state::fencing;
            } else {
                next.consumer = state::falling;
            }
            return go(next);
        case state::fencing:
            if (rules_.heavy_fence)
                flush(next);
            next.consumer = state::checking;
            return go(next);
        case state::checking:
            next.consumer = from.published != from.seen ? state::looking : state::falling;
            return go(next);
        case state::falling:
            if (rules_.sleep_is_compare_exchange && from.published != from.seen) {
                next.consumer = state::looking;
                return go(next);
            }
            next.asleep = true;
            next.consumer = state::sleeping;
            return go(next);
        case state::sleeping:
            if (!from.woke)
                return;
            next.woke = false;
            next.asleep = false;
            next.consumer = state::looking;
            return go(next);
        }
    }

    const rules rules_;
    std::set<state> known_;
    std::size_t steps_ = 0;
    bool lost_ = false;
};

TEST(SleepProtocol, loses_no_wake_up_with_one_atomic_word)
{
    exploration all({false, false, true});
    EXPECT_FALSE(all.loses_a_wake_up());
    EXPECT_LT(20u, all.states());
}

TEST(SleepProtocol, would_lose_one_if_sleep_did_not_compare)
{
    EXPECT_TRUE(exploration({false, false, false}).loses_a_wake_up());
}

TEST(SleepProtocol, loses_no_wake_up_when_a_producer_that_owns_the_writing_is_recalled)
{
    exploration all({true, true, true});
    EXPECT_FALSE(all.loses_a_wake_up());
    EXPECT_LT(50u, all.states());
}

TEST(SleepProtocol, would_lose_one_if_the_recall_had_no_fence)
{
    EXPECT_TRUE(exploration({true, false, true}).loses_a_wake_up());
}

} // namespace
} // namespace zlink::base
