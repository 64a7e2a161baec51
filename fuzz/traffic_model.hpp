// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <zmq.h>

#include "fuzz_check.hpp"
#include "memory_transport.hpp"

/// What may become of messages, as plainly as can be: docs/reliability.md in a program.
namespace zlink::fuzz {

/// A message that was sent, or is being sent.
struct message {
    enum class state { begun, accepted, given_up };
    int sender = 0;
    std::uint32_t number = 0;
    char topic = 'a';
    int to = -1;                ///< the only socket that may get it; -1: whoever does
    std::uint32_t reply_to = 0; ///< the number of the request
    std::vector<std::size_t> sizes;
    state now = state::begun;
    bool may_be_lost = false;
    bool written = false; ///< given to a stream as a whole
    std::set<int> got;
    std::set<int> must_get; ///< of what is published

    std::uint64_t id() const { return static_cast<std::uint64_t>(sender) << 32 | number; }
    bool is_large() const
    {
        return std::ranges::any_of(sizes, [](std::size_t size) { return size >= 8192; });
    }
    /// From its first byte to its last in a stream of ZMTP 3.
    std::uint64_t stream_bytes() const
    {
        std::uint64_t bytes = sizes.front();
        for (std::size_t part = 1; part < sizes.size(); ++part)
            bytes += sizes[part] + (sizes[part] > 255 ? 9 : 2);
        return bytes;
    }
    /// What the part consists of. The first one begins with what makes the message known.
    std::string part(std::size_t index) const
    {
        std::string bytes(sizes[index], '\0');
        const std::size_t first = static_cast<std::size_t>(sender) * 31 + number * 7 + index * 13;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<char>((first + i + i / 127) & 0x7f);
        if (index == 0) {
            const std::string head = this->head();
            std::memcpy(bytes.data(), head.data(), head.size());
        }
        return bytes;
    }
    /// The first bytes in a stream of ZMTP 3: the head of the frame, and what makes it known.
    std::string beginning() const
    {
        std::string bytes(1, static_cast<char>((sizes.size() > 1 ? 1 : 0) | (is_long() ? 2 : 0)));
        for (int at = is_long() ? 7 : 0; at >= 0; --at)
            bytes += static_cast<char>(sizes.front() >> (8 * at) & 0xff);
        return bytes + head();
    }
    bool is_long() const { return sizes.front() > 255; }
    std::string head() const
    {
        std::string bytes{topic, '\xf1', '\xe2', '\xd3', static_cast<char>(sender)};
        for (const unsigned shift : {16u, 8u, 0u})
            bytes += static_cast<char>(number >> shift & 0xff);
        for (const unsigned shift : {24u, 16u, 8u, 0u})
            bytes += static_cast<char>(reply_to >> shift & 0xff);
        return bytes;
    }
};

/// A socket of the program.
struct actor {
    int number = 0;
    int type = 0;
    void* handle = nullptr; ///< null: closed
    int least_hwm = 0;      ///< of sending, ever set; 0: unlimited
    int most_hwm = 0;
    int receive_hwm = 0;     ///< 0: unlimited
    bool is_lenient = false; ///< what passes here may be lost
    bool was_unbound = false;
    std::set<std::string> connected;
    std::map<std::string, int> calls; ///< the last one that connected to a name
    std::set<std::string> bound;
    std::chrono::nanoseconds lingers_until{}; ///< once closed

    // sending
    std::uint32_t messages = 0;
    message* sending = nullptr;
    std::deque<message*> unwritten; ///< accepted, oldest first; may have others as well

    // receiving
    message* receiving = nullptr;
    std::size_t next_part = 0;
    std::map<std::pair<int, int>, std::uint32_t> newest; ///< by sender and connection
    std::set<char> ever_subscribed;
    std::set<char> wants;
    std::set<char> subscribed; ///< what each publisher is sure to know of it

    // requests and replies
    bool awaits_reply = false;
    message* request = nullptr; ///< to be replied to
    std::uint32_t asked = 0;    ///< its number

