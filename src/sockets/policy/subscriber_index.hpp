// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefix_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zlink::sockets {

/// Names one subscriber of a subscriber_index.
using subscriber = std::uint32_t;

/// The subscriptions of all peers of a publishing socket: which subscribers want a message.
///
/// A topic is a byte string of any bytes and length; the index keeps copies. A subscriber holds
/// each topic at most once. Subscriber numbers are chosen by the caller and should be small, since
/// memory grows with the largest one; a number may be reused after remove_all(). Not thread safe,
/// and the functions passed in must not call back into the index.
class subscriber_index {
public:
    /// What add() did: gave a topic its first subscriber, gave it another one, or nothing because
    /// the subscriber held it already.
    enum class addition { first_for_topic, added, duplicate };

    /// What remove() did: nothing because the subscriber did not hold the topic, took away one
    /// subscriber of several, or the last one and with it the topic.
    enum class removal { unknown, removed, last_for_topic };

    /// Subscribes `who` to messages that begin with `prefix`.
    /// Throws std::bad_alloc, then nothing has changed.
    addition add(std::span<const std::byte> prefix, subscriber who);

    /// Cancels one subscription.
    removal remove(std::span<const std::byte> prefix, subscriber who) noexcept;

    /// Cancels every subscription of `who`, at a cost in proportion to their number and length.
    ///
    /// First calls `on_topic(prefix, last)` for each, in lexicographic order of the prefixes: a
    /// std::span<const std::byte> valid during the call, and whether `who` was the only subscriber.
    /// If `on_topic` throws, the remaining topics are not reported but removed all the same.
    template <class F>
    void remove_all(subscriber who, F&& on_topic)
    {
        const departure leaving{*this, who};
        for (const topic* const at : leaving.topics) {
            on_topic(at->key(), at->value.size() == 1);
        }
    }

    /// Calls `fn(subscriber)` exactly once for each subscriber with at least one topic that begins
    /// `message`. Allocates nothing.
    template <class F>
    void match(std::span<const std::byte> message, F&& fn)
    {
        const topic* at = topic_on_path(&tree_.root(), message);
        if (at == nullptr) {
            return;
        }
        if (topic_on_path(at->next_on_path(message), message) == nullptr) {
            // One topic alone has no subscriber twice.
            for (const membership& member : at->value) {
                fn(member.who);
            }
            return;
        }
        ++round_;
        for (; at != nullptr; at = topic_on_path(at->next_on_path(message), message)) {
            for (const membership& member : at->value) {
                if (last_matched_[member.who] != round_) {
                    last_matched_[member.who] = round_;
                    fn(member.who);
                }
            }
        }
    }

    /// Number of different topics over all subscribers.
    std::size_t unique_topics() const noexcept { return tree_.size(); }

    /// Whether no subscriber holds any topic.
    bool empty() const noexcept { return tree_.size() == 0; }

    /// Number of internal nodes, for judging memory: 0 if the index is empty.
    std::size_t node_count() const noexcept { return tree_.node_count(); }

private:
    /// One subscriber of a topic, and where that subscriber's own list has the topic.
    struct membership {
        subscriber who;
        std::uint32_t position;
    };

    using audience = std::vector<membership>; // ordered by `who`
    using tree = prefix_tree<audience>;
    using topic = tree::node;

    /// The topics of a subscriber that leaves, ordered; removes them when it ends.
    struct departure {
        departure(subscriber_index& index, subscriber who) noexcept;
        departure(const departure&) = delete;
        departure& operator=(const departure&) = delete;
        ~departure();

        subscriber_index& index;
        subscriber who;
        std::vector<topic*> topics;
    };

    /// The first node from `at` on downwards along `message` that is a topic, or null.
    static const topic* topic_on_path(const topic* at, std::span<const std::byte> message) noexcept
    {
        while (at != nullptr && !at->holds_value()) {
            at = at->next_on_path(message);
        }
        return at;
    }

    static audience::iterator place_of(topic& of, subscriber who) noexcept;
    static bool holds(const topic& of, audience::const_iterator place, subscriber who) noexcept;
    void make_room_for(subscriber who);
    void enlist(topic& to, audience::iterator place, subscriber who);
    void forget_in_list(const membership& member) noexcept;
    bool leave(topic* from, audience::iterator place) noexcept;

    tree tree_;
    std::vector<std::vector<topic*>> topics_of_; // by subscriber, in no order
    std::vector<std::uint64_t> last_matched_;    // by subscriber: the value of round_ when matched
    std::uint64_t round_ = 0;
};

} // namespace zlink::sockets
