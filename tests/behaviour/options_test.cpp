// SPDX-License-Identifier: Apache-2.0
// Socket options: defaults, ranges, the rules for the length of values, and from when on they
// count.
#include "support/fixture.hpp"
#include "support/zmtp.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

int set_int(void* socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value);
}

/// What is known about an option of type int.
struct int_option {
    const char* name;
    int id;
    int default_value;
    std::vector<int> accepted;
    std::vector<int> rejected;
};

void PrintTo(const int_option& option, std::ostream* out)
{
    *out << option.name;
}

const std::vector<int_option> int_options{
    {"SNDBUF", ZMQ_SNDBUF, -1, {0, 4096, -1}, {-2}},
    {"RCVBUF", ZMQ_RCVBUF, -1, {0, 4096, -1}, {-2}},
    {"LINGER", ZMQ_LINGER, -1, {0, 1, 1000, -1}, {-2}},
    {"RECONNECT_IVL", ZMQ_RECONNECT_IVL, 100, {-1, 0, 1, 5000}, {-2}},
    {"RECONNECT_IVL_MAX", ZMQ_RECONNECT_IVL_MAX, 0, {0, 1, 5000}, {-1}},
    {"BACKLOG", ZMQ_BACKLOG, 100, {0, 1, 4096}, {-1}},
    {"SNDHWM", ZMQ_SNDHWM, 1000, {0, 1, 1'000'000}, {-1}},
    {"RCVHWM", ZMQ_RCVHWM, 1000, {0, 1, 1'000'000}, {-1}},
    {"RCVTIMEO", ZMQ_RCVTIMEO, -1, {0, 1, -1}, {-2}},
    {"SNDTIMEO", ZMQ_SNDTIMEO, -1, {0, 1, -1}, {-2}},
    {"RATE", ZMQ_RATE, 100, {1, 5000}, {0, -1}},
    {"RECOVERY_IVL", ZMQ_RECOVERY_IVL, 10'000, {0, 1}, {-1}},
    {"MULTICAST_HOPS", ZMQ_MULTICAST_HOPS, 1, {1, 255}, {0, -1}},
    {"MULTICAST_MAXTPDU", ZMQ_MULTICAST_MAXTPDU, 1500, {1, 9000}, {0, -1}},
    {"IPV4ONLY", ZMQ_IPV4ONLY, 1, {0, 1}, {2, -1}},
    {"IPV6", ZMQ_IPV6, 0, {0, 1}, {2, -1}},
    {"IMMEDIATE", ZMQ_IMMEDIATE, 0, {0, 1}, {2, -1}},
    {"CONFLATE", ZMQ_CONFLATE, 0, {0, 1}, {2, -1}},
    {"TCP_KEEPALIVE", ZMQ_TCP_KEEPALIVE, -1, {-1, 0, 1}, {2, -2}},
    {"TCP_KEEPALIVE_CNT", ZMQ_TCP_KEEPALIVE_CNT, -1, {-1, 1, 10}, {-2}},
    {"TCP_KEEPALIVE_IDLE", ZMQ_TCP_KEEPALIVE_IDLE, -1, {-1, 1, 10}, {-2}},
    {"TCP_KEEPALIVE_INTVL", ZMQ_TCP_KEEPALIVE_INTVL, -1, {-1, 1, 10}, {-2}},
    {"TOS", ZMQ_TOS, 0, {0, 0x28}, {-1}},
    {"HANDSHAKE_IVL", ZMQ_HANDSHAKE_IVL, 30'000, {0, 1, 60'000}, {-1}},
    {"CONNECT_TIMEOUT", ZMQ_CONNECT_TIMEOUT, 0, {0, 1, 60'000}, {-1}},
    {"TCP_MAXRT", ZMQ_TCP_MAXRT, 0, {0, 1, 60'000}, {-1}},
    {"HEARTBEAT_IVL", ZMQ_HEARTBEAT_IVL, 0, {0, 1, 60'000}, {-1}},
    {"HEARTBEAT_TIMEOUT", ZMQ_HEARTBEAT_TIMEOUT, -1, {0, 1, 60'000}, {-1}},
    {"HEARTBEAT_TTL", ZMQ_HEARTBEAT_TTL, 0, {0, 100, 6'553'500}, {6'553'600, -100}},
    {"USE_FD", ZMQ_USE_FD, -1, {-1, 0}, {-2}},
};

class IntOption : public ::testing::TestWithParam<int_option> {
protected:
    test_context context_;
    test_socket socket_ = test_socket::with_defaults(context_, ZMQ_DEALER);
};

TEST_P(IntOption, has_its_default)
{
    EXPECT_EQ(GetParam().default_value, socket_.get(GetParam().id));
}

TEST_P(IntOption, returns_every_accepted_value)
{
    for (const int value : GetParam().accepted) {
        EXPECT_EQ(0, set_int(socket_, GetParam().id, value)) << value;
        EXPECT_EQ(value, socket_.get(GetParam().id));
    }
}

TEST_P(IntOption, keeps_its_value_when_one_is_rejected)
{
    const int before = socket_.get(GetParam().id);
    for (const int value : GetParam().rejected) {
        EXPECT_TRUE(fails_with(EINVAL, set_int(socket_, GetParam().id, value))) << value;
        EXPECT_EQ(before, socket_.get(GetParam().id));
    }
}

TEST_P(IntOption, demands_the_exact_length)
{
    const std::array<char, 16> zeros{};
    for (const std::size_t size : {0, 1, 3, 5, 8})
        EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket_, GetParam().id, zeros.data(), size)))
            << size;
    std::array<char, 16> room{};
    for (std::size_t size : {0, 3, 5, 8})
        EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket_, GetParam().id, room.data(), &size)))
            << size;
}

INSTANTIATE_TEST_SUITE_P(Options, IntOption, ::testing::ValuesIn(int_options),
                         [](const auto& info) { return std::string(info.param.name); });

class Options : public ::testing::Test {
protected:
    int get_raw(int option, std::size_t& size)
    {
        room_.fill('#');
        return zmq_getsockopt(socket_, option, room_.data(), &size);
    }

    test_context context_;
    test_socket socket_ = test_socket::with_defaults(context_, ZMQ_DEALER);
    std::array<char, 300> room_{};
};

TEST_F(Options, of_64_bits_demand_eight_bytes)
{
    for (const int option : {ZMQ_AFFINITY, ZMQ_MAXMSGSIZE}) {
        std::int64_t value = 5;
        EXPECT_EQ(0, zmq_setsockopt(socket_, option, &value, sizeof value));
        EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket_, option, &value, 4)));
        value = 0;
        std::size_t size = sizeof value;
        EXPECT_EQ(0, zmq_getsockopt(socket_, option, &value, &size));
        EXPECT_EQ(5, value);
        for (std::size_t wrong : {4, 16})
            EXPECT_TRUE(fails_with(EINVAL, get_raw(option, wrong))) << wrong;
    }
}

