// SPDX-License-Identifier: Apache-2.0
// High-water marks, where their effect is exact, and that a mark never loses messages where the
// pattern blocks.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"

#include <numeric>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

configuration with_hwm(int option, int hwm)
{
    return [option, hwm](test_socket& socket) { socket.set(option, hwm); };
}

class UnconnectedHwm : public ::testing::TestWithParam<std::tuple<transport, int, int>> {};

TEST_P(UnconnectedHwm, is_exactly_the_number_of_messages_that_are_queued)
{
    const auto [kind, type, hwm] = GetParam();
    const link_in_use scope(kind);
    test_context context;
    test_socket socket(context, type);
    socket.set(ZMQ_SNDHWM, hwm);
    socket.connect(known_address(kind));
    EXPECT_EQ(hwm, socket.send_until_full("x", 10'000));
    EXPECT_EQ(0, socket.events() & ZMQ_POLLOUT);
}

std::string name_of_unconnected(const ::testing::TestParamInfo<UnconnectedHwm::ParamType>& info)
{
    const auto [kind, type, hwm] = info.param;
    return std::string(name_of(kind)) + "_type" + std::to_string(type) + "_hwm" +
           std::to_string(hwm);
}

INSTANTIATE_TEST_SUITE_P(Of, UnconnectedHwm,
                         ::testing::Combine(::testing::ValuesIn(all_links()),
                                            ::testing::Values(ZMQ_PUSH, ZMQ_DEALER, ZMQ_PAIR),
                                            ::testing::Values(1, 2, 5, 1000)),
                         name_of_unconnected);

TEST(ZlinkOnlyUnconnectedHwm, is_exact_for_draft_types)
{
    for (const transport kind : {transport::tcp, transport::inproc})
        for (const int type : {ZMQ_CLIENT, ZMQ_CHANNEL, ZMQ_SCATTER}) {
            test_context context;
            test_socket socket(context, type);
            socket.set(ZMQ_SNDHWM, 5);
            socket.connect(known_address(kind));
            EXPECT_EQ(5, socket.send_until_full("x", 100)) << type;
            EXPECT_EQ(0, socket.events() & ZMQ_POLLOUT);
        }
}

class Hwm : public transport_test {};

TEST_P(Hwm, of_zero_means_no_limit)
{
    test_socket socket(context_, ZMQ_PUSH);
    socket.set(ZMQ_SNDHWM, 0);
    socket.connect(known_address(GetParam()));
    EXPECT_EQ(20'000, socket.send_until_full("x", 20'000));
}

TEST_P(Hwm, counts_a_multipart_message_as_one)
{
    test_socket socket(context_, ZMQ_PUSH);
    socket.set(ZMQ_SNDHWM, 3);
    socket.set(ZMQ_SNDTIMEO, 0);
    socket.connect(known_address(GetParam()));
    for (int index = 0; index < 3; ++index)
        socket.send_parts({"a", "b", "c", "d", "e"});
    EXPECT_TRUE(fails_with(EAGAIN, zmq_send(socket, "a", 1, ZMQ_SNDMORE)));
}

TEST_P(Hwm, lets_a_started_message_be_completed)
{
    test_socket sink(context_, ZMQ_PULL);
    test_socket socket(context_, ZMQ_PUSH);
    socket.set(ZMQ_SNDHWM, 1);
    socket.set(ZMQ_SNDTIMEO, 0);
    const std::string address = known_address(GetParam());
    socket.connect(address);
    const parts message(100, "part");
    socket.send_parts(message);
    sink.bind(address);
    EXPECT_EQ(message, sink.recv_parts());
}

TEST_P(Hwm, accepts_at_least_the_senders_limit_before_the_receiver_reads)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH,
                                       with_hwm(ZMQ_RCVHWM, 3), with_hwm(ZMQ_SNDHWM, 7));
    EXPECT_LE(7, peer.send_until_full("x", 7));
}