    bool publishes() const { return type == ZMQ_PUB || type == ZMQ_XPUB; }
    bool subscribes() const { return type == ZMQ_SUB || type == ZMQ_XSUB; }
};

class model final : public network_observer {
public:
    std::deque<actor> actors;
    std::map<std::uint64_t, message> messages;
    network* net = nullptr;
    int takes = -1; ///< the socket that is receiving just now: it may have taken a message already
    const message* newest = nullptr; ///< whose first part was received last
    /// Publisher and subscriber that know each other, and what may be on its way there.
    std::map<std::pair<int, int>, std::deque<message*>> known;
    std::set<std::pair<int, int>> sure; ///< of these, who has been told of all subscriptions

    actor& of(int number) { return actors[static_cast<std::size_t>(number)]; }

    static bool fit(int one, int other)
    {
        const auto pair = [&](int a, int b) {
            return (one == a && other == b) || (one == b && other == a);
        };
        return pair(ZMQ_PUSH, ZMQ_PULL) || pair(ZMQ_PAIR, ZMQ_PAIR) ||
               pair(ZMQ_DEALER, ZMQ_DEALER) || pair(ZMQ_DEALER, ZMQ_ROUTER) ||
               pair(ZMQ_REQ, ZMQ_REP) || pair(ZMQ_PUB, ZMQ_SUB) || pair(ZMQ_XPUB, ZMQ_SUB) ||
               pair(ZMQ_PUB, ZMQ_XSUB) || pair(ZMQ_XPUB, ZMQ_XSUB);
    }
    /// The open socket that is bound to this name; null if there is none.
    actor* binder(const std::string& name)
    {
        for (actor& each : actors)
            if (each.handle && each.bound.contains(name))
                return &each;
        return nullptr;
    }
    /// Was there ever a connection between them?
    bool were_connected(const actor& one, const actor& other) const
    {
        return std::ranges::any_of(net->connections, [&](const auto& each) {
            return (each->connector == one.number && each->binder == other.number) ||
                   (each->connector == other.number && each->binder == one.number);
        });
    }
    /// Has it had a peer, or will it, by the calls there were?
    bool has_peer(const actor& whom) const
    {
        return !whom.connected.empty() || std::ranges::any_of(actors, [&](const actor& each) {
            return std::ranges::any_of(each.connected,
                                       [&](const auto& name) { return whom.bound.contains(name); });
        }) || std::ranges::any_of(net->connections, [&](const auto& each) {
            return each->binder == whom.number || each->connector == whom.number;
        });
    }
    void be_lenient_to_all(actor& whom, actor* there)
    {
        whom.is_lenient = true;
        if (!there)
            return;
        there->is_lenient = true;
        for (actor& each : actors)
            for (const auto& name : each.connected)
                each.is_lenient |= there->bound.contains(name);
    }
    bool are_linked(actor& one, actor& other)
    {
        const auto connects = [&](actor& from, actor& to) {
            return std::ranges::any_of(from.connected,
                                       [&](const auto& name) { return binder(name) == &to; });
        };
        return connects(one, other) || connects(other, one) ||
               std::ranges::any_of(net->connections, [&](const auto& each) {
                   return each->is_inproc && !each->is_over() &&
                          ((each->connector == one.number && each->binder == other.number) ||
                           (each->connector == other.number && each->binder == one.number));
               });
    }
    /// Is there a pipe of this socket that it has connected by the name?
    bool is_joined(const actor& connector, const std::string& name) const
    {
        return std::ranges::any_of(net->connections, [&](const auto& each) {
            return each->is_inproc && !each->is_over() && each->name == name &&
                   each->connector == connector.number;
        });
    }

    // --- sending