TEST_F(Options, of_64_bits_have_their_defaults)
{
    std::int64_t value = 0;
    std::size_t size = sizeof value;
    ASSERT_EQ(0, zmq_getsockopt(socket_, ZMQ_MAXMSGSIZE, &value, &size));
    EXPECT_EQ(-1, value);
    ASSERT_EQ(0, zmq_getsockopt(socket_, ZMQ_AFFINITY, &value, &size));
    EXPECT_EQ(0, value);
}

TEST_F(Options, affinity_to_missing_io_threads_fails_at_bind_and_connect)
{
    const std::uint64_t second_thread_only = 2;
    zmq_setsockopt(socket_, ZMQ_AFFINITY, &second_thread_only, sizeof second_thread_only);
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_bind(socket_, "tcp://127.0.0.1:*")));
    EXPECT_TRUE(fails_with(EMTHREAD, zmq_connect(socket_, "tcp://127.0.0.1:5555")));
}

TEST_F(Options, routing_id_has_1_to_255_bytes)
{
    std::size_t size = room_.size();
    EXPECT_EQ(0, get_raw(ZMQ_ROUTING_ID, size));
    EXPECT_EQ(0u, size);
    const std::string longest(255, 'i');
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket_, ZMQ_ROUTING_ID, "", 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket_, ZMQ_ROUTING_ID, room_.data(), 256)));
    socket_.set(ZMQ_ROUTING_ID, std::string_view("\0binary", 7));
    socket_.set(ZMQ_ROUTING_ID, longest);
    size = room_.size();
    EXPECT_EQ(0, get_raw(ZMQ_ROUTING_ID, size));
    EXPECT_EQ(longest, std::string(room_.data(), size));
    size = 254;
    EXPECT_TRUE(fails_with(EINVAL, get_raw(ZMQ_ROUTING_ID, size)));
    size = 255;
    EXPECT_EQ(0, get_raw(ZMQ_ROUTING_ID, size));
}