TEST_P(Hwm, blocks_the_sender_until_the_receiver_reads)
{
    const std::string body(10'000, 'b');
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR,
                                               with_hwm(ZMQ_RCVHWM, 1), with_hwm(ZMQ_SNDHWM, 1));
    peer.set(ZMQ_SNDTIMEO, 50);
    int accepted = 0;
    while (zmq_send(peer, body.data(), body.size(), 0) > 0)
        ASSERT_GT(100'000, ++accepted);
    EXPECT_EQ(EAGAIN, zmq_errno());
    for (int index = 0; index < accepted; ++index)
        ASSERT_EQ(body.size(), bound.recv().size());
    EXPECT_TRUE(peer.writable());
    peer.send("flows again");
    EXPECT_EQ("flows again", bound.recv());
}

// What the connection has taken, though not all at once, makes room for as many messages.
TEST_P(Hwm, of_both_sides_is_filled_by_a_sender_whose_receiver_does_not_read)
{
    std::vector<int> limits(20);
    std::iota(limits.begin(), limits.end(), 1);
    limits.insert(limits.end(), {100, 500, 1000});
    const auto limited = [](int hwm) {
        return [hwm](test_socket& socket) {
            socket.set(ZMQ_SNDHWM, hwm);
            socket.set(ZMQ_RCVHWM, hwm);
            socket.set(ZMQ_SNDBUF, 4096);
            socket.set(ZMQ_RCVBUF, 4096);
            socket.set(ZMQ_SNDTIMEO, 10'000);
        };
    };
    for (const int hwm : limits)
        for (const std::size_t size : {0U, 10U, 1024U, 8192U, 65'536U}) {
            if (size * static_cast<std::size_t>(hwm) > 10'000'000)
                continue;
            SCOPED_TRACE(std::to_string(hwm) + " " + std::to_string(size));
            auto [bound, peer, address] =
                link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, limited(hwm), limited(hwm));
            const std::string body(size, 'b');
            for (int sent = 0; sent < 2 * hwm; ++sent)
                ASSERT_LE(0, zmq_send(peer, body.data(), size, 0)) << sent;
            for (int received = 0; received < 2 * hwm; ++received)
                ASSERT_EQ(size, bound.recv().size());
        }
}

// Wherever the receiver stops reading.
TEST_P(Hwm, of_the_sender_is_kept_to_when_the_receiver_has_read_some)
{
    for (const auto& [send_hwm, receive_hwm] : {std::pair{1000, 1}, {100, 3}, {20, 20}, {3, 100}}) {
        const auto limited = [](int option, int hwm) {
            return [option, hwm](test_socket& socket) {
                socket.set(option, hwm);
                socket.set(ZMQ_SNDBUF, 4096); // few tiny messages fit into the kernel
                socket.set(ZMQ_RCVBUF, 4096);
            };
        };
        auto [bound, peer, address] =
            link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, limited(ZMQ_RCVHWM, receive_hwm),
                 limited(ZMQ_SNDHWM, send_hwm));
        for (int reads = 1; reads < send_hwm + receive_hwm; reads += 1 + send_hwm / 7) {
            SCOPED_TRACE(std::to_string(send_hwm) + " " + std::to_string(reads));
            int waiting = peer.send_until_full("x", 1'000'000);
            for (int index = 0; index < reads && waiting > 0; ++index, --waiting)
                bound.recv();
            EXPECT_TRUE(wait_until([&, &to = peer] {
                waiting += to.send_until_full("x", send_hwm);
                return waiting >= send_hwm;
            }));
            for (; waiting > 0; --waiting)
                bound.recv();
        }
    }
}

// A receiver that has been behind reads its connection itself, a little at a time; when it does
// something else for a while, what it has made room for is read all the same.
TEST_P(Hwm, lets_come_what_there_is_room_for_while_the_receiver_is_busy)
{
    auto [receiver, sender, address] =
        connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, with_hwm(ZMQ_RCVHWM, 20),
                     with_hwm(ZMQ_SNDHWM, 5));
    const std::string large(300'000, 'x');
    send_until_stuck(sender, large, 300ms);
    for (int index = 0; index < 16; ++index)
        receiver.recv();
    // What is taken is reported in steps of half the limit, and some is under way in pieces.
    EXPECT_LE(6, send_until_stuck(sender, large, 300ms));
}

class TinyHwm : public ::testing::TestWithParam<std::tuple<transport, int>> {};

TEST_P(TinyHwm, passes_thousands_of_messages_in_order)
{
    const auto [kind, hwm] = GetParam();
    constexpr int count = 3000;
    test_context context;
    auto [bound, peer, address] = link(context, kind, ZMQ_PULL, ZMQ_PUSH, with_hwm(ZMQ_RCVHWM, hwm),
                                       with_hwm(ZMQ_SNDHWM, hwm));
    std::thread sending([&sender = peer] {
        for (int index = 0; index < count; ++index)
            sender.send(std::to_string(index));
    });
    for (int index = 0; index < count; ++index)
        EXPECT_EQ(std::to_string(index), bound.recv());
    sending.join();
}

std::string name_of_tiny(const ::testing::TestParamInfo<TinyHwm::ParamType>& info)
{
    return std::string(name_of(std::get<0>(info.param))) + "_" +
           std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Of, TinyHwm,
                         ::testing::Combine(::testing::ValuesIn(all_links()),
                                            ::testing::Values(1, 2, 3)),
                         name_of_tiny);

ZLINK_ALL_TRANSPORTS(Hwm);

TEST(InprocHwm, is_the_sum_of_both_sides)
{
    for (const auto& [send_hwm, receive_hwm] : {std::pair{1, 1}, {5, 3}, {3, 5}, {100, 1000}}) {
        test_context context;
        auto [bound, peer, address] =
            link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH, with_hwm(ZMQ_RCVHWM, receive_hwm),
                 with_hwm(ZMQ_SNDHWM, send_hwm));
        EXPECT_EQ(send_hwm + receive_hwm, peer.send_until_full("x", 5000));
    }
}