    message& begin(actor& sender)
    {
        message fresh;
        fresh.sender = sender.number;
        fresh.number = ++sender.messages;
        return messages.emplace(fresh.id(), fresh).first->second;
    }
    /// The first part decides who gets what is published.
    void publish(actor& sender, message& sent)
    {
        for (auto& [pair, on_its_way] : known) {
            if (pair.first != sender.number ||
                !of(pair.second).ever_subscribed.contains(sent.topic))
                continue;
            const bool has_room = sender.least_hwm == 0 ||
                                  on_its_way.size() < static_cast<std::size_t>(sender.least_hwm);
            if (has_room && sure.contains(pair) && of(pair.second).subscribed.contains(sent.topic))
                sent.must_get.insert(pair.second);
            on_its_way.push_back(&sent);
        }
    }
    void forget(message& refused) { messages.erase(refused.id()); }
    void accepted(actor& sender, message& sent)
    {
        sent.now = message::state::accepted;
        if (sender.publishes())
            return;
        sender.unwritten.push_back(&sent);
        // No more waits than the marks allow, but for what was offered to a connection.
        if (sender.most_hwm != 0 && !sender.is_lenient && !had_connection(sender))
            fuzz_check(waiting(sender) <=
                       sender.connected.size() * static_cast<std::size_t>(sender.most_hwm));
        if (sender.most_hwm != 0 && !sender.is_lenient)
            check_inproc_marks(sender);
    }
    /// Over inproc the marks of both sides together are the limit.
    void check_inproc_marks(const actor& sender)
    {
        std::size_t most = 0;
        for (const auto& each : net->connections) {
            const bool connects = each->connector == sender.number;
            if (!connects && each->binder != sender.number)
                continue;
            const actor& other = of(connects ? each->binder : each->connector);
            if (!each->is_inproc || other.receive_hwm == 0)
                return; // there may be any number
            most += static_cast<std::size_t>(sender.most_hwm + other.receive_hwm);
        }
        most += sender.connected.size() * static_cast<std::size_t>(sender.most_hwm);
        fuzz_check(waiting(sender) <= most);
    }
    /// A socket that has room for a peer said that it has none, although the I/O threads have done
    /// all they could.
    void check_full(actor& sender, int to)
    {
        std::size_t full = 0;
        for (const message* each : sender.unwritten)
            full += !each->written && (to < 0 || each->to == to) ? 1 : 0;
        if (sender.is_lenient)
            return;
        const std::size_t peers = to < 0 ? sender.connected.size() : 1;
        fuzz_check(peers == 0 || sender.least_hwm != 0);
        fuzz_check(full >= peers * static_cast<std::size_t>(sender.least_hwm));
    }

    // --- receiving

    void first_part(actor& receiver, std::string_view bytes, bool more, int descriptor)
    {
        std::uint64_t id = 0;
        fuzz_check(bytes.size() >= network::mark_bytes && marked(bytes.data(), id) != 0);
        message& found = messages.at(id);
        fuzz_check(found.now == message::state::accepted);
        fuzz_check(found.to < 0 || found.to == receiver.number);
        fuzz_check(fit(of(found.sender).type, receiver.type));
        fuzz_check(found.got.insert(receiver.number).second);
        fuzz_check(of(found.sender).publishes() || found.got.size() == 1);
        // XSUB may get what a publisher that has connected had for one who was bound there before.
        if (receiver.type == ZMQ_SUB)
            fuzz_check(receiver.ever_subscribed.contains(found.topic));
        std::uint32_t& before = receiver.newest[{found.sender, descriptor}];
        fuzz_check(before < found.number);
        before = found.number;
        if (of(found.sender).publishes())
            arrived(of(found.sender), receiver, found);
        else if (descriptor < 0)
            std::erase(of(found.sender).unwritten, &found); // nothing was written anywhere
        if (receiver.type == ZMQ_REQ) {
            fuzz_check(receiver.awaits_reply && found.reply_to == receiver.messages);
            receiver.awaits_reply = false;
        }
        if (receiver.type == ZMQ_REP) {
            receiver.request = &found;
            receiver.asked = found.number;
        }
        this->newest = &found;
        receiver.receiving = &found;
        receiver.next_part = 0;
        next_part(receiver, bytes, more);
    }
    void next_part(actor& receiver, std::string_view bytes, bool more)
    {
        const message& from = *receiver.receiving;
        fuzz_check(bytes == from.part(receiver.next_part));
        ++receiver.next_part;
        fuzz_check(more == (receiver.next_part < from.sizes.size()));
        if (!more)
            receiver.receiving = nullptr;
    }

