// SPDX-License-Identifier: Apache-2.0
// Endpoints given to zmq_connect that will not be tried again: what becomes of their messages, of
// the other endpoints, and of a later zmq_connect.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include <atomic>
#include <cerrno>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

namespace zlink::test {
namespace {

/// Why there is no other attempt.
enum class cause {
    refused,
    refused_and_stop,
    lost,
    lost_at_zero,
    failed_handshake,
    broken_protocol
};

constexpr cause all_causes[] = {
    cause::refused,      cause::refused_and_stop, cause::lost,
    cause::lost_at_zero, cause::failed_handshake, cause::broken_protocol};

const char* name_of(cause why)
{
    switch (why) {
    case cause::refused:
        return "refused";
    case cause::refused_and_stop:
        return "refused_and_stop";
    case cause::lost:
        return "lost";
    case cause::lost_at_zero:
        return "lost_at_zero";
    case cause::failed_handshake:
        return "failed_handshake";
    case cause::broken_protocol:
        return "broken_protocol";
    }
    return "";
}

void PrintTo(cause why, std::ostream* out)
{
    *out << name_of(why);
}

/// A socket type that connects, and one that it can talk to.
struct type_pair {
    const char* name;
    int connecting;
    int bound;
    const char* bound_name; ///< on the wire
};

void PrintTo(const type_pair& types, std::ostream* out)
{
    *out << types.name;
}

constexpr type_pair all_types[] = {
    {"PAIR", ZMQ_PAIR, ZMQ_PAIR, "PAIR"},
    {"PUB", ZMQ_PUB, ZMQ_SUB, "SUB"},
    {"SUB", ZMQ_SUB, ZMQ_PUB, "PUB"},
    {"XPUB", ZMQ_XPUB, ZMQ_SUB, "SUB"},
    {"XSUB", ZMQ_XSUB, ZMQ_PUB, "PUB"},
    {"REQ", ZMQ_REQ, ZMQ_REP, "REP"},
    {"REP", ZMQ_REP, ZMQ_REQ, "REQ"},
    {"DEALER", ZMQ_DEALER, ZMQ_DEALER, "DEALER"},
    {"ROUTER", ZMQ_ROUTER, ZMQ_DEALER, "DEALER"},
    {"PUSH", ZMQ_PUSH, ZMQ_PULL, "PULL"},
    {"PULL", ZMQ_PULL, ZMQ_PUSH, "PUSH"},
    {"CLIENT", ZMQ_CLIENT, ZMQ_SERVER, "SERVER"},
    {"CHANNEL", ZMQ_CHANNEL, ZMQ_CHANNEL, "CHANNEL"},
};

constexpr std::uint64_t events_heard = ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED |
                                       ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_CONNECT_RETRIED;

/// A tcp port that refuses connections and is nobody else's: it is bound and does not listen. A
/// socket of the test may listen there all the same, as both reuse addresses.
class refusing_port {
public:
    refusing_port() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        const int on = 1;
        ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address_;
        auto* const any = reinterpret_cast<sockaddr*>(&address_);
        EXPECT_EQ(0, ::bind(fd_, any, bytes));
        EXPECT_EQ(0, ::getsockname(fd_, any, &bytes));
    }
    ~refusing_port() { ::close(fd_); }
    refusing_port(const refusing_port&) = delete;
    refusing_port& operator=(const refusing_port&) = delete;

    std::string address() const
    {
        return "tcp://127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
    }

private:
    const int fd_;
    sockaddr_in address_{};
};

/// Where the connections of a test go to die: a STREAM socket plays the peer.
class deathbed {
public:
    deathbed(test_context& context, transport kind, cause why, const char* peer_type)
        : why_(why), peer_type_(peer_type), address_(known_address(kind))
    {
        if (!was_refused()) {
            listener_ = test_socket(context, ZMQ_STREAM);
            listener_.bind(address_);
        } else if (kind == transport::ipc) {
            address_ = raw_listener(kind).endpoint(); // the file is left, nobody listens
        } else {
            address_ = port_.emplace().address();
        }
    }

    const std::string& address() const { return address_; }
    bool was_refused() const { return why_ == cause::refused || why_ == cause::refused_and_stop; }
    bool is_lost() const { return !was_refused() && why_ != cause::broken_protocol; }

