// SPDX-License-Identifier: Apache-2.0
// zmq_poll over sockets and file descriptors.
#include "support/descriptors.hpp"
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <climits>
#include <string>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

class Poll : public transport_test {};

TEST_P(Poll, reports_a_socket_with_a_message)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    zmq_pollitem_t item{bound, 0, ZMQ_POLLIN, 77};
    EXPECT_EQ(0, zmq_poll(&item, 1, 0));
    EXPECT_EQ(0, item.revents);
    peer.send("x");
    EXPECT_EQ(1, zmq_poll(&item, 1, patience.count()));
    EXPECT_EQ(ZMQ_POLLIN, item.revents);
}

TEST_P(Poll, reports_as_long_as_there_is_something_to_read)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.send("one");
    peer.send("two");
    for (const char* expected : {"one", "two"}) {
        EXPECT_TRUE(bound.readable());
        EXPECT_TRUE(bound.readable());
        EXPECT_EQ(expected, bound.recv());
    }
    EXPECT_FALSE(bound.readable(std::chrono::milliseconds(0)));
}

TEST_P(Poll, stays_readable_between_the_parts_of_a_message)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.send_parts({"a", "b"});
    EXPECT_EQ("a", bound.recv());
    EXPECT_NE(0, bound.events() & ZMQ_POLLIN);
    EXPECT_TRUE(bound.readable(std::chrono::milliseconds(0)));
    EXPECT_EQ("b", bound.recv());
}

TEST_P(Poll, wakes_for_a_message_that_comes_while_it_waits)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    std::thread sender([&from = peer] {
        from.readable(std::chrono::milliseconds(20));
        from.send("late");
    });
    EXPECT_TRUE(bound.readable());
    EXPECT_EQ("late", bound.recv());
    sender.join();
}

TEST_P(Poll, reports_both_directions_at_once)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.send("x");
    ASSERT_TRUE(bound.readable());
    EXPECT_EQ(ZMQ_POLLIN | ZMQ_POLLOUT,
              poll_socket(bound, ZMQ_POLLIN | ZMQ_POLLOUT, std::chrono::milliseconds(0)));
    EXPECT_EQ(ZMQ_POLLIN | ZMQ_POLLOUT, bound.events());
}

TEST_P(Poll, wakes_a_writer_when_its_first_peer_connects)
{
    test_socket sender(context_, ZMQ_PUSH);
    const std::string address = sender.bind_and_resolve(fresh_bind_address(GetParam()));
    EXPECT_FALSE(sender.writable(std::chrono::milliseconds(0)));
    std::thread connecting([&] {
        test_socket receiver(context_, ZMQ_PULL);
        receiver.connect(address);
        EXPECT_EQ("x", receiver.recv());
    });
    EXPECT_TRUE(sender.writable());
    sender.send("x");
    connecting.join();
}

TEST_P(Poll, tells_which_of_many_sockets_is_ready)
{
    std::vector<connected_pair> pairs;
    std::vector<zmq_pollitem_t> items;
    for (int index = 0; index < 10; ++index) {
        pairs.push_back(connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR));
        items.push_back({pairs.back().bound, 0, ZMQ_POLLIN, 0});
    }
    for (int index = 0; index < 10; ++index) {
        pairs[index].peer.send("x");
        ASSERT_EQ(1, zmq_poll(items.data(), 10, patience.count()));
        for (int other = 0; other < 10; ++other)
            EXPECT_EQ(other == index ? ZMQ_POLLIN : 0, items[other].revents);
        pairs[index].bound.recv();
    }
}

TEST_P(Poll, mixes_sockets_and_descriptors)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    const descriptor_pair descriptors;
    std::array<zmq_pollitem_t, 2> items{
        zmq_pollitem_t{bound, 0, ZMQ_POLLIN, 0},
        zmq_pollitem_t{nullptr, descriptors.reader(), ZMQ_POLLIN, 0}};
    EXPECT_EQ(0, zmq_poll(items.data(), 2, 5));
    descriptors.write();
    EXPECT_EQ(1, zmq_poll(items.data(), 2, patience.count()));
    EXPECT_EQ(0, items[0].revents);
    EXPECT_EQ(ZMQ_POLLIN, items[1].revents);
    peer.send("x");
    ASSERT_TRUE(bound.readable());
    EXPECT_EQ(2, zmq_poll(items.data(), 2, patience.count()));
    EXPECT_EQ(ZMQ_POLLIN, items[0].revents);
}