TEST(InprocHwm, is_the_sum_in_the_other_direction_too)
{
    test_context context;
    auto [bound, peer, address] = link(context, transport::inproc, ZMQ_PUSH, ZMQ_PULL,
                                       with_hwm(ZMQ_SNDHWM, 4), with_hwm(ZMQ_RCVHWM, 6));
    ASSERT_TRUE(bound.writable());
    EXPECT_EQ(10, bound.send_until_full("x", 5000));
}

TEST(InprocHwm, is_unlimited_if_one_side_is)
{
    for (const auto& [send_hwm, receive_hwm] : {std::pair{0, 1}, {1, 0}, {0, 0}}) {
        test_context context;
        auto [bound, peer, address] =
            link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH, with_hwm(ZMQ_RCVHWM, receive_hwm),
                 with_hwm(ZMQ_SNDHWM, send_hwm));
        EXPECT_EQ(5000, peer.send_until_full("x", 5000));
    }
}

TEST(InprocHwm, is_the_senders_until_the_name_is_bound)
{
    test_context context;
    test_socket sender(context, ZMQ_PUSH);
    test_socket receiver(context, ZMQ_PULL);
    sender.set(ZMQ_SNDHWM, 4);
    receiver.set(ZMQ_RCVHWM, 6);
    sender.connect("inproc://later");
    EXPECT_EQ(4, sender.send_until_full("x", 100));
    receiver.bind("inproc://later");
    EXPECT_TRUE(receiver.readable());
    int more = 0;
    wait_until([&] { return sender.try_send("x") && ++more == 6; });
    EXPECT_EQ(6, more);
    EXPECT_FALSE(sender.try_send("x"));
}

/// Sends `count` messages, the last of them when the socket has noticed that its peer has come.
/// @return how many it took.
int send_in_time(test_socket& socket, int count)
{
    int sent = 0;
    wait_until([&] {
        sent += socket.send_until_full("x", count - sent);
        return sent == count;
    });
    return sent;
}