    void configure(test_socket& socket) const
    {
        socket.set(ZMQ_RECONNECT_IVL, why_ == cause::refused || why_ == cause::lost ? -1
                                      : why_ == cause::lost_at_zero                 ? 0
                                                                                    : 5);
        socket.set(ZMQ_RECONNECT_STOP,
                   why_ == cause::refused_and_stop   ? ZMQ_RECONNECT_STOP_CONN_REFUSED
                   : why_ == cause::failed_handshake ? ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED
                                                     : 0);
    }
    /// Accepts the connection that was asked for, if it is to be accepted.
    void receive()
    {
        if (was_refused())
            return;
        id_ = listener_.recv_parts().at(0);
        if (had_handshake())
            say(zmtp::greeting() + zmtp::ready(peer_type_));
    }
    void say(const std::string& bytes) { listener_.send_parts({id_, bytes}); }
    /// Ends that connection, once and for all. `post` hears events_heard.
    void end(listening_post& post)
    {
        if (had_handshake())
            post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        break_up();
        post.expect(was_refused() ? ZMQ_EVENT_CLOSED : ZMQ_EVENT_DISCONNECTED);
        hang_up();
    }
    /// The same while nobody listens to the events.
    void break_up()
    {
        if (why_ == cause::broken_protocol)
            say(zmtp::greeting() + zmtp::frame("\6READY", zmtp::command_bit));
        else if (!was_refused())
            say(""); // hangs up
    }
    /// Nobody listens there any more.
    void hang_up()
    {
        if (!was_refused())
            listener_.close();
    }
    void connect_and_end(test_socket& socket, listening_post& post)
    {
        socket.connect(address_);
        receive();
        end(post);
    }

private:
    bool had_handshake() const { return why_ == cause::lost || why_ == cause::lost_at_zero; }

    cause why_;
    const char* peer_type_;
    std::string address_;
    std::optional<refusing_port> port_;
    test_socket listener_;
    std::string id_;
};

void bind_there(test_socket& socket, const std::string& address)
{
    ASSERT_TRUE(wait_until([&] { return socket.try_bind(address); })) << address;
}

/// A socket that subscribes to all.
void subscribe(test_socket& socket, int type)
{
    if (type == ZMQ_SUB)
        socket.set(ZMQ_SUBSCRIBE, "");
    else if (type == ZMQ_XSUB)
        socket.send(std::string(1, '\1'));
}

/// A message from one to the other, in the direction that is the first for the types.
void expect_talk(const type_pair& types, test_socket& connecting, test_socket& bound)
{
    switch (types.connecting) {
    case ZMQ_PUB:
    case ZMQ_XPUB:
        return publish_until_received(connecting, bound, "published");
    case ZMQ_SUB:
    case ZMQ_XSUB:
        return publish_until_received(bound, connecting, "published");
    case ZMQ_REP:
    case ZMQ_PULL:
        bound.send("to who connected");
        EXPECT_EQ("to who connected", connecting.recv());
        return;
    case ZMQ_ROUTER:
        bound.send("to who connected");
        EXPECT_EQ("to who connected", connecting.recv_parts().at(1));
        return;
    default:
        connecting.send("to who is bound");
        EXPECT_EQ("to who is bound", bound.recv());
    }
}

template <class Parameters>
class dead_endpoint_test : public ::testing::TestWithParam<Parameters> {
protected:
    test_context context_;
};

// --- connecting again --------------------------------------------------------------------------

using again_parameters = std::tuple<type_pair, transport, cause, int>;

class ZlinkOnlyConnectAgain : public dead_endpoint_test<again_parameters> {};

TEST_P(ZlinkOnlyConnectAgain, connects)
{
    const auto& [types, kind, why, immediate] = GetParam();
    deathbed bed(context_, kind, why, types.bound_name);
    test_socket socket(context_, types.connecting);
    bed.configure(socket);
    socket.set(ZMQ_IMMEDIATE, immediate);
    subscribe(socket, types.connecting);
    listening_post post(context_, socket, events_heard);
    bed.connect_and_end(socket, post);

    test_socket bound(context_, types.bound);
    subscribe(bound, types.bound);
    bind_there(bound, bed.address());
    socket.connect(bed.address());
    post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    expect_talk(types, socket, bound);
    EXPECT_EQ(0, zmq_disconnect(socket, bed.address().c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket, bed.address().c_str())));
}

INSTANTIATE_TEST_SUITE_P(
    Of, ZlinkOnlyConnectAgain,
    ::testing::Combine(::testing::ValuesIn(all_types),
                       ::testing::ValuesIn(links_with(&link_traits::has_plain_zmtp)),
                       ::testing::ValuesIn(all_causes), ::testing::Values(0, 1)),
    [](const auto& info) {
        return std::string(std::get<0>(info.param).name) + "_over_" +
               name_of(std::get<1>(info.param)) + "_" + name_of(std::get<2>(info.param)) +
               (std::get<3>(info.param) ? "_immediate" : "");
    });