    // --- what may be lost

    /// All that the socket has not got, and has not sent.
    void let_go(actor& whom)
    {
        lose_received(whom);
        for (message* each : whom.unwritten)
            each->may_be_lost = true;
        for (auto& [id, each] : messages)
            each.may_be_lost |= each.sender == whom.number;
        if (whom.sending)
            whom.sending->may_be_lost = true;
    }
    void lose_received(actor& whom)
    {
        for (const auto& each : net->connections)
            for (const int side : {0, 1})
                if (each->end(1 - side) == whom.number)
                    for (const lane::mark& mark : each->lanes[static_cast<std::size_t>(side)].marks)
                        messages.at(mark.what).may_be_lost = true;
        for (auto& [pair, sent] : known)
            if (pair.first == whom.number || pair.second == whom.number)
                unknown(pair.second, sent);
        std::erase_if(known, [&](const auto& each) {
            return each.first.first == whom.number || each.first.second == whom.number;
        });
        std::erase_if(sure, [&](const auto& each) {
            return each.first == whom.number || each.second == whom.number;
        });
    }
    /// A pipe from one to the other, within the process.
    void join_inproc(const actor& connector, const actor& binder, const std::string& name)
    {
        auto made = std::make_shared<connection>();
        made->name = name;
        made->connector = connector.number;
        made->binder = binder.number;
        made->accepted = made->is_inproc = true;
        net->connections.push_back(made);
        for (const auto& [one, other] :
             {std::pair(&connector, &binder), std::pair(&binder, &connector)})
            if (one->publishes())
                known[{one->number, other->number}]; // what comes soon takes room already
    }
    /// Those of this socket at this name end; true if there were any. What was sent can still be
    /// received, if the receiver is there. There will be no others for who had connected.
    bool end_inproc(const actor& whom, const std::string& name)
    {
        bool any = false;
        for (const auto& each : net->connections)
            if (each->is_inproc && !each->is_over() && each->name == name &&
                (each->connector == whom.number || each->binder == whom.number)) {
                any = each->cut = true;
                for (const int end : {each->connector, each->binder}) {
                    if (of(end).sending)
                        of(end).sending->may_be_lost = true;
                    of(end).is_lenient |= of(end).type == ZMQ_REQ || of(end).type == ZMQ_REP;
                }
                unknown_between(*each);
                of(each->connector).connected.erase(name);
            }
        return any;
    }
    /// A socket that closes or disconnects receives nothing more of what is on its way.
    void lose_inproc(const actor& whom)
    {
        for (const auto& each : net->connections)
            for (const int side : {0, 1})
                if (each->is_inproc && each->end(1 - side) == whom.number)
                    for (message* one : of(each->end(side)).unwritten)
                        one->may_be_lost = true;
    }
    /// Its connections may end by themselves from now on.
    void may_end(const actor& whom)
    {
        for (const auto& each : net->connections)
            each->may_end |= each->connector == whom.number || each->binder == whom.number;
    }
    void unsubscribed(actor& whom, char topic)
    {
        whom.wants.erase(topic);
        whom.subscribed.erase(topic);
        for (auto& [pair, sent] : known)
            for (message* each : sent)
                if (pair.second == whom.number && each->topic == topic)
                    each->must_get.erase(whom.number);
    }