TEST_P(Poll, reports_a_socket_and_its_own_descriptor)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    peer.send("all that goes with a new connection has been told");
    bound.recv();
    int fd = -1;
    std::size_t size = sizeof fd;
    ASSERT_EQ(0, zmq_getsockopt(bound, ZMQ_FD, &fd, &size));
    ASSERT_EQ(0, bound.events());
    peer.send("x");
    zmq_pollitem_t alone{nullptr, fd, ZMQ_POLLIN, 0};
    ASSERT_EQ(1, zmq_poll(&alone, 1, patience.count()));
    std::array<zmq_pollitem_t, 2> items{{{bound, 0, ZMQ_POLLIN, 0}, {nullptr, fd, ZMQ_POLLIN, 0}}};
    EXPECT_EQ(2, zmq_poll(items.data(), 2, 0));
    EXPECT_EQ(ZMQ_POLLIN, items[0].revents);
    EXPECT_EQ(ZMQ_POLLIN, items[1].revents);
}

TEST_P(Poll, takes_a_socket_that_is_listed_twice)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    std::array<zmq_pollitem_t, 2> items{zmq_pollitem_t{bound, 0, ZMQ_POLLIN, 0},
                                        zmq_pollitem_t{bound, 0, ZMQ_POLLIN, 0}};
    const stopwatch clock;
    EXPECT_EQ(0, zmq_poll(items.data(), 2, 30));
    EXPECT_LE(29, clock.elapsed_ms());
    std::thread sender([&from = peer] {
        from.readable(std::chrono::milliseconds(20));
        from.send("late");
    });
    EXPECT_EQ(2, zmq_poll(items.data(), 2, patience.count()));
    EXPECT_EQ(ZMQ_POLLIN, items[0].revents);
    EXPECT_EQ(ZMQ_POLLIN, items[1].revents);
    sender.join();
}