// --- each cause over each transport ------------------------------------------------------------

class ZlinkOnlyDeadEndpoint : public dead_endpoint_test<std::tuple<transport, cause>> {
protected:
    deathbed make_bed(const char* peer_type)
    {
        return {context_, std::get<0>(GetParam()), std::get<1>(GetParam()), peer_type};
    }
};

TEST_P(ZlinkOnlyDeadEndpoint, is_told_of_by_the_last_event)
{
    deathbed bed = make_bed("PULL");
    test_socket socket(context_, ZMQ_PUSH);
    bed.configure(socket);
    listening_post post(context_, socket, events_heard);
    bed.connect_and_end(socket, post); // with no event between
    EXPECT_TRUE(post.quiet());
}

TEST_P(ZlinkOnlyDeadEndpoint, is_forgotten_by_zmq_disconnect_when_lost_else_known_once)
{
    for (const int immediate : {0, 1}) {
        deathbed bed = make_bed("PULL");
        test_socket socket(context_, ZMQ_PUSH);
        bed.configure(socket);
        socket.set(ZMQ_IMMEDIATE, immediate);
        listening_post post(context_, socket, events_heard);
        bed.connect_and_end(socket, post);
        if (!bed.is_lost()) {
            EXPECT_EQ(0, zmq_disconnect(socket, bed.address().c_str()));
        }
        EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket, bed.address().c_str())));
    }
}

TEST_P(ZlinkOnlyDeadEndpoint, gets_no_share_of_the_messages)
{
    for (const auto& [type, bound_type, bound_name] :
         {std::tuple{ZMQ_PUSH, ZMQ_PULL, "PULL"}, std::tuple{ZMQ_DEALER, ZMQ_DEALER, "DEALER"},
          std::tuple{ZMQ_CLIENT, ZMQ_SERVER, "SERVER"},
          std::tuple{ZMQ_SCATTER, ZMQ_GATHER, "GATHER"}}) {
        SCOPED_TRACE(bound_name);
        deathbed bed = make_bed(bound_name);
        test_socket socket(context_, type);
        bed.configure(socket);
        listening_post post(context_, socket, events_heard);
        bed.connect_and_end(socket, post);
        test_socket living(context_, bound_type);
        socket.connect(living.bind_and_resolve(fresh_bind_address(std::get<0>(GetParam()))));
        for (int index = 0; index < 20; ++index)
            socket.send(std::to_string(index));
        for (int index = 0; index < 20; ++index)
            EXPECT_EQ(std::to_string(index), living.recv());
    }
}

TEST_P(ZlinkOnlyDeadEndpoint, is_not_asked)
{
    deathbed bed = make_bed("REP");
    test_socket req(context_, ZMQ_REQ);
    bed.configure(req);
    listening_post post(context_, req, events_heard);
    bed.connect_and_end(req, post);
    test_socket rep(context_, ZMQ_REP);
    req.connect(rep.bind_and_resolve(fresh_bind_address(std::get<0>(GetParam()))));
    for (int index = 0; index < 5; ++index) {
        req.send("question");
        EXPECT_EQ("question", rep.recv());
        rep.send("answer");
        EXPECT_EQ("answer", req.recv());
    }
}

TEST_P(ZlinkOnlyDeadEndpoint, is_nobody_to_send_to)
{
    for (const auto& [type, bound_type, bound_name] :
         {std::tuple{ZMQ_PUSH, ZMQ_PULL, "PULL"}, std::tuple{ZMQ_DEALER, ZMQ_DEALER, "DEALER"},
          std::tuple{ZMQ_PAIR, ZMQ_PAIR, "PAIR"}, std::tuple{ZMQ_REQ, ZMQ_REP, "REP"}}) {
        SCOPED_TRACE(bound_name);
        deathbed bed = make_bed(bound_name);
        test_socket socket(context_, type);
        bed.configure(socket);
        listening_post post(context_, socket, events_heard);
        bed.connect_and_end(socket, post);
        EXPECT_EQ(0, socket.events() & ZMQ_POLLOUT);
        EXPECT_FALSE(socket.try_send("to nobody"));
        socket.set(ZMQ_SNDTIMEO, 20);
        EXPECT_TRUE(fails_with(EAGAIN, zmq_send(socket, "x", 1, 0)));

        socket.set(ZMQ_SNDTIMEO, static_cast<int>(patience.count()));
        const std::string address =
            socket.bind_and_resolve(fresh_bind_address(std::get<0>(GetParam())));
        test_socket late(context_, bound_type);
        const std::jthread sender(
            [&socket = socket] { EXPECT_EQ(4, zmq_send(socket, "late", 4, 0)); });
        late.connect(address);
        EXPECT_EQ("late", late.recv());
    }
}