    /// What is to be published after this comes to each of the subscribers.
    void all_know_each_other()
    {
        // A publisher that does nothing reads no more subscriptions than its mark allows.
        for (actor& subscriber : actors)
            if (std::ranges::none_of(net->connections, [&](const auto& each) {
                    return !is_quiet(*each) && (each->connector == subscriber.number ||
                                                each->binder == subscriber.number);
                }))
                subscriber.subscribed = subscriber.wants;
        for (const auto& each : net->connections) {
            if (each->is_over() || !each->accepted || !is_quiet(*each))
                continue;
            actor& one = of(each->connector);
            actor& other = of(each->binder);
            if (one.handle && other.handle && (one.publishes() || other.publishes())) {
                const auto pair = one.publishes() ? std::pair(one.number, other.number)
                                                  : std::pair(other.number, one.number);
                known.try_emplace(pair);
                sure.insert(pair);
            }
        }
    }
    /// At the end, when all has been received that came.
    void check_complete()
    {
        // Who has left, or closed, wants no more of these.
        for (const auto& each : net->connections)
            for (const int side : {0, 1})
                if (!is_wanted(*each) || !of(each->end(1 - side)).handle)
                    for (const lane::mark& mark : each->lanes[static_cast<std::size_t>(side)].marks)
                        messages.at(mark.what).may_be_lost = true;
        for (const auto& [id, each] : messages) {
            if (each.now != message::state::accepted || of(each.sender).is_lenient)
                continue;
            actor& sender = of(each.sender);
            if (sender.publishes()) {
                for (const int subscriber : each.must_get)
                    fuzz_check(each.got.contains(subscriber));
            } else if (!each.may_be_lost && (each.written || can_write_all(sender))) {
                fuzz_check(each.got.size() == 1);
            }
        }
    }

    // --- network_observer