/// A sender and a receiver, one of which has connected before the other bound the name.
struct early_pair {
    early_pair(const std::pair<int, int>& marks, bool sender_connects)
    {
        sender.set(ZMQ_SNDHWM, marks.first);
        receiver.set(ZMQ_RCVHWM, marks.second);
        (sender_connects ? sender : receiver).connect("inproc://later");
        (sender_connects ? receiver : sender).bind("inproc://later");
    }

    test_context context;
    test_socket sender{context, ZMQ_PUSH};
    test_socket receiver{context, ZMQ_PULL};
};

const std::pair<int, int> limited_marks[] = {{1, 1}, {5, 3}, {3, 5}, {100, 1000}};

TEST(InprocHwm, is_the_sum_as_well_if_the_sender_connects_before_the_name_is_bound)
{
    for (const auto& marks : limited_marks) {
        early_pair pair(marks, true);
        const int sum = marks.first + marks.second;
        EXPECT_EQ(sum, send_in_time(pair.sender, sum));
        EXPECT_FALSE(pair.sender.try_send("x"));
    }
}

TEST(InprocHwm, is_the_sum_as_well_if_the_receiver_connects_before_the_name_is_bound)
{
    for (const auto& marks : limited_marks) {
        early_pair pair(marks, false);
        ASSERT_TRUE(pair.sender.writable());
        EXPECT_EQ(marks.first + marks.second, pair.sender.send_until_full("x", 5000));
    }
}

TEST(InprocHwm, is_unlimited_if_one_side_is_and_connects_before_the_name_is_bound)
{
    constexpr int many = 5000;
    for (const auto& marks : {std::pair{0, 1}, {1, 0}, {0, 0}})
        for (const bool sender_connects : {true, false}) {
            SCOPED_TRACE(std::to_string(marks.first) + " " + std::to_string(marks.second));
            early_pair pair(marks, sender_connects);
            ASSERT_EQ(many, send_in_time(pair.sender, many));
        }
}

TEST(InprocHwm, frees_the_pipe_at_the_low_water_mark)
{
    test_context context;
    auto [bound, peer, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH,
                                       with_hwm(ZMQ_RCVHWM, 4), with_hwm(ZMQ_SNDHWM, 4));
    ASSERT_EQ(8, peer.send_until_full("x", 100));
    for (int index = 0; index < 3; ++index)
        bound.recv();
    EXPECT_FALSE(peer.writable(quiet_window));
    bound.recv();
    EXPECT_TRUE(peer.writable());
    EXPECT_EQ(4, peer.send_until_full("x", 100));
}

TEST(InprocHwm, that_is_odd_has_a_low_water_mark_that_is_rounded_up)
{
    test_context context;
    auto [sink, source, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH,
                                        with_hwm(ZMQ_RCVHWM, 3), with_hwm(ZMQ_SNDHWM, 4));
    ASSERT_EQ(7, source.send_until_full("x", 100));
    for (int index = 0; index < 3; ++index)
        sink.recv();
    EXPECT_FALSE(source.writable(quiet_window));
    sink.recv();
    EXPECT_TRUE(source.writable());
}

TEST(ZlinkOnlyInprocHwm, what_was_read_and_sent_is_known_to_the_next_call_that_does_not_wait)
{
    test_context context;
    auto [sink, source, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH,
                                        with_hwm(ZMQ_RCVHWM, 1), with_hwm(ZMQ_SNDHWM, 1));
    for (int round = 0; round < 1000; ++round) {
        ASSERT_EQ(2, source.send_until_full("x", 100)) << round;
        for (int index = 0; index < 2; ++index)
            ASSERT_EQ("x", sink.recv(ZMQ_DONTWAIT)) << round;
    }
}

TEST(HwmAtRunTime, can_be_lowered)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_SNDHWM, 100);
    socket.connect(known_address(transport::tcp));
    socket.set(ZMQ_SNDHWM, 5);
    EXPECT_EQ(5, socket.send_until_full("x", 1000));
}