// Looking at a later item may take the news that the first one waits for.
TEST_P(Poll, misses_nothing_of_a_socket_that_is_listed_often)
{
    auto [puller, pusher, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    std::vector<zmq_pollitem_t> items(200, {puller, 0, ZMQ_POLLOUT, 0});
    items.front().events = ZMQ_POLLIN;
    constexpr int count = 5000;
    std::atomic<int> polled{0};
    std::thread sending([&from = pusher, &polled] {
        for (int index = 0; index < count; ++index) {
            while (polled < index) // so each comes about when the others look
                std::this_thread::yield();
            from.send(std::to_string(index));
        }
    });
    for (int index = 0; index < count; ++index) {
        const stopwatch clock; // a missed message is found in the end, when the time is up
        EXPECT_EQ(1, zmq_poll(items.data(), static_cast<int>(items.size()), patience.count()));
        EXPECT_GT(patience.count(), clock.elapsed_ms());
        EXPECT_EQ(std::to_string(index), puller.recv());
        polled = HasFailure() ? count : index + 1;
        if (HasFailure())
            break;
    }
    sending.join();
}

// More connections than a thread that waits reads by itself.
TEST_P(Poll, misses_nothing_of_many_sockets_in_a_dialogue)
{
    constexpr int pairs = 12;
    constexpr int rounds = 1000;
    std::vector<test_socket> servers;
    std::vector<test_socket> clients;
    std::vector<zmq_pollitem_t> items;
    for (int index = 0; index < pairs; ++index) {
        auto [server, client, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
        items.push_back({server, 0, ZMQ_POLLIN, 0});
        servers.push_back(std::move(server));
        clients.push_back(std::move(client));
    }
    std::thread asking([&] {
        for (int round = 0; round < rounds; ++round) {
            const int first = round % pairs; // one, two or all at a time
            const int count = round % 3 == 2 ? pairs : 1 + round % 3;
            for (int index = 0; index < count; ++index)
                clients[static_cast<std::size_t>((first + index) % pairs)].send("?");
            for (int index = 0; index < count; ++index)
                EXPECT_EQ("!", clients[static_cast<std::size_t>((first + index) % pairs)].recv());
        }
        clients.front().send("end");
    });
    for (bool ended = false; !ended && !HasFailure();) {
        ASSERT_LT(0, zmq_poll(items.data(), pairs, patience.count()));
        for (int index = 0; index < pairs; ++index)
            if (items[static_cast<std::size_t>(index)].revents) {
                ended |= servers[static_cast<std::size_t>(index)].recv() == "end";
                servers[static_cast<std::size_t>(index)].send("!");
            }
    }
    asking.join();
}

TEST_P(Poll, times_out_with_a_descriptor_and_a_socket_that_is_listed_twice)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    const descriptor_pair descriptors;
    std::array<zmq_pollitem_t, 3> items{
        zmq_pollitem_t{bound, 0, ZMQ_POLLIN, 0}, zmq_pollitem_t{bound, 0, ZMQ_POLLIN, 0},
        zmq_pollitem_t{nullptr, descriptors.reader(), ZMQ_POLLIN, 0}};
    const stopwatch clock;
    EXPECT_EQ(0, zmq_poll(items.data(), 3, 30));
    EXPECT_LE(29, clock.elapsed_ms());
}

ZLINK_ALL_TRANSPORTS(Poll);

TEST(PollArguments, no_items_wait_for_the_timeout)
{
    const stopwatch clock;
    EXPECT_EQ(0, zmq_poll(nullptr, 0, 30));
    EXPECT_LE(29, clock.elapsed_ms());
    EXPECT_EQ(0, zmq_poll(nullptr, 0, 0));
}

TEST(PollArguments, timeouts_may_be_as_long_as_the_type_allows)
{
    test_context context;
    for (const long timeout_ms : {LONG_MAX, LONG_MAX / 1000, 9223372036854L, 9223372036855L}) {
        auto [bound, peer, address] = connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
        std::thread sender([&from = peer] {
            from.readable(std::chrono::milliseconds(20));
            from.send("late");
        });
        zmq_pollitem_t item{bound, 0, ZMQ_POLLIN, 0};
        EXPECT_EQ(1, zmq_poll(&item, 1, timeout_ms)) << timeout_ms;
        sender.join();
    }
}

TEST(PollArguments, bad_ones_are_refused)
{
    EXPECT_TRUE(fails_with(EFAULT, zmq_poll(nullptr, 1, 0)));
    zmq_pollitem_t item{};
    EXPECT_TRUE(fails_with(EINVAL, zmq_poll(&item, -1, 0)));
}

TEST(ZlinkOnlyPollArguments, something_that_is_no_socket_is_refused)
{
    std::array<unsigned char, 4096> garbage{};
    zmq_pollitem_t item{garbage.data(), 0, ZMQ_POLLIN, 0};
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poll(&item, 1, 0)));
}

TEST(PollArguments, an_item_without_events_never_triggers)
{
    test_context context;
    auto [bound, peer, address] = connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
    peer.send("x");
    ASSERT_TRUE(bound.readable());
    zmq_pollitem_t item{bound, 0, 0, 0};
    EXPECT_EQ(0, zmq_poll(&item, 1, 10));
}

TEST(PollArguments, the_descriptor_beside_a_socket_means_nothing)
{
    test_context context;
    auto [bound, peer, address] = connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
    const descriptor_pair ready;
    const descriptor_pair quiet;
    ready.write();
    for (const bool message : {false, true}) {
        if (message)
            peer.send("x");
        for (const int fd : {-1, ready.reader(), 1'000'000})
            for (const int count : {1, 2}) {
                std::array<zmq_pollitem_t, 2> items{
                    {{bound, fd, ZMQ_POLLIN, 0}, {nullptr, quiet.reader(), ZMQ_POLLIN, 0}}};
                EXPECT_EQ(message ? 1 : 0, zmq_poll(items.data(), count, message ? 1000 : 0)) << fd;
                EXPECT_EQ(message ? ZMQ_POLLIN : 0, items[0].revents) << fd;
            }
    }
}

TEST(PollResults, of_sockets_are_reading_and_writing_only)
{
    test_context context;
    auto [bound, peer, address] = connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
    peer.send("x");
    ASSERT_TRUE(bound.readable());
    constexpr short all = ZMQ_POLLIN | ZMQ_POLLOUT | ZMQ_POLLERR | ZMQ_POLLPRI;
    EXPECT_EQ(ZMQ_POLLIN | ZMQ_POLLOUT, poll_socket(bound, all, patience));
    EXPECT_EQ(0, poll_socket(bound, ZMQ_POLLERR | ZMQ_POLLPRI, std::chrono::milliseconds(5)));
}