    std::uint64_t marked(const char* at, std::uint64_t& what) override
    {
        if (at[1] != '\xf1' || at[2] != '\xe2' || at[3] != '\xd3')
            return 0;
        const auto byte = [&](int index) {
            return static_cast<std::uint32_t>(static_cast<unsigned char>(at[index]));
        };
        what = static_cast<std::uint64_t>(byte(4)) << 32 | byte(5) << 16 | byte(6) << 8 | byte(7);
        const auto found = messages.find(what);
        fuzz_check(found != messages.end());
        fuzz_check(found->second.head() == std::string_view(at, network::mark_bytes));
        return found->second.stream_bytes();
    }
    void written(std::uint64_t what) override
    {
        message& each = messages.at(what);
        // What the system has taken as a whole is never sent again.
        fuzz_check(of(each.sender).publishes() || !each.written);
        each.written = true;
        auto& unwritten = of(each.sender).unwritten;
        std::erase_if(unwritten, [](const message* one) { return one->written; });
    }
    void reads(const connection& its, int which) override
    {
        // A queue that is full is not filled further. What a peer has left is read as a whole, and
        // so is what has come when the address is unbound.
        const actor& receiver = of(its.end(1 - which));
        const bool has_marks = receiver.receive_hwm != 0 && !receiver.is_lenient &&
                               (receiver.type == ZMQ_PULL || receiver.type == ZMQ_DEALER ||
                                receiver.type == ZMQ_ROUTER || receiver.type == ZMQ_PAIR);
        const lane& from = its.lanes[static_cast<std::size_t>(which)];
        if (!has_marks || its.is_over() || its.may_end || from.writer_closed)
            return;
        const auto waiting = std::ranges::count_if(from.marks, [&](const lane::mark& mark) {
            return mark.end <= from.read && messages.at(mark.what).got.empty();
        });
        fuzz_check(waiting < receiver.receive_hwm + (receiver.number == takes ? 1 : 0));
    }
    void dropped(connection& its, int which) override
    {
        const lane& on_its_way = its.lanes[static_cast<std::size_t>(which)];
        for (const lane::mark& mark : on_its_way.marks) {
            message& each = messages.at(mark.what);
            // What was begun goes again, if there is a next connection of the same endpoint.
            if (mark.end > on_its_way.read &&
                (mark.end <= on_its_way.written || which == 1 || each.is_large()))
                each.may_be_lost = true;
        }
        for (message* each : of(its.end(which)).unwritten)
            each->may_be_lost |= each->is_large() && has_only_begun(on_its_way, *each);
        over(its);
    }
    void ends(connection& its, int) override
    {
        const bool first =
            !its.is_over() && !its.lanes[0].writer_closed && !its.lanes[1].writer_closed;
        const actor& one = of(its.connector);
        const actor& other = of(its.binder);
        // A handshake has a time limit.
        const bool is_late = virtual_time() - its.begun > std::chrono::seconds(25);
        // ROUTER does not know of the end of a connection that it does not read, and so refuses
        // the next one, whose name is in use; PAIR has one peer until it has read what that sent.
        const bool is_refused =
            (one.type == ZMQ_ROUTER || other.type == ZMQ_ROUTER || one.type == ZMQ_PAIR) &&
            std::ranges::any_of(net->connections, [&](const auto& each) {
                return each->descriptor < its.descriptor && each->connector == its.connector &&
                       each->binder == its.binder;
            });
        if (is_refused)
            for (const lane& each : its.lanes)
                for (const lane::mark& mark : each.marks)
                    messages.at(mark.what).may_be_lost = true;
        fuzz_check(!first || its.may_end || !is_wanted(its) || one.is_lenient || other.is_lenient ||
                   !one.handle || !other.handle || is_late || is_refused);
        over(its);
    }

private:
    std::size_t waiting(const actor& sender) const
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(sender.unwritten, [](const message* each) {
                return !each->written && !each->may_be_lost;
            }));
    }
    // Has so little of it been written that it could not be known again?
    static bool has_only_begun(const lane& where, const message& which)
    {
        const std::string whole = which.beginning();
        for (std::size_t size = whole.size() - 1; size != 0; --size)
            if (where.newest.ends_with(std::string_view(whole).substr(0, size)) &&
                (where.marks.empty() || where.marks.back().end + size == where.written))
                return true;
        return false;
    }
    bool is_wanted(const connection& which)
    {
        // Of an endpoint that was disconnected there may come one more.
        const actor& whose = of(which.connector);
        return whose.connected.contains(which.name) && whose.calls.at(which.name) == which.call &&
               of(which.binder).bound.contains(which.name);
    }
    static bool is_quiet(const connection& which)
    {
        return which.lanes[0].bytes.empty() && which.lanes[1].bytes.empty();
    }
    bool had_connection(const actor& whom) const
    {
        return std::ranges::any_of(net->connections, [&](const auto& each) {
            return each->connector == whom.number || each->binder == whom.number;
        });
    }
    // Nothing is sent any more by who was connected to.
    void over(connection& its)
    {
        for (const int end : {its.connector, its.binder}) {
            actor& each = of(end);
            if (end == its.binder || each.type == ZMQ_REQ || each.type == ZMQ_REP) {
                for (message* one : each.unwritten)
                    one->may_be_lost |= !one->written;
                if (each.sending)
                    each.sending->may_be_lost = true;
            }
            if (each.type == ZMQ_REQ || each.type == ZMQ_REP)
                each.is_lenient = true;
        }
        unknown_between(its);
    }
    void unknown_between(const connection& its)
    {
        for (const auto& pair :
             {std::pair(its.connector, its.binder), std::pair(its.binder, its.connector)})
            if (const auto at = known.find(pair); at != known.end()) {
                unknown(pair.second, at->second);
                known.erase(at);
                sure.erase(pair);
            }
    }
    static void unknown(int subscriber, std::deque<message*>& sent)
    {
        for (message* each : sent)
            each->must_get.erase(subscriber);
    }
    // Is there somebody who reads wherever it sends?
    bool can_write_all(actor& sender)
    {
        for (const auto& each : net->connections)
            if (!each->is_over() && each->binder == sender.number && !of(each->connector).handle)
                return false; // it lingers
        return std::ranges::all_of(sender.connected, [&](const auto& name) {
            const actor* const there = binder(name);
            return is_joined(sender, name) || (there && fit(there->type, sender.type));
        });
    }
    void arrived(const actor& sender, const actor& receiver, const message& which)
    {
        const auto at = known.find({sender.number, receiver.number});
        if (at == known.end())
            return;
        auto& on_its_way = at->second;
        while (!on_its_way.empty() && on_its_way.front()->number <= which.number) {
            // What was published before has come before, or was dropped.
            fuzz_check(on_its_way.front() == &which ||
                       !on_its_way.front()->must_get.contains(receiver.number));
            on_its_way.pop_front();
        }
    }
};

} // namespace zlink::fuzz