TEST_F(Options, of_text_return_the_length_with_the_terminator)
{
    std::size_t size = room_.size();
    EXPECT_EQ(0, get_raw(ZMQ_LAST_ENDPOINT, size));
    EXPECT_EQ(1u, size);
    socket_.bind("inproc://options-text");
    size = room_.size();
    EXPECT_EQ(0, get_raw(ZMQ_LAST_ENDPOINT, size));
    EXPECT_EQ(sizeof "inproc://options-text", size);
    EXPECT_STREQ("inproc://options-text", room_.data());
    size = sizeof "inproc://options-text" - 1;
    EXPECT_TRUE(fails_with(EINVAL, get_raw(ZMQ_LAST_ENDPOINT, size)));
}

TEST_F(Options, some_ints_accept_larger_buffers)
{
    for (const int option : {ZMQ_RCVMORE, ZMQ_FD, ZMQ_EVENTS, ZMQ_THREAD_SAFE}) {
        std::size_t size = room_.size();
        EXPECT_EQ(0, get_raw(option, size)) << option;
        EXPECT_EQ(sizeof(int), size) << option;
        size = 3;
        EXPECT_TRUE(fails_with(EINVAL, get_raw(option, size))) << option;
    }
}

TEST_F(Options, some_ints_zero_the_room_that_they_do_not_need)
{
    for (const int option : {ZMQ_RCVMORE, ZMQ_FD, ZMQ_EVENTS, ZMQ_THREAD_SAFE}) {
        std::size_t size = 20;
        EXPECT_EQ(0, get_raw(option, size));
        EXPECT_EQ(std::string(16, '\0'), std::string(room_.data() + 4, 16)) << option;
        EXPECT_EQ('#', room_[20]) << option;
    }
}

TEST_F(Options, that_are_read_only_cannot_be_set)
{
    for (const int option : {ZMQ_TYPE, ZMQ_RCVMORE, ZMQ_FD, ZMQ_EVENTS, ZMQ_LAST_ENDPOINT,
                             ZMQ_MECHANISM, ZMQ_THREAD_SAFE})
        EXPECT_TRUE(fails_with(EINVAL, set_int(socket_, option, 1))) << option;
}

TEST_F(Options, that_do_not_exist_are_refused)
{
    for (const int option : {-1, 0, 1, 3, 10, 20, 26, 29, 30, 67, 70, 82, 83, 9999}) {
        EXPECT_TRUE(fails_with(EINVAL, set_int(socket_, option, 1))) << option;
        std::size_t size = sizeof(int);
        EXPECT_TRUE(fails_with(EINVAL, get_raw(option, size))) << option;
    }
}

TEST_F(Options, of_a_new_socket_say_there_is_nothing_to_receive)
{
    EXPECT_EQ(0, socket_.get(ZMQ_RCVMORE));
    EXPECT_EQ(0, socket_.events());
    EXPECT_LE(0, socket_.get(ZMQ_FD));
    EXPECT_EQ(0, socket_.get(ZMQ_THREAD_SAFE));
    EXPECT_EQ(ZMQ_NULL, socket_.get(ZMQ_MECHANISM));
}