TEST_P(ZlinkOnlyDeadEndpoint, keeps_no_context_waiting)
{
    test_context other;
    deathbed bed(other, std::get<0>(GetParam()), std::get<1>(GetParam()), "PULL");
    test_socket socket(context_, ZMQ_PUSH);
    bed.configure(socket);
    socket.set(ZMQ_LINGER, -1);
    socket.connect(bed.address());
    for (int index = 0; index < 20; ++index)
        socket.try_send(std::string(100'000, 'b'));
    bed.receive();
    socket.close();
    bed.break_up();
    context_.term();
}

INSTANTIATE_TEST_SUITE_P(
    Over, ZlinkOnlyDeadEndpoint,
    ::testing::Combine(::testing::ValuesIn(links_with(&link_traits::has_plain_zmtp)),
                       ::testing::ValuesIn(all_causes)),
    [](const auto& info) {
        return std::string(name_of(std::get<0>(info.param))) + "_" +
               name_of(std::get<1>(info.param));
    });

// --- over each transport -----------------------------------------------------------------------

std::atomic<int> freed{0};

void count_freed(void*, void*)
{
    ++freed;
}

void send_counted(void* socket, std::string& body)
{
    zmq_msg_t message;
    ASSERT_EQ(0, zmq_msg_init_data(&message, body.data(), body.size(), count_freed, nullptr));
    ASSERT_LE(0, zmq_msg_send(&message, socket, 0));
}

class ZlinkOnlyDeadEndpointOver : public transport_test {};

TEST_P(ZlinkOnlyDeadEndpointOver, releases_what_was_accepted_for_it)
{
    constexpr int count = 20;
    std::string body(10'000, 'b');
    freed = 0;
    deathbed bed(context_, GetParam(), cause::failed_handshake, "PULL");
    test_socket socket(context_, ZMQ_PUSH);
    bed.configure(socket);
    listening_post post(context_, socket, events_heard);
    socket.connect(bed.address());
    for (int index = 0; index < count; ++index)
        send_counted(socket, body);
    EXPECT_EQ(0, freed);
    bed.receive();
    bed.end(post);
    EXPECT_TRUE(wait_until([] { return freed == count; }));
}

TEST_P(ZlinkOnlyDeadEndpointOver, takes_a_message_along_that_was_begun)
{
    for (const int type : {ZMQ_PUSH, ZMQ_PAIR}) {
        const int bound_type = type == ZMQ_PUSH ? ZMQ_PULL : ZMQ_PAIR;
        deathbed bed(context_, GetParam(), cause::lost, type == ZMQ_PUSH ? "PULL" : "PAIR");
        test_socket socket(context_, type);
        bed.configure(socket);
        listening_post post(context_, socket, events_heard);
        socket.connect(bed.address());
        socket.send("begun", ZMQ_SNDMORE);
        bed.receive();
        bed.end(post);
        test_socket bound(context_, bound_type);
        bind_there(bound, bed.address());
        socket.connect(bed.address());
        socket.send("its end");
        socket.send("another");
        EXPECT_EQ(parts{"another"}, bound.recv_parts());
    }
}

TEST_P(ZlinkOnlyDeadEndpointOver, leaves_what_had_come_to_be_received)
{
    for (const auto& [type, peer_type] :
         {std::pair{ZMQ_PULL, "PUSH"}, std::pair{ZMQ_DEALER, "DEALER"}, std::pair{ZMQ_PAIR, "PAIR"},
          std::pair{ZMQ_SUB, "PUB"}, std::pair{ZMQ_XSUB, "PUB"}, std::pair{ZMQ_ROUTER, "DEALER"}})
        for (const int immediate : {0, 1}) {
            SCOPED_TRACE(peer_type);
            deathbed bed(context_, GetParam(), cause::lost, peer_type);
            test_socket socket(context_, type);
            bed.configure(socket);
            socket.set(ZMQ_IMMEDIATE, immediate);
            subscribe(socket, type);
            listening_post post(context_, socket, events_heard);
            socket.connect(bed.address());
            bed.receive();
            bed.say(zmtp::frame("0") + zmtp::frame("1") + zmtp::frame("2") +
                    zmtp::frame("half of a message", zmtp::more));
            bed.end(post);
            EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket, bed.address().c_str())));
            for (int index = 0; index < 3; ++index)
                EXPECT_EQ(std::to_string(index), socket.recv_parts().back());
            EXPECT_FALSE(socket.try_recv_parts(std::chrono::milliseconds(0)));
        }
}