TEST(HwmAtRunTime, can_be_raised_before_the_pipe_is_full)
{
    test_context context;
    auto [bound, peer, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH,
                                       with_hwm(ZMQ_RCVHWM, 1), with_hwm(ZMQ_SNDHWM, 1));
    peer.send("first");
    peer.set(ZMQ_SNDHWM, 10);
    EXPECT_EQ(10, peer.send_until_full("x", 1000));
}

TEST(HwmAtRunTime, keeps_what_is_queued_when_lowered)
{
    test_context context;
    auto [bound, peer, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    for (int index = 0; index < 50; ++index)
        peer.send(std::to_string(index));
    peer.set(ZMQ_SNDHWM, 1);
    bound.set(ZMQ_RCVHWM, 1);
    for (int index = 0; index < 50; ++index)
        EXPECT_EQ(std::to_string(index), bound.recv());
    EXPECT_TRUE(peer.writable());
}

TEST(ZlinkOnlyHwmAtRunTime, a_full_pipe_is_writable_as_soon_as_the_limit_is_raised)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_SNDHWM, 5);
    socket.connect(known_address(transport::tcp));
    ASSERT_EQ(5, socket.send_until_full("x", 100));
    socket.set(ZMQ_SNDHWM, 8);
    EXPECT_TRUE(socket.writable());
    EXPECT_EQ(3, socket.send_until_full("x", 100));
}

class ZlinkOnlyInprocHwmAtRunTime : public ::testing::Test {
protected:
    /// Sets the receiver's mark and returns for how many messages there is room then.
    int room_with(int receive_hwm)
    {
        auto [bound, peer, address] = link(context_, transport::inproc, ZMQ_PULL, ZMQ_PUSH,
                                           with_hwm(ZMQ_RCVHWM, 5), with_hwm(ZMQ_SNDHWM, 3));
        bound.set(ZMQ_RCVHWM, receive_hwm);
        return peer.send_until_full("x", 5000);
    }

    test_context context_;
};

TEST_F(ZlinkOnlyInprocHwmAtRunTime, follows_that_of_the_receiver)
{
    EXPECT_EQ(3 + 20, room_with(20));
    EXPECT_EQ(3 + 1, room_with(1));
    EXPECT_EQ(5000, room_with(0));
}

TEST_F(ZlinkOnlyInprocHwmAtRunTime, is_that_of_now_when_a_peer_connects)
{
    const std::string address = known_address(transport::inproc);
    test_socket sink(context_, ZMQ_PULL);
    sink.set(ZMQ_RCVHWM, 5);
    sink.bind(address);
    sink.set(ZMQ_RCVHWM, 20);
    test_socket source(context_, ZMQ_PUSH);
    source.set(ZMQ_SNDHWM, 3);
    source.connect(address);
    sink.events(); // has noticed its peer
    EXPECT_EQ(23, source.send_until_full("x", 5000));
}

class ZlinkOnlyHwmOnTheWire : public transport_test {};

TEST_P(ZlinkOnlyHwmOnTheWire, follows_that_of_the_receiver)
{
    constexpr int raised = 60;
    const auto limited = [](int option) {
        return [option](test_socket& socket) {
            socket.set(option, 5);
            socket.set(ZMQ_RCVBUF, 500'000); // one large message or two lie in the kernel
        };
    };
    auto [receiver, sender, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH,
                                                    limited(ZMQ_RCVHWM), limited(ZMQ_SNDHWM));
    const std::string large(300'000, 'x');
    const int low = send_until_stuck(sender, large, 300ms);
    EXPECT_GT(raised / 2, low);
    receiver.set(ZMQ_RCVHWM, raised);
    for (int index = 0; index < low; ++index)
        receiver.recv(); // a pipe that was full may notice only now
    // What is taken is reported in steps of half the mark, and when nothing is left.
    EXPECT_FALSE(receiver.events() & ZMQ_POLLIN);
    EXPECT_LE(raised, send_until_stuck(sender, large, 300ms));
}

ZLINK_WIRE_TRANSPORTS(ZlinkOnlyHwmOnTheWire);

} // namespace
} // namespace zlink::test
