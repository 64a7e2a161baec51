// SPDX-License-Identifier: Apache-2.0
// Calls while there is no memory: an error, and nothing lost.
#include "support/draft.hpp"
#include "support/fixture.hpp"
#include "support/scarce_memory.hpp"
#include "support/wait.hpp"

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE

#include <poll.h>
#include <sys/uio.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

class OutOfMemory : public transport_test {};
ZLINK_ALL_TRANSPORTS(OutOfMemory);

std::string text_of(zmq_msg_t& message)
{
    return {static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message)};
}

TEST_P(OutOfMemory, a_message_stays_until_there_is_memory_for_it)
{
    auto [puller, pusher, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    constexpr int count = 200;
    for (const std::size_t size : {20U, 100U, 1000U, 5000U}) {
        for (int index = 0; index < count; ++index)
            pusher.send(std::to_string(index) + std::string(size, 'x'));
        int failed = 0;
        std::vector<zmq_msg_t> kept(count); // so that no memory comes back
        for (int index = 0; index < count; ++index) {
            zmq_msg_t& message = kept[static_cast<std::size_t>(index)];
            zmq_msg_init(&message);
            ASSERT_TRUE(puller.readable());
            int result = -1;
            {
                const no_memory none;
                result = zmq_msg_recv(&message, puller, 0);
            }
            if (result < 0) {
                ++failed;
                ASSERT_EQ(ENOMEM, errno);
                EXPECT_EQ(0U, zmq_msg_size(&message));
                ASSERT_LE(0, zmq_msg_recv(&message, puller, 0));
            }
            ASSERT_TRUE(text_of(message) == std::to_string(index) + std::string(size, 'x'));
        }
        EXPECT_EQ(size > 33, failed != 0) << "of " << size << " bytes"; // short ones need none
        for (zmq_msg_t& message : kept)
            zmq_msg_close(&message);
    }
}

/// Receives a message of four parts into a vector, without memory for the third.
class OutOfMemoryInTheMiddle : public OutOfMemory {
protected:
    OutOfMemoryInTheMiddle()
    {
        pair_.peer.send_parts({"first", "second", large_, "last"});
        EXPECT_TRUE(pair_.bound.readable());
        const no_memory none(large_.size() / 2);
        result_ = zmq_recviov(pair_.bound, vector_.data(), &count_, 0);
        code_ = zmq_errno();
    }
    ~OutOfMemoryInTheMiddle() override
    {
        for (std::size_t index = 0; index < count_; ++index)
            std::free(vector_[index].iov_base);
    }

    const std::string large_ = std::string(1'000'000, 'x');
    connected_pair pair_ = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    std::array<iovec, 4> vector_{};
    std::size_t count_ = vector_.size();
    int result_ = 0;
    int code_ = 0;
};

TEST_P(OutOfMemoryInTheMiddle, a_vector_has_the_parts_before)
{
    EXPECT_EQ(-1, result_);
    EXPECT_EQ(ENOMEM, code_);
    ASSERT_EQ(2U, count_);
    for (const std::size_t index : {0U, 1U})
        EXPECT_EQ(index == 0 ? "first" : "second",
                  std::string(static_cast<char*>(vector_[index].iov_base), vector_[index].iov_len));
}

ZLINK_ALL_TRANSPORTS(OutOfMemoryInTheMiddle);

// The original loses the part that there was no memory for.
class ZlinkOnlyOutOfMemoryInTheMiddle : public OutOfMemoryInTheMiddle {};

TEST_P(ZlinkOnlyOutOfMemoryInTheMiddle, the_rest_stays)
{
    ASSERT_EQ(-1, result_);
    EXPECT_TRUE((parts{large_, "last"}) == pair_.bound.recv_parts());
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyOutOfMemoryInTheMiddle);

// It has come while the socket does not know its peer yet.
TEST_P(OutOfMemory, the_first_message_of_a_new_peer_stays)
{
    for (const int type : {ZMQ_PULL, ZMQ_DEALER, ZMQ_ROUTER, ZMQ_SUB, ZMQ_REP})
        for (long allocations = 0; allocations < 3; ++allocations) {
            SCOPED_TRACE(std::to_string(type) + " " + std::to_string(allocations));
            test_socket receiver(context_, type);
            if (type == ZMQ_SUB)
                receiver.set(ZMQ_SUBSCRIBE, "");
            const std::string address = receiver.bind_and_resolve(fresh_bind_address(GetParam()));
            const int fd = receiver.get(ZMQ_FD);
            receiver.events();
            const int peer_type = type == ZMQ_PULL  ? ZMQ_PUSH
                                  : type == ZMQ_SUB ? ZMQ_XPUB
                                  : type == ZMQ_REP ? ZMQ_REQ
                                                    : ZMQ_DEALER;
            test_socket sender(context_, peer_type);
            sender.connect(address);
            if (type != ZMQ_SUB)
                sender.send("message");
            pollfd news{fd, POLLIN, 0};
            ASSERT_EQ(1, ::poll(&news, 1, 10'000));
            if (allocations == 0) {
                const memory_for some(allocations);
                EXPECT_EQ(-1, zmq_recv(receiver, nullptr, 0, ZMQ_DONTWAIT));
                EXPECT_EQ(ENOMEM, zmq_errno());
            } else {
                const memory_for some(allocations);
                zmq_pollitem_t item{receiver, 0, ZMQ_POLLIN, 0};
                zmq_poll(&item, 1, 0);
            }
            if (type == ZMQ_SUB) {
                receiver.events();
                EXPECT_EQ("\1", sender.recv());
                sender.send("message");
            }
            EXPECT_EQ("message", receiver.recv_parts().back());
        }
}

/// Does `call` with memory for no allocation, for one and so on until it succeeds; `check` after
/// each failure.
template <class Call, class Check>
void with_less_memory_than_needed(Call call, Check check)
{
    for (long allocations = 0; allocations < 200; ++allocations) {
        SCOPED_TRACE(allocations);
        int error = 0;
        {
            const memory_for some(allocations);
            error = call();
        }
        if (error == 0)
            return;
        EXPECT_EQ(ENOMEM, error);
        check();
    }
    FAIL() << "more memory than that?";
}

TEST(ZlinkOnlyOutOfMemory, a_socket_that_was_not_made_holds_nothing_up)
{
    test_context context;
    test_socket another(context, ZMQ_PAIR); // so that the threads are there
    void* made = nullptr;
    with_less_memory_than_needed(
        [&] {
            made = zmq_socket(context, ZMQ_DEALER);
            return made ? 0 : zmq_errno();
        },
        [] {});
    EXPECT_EQ(0, zmq_close(made));
    another.close();
    context.term();
}

TEST(ZlinkOnlyOutOfMemory, a_name_that_was_not_bound_is_free)
{
    const char* const name = "inproc://a name that needs memory of its own, as it is long";
    test_context context;
    test_socket socket(context, ZMQ_PAIR);
    test_socket other(context, ZMQ_PAIR);
    with_less_memory_than_needed([&] { return zmq_bind(socket, name) == 0 ? 0 : zmq_errno(); },
                                 [&] {
                                     EXPECT_EQ(0, zmq_bind(other, name));
                                     EXPECT_EQ(0, zmq_unbind(other, name));
                                 });
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(other, name)));
    socket.close();
    EXPECT_EQ(0, zmq_bind(other, name));
    other.close();
    context.term();
}

TEST(ZlinkOnlyOutOfMemory, a_monitor_that_was_not_begun_is_none)
{
    const char* const name = "inproc://a name that needs memory of its own, as it is long";
    test_context context;
    test_socket socket(context, ZMQ_PAIR);
    test_socket other(context, ZMQ_PAIR);
    with_less_memory_than_needed(
        [&] { return zmq_socket_monitor(socket, name, ZMQ_EVENT_ALL) == 0 ? 0 : zmq_errno(); },
        [&] {
            EXPECT_EQ(0, zmq_socket_monitor(other, name, ZMQ_EVENT_ALL));
            EXPECT_EQ(0, zmq_socket_monitor(other, nullptr, 0));
        });
    socket.close();
    other.close();
    context.term();
}

class ZlinkOnlyOutOfMemory : public OutOfMemory {};
ZLINK_LINKS_WITH(ZlinkOnlyOutOfMemory, survives_lack_of_memory);

// Whatever a call needs memory for: what it has taken comes, and nothing else.
TEST_P(ZlinkOnlyOutOfMemory, what_is_sent_without_memory_comes_or_was_refused)
{
    auto [puller, pusher, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    pusher.set(ZMQ_SNDTIMEO, 10'000);
    std::thread([&, &to = pusher, &from = puller] {
        for (long allocations = 0; allocations < 10; ++allocations)
            for (const std::size_t size : {1U, 100U, 5000U, 100'000U}) {
                SCOPED_TRACE(std::to_string(allocations) + " " + std::to_string(size));
                const std::string body(size, 'x');
                std::vector<char> got(size);
                constexpr int count = 20;
                int sent = 0;
                for (int index = 0; index < count; ++index) {
                    int result = 0;
                    {
                        const memory_for some(allocations);
                        result = zmq_send(to, body.data(), size, 0);
                    }
                    if (result >= 0)
                        ++sent;
                    else
                        EXPECT_EQ(ENOMEM, zmq_errno());
                }
                EXPECT_TRUE(allocations < 5 || sent == count); // of those it needs, most are reused
                for (int received = 0; received < sent;) {
                    int result = 0;
                    {
                        const memory_for some(allocations);
                        result = zmq_recv(from, got.data(), size, 0);
                    }
                    if (result < 0) {
                        ASSERT_EQ(ENOMEM, zmq_errno());
                        result = zmq_recv(from, got.data(), size, 0);
                    }
                    ASSERT_EQ(static_cast<int>(size), result);
                    ++received;
                }
                EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(from, got.data(), size, ZMQ_DONTWAIT)));
            }
    }).join(); // a thread that has had no memory yet
}

// More than the system's buffers take at once: a part has gone when the rest needs memory.
TEST_P(ZlinkOnlyOutOfMemory, what_has_gone_in_part_comes)
{
    auto [puller, pusher, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    pusher.set(ZMQ_SNDTIMEO, 10'000);
    for (const std::size_t size : {2'000'000U, 9'000'000U}) {
        const std::string body(size, 'x');
        int sent = 0;
        for (long allocations = 0; allocations < 10; ++allocations) {
            SCOPED_TRACE(std::to_string(allocations) + " " + std::to_string(size));
            int result = 0;
            {
                const memory_for some(allocations);
                result = zmq_send(pusher, body.data(), size, 0);
            }
            if (result < 0) {
                ASSERT_EQ(ENOMEM, zmq_errno());
                continue;
            }
            ++sent;
            ASSERT_TRUE(body == puller.recv());
        }
        EXPECT_LE(5, sent);
    }
}

// A thread that waits for each message soon reads the connection itself.
TEST_P(ZlinkOnlyOutOfMemory, what_has_come_while_there_was_none_is_received)
{
    auto [puller, pusher, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    constexpr int rounds = 100;
    for (const std::size_t size : {10U, 1000U, 5000U, 30'000U, 100'000U}) {
        std::binary_semaphore turn(0);
        std::thread sender([&, &to = pusher] {
            for (int index = 0; index < rounds; ++index) {
                turn.acquire();
                to.send_parts({std::string(size, 'a'), std::to_string(index)});
            }
        });
        std::vector<char> got(size);
        for (int index = 0; index < rounds; ++index) {
            int result = 0;
            {
                const memory_for some(index % 5);
                turn.release();
                result = zmq_recv(puller, got.data(), size, 0);
            }
            if (result < 0) {
                EXPECT_EQ(ENOMEM, zmq_errno());
                result = zmq_recv(puller, got.data(), size, 0);
            }
            EXPECT_EQ(static_cast<int>(size), result);
            EXPECT_EQ(std::to_string(index), puller.recv());
        }
        sender.join();
    }
}

TEST_P(ZlinkOnlyOutOfMemory, closing_needs_none)
{
    for (const int linger_ms : {-1, 30'000}) {
        auto [puller, pusher, address] = connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
        pusher.set(ZMQ_LINGER, linger_ms);
        constexpr int count = 500;
        for (int index = 0; index < count; ++index)
            pusher.send(std::to_string(index));
        {
            const no_memory none;
            EXPECT_EQ(0, zmq_close(pusher.release()));
        }
        for (int index = 0; index < count; ++index)
            ASSERT_EQ(std::to_string(index), puller.recv());
        {
            const no_memory none;
            EXPECT_EQ(0, zmq_close(puller.release()));
        }
        test_socket next(context_, ZMQ_PULL);
        next.bind(address); // it is free
    }
    const no_memory none;
    context_.term();
}

TEST_P(ZlinkOnlyOutOfMemory, endpoints_end_or_stay)
{
    test_socket puller(context_, ZMQ_PULL);
    test_socket pusher(context_, ZMQ_PUSH);
    const std::string address = puller.bind_and_resolve(fresh_bind_address(GetParam()));
    pusher.connect(address);
    pusher.send("before");
    EXPECT_EQ("before", puller.recv());
    const auto working = [&] {
        pusher.send("between");
        EXPECT_EQ("between", puller.recv());
    };
    const char* const endpoint = address.c_str();
    with_less_memory_than_needed(
        [&] { return zmq_disconnect(pusher, endpoint) == 0 ? 0 : zmq_errno(); }, working);
    pusher.set(ZMQ_SNDTIMEO, 0);
    EXPECT_TRUE(fails_with(EAGAIN, zmq_send(pusher, "", 0, 0)));
    with_less_memory_than_needed(
        [&] { return zmq_unbind(puller, endpoint) == 0 ? 0 : zmq_errno(); }, [] {});
    test_socket next(context_, ZMQ_PULL);
    next.bind(address);
    with_less_memory_than_needed(
        [&] { return zmq_connect(pusher, endpoint) == 0 ? 0 : zmq_errno(); }, [] {});
    pusher.set(ZMQ_SNDTIMEO, 10'000);
    pusher.send("after");
    EXPECT_EQ("after", next.recv());
}

// An I/O thread has no memory for one thing that it does when sockets close.
TEST_P(ZlinkOnlyOutOfMemory, contexts_end)
{
    bool refused = true;
    for (long allocations = 0; refused; ++allocations) {
        test_context context;
        auto [bound, peer, address] = connect_pair(context, GetParam(), ZMQ_DEALER, ZMQ_DEALER);
        for (test_socket* const each : {&bound, &peer}) {
            each->set(ZMQ_LINGER, 1000); // a connection that is cut may leave a message behind
            each->send("message");
        }
        const io_memory_but_once some(allocations);
        bound.close();
        peer.close();
        context.term();
        refused = some.was_refused();
    }
}

// Which allocation fails next. Over tls and wss there are thousands of them: not each of the later
// ones fails.
long next(long allocations)
{
    return allocations + 1 + allocations / 500;
}

// An I/O thread has no memory for one thing that it does when a connection is made: it is made
// again, and so are others.
TEST_P(ZlinkOnlyOutOfMemory, connections_are_made_all_the_same)
{
    bool refused = true;
    for (long allocations = 0; refused; allocations = next(allocations)) {
        SCOPED_TRACE(allocations);
        test_context context;
        test_socket bound(context, ZMQ_DEALER);
        test_socket peer(context, ZMQ_DEALER);
        peer.set(ZMQ_RECONNECT_IVL, 1);
        const auto talks = [&bound = bound](test_socket& from) {
            return wait_until([&] {
                from.try_send("message");
                return bound.readable(std::chrono::milliseconds(1));
            });
        };
        {
            const io_memory_but_once some(allocations);
            const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
            peer.connect(address);
            ASSERT_TRUE(talks(peer));
            refused = some.was_refused();
        }
        while (bound.try_recv_parts(std::chrono::milliseconds(0))) {
        }
        test_socket next(context, ZMQ_DEALER);
        next.set(ZMQ_RECONNECT_IVL, 1);
        next.connect(bound.last_endpoint());
        peer.close();
        ASSERT_TRUE(talks(next));
        next.close();
        bound.close();
        context.term();
    }
}

int open_descriptors()
{
    int count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
        ++count;
    return count;
}

// What has answered ENOMEM can be called again, and has left nothing behind. Every other allocation
// fails, from the first or the second one on.
void try_endpoints_again(transport over, long first)
{
    bool refused = true;
    for (long allocations = first; refused; allocations += 2) {
        SCOPED_TRACE(allocations);
        test_context context;
        test_socket another(context, ZMQ_PULL);
        another.bind("tcp://127.0.0.1:*"); // so that the I/O thread has its descriptors
        test_socket bound(context, ZMQ_PULL);
        test_socket peer(context, ZMQ_PUSH);
        const std::string address = fresh_bind_address(over);
        const int before = open_descriptors();
        int error = 0;
        refused = false;
        const auto call = [&](auto what, void* socket, const std::string& endpoint) {
            const memory_but_once some(allocations);
            error = what(socket, endpoint.c_str()) == 0 ? 0 : zmq_errno();
            refused |= some.was_refused();
        };
        link_in_use::configure(bound, link_side::bound, address);
        call(zmq_bind, bound, address);
        if (error) {
            ASSERT_EQ(ENOMEM, error);
            EXPECT_EQ(before, open_descriptors());
            bound.bind(address);
        }
        link_in_use::configure(peer, link_side::connecting, address);
        call(zmq_connect, peer, bound.last_endpoint());
        if (error) {
            ASSERT_EQ(ENOMEM, error);
            peer.set(ZMQ_SNDTIMEO, 0);
            EXPECT_TRUE(fails_with(EAGAIN, zmq_send(peer, "", 0, 0))); // there is no connection
            peer.set(ZMQ_SNDTIMEO, 10'000);
            peer.connect(bound.last_endpoint());
        }
        peer.send("message");
        EXPECT_EQ("message", bound.recv());
        EXPECT_EQ(0, zmq_disconnect(peer, bound.last_endpoint().c_str()));
        EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(peer, bound.last_endpoint().c_str())));
        peer.close();
        bound.close();
        another.close();
        context.term();
    }
}

TEST_P(ZlinkOnlyOutOfMemory, endpoints_that_were_refused_can_be_tried_again)
{
    try_endpoints_again(GetParam(), 0);
}

TEST_P(ZlinkOnlyOutOfMemory, endpoints_that_were_refused_later_can_be_tried_again)
{
    try_endpoints_again(GetParam(), 1);
}

TEST(ZlinkOnlyOutOfMemory, datagrams_that_were_refused_can_be_tried_again)
{
    for (const auto call : {zmq_bind, zmq_connect}) {
        bool refused = true;
        for (long allocations = 0; refused; ++allocations) {
            SCOPED_TRACE(allocations);
            test_context context;
            test_socket socket(context, call == zmq_bind ? ZMQ_DISH : ZMQ_RADIO);
            const char* const address = "udp://127.0.0.1:47113";
            int error = 0;
            {
                const memory_but_once some(allocations);
                error = call(socket, address) == 0 ? 0 : zmq_errno();
                refused = some.was_refused();
            }
            if (error) {
                ASSERT_EQ(ENOMEM, error);
                EXPECT_EQ(0, call(socket, address));
            }
            const auto end = call == zmq_bind ? zmq_unbind : zmq_disconnect;
            EXPECT_EQ(0, end(socket, address));
            EXPECT_TRUE(fails_with(ENOENT, end(socket, address)));
            socket.close();
            context.term();
        }
    }
}

// Who has connected before there was anybody gets what the binder says first, of any size, once;
// and nothing from one that could not bind.
TEST(ZlinkOnlyOutOfMemory, names_that_were_waited_for_are_bound_with_a_greeting_or_not_at_all)
{
    for (const bool conflates : {false, true}) {
        for (const std::size_t size : {5U, 5'000U, 8'192U, 100'000U}) {
            bool refused = true;
            for (long allocations = 0; refused; ++allocations) {
                SCOPED_TRACE(std::to_string(size) + " bytes, " + std::to_string(allocations));
                const char* const name = "inproc://a name that needs memory of its own";
                const std::string hello(size, 'h');
                test_context context;
                std::vector<test_socket> peers;
                for (int i = 0; i < 3; ++i) {
                    peers.emplace_back(context, ZMQ_DEALER);
                    peers.back().connect(name);
                }
                test_socket bound(context, ZMQ_DEALER);
                bound.set(ZMQ_CONFLATE, conflates);
                bound.set(ZMQ_HELLO_MSG, hello);
                int error = 0;
                {
                    const memory_but_once some(allocations);
                    error = zmq_bind(bound, name) == 0 ? 0 : zmq_errno();
                    refused = some.was_refused();
                }
                test_socket silent(context, ZMQ_DEALER);
                if (error) {
                    ASSERT_EQ(ENOMEM, error);
                    silent.bind(name);
                    silent.send("first");
                    silent.send("second");
                    silent.send("third");
                }
                for (test_socket& peer : peers) {
                    const std::string got = peer.recv();
                    if (error)
                        EXPECT_TRUE(got == "first" || got == "second" || got == "third") << got;
                    else
                        EXPECT_TRUE(hello == got);
                    EXPECT_FALSE(peer.readable(std::chrono::milliseconds(0)));
                }
            }
        }
    }
}

// There may be mail: of connections to the socket, and of who reads the events.
TEST_P(ZlinkOnlyOutOfMemory, monitored_sockets_close)
{
    for (long allocations = 0; allocations < 40; ++allocations) {
        test_context context;
        test_socket bound(context, ZMQ_PULL);
        test_socket peer(context, ZMQ_PUSH);
        const char* const events = "inproc://events that need a name of some length";
        ASSERT_EQ(0, zmq_socket_monitor(bound, events, ZMQ_EVENT_ALL));
        const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
        test_socket reader(context, ZMQ_PAIR);
        reader.connect(events);
        peer.connect(address);
        peer.send("message");
        {
            const memory_for some(allocations);
            EXPECT_EQ(0, zmq_close(bound.release()));
        }
        peer.close();
        reader.close();
        context.term();
    }
}

// The part that was refused, and only that, is missing: sent again, it makes the message whole.
TEST_P(ZlinkOnlyOutOfMemory, a_refused_part_can_be_sent_again)
{
    struct types {
        int from;
        int to;
    };
    for (const auto [from, to] :
         {types{ZMQ_PUSH, ZMQ_PULL}, types{ZMQ_DEALER, ZMQ_ROUTER}, types{ZMQ_ROUTER, ZMQ_DEALER},
          types{ZMQ_REQ, ZMQ_REP}, types{ZMQ_PAIR, ZMQ_PAIR}}) {
        test_socket sender(context_, from);
        test_socket receiver(context_, to);
        if (to == ZMQ_DEALER)
            receiver.set(ZMQ_ROUTING_ID, "peer");
        if (from == ZMQ_DEALER)
            sender.set(ZMQ_ROUTING_ID, "peer");
        if (from == ZMQ_ROUTER)
            sender.set(ZMQ_ROUTER_MANDATORY, 1);
        sender.set(ZMQ_SNDTIMEO, 10'000);
        receiver.connect(sender.bind_and_resolve(fresh_bind_address(GetParam())));
        if (from == ZMQ_ROUTER) {
            receiver.send("here");
            sender.recv_parts();
        }
        int refused = 0;
        const auto send = [&](const std::string& body, int flags, long allocations) {
            int result = 0;
            {
                const memory_for some(allocations);
                result = zmq_send(sender, body.data(), body.size(), flags);
            }
            if (result >= 0)
                return;
            ASSERT_EQ(ENOMEM, zmq_errno());
            ++refused;
            ASSERT_LE(0, zmq_send(sender, body.data(), body.size(), flags));
        };
        for (const std::size_t size : {10U, 3000U, 5000U, 30'000U, 300'000U})
            for (long allocations = 0; allocations < 3; ++allocations) {
                SCOPED_TRACE(std::to_string(from) + " " + std::to_string(size) + " " +
                             std::to_string(allocations));
                parts expected;
                if (from == ZMQ_ROUTER) {
                    ASSERT_EQ(4, zmq_send(sender, "peer", 4, ZMQ_SNDMORE));
                }
                for (const char letter : {'a', 'b', 'c', 'd'}) {
                    expected.push_back(
                        std::string(size + static_cast<std::size_t>(letter), letter));
                    ASSERT_NO_FATAL_FAILURE(
                        send(expected.back(), letter == 'd' ? 0 : ZMQ_SNDMORE, allocations));
                }
                if (to == ZMQ_ROUTER)
                    expected.insert(expected.begin(), "peer");
                EXPECT_TRUE(expected == receiver.recv_parts());
                if (from != ZMQ_REQ)
                    continue;
                for (const char letter : {'r', 's'}) { // the reply, without memory as well
                    const std::string body(size, letter);
                    const int flags = letter == 's' ? 0 : ZMQ_SNDMORE;
                    int result = 0;
                    {
                        const memory_for some(allocations);
                        result = zmq_send(receiver, body.data(), body.size(), flags);
                    }
                    if (result < 0) {
                        ASSERT_EQ(ENOMEM, zmq_errno());
                        ASSERT_LE(0, zmq_send(receiver, body.data(), body.size(), flags));
                    }
                }
                EXPECT_TRUE((parts{std::string(size, 'r'), std::string(size, 's')}) ==
                            sender.recv_parts());
            }
        EXPECT_NE(0, refused);
    }
}

TEST(ZlinkOnlyOutOfMemory, a_refused_chunk_of_a_stream_can_be_sent_again)
{
    test_context context;
    test_socket receiver(context, ZMQ_STREAM);
    test_socket sender(context, ZMQ_STREAM);
    sender.connect(receiver.bind_and_resolve("tcp://127.0.0.1:*"));
    const std::string id = sender.recv_parts().at(0);
    receiver.recv_parts();
    const std::string chunk(100'000, 'c');
    ASSERT_LE(0, zmq_send(sender, id.data(), id.size(), ZMQ_SNDMORE));
    {
        const no_memory none;
        ASSERT_TRUE(fails_with(ENOMEM, zmq_send(sender, chunk.data(), chunk.size(), 0)));
    }
    ASSERT_LE(0, zmq_send(sender, chunk.data(), chunk.size(), 0));
    std::string received;
    while (received.size() < chunk.size())
        received += receiver.recv_parts().at(1);
    EXPECT_TRUE(chunk == received);
}

// A publisher drops the message for a subscriber if there is no memory for a part of it: never a
// part alone.
TEST_P(ZlinkOnlyOutOfMemory, a_published_message_comes_whole_or_not_at_all)
{
    auto [publisher, subscriber, address] = connect_pair(context_, GetParam(), ZMQ_XPUB, ZMQ_SUB);
    for (const std::size_t size : {3000U, 5000U, 30'000U})
        for (long allocations = 0; allocations < 4; ++allocations) {
            const parts sent{std::string(size, 'a'), std::string(size, 'b'),
                             std::string(size, 'c')};
            for (std::size_t part = 0; part < sent.size(); ++part) {
                const memory_for some(part == 1 ? allocations : 1'000'000);
                ASSERT_LE(0, zmq_send(publisher, sent[part].data(), size,
                                      part + 1 < sent.size() ? ZMQ_SNDMORE : 0));
            }
            publisher.send("end");
            parts got = subscriber.recv_parts();
            if (got != parts{"end"}) {
                ASSERT_TRUE(sent == got);
                EXPECT_EQ("end", subscriber.recv());
            }
        }
}

TEST(OutOfMemoryMessages, cannot_be_made)
{
    zmq_msg_t message;
    std::vector<zmq_msg_t> kept(100);
    const no_memory none;
    int made = 0;
    for (zmq_msg_t& one : kept)
        made += zmq_msg_init_size(&one, 1000) == 0;
    EXPECT_EQ(-1, zmq_msg_init_size(&message, 1000));
    EXPECT_EQ(ENOMEM, errno);
    EXPECT_EQ(0, zmq_msg_init_size(&message, 33));
    for (zmq_msg_t& one : kept)
        if (made-- > 0)
            zmq_msg_close(&one);
}

} // namespace
} // namespace zlink::test

#endif