TEST_P(ZlinkOnlyDeadEndpointOver, has_its_answer_received)
{
    deathbed bed(context_, GetParam(), cause::lost, "REP");
    test_socket req(context_, ZMQ_REQ);
    bed.configure(req);
    listening_post post(context_, req, events_heard);
    req.connect(bed.address());
    req.send("question");
    bed.receive();
    bed.say(zmtp::frame("", zmtp::more) + zmtp::frame("answer"));
    ASSERT_TRUE(req.readable());
    bed.end(post);
    EXPECT_EQ("answer", req.recv());
    test_socket rep(context_, ZMQ_REP);
    bind_there(rep, bed.address());
    req.connect(bed.address());
    req.send("another question");
    EXPECT_EQ("another question", rep.recv());
}

TEST_P(ZlinkOnlyDeadEndpointOver, leaves_a_question_unanswered)
{
    for (const int relaxed : {0, 1}) {
        deathbed bed(context_, GetParam(), cause::lost, "REP");
        test_socket req(context_, ZMQ_REQ);
        bed.configure(req);
        req.set(ZMQ_REQ_RELAXED, relaxed);
        listening_post post(context_, req, events_heard);
        req.connect(bed.address());
        req.send("question");
        bed.receive();
        bed.end(post);
        EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(req, nullptr, 0, ZMQ_DONTWAIT)));
        test_socket rep(context_, ZMQ_REP);
        bind_there(rep, bed.address());
        req.connect(bed.address());
        if (relaxed) {
            req.send("another question");
            EXPECT_EQ("another question", rep.recv());
        } else {
            EXPECT_TRUE(fails_with(EFSM, zmq_send(req, "x", 1, 0)));
        }
    }
}

// What the first peer has left is read first; sending goes to the new one already.
TEST_P(ZlinkOnlyDeadEndpointOver, of_a_PAIR_leaves_its_place_and_its_messages)
{
    for (const int type : {ZMQ_PAIR, ZMQ_CHANNEL})
        for (const int immediate : {0, 1}) {
            test_socket socket(context_, type);
            socket.set(ZMQ_IMMEDIATE, immediate);
            std::vector<std::string> expected;
            listening_post post(context_, socket, events_heard);
            for (int round = 0; round < 3; ++round) {
                deathbed bed(context_, GetParam(), cause::lost,
                             type == ZMQ_PAIR ? "PAIR" : "CHANNEL");
                bed.configure(socket);
                socket.connect(bed.address());
                bed.receive();
                if (round != 1) { // what came in that round is none
                    for (const char* const text : {"first", "second"}) {
                        expected.push_back(text + std::to_string(round));
                        bed.say(zmtp::frame(expected.back()));
                    }
                }
                bed.end(post);
            }
            test_socket bound(context_, type);
            socket.connect(bound.bind_and_resolve(fresh_bind_address(GetParam())));
            post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
            socket.send("to the new peer");
            EXPECT_EQ("to the new peer", bound.recv());
            bound.send("from the new peer");
            for (const std::string& text : expected)
                EXPECT_EQ(text, socket.recv());
            EXPECT_EQ("from the new peer", socket.recv());
            socket.send("still");
            EXPECT_EQ("still", bound.recv());
        }
}