TEST_F(Options, linger_is_zero_by_default_only_for_subscribers)
{
    for (int type = ZMQ_PAIR; type <= ZMQ_XSUB; ++type) {
        const bool subscriber = type == ZMQ_SUB || type == ZMQ_XSUB;
        const test_socket socket = test_socket::with_defaults(context_, type);
        EXPECT_EQ(subscriber ? 0 : -1, socket.get(ZMQ_LINGER)) << type;
    }
}

TEST_F(Options, ipv4only_is_the_opposite_of_ipv6)
{
    socket_.set(ZMQ_IPV6, 1);
    EXPECT_EQ(0, socket_.get(ZMQ_IPV4ONLY));
    socket_.set(ZMQ_IPV4ONLY, 1);
    EXPECT_EQ(0, socket_.get(ZMQ_IPV6));
}

TEST_F(Options, heartbeat_ttl_counts_tenths_of_seconds)
{
    socket_.set(ZMQ_HEARTBEAT_TTL, 150);
    EXPECT_EQ(100, socket_.get(ZMQ_HEARTBEAT_TTL));
    socket_.set(ZMQ_HEARTBEAT_TTL, 99);
    EXPECT_EQ(0, socket_.get(ZMQ_HEARTBEAT_TTL));
}

TEST_F(Options, inverted_matching_takes_any_int)
{
    for (const int value : {0, 1, 7, -3}) {
        EXPECT_EQ(0, set_int(socket_, ZMQ_INVERT_MATCHING, value));
        EXPECT_EQ(value != 0, socket_.get(ZMQ_INVERT_MATCHING));
    }
}

TEST(ZlinkOnlyOptions, heartbeat_ttl_rejects_every_negative_value)
{
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    for (const int value : {-1, -50, -99})
        EXPECT_TRUE(fails_with(EINVAL, set_int(socket, ZMQ_HEARTBEAT_TTL, value))) << value;
}

/// A flag that only sockets of some types have.
struct type_option {
    const char* name;
    int id;
    std::vector<int> types;
};

void PrintTo(const type_option& option, std::ostream* out)
{
    *out << option.name;
}

class TypeOption : public ::testing::TestWithParam<type_option> {
protected:
    bool belongs_to(int type) const
    {
        const auto& types = GetParam().types;
        return std::find(types.begin(), types.end(), type) != types.end();
    }

    test_context context_;
};

TEST_P(TypeOption, is_accepted_by_its_types_only)
{
    for (int type = ZMQ_PAIR; type <= ZMQ_XSUB; ++type) {
        test_socket socket(context_, type);
        if (belongs_to(type))
            EXPECT_EQ(0, set_int(socket, GetParam().id, 1)) << type;
        else
            EXPECT_TRUE(fails_with(EINVAL, set_int(socket, GetParam().id, 1))) << type;
    }
}

TEST_P(TypeOption, takes_any_value_that_is_not_negative)
{
    for (const int type : GetParam().types) {
        test_socket socket(context_, type);
        EXPECT_EQ(0, set_int(socket, GetParam().id, 0));
        EXPECT_EQ(0, set_int(socket, GetParam().id, 2));
        EXPECT_TRUE(fails_with(EINVAL, set_int(socket, GetParam().id, -1)));
    }
}

