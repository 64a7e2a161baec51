// SPDX-License-Identifier: Apache-2.0
// Sockets and sequences of calls of the API, over streams in memory and inproc, with a clock that
// the input moves on and I/O threads that it steps, against a model (traffic_model.hpp). Input: the
// seed of chance (2 bytes); the room in the streams, the size of a portion, whether connections are
// refused now and then, and how long a look at the clock takes (1 byte each); then acts: a byte
// that says what, and one for each argument.
//
// Planted in the library one at a time, these faults were found within 4000 runs: a message dropped
// at a reconnection, one sent twice, two that overtake each other, credit that gets lost, marks
// that are ignored, and a subscription that is forgotten. Not found: a message that is sent again
// only if a connection breaks exactly behind it.

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <zmq.h>

#include "api/objects.hpp"
#include "builtins.hpp"
#include "fuzz_check.hpp"
#include "memory_transport.hpp"
#include "traffic_model.hpp"
#include "virtual_clock.hpp"

namespace {

using namespace zlink;
using fuzz::actor;
using fuzz::message;
using std::chrono::milliseconds;

constexpr std::size_t most_actors = 24;
constexpr std::size_t most_acts = 400;
constexpr std::array names{"a", "b", "c", "d"};
constexpr std::array inproc_names{"i", "j"};

const core::builtins& parts()
{
    static constexpr std::array transports{core::transport_row{&fuzz::memory_scheme}};
    static const core::builtins made{.transports = transports,
                                     .mechanisms = built_in().mechanisms,
                                     .patterns = built_in().patterns,
                                     .datagram_schemes = {},
                                     .steps_io_threads = true};
    return made;
}

class input {
public:
    input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
    bool empty() const { return at_ == end_; }
    std::uint8_t byte() { return empty() ? std::uint8_t{0} : *at_++; }
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : byte() % limit; }

private:
    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

/// With ZLINK_FUZZ_TRACE in the environment: says what is done.
template <class... Values>
void tell(const char* what, Values... values)
{
    static const bool is_wanted = std::getenv("ZLINK_FUZZ_TRACE") != nullptr;
    if (!is_wanted)
        return;
    std::fprintf(stderr, "%s", what);
    ((std::fputs(" ", stderr), std::fputs(std::to_string(values).c_str(), stderr)), ...);
    std::fputs("\n", stderr);
}

/// One run.
class play {
public:
    // In braces, as these are evaluated in their order.
    explicit play(input from) : in_(from), net_{model_, seed(), room(), portion()}
    {
        net_.refuses = in_.byte() % 2 != 0;
        static constexpr std::array<int, 4> looks_ns{20, 300, 2000, 40'000};
        fuzz::begin_virtual_time(std::chrono::nanoseconds(looks_ns[in_.below(looks_ns.size())]));
        model_.net = &net_;
        shared_ = std::make_shared<core::context>(parts());
        context_ = api::contexts().add(shared_);
        fuzz_check(context_);
    }
    play(const play&) = delete;
    play& operator=(const play&) = delete;

    void run()
    {
        for (std::size_t acts = 0; acts < most_acts && !in_.empty(); ++acts)
            act();
        end();
    }

private:
    std::uint32_t seed()
    {
        const std::uint32_t low = in_.byte();
        return 1 + low + in_.byte() * 256u;
    }
    std::size_t portion()
    {
        static constexpr std::array<std::size_t, 4> portions{3, 100, 5000, SIZE_MAX};
        return portions[in_.below(portions.size())];
    }
    std::size_t room()
    {
        static constexpr std::array<std::size_t, 4> rooms{50, 1000, 20'000, 200'000};
        return rooms[in_.below(rooms.size())];
    }

    void act()
    {
        switch (in_.byte() % 20) {
        case 0:
        case 1:
            return link();
        case 2:
            return join();
        case 3:
        case 4:
            return send_some(1);
        case 5:
            return send_some(1 + in_.below(40));
        case 6:
            if (actor* const sender = chosen())
                send_part(*sender, in_.byte());
            return;
        case 7:
        case 8:
            return receive_some(1);
        case 9:
            return receive_some(100);
        case 10:
            if (actor* const receiver = chosen())
                receive_part(*receiver);
            return;
        case 11:
            return step(in_.byte());
        case 12:
            return step(2000);
        case 13:
            static constexpr std::array<int, 6> times_ms{1, 5, 20, 100, 500, 2000};
            return advance(milliseconds(times_ms[in_.below(times_ms.size())]));
        case 14:
            return cut();
        case 15:
            return leave();
        case 16:
            return close();
        case 17:
            return set_mark();
        case 18:
            return subscribe();
        default:
            return settle();
        }
    }

    // --- sockets and endpoints

    actor* chosen()
    {
        std::size_t open = 0;
        for (const actor& each : model_.actors)
            open += each.handle ? 1 : 0;
        std::size_t left = in_.below(open);
        for (actor& each : model_.actors)
            if (each.handle && left-- == 0)
                return &each;
        return nullptr;
    }

    actor* open(int type)
    {
        if (model_.actors.size() == most_actors)
            return nullptr;
        void* const handle = zmq_socket(context_, type);
        fuzz_check(handle);
        actor& made = model_.actors.emplace_back();
        made.number = static_cast<int>(model_.actors.size()) - 1;
        made.type = type;
        made.handle = handle;
        tell("open", made.number, type);
        static constexpr std::array<int, 8> marks{0, 1, 2, 3, 5, 10, 50, 1000};
        const int sending = marks[in_.below(marks.size())];
        made.least_hwm = made.most_hwm = sending;
        set(made, ZMQ_SNDHWM, sending);
        made.receive_hwm = marks[in_.below(marks.size())];
        set(made, ZMQ_RCVHWM, made.receive_hwm);
        set(made, ZMQ_LINGER, 0);
        set(made, ZMQ_RECONNECT_IVL, 10);
        set(made, ZMQ_RECONNECT_IVL_MAX, 80); // else the time until the next attempt is random
        if (type == ZMQ_ROUTER)
            set(made, ZMQ_ROUTER_MANDATORY, 1);
        if (type == ZMQ_DEALER) {
            const std::string id = id_of(made.number);
            fuzz_check(zmq_setsockopt(handle, ZMQ_ROUTING_ID, id.data(), id.size()) == 0);
        }
        return &made;
    }
    static void set(const actor& whose, int option, int value)
    {
        fuzz_check(zmq_setsockopt(whose.handle, option, &value, sizeof value) == 0);
    }
    static std::string id_of(int number) { return "n" + std::to_string(number); }
    static bool is_inproc(const std::string& name) { return name >= inproc_names[0]; }
    static std::string endpoint(const std::string& name)
    {
        return (is_inproc(name) ? "inproc://" : "memory://") + name;
    }

    void bind(actor& whom, const std::string& name)
    {
        tell("bind", whom.number, name[0] - 'a');
        net_.caller = whom.number;
        fuzz_check(zmq_bind(whom.handle, endpoint(name).c_str()) == 0);
        whom.bound.insert(name);
        types_[name] = whom.type;
        if (is_inproc(name))
            for (const actor& each : model_.actors)
                if (each.handle && each.connected.contains(name))
                    model_.join_inproc(each, whom, name);
    }
    void connect(actor& whom, const std::string& name)
    {
        // PAIR has one peer, and to ROUTER a name is one peer: the others are sent away.
        actor* const there = model_.binder(name);
        if (whom.type == ZMQ_PAIR &&
            (!whom.connected.empty() || !whom.bound.empty() || (there && model_.has_peer(*there))))
            model_.be_lenient_to_all(whom, there);
        if (there && model_.fit(ZMQ_DEALER, whom.type) && model_.were_connected(whom, *there))
            whom.is_lenient = there->is_lenient = true;
        tell("connect", whom.number, name[0] - 'a', whom.is_lenient);
        net_.caller = whom.number;
        whom.calls[name] = ++net_.calls;
        fuzz_check(zmq_connect(whom.handle, endpoint(name).c_str()) == 0);
        whom.connected.insert(name);
        if (is_inproc(name) && there)
            model_.join_inproc(whom, *there, name);
    }

    // Two sockets that fit, at a name that is free.
    void link()
    {
        static constexpr std::array<std::pair<int, int>, 9> kinds{{{ZMQ_PUSH, ZMQ_PULL},
                                                                   {ZMQ_PAIR, ZMQ_PAIR},
                                                                   {ZMQ_DEALER, ZMQ_DEALER},
                                                                   {ZMQ_DEALER, ZMQ_ROUTER},
                                                                   {ZMQ_REQ, ZMQ_REP},
                                                                   {ZMQ_PUB, ZMQ_SUB},
                                                                   {ZMQ_XPUB, ZMQ_SUB},
                                                                   {ZMQ_PUB, ZMQ_XSUB},
                                                                   {ZMQ_XPUB, ZMQ_XSUB}}};
        if (model_.actors.size() + 2 > most_actors)
            return;
        const auto [one, other] = kinds[in_.below(kinds.size())];
        const std::uint8_t how = in_.byte();
        const std::string name = (how & 4) != 0 ? unused_of(inproc_names) : unused_of(names);
        if (name.empty())
            return;
        actor& binds = *open(how % 2 == 0 ? one : other);
        actor& connects = *open(how % 2 == 0 ? other : one);
        if ((how & 2) != 0) {
            bind(binds, name);
            connect(connects, name);
        } else {
            connect(connects, name);
            bind(binds, name);
        }
    }
    template <class Names>
    std::string unused_of(const Names& some)
    {
        std::string name;
        for (const char* each : some)
            if (!model_.binder(each) && !is_awaited(each))
                name = each;
        return name;
    }
    bool is_awaited(const std::string& name)
    {
        for (const actor& each : model_.actors)
            if (each.connected.contains(name))
                return true;
        return false;
    }
    // Another socket connects to one that is bound, or one that there is; or binds where others
    // wait.
    void join()
    {
        const std::size_t which = in_.below(names.size() + inproc_names.size());
        const std::string name =
            which < names.size() ? names[which] : inproc_names[which - names.size()];
        const std::uint8_t how = in_.byte();
        if (actor* const there = model_.binder(name)) {
            actor* whom = how % 4 == 0 ? chosen() : nullptr;
            if (!whom || whom == there || !model_.fit(whom->type, there->type)) {
                static constexpr std::array types{ZMQ_PUSH,   ZMQ_PULL, ZMQ_PAIR, ZMQ_DEALER,
                                                  ZMQ_ROUTER, ZMQ_REQ,  ZMQ_REP,  ZMQ_PUB,
                                                  ZMQ_SUB,    ZMQ_XPUB, ZMQ_XSUB};
                int type = types[how % types.size()];
                for (std::size_t i = 0; !model_.fit(type, there->type); ++i)
                    type = types[i];
                whom = open(type);
            }
            // Over inproc nobody can tell two pipes of one pair of sockets from each other.
            if (whom && !whom->connected.contains(name) && !model_.are_linked(*whom, *there) &&
                !(is_inproc(name) && whom->calls.contains(name)))
                connect(*whom, name);
        } else if (const auto known = types_.find(name);
                   known != types_.end() && !is_inproc(name) && known->second != ZMQ_PAIR &&
                   known->second != ZMQ_DEALER && known->second != ZMQ_REQ) {
            // The others have names, or are answered: who is connected would take one for another.
            if (actor* const whom = open(known->second))
                bind(*whom, name);
        }
    }
    void leave()
    {
        actor* const whom = chosen();
        if (!whom)
            return;
        const std::uint8_t which = in_.byte();
        auto& from = (which & 1) != 0 && !whom->bound.empty() ? whom->bound : whom->connected;
        if (from.empty())
            return;
        const std::string name = *from.begin();
        tell(&from == &whom->bound ? "unbind" : "disconnect", whom->number, name[0] - 'a');
        const bool unbinds = &from == &whom->bound;
        bool keeps_sent = is_inproc(name);
        if (!keeps_sent) {
            model_.may_end(*whom);
            whom->was_unbound |= unbinds;
        } else if (!unbinds) { // else only the name is taken away
            model_.lose_inproc(*whom);
            keeps_sent = model_.end_inproc(*whom, name);
        }
        if (!keeps_sent)
            model_.let_go(*whom);
        from.erase(name);
        fuzz_check((unbinds ? zmq_unbind(whom->handle, endpoint(name).c_str())
                            : zmq_disconnect(whom->handle, endpoint(name).c_str())) == 0);
        if (!keeps_sent)
            model_.let_go(*whom);
    }
    void close()
    {
        actor* const whom = chosen();
        if (!whom)
            return;
        static constexpr std::array<int, 3> lingers_ms{0, 100, 5000};
        const int linger_ms = lingers_ms[in_.below(lingers_ms.size())];
        set(*whom, ZMQ_LINGER, linger_ms);
        close(*whom, linger_ms);
    }
    void close(actor& whom, int linger_ms)
    {
        tell("close", whom.number, linger_ms);
        model_.may_end(whom);
        model_.lose_received(whom);
        if (whom.sending)
            whom.sending->now = message::state::given_up;
        if (linger_ms == 0)
            model_.let_go(whom);
        else
            whom.lingers_until = fuzz::virtual_time() + milliseconds(linger_ms);
        model_.lose_inproc(whom);
        for (const char* name : inproc_names)
            model_.end_inproc(whom, name);
        fuzz_check(zmq_close(std::exchange(whom.handle, nullptr)) == 0);
        whom.bound.clear();
        if (linger_ms == 0)
            whom.connected.clear();
    }
    void set_mark()
    {
        actor* const whom = chosen();
        if (!whom)
            return;
        const int mark = 1 + static_cast<int>(in_.below(20));
        tell("mark", whom->number, mark);
        set(*whom, ZMQ_SNDHWM, mark);
        // Pipes that there are keep theirs, or not.
        whom->least_hwm = whom->least_hwm == 0 ? mark : std::min(whom->least_hwm, mark);
        whom->most_hwm = whom->most_hwm == 0 ? 0 : std::max(whom->most_hwm, mark);
    }
    void subscribe()
    {
        actor* const whom = chosen();
        const char topic = static_cast<char>('a' + in_.below(3));
        const bool begins = in_.byte() % 4 != 0;
        if (!whom || !whom->subscribes())
            return;
        tell(begins ? "subscribe" : "unsubscribe", whom->number, topic - 'a');
        if (begins)
            whom->ever_subscribed.insert(topic);
        else
            model_.unsubscribed(*whom, topic);
        if (whom->type == ZMQ_SUB) {
            fuzz_check(zmq_setsockopt(whom->handle, begins ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE,
                                      &topic, 1) == 0 ||
                       !begins);
        } else {
            const std::array<char, 2> frame{begins ? '\1' : '\0', topic};
            if (zmq_send(whom->handle, frame.data(), frame.size(), ZMQ_DONTWAIT) != 2)
                return;
        }
        if (begins)
            whom->wants.insert(topic);
    }

    void cut()
    {
        if (net_.connections.empty())
            return;
        const std::size_t age = in_.below(net_.connections.size());
        fuzz::connection& which = *net_.connections[net_.connections.size() - 1 - age];
        tell("cut", which.connector, which.binder, which.is_over());
        net_.cut(which);
    }

    // --- time

    runtime::io_thread& thread() { return *shared_->pool().choose(0); }
    bool has_threads() const { return !model_.actors.empty(); }
    void step(int most)
    {
        tell("step", most);
        for (int i = 0; has_threads() && i < most && thread().step(); ++i) {
        }
    }
    void run_until_idle()
    {
        // Twice: the first time the reactor may only have looked.
        for (int idle = 0; has_threads() && idle < 2;)
            idle = thread().step() ? 0 : idle + 1;
    }
    void advance(std::chrono::nanoseconds by)
    {
        tell("advance", by.count() / 1'000'000);
        fuzz::advance_virtual_time(by);
        if (!has_threads())
            return;
        // Asio sleeps by the clock of the system; a timer that is due has it look at the others.
        boost::asio::steady_timer due(thread().context());
        due.expires_at(std::chrono::steady_clock::time_point());
        bool done = false;
        due.async_wait([&done](const auto&) { done = true; });
        for (int i = 0; i < 1'000'000 && !done; ++i)
            thread().step();
        fuzz_check(done);
        for (actor& each : model_.actors)
            if (!each.handle && each.lingers_until.count() > 0 &&
                fuzz::virtual_time() >= each.lingers_until)
                model_.let_go(each);
    }
    // Connections are made, and subscriptions arrive.
    void settle()
    {
        run_until_idle();
        for (int i = 0; i < 6; ++i) {
            advance(milliseconds(50));
            run_until_idle();
        }
        // Over inproc a subscriber tells who has connected to it in one of its calls.
        for (const actor& each : model_.actors) {
            int events = 0;
            std::size_t size = sizeof events;
            if (each.handle && each.subscribes())
                fuzz_check(zmq_getsockopt(each.handle, ZMQ_EVENTS, &events, &size) == 0);
        }
        model_.all_know_each_other();
        tell("settled");
        for (const auto& each : net_.connections)
            if (!each->is_over())
                tell("  connection", each->connector, each->binder, each->lanes[0].written,
                     each->lanes[0].bytes.size(), each->lanes[1].written,
                     each->lanes[1].bytes.size());
    }

    // --- messages

    static std::size_t size_of(unsigned choice)
    {
        static constexpr std::array<std::size_t, 16> sizes{
            0, 1, 5, 12, 40, 200, 255, 256, 257, 1000, 4000, 8191, 8192, 9000, 33'000, 100'000};
        return sizes[choice % sizes.size()];
    }
    void send_some(std::size_t count)
    {
        actor* const sender = chosen();
        const std::uint8_t shape = in_.byte();
        const std::uint8_t size = in_.byte();
        if (!sender)
            return;
        const int parts = 1 + ((shape & 3) == 3 ? shape >> 2 & 3 : 0);
        // Small ones may be batched, and large ones written past those.
        const std::array<std::size_t, 2> sizes{size_of(size),
                                               size_of((shape & 64) != 0 ? size + 5 : size)};
        // Large ones take their time.
        count = std::min<std::size_t>(count, 1 + 100'000 / (std::max(sizes[0], sizes[1]) + 100));
        for (std::size_t i = 0; i < count; ++i)
            for (int part = 0; part < parts; ++part)
                if (!send(*sender, part + 1 < parts, sizes[i % 2], shape))
                    return;
    }
    void send_part(actor& sender, std::uint8_t how)
    {
        send(sender, (how & 1) != 0, size_of(how >> 4), in_.byte());
    }
    // False if it was refused.
    bool send(actor& sender, bool more, std::size_t size, std::uint8_t choice)
    {
        const int type = sender.type;
        if (type == ZMQ_PULL || type == ZMQ_SUB || type == ZMQ_XSUB ||
            (type == ZMQ_REP && (!sender.request || sender.receiving)))
            return false;
        if (sender.sending && sender.sending->sizes.size() > 6)
            more = false;
        const bool begins = !sender.sending;
        if (begins) {
            message& fresh = model_.begin(sender);
            fresh.topic = static_cast<char>('a' + (choice >> 4) % 3);
            if (type == ZMQ_REP) {
                fresh.to = sender.request->sender;
                fresh.reply_to = sender.request->number;
            }
            if (type == ZMQ_ROUTER && !address(sender, fresh, choice >> 4)) {
                model_.forget(fresh);
                --sender.messages;
                return false;
            }
            sender.sending = &fresh;
        }
        message& sent = *sender.sending;
        sent.sizes.push_back(begins ? std::max(size, fuzz::network::mark_bytes) : size);
        const std::string bytes = sent.part(sent.sizes.size() - 1);
        const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
        int result = pass(sender, bytes, flags);
        int error = errno;
        if (result < 0 && error == EAGAIN && begins) {
            run_until_idle();
            result = pass(sender, bytes, flags);
            error = errno;
            if (result < 0 && error == EAGAIN && (type == ZMQ_PUSH || type == ZMQ_DEALER))
                model_.check_full(sender, -1);
        }
        tell("send", sender.number, sent.number, sent.sizes.size() - 1, bytes.size(), more, result,
             result < 0 ? error : 0);
        if (result >= 0) {
            if (begins && sender.publishes())
                model_.publish(sender, sent);
            if (sent.now == message::state::begun && !more)
                sent.now = message::state::accepted;
            if (sent.now == message::state::accepted)
                model_.accepted(sender, sent);
            if (!more) {
                sender.sending = nullptr;
                sender.awaits_reply = type == ZMQ_REQ;
                sender.request = nullptr;
            }
            return true;
        }
        sent.sizes.pop_back();
        if (begins) {
            fuzz_check(error == EAGAIN || (error == EFSM && type == ZMQ_REQ) ||
                       (error == EFSM && type == ZMQ_REP && sender.is_lenient));
            fuzz_check(error != EFSM || type != ZMQ_REQ || sender.awaits_reply ||
                       sender.receiving || sender.is_lenient);
            // The address of ROUTER stands: what is sent next is the body.
            fuzz_check(type != ZMQ_ROUTER);
            model_.forget(sent);
            --sender.messages;
            sender.sending = nullptr;
            return false;
        }
        // The message has lost its peer: nothing of it arrives. The last part ends it; a part
        // before is followed by others that are taken and dropped.
        fuzz_check(error == EAGAIN && (sent.may_be_lost || sender.is_lenient));
        sent.now = message::state::given_up;
        if (!more)
            sender.sending = nullptr;
        return false;
    }
    int pass(actor& sender, const std::string& bytes, int flags)
    {
        return zmq_send(sender.handle, bytes.data(), bytes.size(), flags);
    }
    // ROUTER: false if the peer is not there, or has no room.
    bool address(actor& router, message& fresh, std::size_t choice)
    {
        std::vector<int> peers;
        for (const actor& each : model_.actors)
            if (each.type == ZMQ_DEALER)
                peers.push_back(each.number);
        if (peers.empty())
            return false;
        fresh.to = peers[choice % peers.size()];
        const std::string id = id_of(fresh.to);
        int result = zmq_send(router.handle, id.data(), id.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE);
        if (result < 0 && errno == EAGAIN) {
            run_until_idle();
            result = zmq_send(router.handle, id.data(), id.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE);
            if (result < 0 && errno == EAGAIN)
                model_.check_full(router, fresh.to);
        }
        fuzz_check(result >= 0 || errno == EAGAIN || errno == EHOSTUNREACH);
        return result >= 0;
    }

    // False if there is nothing.
    bool receive_part(actor& receiver)
    {
        if (receiver.type == ZMQ_PUSH || receiver.type == ZMQ_PUB)
            return false;
        zmq_msg_t part;
        zmq_msg_init(&part);
        model_.takes = receiver.number;
        const int size = zmq_msg_recv(&part, receiver.handle, ZMQ_DONTWAIT);
        const int error = errno;
        model_.takes = -1;
        if (size < 0) {
            zmq_msg_close(&part);
            fuzz_check(error == EAGAIN ||
                       (error == EFSM && (receiver.type == ZMQ_REQ || receiver.type == ZMQ_REP)));
            // A message is there as a whole, or not at all.
            if (receiver.receiving) {
                fuzz_check(receiver.was_unbound || receiver.is_lenient);
                receiver.receiving = nullptr;
            }
            return false;
        }
        const std::string_view bytes(static_cast<const char*>(zmq_msg_data(&part)),
                                     static_cast<std::size_t>(size));
        const bool more = zmq_msg_more(&part) != 0;
        tell("receive", receiver.number, size, more);
        if (receiver.receiving) {
            model_.next_part(receiver, bytes, more);
        } else if (receiver.type == ZMQ_ROUTER && from_.empty()) {
            fuzz_check(more);
            from_ = bytes;
            zmq_msg_close(&part);
            return receive_part(receiver);
        } else if (receiver.type != ZMQ_XPUB) { // it is told of subscriptions
            model_.first_part(receiver, bytes, more, zmq_msg_get(&part, ZMQ_SRCFD));
            if (receiver.type == ZMQ_ROUTER)
                fuzz_check(std::exchange(from_, {}) == id_of(model_.newest->sender));
        }
        zmq_msg_close(&part);
        return true;
    }
    bool receive(actor& receiver)
    {
        if (!receive_part(receiver))
            return false;
        while (receiver.receiving)
            if (!receive_part(receiver))
                return false;
        return true;
    }
    void receive_some(int most)
    {
        if (actor* const receiver = chosen())
            for (int i = 0; i < most && receive(*receiver); ++i) {
            }
    }

    // --- the end

    void end()
    {
        for (actor& each : model_.actors)
            while (each.handle && each.sending)
                send(each, false, 1, 0);
        for (int idle = 0; idle < 3;) {
            bool moved = false;
            settle();
            for (actor& each : model_.actors) {
                while (each.handle && receive(each))
                    moved = true;
                if (each.handle && each.type == ZMQ_REP && each.request)
                    moved |= send(each, false, 20, 0);
            }
            idle = moved ? 0 : idle + 1;
        }
        model_.check_complete();
        for (actor& each : model_.actors)
            if (each.handle) {
                set(each, ZMQ_LINGER, 0);
                close(each, 0);
            }
        run_until_idle();
        for (int i = 0; i < 12; ++i) { // what lingers, and what waits for the peer to leave
            advance(milliseconds(1000));
            run_until_idle();
        }
        fuzz_check(!has_threads() || thread().load() == 0);
        shared_.reset();
        fuzz_check(zmq_ctx_term(context_) == 0);
    }

    input in_;
    fuzz::model model_;
    fuzz::network net_;
    std::shared_ptr<core::context> shared_;
    void* context_ = nullptr;
    std::map<std::string, int> types_; ///< of who is bound to a name, or was
    std::string from_;                 ///< the peer that ROUTER is receiving from
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    // A thread of its own: the library learns from what a thread does.
    std::thread([&] { play(input(data, size)).run(); }).join();
    return 0;
}