TEST(PollResults, are_set_anew_for_every_item)
{
    test_context context;
    auto [bound, peer, address] = connect_pair(context, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
    const descriptor_pair quiet;
    const std::array<zmq_pollitem_t, 4> before{{{bound, 0, 0, 77},
                                                {nullptr, quiet.reader(), ZMQ_POLLIN, 77},
                                                {nullptr, quiet.reader(), 0, 77},
                                                {bound, 0, ZMQ_POLLIN, 77}}};
    for (const int ready : {0, 1}) {
        if (ready)
            peer.send("x");
        for (const long timeout_ms : {0, 5}) {
            auto items = before;
            ASSERT_EQ(ready, zmq_poll(items.data(), 4, timeout_ms + ready * patience.count()));
            for (int index = 0; index < 3; ++index)
                EXPECT_EQ(0, items[index].revents) << index;
            EXPECT_EQ(ready ? ZMQ_POLLIN : 0, items[3].revents);
        }
    }
}

TEST(PollTimeout, elapses)
{
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    const stopwatch clock;
    EXPECT_FALSE(socket.readable(std::chrono::milliseconds(50)));
    EXPECT_LE(49, clock.elapsed_ms());
}

TEST(PollDescriptors, report_reading_writing_and_hanging_up)
{
    const descriptor_pair descriptors;
    zmq_pollitem_t item{nullptr, descriptors.reader(), ZMQ_POLLIN | ZMQ_POLLOUT, 0};
    EXPECT_EQ(1, zmq_poll(&item, 1, 0));
    EXPECT_EQ(ZMQ_POLLOUT, item.revents);
    descriptors.write();
    EXPECT_EQ(1, zmq_poll(&item, 1, 0));
    EXPECT_EQ(ZMQ_POLLIN | ZMQ_POLLOUT, item.revents);
    item = {nullptr, 1'000'000, ZMQ_POLLIN, 0};
    EXPECT_EQ(1, zmq_poll(&item, 1, 0));
    EXPECT_EQ(ZMQ_POLLERR, item.revents);
}

TEST(PollDescriptors, report_what_is_wrong_though_nothing_was_asked_for)
{
    descriptor_pair descriptors;
    descriptors.write();
    zmq_pollitem_t item{nullptr, descriptors.reader(), 0, 0};
    EXPECT_EQ(0, zmq_poll(&item, 1, 0));
    descriptors.hang_up();
    EXPECT_EQ(1, zmq_poll(&item, 1, 0));
    EXPECT_EQ(ZMQ_POLLERR, item.revents);
    item = {nullptr, descriptors.reader(), ZMQ_POLLIN | ZMQ_POLLOUT, 0};
    EXPECT_EQ(1, zmq_poll(&item, 1, 0));
    EXPECT_EQ(ZMQ_POLLIN | ZMQ_POLLOUT | ZMQ_POLLERR, item.revents);
    item = {nullptr, 1'000'000, 0, 0};
    EXPECT_EQ(1, zmq_poll(&item, 1, 0));
    EXPECT_EQ(ZMQ_POLLERR, item.revents);
}

TEST(PollDescriptors, report_urgent_data)
{
    const raw_listener listener;
    const raw_peer sender(listener.endpoint());
    const raw_peer receiver = listener.accept();
    zmq_pollitem_t item{nullptr, receiver.fd(), ZMQ_POLLPRI, 0};
    sender.send("x");
    EXPECT_EQ(0, zmq_poll(&item, 1, 5));
    ASSERT_EQ(1, ::send(sender.fd(), "!", 1, MSG_OOB));
    EXPECT_EQ(1, zmq_poll(&item, 1, patience.count()));
    EXPECT_EQ(ZMQ_POLLPRI, item.revents);
}

TEST(PollOut, is_set_from_the_start_for_types_that_drop)
{
    test_context context;
    for (const int type : {ZMQ_PUB, ZMQ_XPUB, ZMQ_XSUB, ZMQ_ROUTER})
        EXPECT_TRUE(test_socket(context, type).writable()) << type;
    for (const int type : {ZMQ_PUSH, ZMQ_DEALER, ZMQ_PAIR, ZMQ_REQ, ZMQ_REP, ZMQ_PULL, ZMQ_SUB})
        EXPECT_FALSE(test_socket(context, type).writable(std::chrono::milliseconds(0))) << type;
}

} // namespace
} // namespace zlink::test