TEST_P(TypeOption, cannot_be_read)
{
    for (const int type : GetParam().types) {
        test_socket socket(context_, type);
        int value = 0;
        std::size_t size = sizeof value;
        EXPECT_TRUE(fails_with(EINVAL, zmq_getsockopt(socket, GetParam().id, &value, &size)));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Options, TypeOption,
    ::testing::Values(
        type_option{"ROUTER_MANDATORY", ZMQ_ROUTER_MANDATORY, {ZMQ_ROUTER, ZMQ_REP}},
        type_option{"ROUTER_HANDOVER", ZMQ_ROUTER_HANDOVER, {ZMQ_ROUTER, ZMQ_REP}},
        type_option{"PROBE_ROUTER", ZMQ_PROBE_ROUTER, {ZMQ_DEALER, ZMQ_REQ, ZMQ_ROUTER, ZMQ_REP}},
        type_option{"REQ_CORRELATE", ZMQ_REQ_CORRELATE, {ZMQ_REQ}},
        type_option{"REQ_RELAXED", ZMQ_REQ_RELAXED, {ZMQ_REQ}},
        type_option{"XPUB_VERBOSE", ZMQ_XPUB_VERBOSE, {ZMQ_XPUB, ZMQ_PUB}},
        type_option{"XPUB_VERBOSER", ZMQ_XPUB_VERBOSER, {ZMQ_XPUB, ZMQ_PUB}},
        type_option{"XPUB_NODROP", ZMQ_XPUB_NODROP, {ZMQ_XPUB, ZMQ_PUB}},
        type_option{"XPUB_MANUAL", ZMQ_XPUB_MANUAL, {ZMQ_XPUB, ZMQ_PUB}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(Options, subscriptions_belong_to_sub_sockets)
{
    for (int type = ZMQ_PAIR; type <= ZMQ_XSUB; ++type) {
        test_socket socket(context_, type);
        for (const int option : {ZMQ_SUBSCRIBE, ZMQ_UNSUBSCRIBE}) {
            const int result = zmq_setsockopt(socket, option, "topic", 5);
            if (type == ZMQ_SUB)
                EXPECT_EQ(0, result);
            else
                EXPECT_TRUE(fails_with(EINVAL, result)) << type;
        }
    }
    test_socket subscriber(context_, ZMQ_SUB);
    EXPECT_EQ(0, zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, nullptr, 0));
    EXPECT_EQ(0, zmq_setsockopt(subscriber, ZMQ_UNSUBSCRIBE, "never subscribed", 16));
}

TEST_F(Options, connect_routing_id_must_not_be_empty)
{
    test_socket router(context_, ZMQ_ROUTER);
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(router, ZMQ_CONNECT_ROUTING_ID, "", 0)));
    EXPECT_EQ(0, zmq_setsockopt(router, ZMQ_CONNECT_ROUTING_ID, "peer", 4));
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket_, ZMQ_CONNECT_ROUTING_ID, "peer", 4)));
}

TEST(OptionEffects, a_part_above_maxmsgsize_closes_the_connection)
{
    test_context context;
    auto [bound, peer, address] = link(context, transport::tcp, ZMQ_PULL, ZMQ_PUSH,
                                       [](test_socket& socket) { limit_messages(socket, 100); });
    peer.send(std::string(100, 'a'));
    EXPECT_EQ(100u, bound.recv().size());
    peer.send(std::string(101, 'b'));
    EXPECT_FALSE(bound.readable(quiet_window));
    test_socket other(context, ZMQ_PUSH);
    other.connect(address);
    other.send("still served");
    EXPECT_EQ("still served", bound.recv());
}

TEST(OptionEffects, maxmsgsize_does_not_limit_inproc)
{
    test_context context;
    auto [bound, peer, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH,
                                       [](test_socket& socket) { limit_messages(socket, 100); });
    peer.send(std::string(5000, 'a'));
    EXPECT_EQ(5000u, bound.recv().size());
}

TEST(OptionEffects, maxmsgsize_limits_what_comes_in_only_and_not_if_it_is_negative)
{
    test_context context;
    auto [bound, peer, address] = link(
        context, transport::tcp, ZMQ_PULL, ZMQ_PUSH,
        [](test_socket& socket) { limit_messages(socket, -5); },
        [](test_socket& socket) { limit_messages(socket, 100); });
    peer.send(std::string(1'000'000, 'a'));
    EXPECT_EQ(1'000'000u, bound.recv().size());
}