// With ZMQ_IMMEDIATE what has come is received after zmq_disconnect; it may still be on its way to
// the socket when the next peer is there.
TEST_P(ZlinkOnlyDeadEndpointOver, is_not_needed_for_a_PAIR_to_turn_to_the_next_peer)
{
    for (int round = 0; round < 20; ++round) {
        test_socket first(context_, ZMQ_PAIR);
        test_socket next(context_, ZMQ_PAIR);
        test_socket socket(context_, ZMQ_PAIR);
        socket.set(ZMQ_IMMEDIATE, 1);
        listening_post post(context_, socket, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        const std::string address = first.bind_and_resolve(fresh_bind_address(GetParam()));
        socket.connect(address);
        post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        first.send("from the first");
        ASSERT_TRUE(socket.readable());
        socket.disconnect(address);
        socket.connect(next.bind_and_resolve(fresh_bind_address(GetParam())));
        post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        next.send("from the next");
        EXPECT_EQ("from the first", socket.recv());
        EXPECT_EQ("from the next", socket.recv());
        socket.send("to the next");
        EXPECT_EQ("to the next", next.recv());
    }
}

TEST_P(ZlinkOnlyDeadEndpointOver, is_told_the_subscriptions_anew)
{
    for (const int type : {ZMQ_SUB, ZMQ_XSUB}) {
        deathbed bed(context_, GetParam(), cause::lost, "XPUB");
        test_socket socket(context_, type);
        bed.configure(socket);
        if (type == ZMQ_SUB)
            socket.set(ZMQ_SUBSCRIBE, "topic");
        else
            socket.send("\1topic");
        listening_post post(context_, socket, events_heard);
        bed.connect_and_end(socket, post);
        test_socket bound(context_, ZMQ_XPUB);
        bind_there(bound, bed.address());
        socket.connect(bed.address());
        EXPECT_EQ("\1topic", bound.recv());
        EXPECT_FALSE(bound.readable(quiet_window));
    }
}

// Who hears that it is over may connect at once, again and again.
TEST_P(ZlinkOnlyDeadEndpointOver, can_be_connected_to_as_soon_as_it_is_told_of)
{
    for (const int type : {ZMQ_SUB, ZMQ_DEALER}) {
        deathbed bed(context_, GetParam(), cause::refused, "");
        test_socket socket(context_, type);
        bed.configure(socket);
        listening_post post(context_, socket, events_heard);
        for (int round = 0; round < 300; ++round) {
            socket.connect(bed.address());
            post.expect(ZMQ_EVENT_CLOSED);
        }
        EXPECT_TRUE(post.quiet());
    }
}

TEST_P(ZlinkOnlyDeadEndpointOver, is_one_while_a_peer_lives)
{
    test_socket bound(context_, ZMQ_DEALER);
    const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket socket(context_, ZMQ_DEALER);
    socket.set(ZMQ_RECONNECT_IVL, -1);
    listening_post post(context_, socket, events_heard);
    socket.connect(address);
    post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    socket.connect(address); // ignored, as it is connected
    EXPECT_TRUE(post.quiet());
}

// Closing and disconnecting meet the end of the attempts at every moment.
TEST_P(ZlinkOnlyDeadEndpointOver, may_be_closed_while_it_dies)
{
    deathbed bed(context_, GetParam(), cause::refused, "");
    for (int round = 0; round < 300; ++round) {
        test_context context;
        test_socket socket(context, round % 2 ? ZMQ_DEALER : ZMQ_PAIR);
        bed.configure(socket);
        socket.set(ZMQ_LINGER, -1);
        socket.set(ZMQ_IMMEDIATE, round / 2 % 2);
        socket.connect(bed.address());
        dawdle(static_cast<unsigned>(round) * 100);
        socket.try_send("perhaps accepted");
        if (round / 4 % 2)
            zmq_disconnect(socket, bed.address().c_str()); // or it is gone already
    }
}

// A thread that sends all the time meets the end of connections that are not made again.
TEST_P(ZlinkOnlyDeadEndpointOver, may_be_sent_to_while_it_dies)
{
    test_socket socket(context_, ZMQ_DEALER);
    socket.set(ZMQ_RECONNECT_IVL, -1);
    test_socket living(context_, ZMQ_DEALER);
    socket.connect(living.bind_and_resolve(fresh_bind_address(GetParam())));
    const std::string address = known_address(GetParam());
    std::atomic<bool> over{false};
    std::jthread reader([&] {
        while (!over)
            living.try_recv_parts(std::chrono::milliseconds(1));
    });
    for (int round = 0; round < 50; ++round) {
        test_socket dying(context_, ZMQ_DEALER);
        bind_there(dying, address);
        std::atomic<bool> gone{false};
        const std::jthread other([&] {
            EXPECT_TRUE(dying.try_recv_parts(patience));
            dying.close();
            gone = true;
        });
        EXPECT_TRUE(wait_until([&] {
            socket.connect(address); // if the last connection to it has been given up
            for (int index = 0; index < 20; ++index)
                socket.try_send("message");
            return gone.load();
        }));
    }
    over = true;
}

ZLINK_LINKS_WITH(ZlinkOnlyDeadEndpointOver, has_plain_zmtp);

} // namespace
} // namespace zlink::test