TEST(OptionEffects, traffic_flows_with_all_tcp_options_set)
{
    test_context context;
    const configuration configure = [](test_socket& socket) {
        socket.set(ZMQ_SNDBUF, 16'384);
        socket.set(ZMQ_RCVBUF, 16'384);
        socket.set(ZMQ_TCP_KEEPALIVE, 1);
        socket.set(ZMQ_TCP_KEEPALIVE_CNT, 3);
        socket.set(ZMQ_TCP_KEEPALIVE_IDLE, 10);
        socket.set(ZMQ_TCP_KEEPALIVE_INTVL, 5);
        socket.set(ZMQ_TOS, 0x28);
        socket.set(ZMQ_TCP_MAXRT, 5000);
        socket.set(ZMQ_CONNECT_TIMEOUT, 5000);
        socket.set(ZMQ_BACKLOG, 1);
    };
    auto [bound, peer, address] =
        link(context, transport::tcp, ZMQ_PULL, ZMQ_PUSH, configure, configure);
    peer.send(std::string(100'000, 'x'));
    EXPECT_EQ(100'000u, bound.recv().size());
}

/// What an endpoint does is decided when it is made: neither a listener nor a connection, nor one
/// that is made again, takes notice of what is set later.
class EndpointOptions : public transport_test {
protected:
    std::string bind(test_socket& socket)
    {
        return socket.bind_and_resolve(fresh_bind_address(GetParam()));
    }
    test_socket connected(int type, const std::string& address, const configuration& configure = {})
    {
        test_socket socket(context_, type);
        socket.set(ZMQ_RECONNECT_IVL, 5);
        if (configure)
            configure(socket);
        socket.connect(address);
        return socket;
    }
};

TEST_P(EndpointOptions, the_routing_id_of_a_bound_socket)
{
    test_socket dealer(context_, ZMQ_DEALER);
    for (const char* id : {"first", "second"}) {
        dealer.set(ZMQ_ROUTING_ID, id);
        const std::string address = bind(dealer);
        dealer.set(ZMQ_ROUTING_ID, "set later");
        test_socket router = connected(ZMQ_ROUTER, address);
        ASSERT_TRUE(dealer.writable());
        dealer.send("x");
        EXPECT_EQ((parts{id, "x"}), router.recv_parts());
        router.close();
        EXPECT_TRUE(wait_until([&] { return (dealer.events() & ZMQ_POLLOUT) == 0; }));
    }
}

TEST_P(EndpointOptions, the_routing_id_of_a_connecting_socket)
{
    const std::string address = known_address(GetParam());
    test_socket dealer = connected(ZMQ_DEALER, address, [](test_socket& socket) {
        socket.set(ZMQ_ROUTING_ID, "of the connect");
    });
    dealer.set(ZMQ_ROUTING_ID, "set later");
    for (int connection = 0; connection < (GetParam() == transport::inproc ? 1 : 2); ++connection) {
        test_socket router(context_, ZMQ_ROUTER);
        ASSERT_TRUE(wait_until([&] { return router.try_bind(address); }));
        ASSERT_TRUE(wait_until([&] {
            dealer.try_send("x");
            return router.readable(2ms);
        }));
        EXPECT_EQ((parts{"of the connect", "x"}), router.recv_parts());
    }
}

TEST_P(EndpointOptions, conflation)
{
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = bind(sink);
    test_socket source = connected(ZMQ_PUSH, address);
    sink.set(ZMQ_CONFLATE, 1);
    source.set(ZMQ_CONFLATE, 1);
    test_socket newcomer = connected(ZMQ_PUSH, address);
    for (test_socket* sender : {&source, &newcomer}) {
        for (int index = 0; index < 100; ++index)
            sender->send(std::to_string(index));
        for (int index = 0; index < 100; ++index)
            EXPECT_EQ(std::to_string(index), sink.recv());
    }
}

ZLINK_ALL_TRANSPORTS(EndpointOptions);

class ConnectionOptions : public EndpointOptions {};

TEST_P(ConnectionOptions, the_largest_message)
{
    test_socket sink(context_, ZMQ_PULL);
    limit_messages(sink, 100);
    const std::string narrow = bind(sink);
    limit_messages(sink, -1);
    const std::string wide = bind(sink);
    limit_messages(sink, 10);
    connected(ZMQ_PUSH, narrow).send(std::string(101, 'x'));
    EXPECT_FALSE(sink.readable(quiet_window));
    for (const std::string& address : {narrow, wide}) {
        const std::size_t size = address == wide ? 1'000 : 100;
        test_socket source = connected(ZMQ_PUSH, address);
        source.send(std::string(size, 'x'));
        EXPECT_EQ(size, sink.recv().size());
    }
}

TEST_P(ConnectionOptions, whether_messages_wait_for_a_peer)
{
    test_socket queues = connected(ZMQ_PUSH, known_address(GetParam()));
    queues.set(ZMQ_IMMEDIATE, 1);
    EXPECT_TRUE(queues.try_send("x"));
    test_socket waits = connected(ZMQ_PUSH, known_address(GetParam()),
                                  [](test_socket& socket) { socket.set(ZMQ_IMMEDIATE, 1); });
    waits.set(ZMQ_IMMEDIATE, 0);
    EXPECT_FALSE(waits.try_send("x"));
}

class ConnectionOptionsOnTheWire : public ConnectionOptions {};

TEST_P(ConnectionOptionsOnTheWire, the_time_for_the_handshake)
{
    test_socket socket(context_, ZMQ_PULL);
    socket.set(ZMQ_HANDSHAKE_IVL, 20);
    const std::string hurried = bind(socket);
    socket.set(ZMQ_HANDSHAKE_IVL, 0);
    const std::string patient = bind(socket);
    socket.set(ZMQ_HANDSHAKE_IVL, 20);
    const raw_peer waits(patient);
    const raw_peer ends(hurried);
    EXPECT_EQ(10u, ends.recv_at_most(10).size());
    EXPECT_TRUE(ends.ended());
    EXPECT_EQ(10u, waits.recv_at_most(10).size());
    EXPECT_FALSE(waits.ended(quiet_window));
}

/// A connection to a PULL socket that has shaken hands.
raw_peer raw_push(const std::string& address)
{
    raw_peer peer(address);
    zmtp::shake_hands(peer, "PUSH");
    return peer;
}

TEST_P(ConnectionOptionsOnTheWire, heartbeats)
{
    test_socket socket(context_, ZMQ_PULL);
    const std::string silent = bind(socket);
    const raw_peer accepted_before = raw_push(silent);
    socket.set(ZMQ_HEARTBEAT_IVL, 10);
    const std::string beating = bind(socket);
    socket.set(ZMQ_HEARTBEAT_IVL, 0);
    const raw_peer accepted_after = raw_push(silent);
    EXPECT_EQ(zmtp::ping(), zmtp::recv_frame(raw_push(beating)));
    EXPECT_EQ("", accepted_before.recv_at_most(1, quiet_window));
    EXPECT_EQ("", accepted_after.recv_at_most(1, 0ms));
}

ZLINK_WIRE_TRANSPORTS(ConnectionOptions);
ZLINK_LINKS_WITH(ConnectionOptionsOnTheWire, has_plain_zmtp);

TEST(ConnectingOptions, the_interval_between_attempts_is_that_of_the_connect)
{
    test_context context;
    for (const auto& [at_connect, later] : {std::pair{5, -1}, {-1, 5}}) {
        const raw_listener listener;
        test_socket socket(context, ZMQ_PUSH);
        socket.set(ZMQ_RECONNECT_IVL, at_connect);
        socket.connect(listener.endpoint());
        socket.set(ZMQ_RECONNECT_IVL, later);
        ASSERT_TRUE(listener.try_accept()); // and closed at once
        EXPECT_EQ(at_connect > 0, listener.has_caller(at_connect > 0 ? patience : quiet_window));
    }
}

// The genuine library ends the process when a proxy hangs up at once.
TEST(ZlinkOnlyConnectingOptions, the_proxy_is_that_of_the_connect)
{
    test_context context;
    const raw_listener proxy;
    const raw_listener other;
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_RECONNECT_IVL, 5);
    socket.set(ZMQ_SOCKS_PROXY, proxy.host_port());
    socket.connect("tcp://127.0.0.1:1");
    socket.set(ZMQ_SOCKS_PROXY, other.host_port());
    for (int attempt = 0; attempt < 3; ++attempt)
        ASSERT_TRUE(proxy.try_accept()); // and closed at once
    EXPECT_FALSE(other.has_caller(0ms));
}

} // namespace
} // namespace zlink::test
