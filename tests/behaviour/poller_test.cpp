// SPDX-License-Identifier: Apache-2.0
// zmq_poller_*: sockets and descriptors that are registered once and waited for often.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/descriptors.hpp"
#include "support/fixture.hpp"

#include <poll.h>

#include <array>
#include <future>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

/// Owns a poller.
class test_poller {
public:
    test_poller() : handle_(zmq_poller_new())
    {
        if (!handle_)
            throw call_failed("zmq_poller_new");
    }
    ~test_poller()
    {
        if (handle_)
            zmq_poller_destroy(&handle_);
    }
    test_poller(const test_poller&) = delete;
    test_poller& operator=(const test_poller&) = delete;
    operator void*() const { return handle_; }

    /// Blank if there was nothing in time.
    zmq_poller_event_t wait(std::chrono::milliseconds window = patience)
    {
        zmq_poller_event_t event{this, 77, this, 77};
        if (zmq_poller_wait(handle_, &event, window.count()) != 0 && zmq_errno() != EAGAIN)
            throw call_failed("zmq_poller_wait");
        return event;
    }

private:
    void* handle_;
};

bool blank(const zmq_poller_event_t& event)
{
    return !event.socket && event.fd == -1 && !event.user_data && event.events == 0;
}

class Poller : public transport_test {
protected:
    test_poller poller_;
};

TEST_P(Poller, reports_a_message_with_what_was_registered)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    ASSERT_EQ(0, zmq_poller_add(poller_, bound, &address, ZMQ_POLLIN));
    EXPECT_TRUE(blank(poller_.wait(0ms)));
    EXPECT_TRUE(blank(poller_.wait(5ms)));
    std::thread sending([&from = peer] {
        from.readable(20ms);
        from.send("x");
    });
    const zmq_poller_event_t event = poller_.wait();
    EXPECT_EQ(static_cast<void*>(bound), event.socket);
    EXPECT_EQ(-1, event.fd);
    EXPECT_EQ(&address, event.user_data);
    EXPECT_EQ(ZMQ_POLLIN, event.events);
    sending.join();
    EXPECT_FALSE(blank(poller_.wait(0ms))); // as long as it is there
    EXPECT_EQ("x", bound.recv());
    EXPECT_TRUE(blank(poller_.wait(0ms)));
}

TEST_P(Poller, reports_what_is_asked_for_after_changes)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    ASSERT_EQ(0, zmq_poller_add(poller_, bound, nullptr, ZMQ_POLLOUT));
    EXPECT_EQ(ZMQ_POLLOUT, poller_.wait(0ms).events);
    peer.send("x");
    ASSERT_TRUE(bound.readable());
    EXPECT_EQ(ZMQ_POLLOUT, poller_.wait(0ms).events);
    ASSERT_EQ(0, zmq_poller_modify(poller_, bound, ZMQ_POLLIN | ZMQ_POLLOUT));
    EXPECT_EQ(ZMQ_POLLIN | ZMQ_POLLOUT, poller_.wait(0ms).events);
    ASSERT_EQ(0, zmq_poller_modify(poller_, bound, 0));
    EXPECT_TRUE(blank(poller_.wait(5ms)));
    ASSERT_EQ(0, zmq_poller_remove(poller_, bound));
    EXPECT_EQ(0, zmq_poller_size(poller_));
}

TEST_P(Poller, serves_earlier_registrations_first)
{
    std::vector<connected_pair> pairs;
    for (int index = 0; index < 4; ++index) {
        pairs.push_back(connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR));
        ASSERT_EQ(0, zmq_poller_add(poller_, pairs.back().bound, nullptr, ZMQ_POLLIN));
    }
    for (const int ready : {1, 3}) {
        pairs[ready].peer.send("x");
        ASSERT_TRUE(pairs[ready].bound.readable());
    }
    std::array<zmq_poller_event_t, 4> events{};
    EXPECT_EQ(2, zmq_poller_wait_all(poller_, events.data(), 4, 0));
    EXPECT_EQ(static_cast<void*>(pairs[1].bound), events[0].socket);
    EXPECT_EQ(static_cast<void*>(pairs[3].bound), events[1].socket);
    EXPECT_TRUE(blank(events[2]) && blank(events[3]));
    EXPECT_EQ(1, zmq_poller_wait_all(poller_, events.data(), 1, 0));
    EXPECT_EQ(static_cast<void*>(pairs[1].bound), events[0].socket);
    EXPECT_EQ(static_cast<void*>(pairs[1].bound), poller_.wait().socket);
    EXPECT_EQ(4, zmq_poller_size(poller_));
}

TEST_P(Poller, mixes_sockets_and_descriptors)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    descriptor_pair descriptors;
    ASSERT_EQ(0, zmq_poller_add(poller_, bound, nullptr, ZMQ_POLLIN));
    ASSERT_EQ(0, zmq_poller_add_fd(poller_, descriptors.reader(), this, ZMQ_POLLIN));
    EXPECT_TRUE(blank(poller_.wait(5ms)));
    std::thread writing([&peer = peer, &descriptors] {
        EXPECT_FALSE(peer.readable(20ms));
        descriptors.write();
    });
    const zmq_poller_event_t event = poller_.wait();
    writing.join();
    EXPECT_EQ(nullptr, event.socket);
    EXPECT_EQ(descriptors.reader(), event.fd);
    EXPECT_EQ(this, event.user_data);
    EXPECT_EQ(ZMQ_POLLIN, event.events);
    ASSERT_EQ(0, zmq_poller_modify_fd(poller_, descriptors.reader(), 0));
    descriptors.hang_up();
    EXPECT_TRUE(blank(poller_.wait(5ms)));
    std::thread sending([&from = peer] {
        from.readable(20ms);
        from.send("x");
    });
    EXPECT_EQ(static_cast<void*>(bound), poller_.wait().socket);
    sending.join();
    ASSERT_EQ(0, zmq_poller_modify_fd(poller_, descriptors.reader(), ZMQ_POLLERR));
    std::array<zmq_poller_event_t, 3> events{};
    EXPECT_EQ(2, zmq_poller_wait_all(poller_, events.data(), 3, 0));
    EXPECT_EQ(descriptors.reader(), events[1].fd);
    EXPECT_EQ(ZMQ_POLLERR, events[1].events);
    ASSERT_EQ(0, zmq_poller_remove_fd(poller_, descriptors.reader()));
    EXPECT_EQ(1, zmq_poller_size(poller_));
}

/// @param wait waits for ever
void expect_to_end_with_its_context(transport kind, int (*wait)(void* poller))
{
    for (const bool by_term : {false, true}) {
        test_context context;
        test_socket socket(context, ZMQ_DEALER);
        test_poller poller;
        socket.bind(fresh_bind_address(kind));
        ASSERT_EQ(0, zmq_poller_add(poller, socket, nullptr, ZMQ_POLLIN));
        auto ended = std::async(std::launch::async, [&] {
            const int result = wait(poller);
            const int code = zmq_errno();
            socket.close();
            return result == -1 ? code : 0;
        });
        ended.wait_for(20ms);
        if (by_term)
            context.term();
        else
            zmq_ctx_shutdown(context);
        EXPECT_EQ(ETERM, ended.get());
    }
}

TEST_P(Poller, ends_with_its_context)
{
    expect_to_end_with_its_context(GetParam(), [](void* poller) {
        zmq_poller_event_t event{};
        return zmq_poller_wait(poller, &event, -1);
    });
}

TEST_P(Poller, waiting_for_all_ends_with_the_context)
{
    expect_to_end_with_its_context(GetParam(), [](void* poller) {
        std::array<zmq_poller_event_t, 2> events{};
        return zmq_poller_wait_all(poller, events.data(), 2, -1);
    });
}

ZLINK_ALL_TRANSPORTS(Poller);

bool readable(int descriptor, std::chrono::milliseconds window)
{
    pollfd item{descriptor, POLLIN, 0};
    return ::poll(&item, 1, static_cast<int>(window.count())) == 1;
}

/// Sockets that many threads may use.
class SharedPoller : public transport_test {
protected:
    test_socket server_{context_, ZMQ_SERVER};
    test_socket client_{context_, ZMQ_CLIENT};
    test_poller poller_;

    void connect() { client_.connect(server_.bind_and_resolve(fresh_bind_address(GetParam()))); }
    zmq_fd_t descriptor() const
    {
        zmq_fd_t fd = -1;
        EXPECT_EQ(0, zmq_poller_fd(poller_, &fd));
        return fd;
    }
};

TEST_P(SharedPoller, wakes_for_what_comes)
{
    connect();
    int mark = 0;
    ASSERT_EQ(0, zmq_poller_add(poller_, server_, &mark, ZMQ_POLLIN));
    for (int round = 0; round < 100; ++round) {
        auto event = std::async(std::launch::async, [&] { return poller_.wait(); });
        client_.send("x");
        const zmq_poller_event_t got = event.get();
        EXPECT_EQ(static_cast<void*>(server_), got.socket);
        EXPECT_EQ(&mark, got.user_data);
        EXPECT_EQ(ZMQ_POLLIN, got.events);
        EXPECT_EQ("x", server_.recv());
    }
    EXPECT_TRUE(blank(poller_.wait(quiet_window)));
}

TEST_P(SharedPoller, stands_beside_other_sockets_and_descriptors)
{
    connect();
    test_socket pull(context_, ZMQ_PULL);
    test_socket push(context_, ZMQ_PUSH);
    push.connect(pull.bind_and_resolve(fresh_bind_address(GetParam())));
    const descriptor_pair pair;
    ASSERT_EQ(0, zmq_poller_add(poller_, server_, nullptr, ZMQ_POLLIN));
    ASSERT_EQ(0, zmq_poller_add(poller_, pull, nullptr, ZMQ_POLLIN));
    for (int round = 0; round < 20; ++round) {
        client_.send("x");
        EXPECT_EQ(static_cast<void*>(server_), poller_.wait().socket);
        server_.recv();
        push.send("y");
        EXPECT_EQ(static_cast<void*>(pull), poller_.wait().socket);
        pull.recv();
    }
    ASSERT_EQ(0, zmq_poller_add_fd(poller_, pair.reader(), nullptr, ZMQ_POLLIN));
    client_.send("x");
    EXPECT_EQ(static_cast<void*>(server_), poller_.wait().socket);
    server_.recv();
    pair.write();
    EXPECT_EQ(pair.reader(), poller_.wait().fd);
}

TEST_P(SharedPoller, has_a_descriptor_that_tells_of_news)
{
    connect();
    zmq_fd_t none = -1;
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_fd(poller_, &none)));
    ASSERT_EQ(0, zmq_poller_add(poller_, server_, nullptr, ZMQ_POLLIN));
    const zmq_fd_t fd = descriptor();
    for (int round = 0; round < 50; ++round) {
        client_.send("1");
        client_.send("2");
        for (const char* expected : {"1", "2"}) {
            while (blank(poller_.wait(0ms))) // there may be other news
                ASSERT_TRUE(readable(fd, patience));
            EXPECT_TRUE(readable(fd, 0ms)) << "ready means readable";
            EXPECT_EQ(expected, server_.recv());
        }
        EXPECT_TRUE(blank(poller_.wait(0ms)));
    }
    ASSERT_EQ(0, zmq_poller_remove(poller_, server_));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_fd(poller_, &none)));
}

TEST_P(SharedPoller, has_a_descriptor_that_tells_what_was_there_before)
{
    connect();
    client_.send("early");
    ASSERT_TRUE(server_.readable());
    ASSERT_EQ(0, zmq_poller_add(poller_, server_, nullptr, 0));
    ASSERT_EQ(0, zmq_poller_modify(poller_, server_, ZMQ_POLLIN));
    EXPECT_TRUE(readable(descriptor(), patience));
    EXPECT_FALSE(blank(poller_.wait(0ms)));
}

TEST_P(SharedPoller, reports_a_socket_that_another_thread_closes)
{
    connect();
    void* const handle = server_;
    ASSERT_EQ(0, zmq_poller_add(poller_, handle, nullptr, ZMQ_POLLIN));
    auto error = std::async(std::launch::async, [&] {
        zmq_poller_event_t event{};
        return zmq_poller_wait(poller_, &event, -1) == -1 ? zmq_errno() : 0;
    });
    error.wait_for(20ms);
    server_.close();
    EXPECT_EQ(ENOTSOCK, error.get());
    EXPECT_EQ(0, zmq_poller_remove(poller_, handle));
    EXPECT_EQ(0, zmq_poller_size(poller_));
}

TEST_P(SharedPoller, waiting_for_all_reports_a_socket_that_another_thread_closes)
{
    connect();
    void* const handle = server_;
    ASSERT_EQ(0, zmq_poller_add(poller_, handle, nullptr, ZMQ_POLLIN));
    auto error = std::async(std::launch::async, [&] {
        std::array<zmq_poller_event_t, 2> events{};
        return zmq_poller_wait_all(poller_, events.data(), 2, -1) == -1 ? zmq_errno() : 0;
    });
    error.wait_for(20ms);
    server_.close();
    EXPECT_EQ(ENOTSOCK, error.get());
    EXPECT_EQ(0, zmq_poller_remove(poller_, handle));
}

ZLINK_ALL_TRANSPORTS(SharedPoller);

TEST(PollerArguments, are_checked)
{
    test_context context;
    test_socket socket(context, ZMQ_PAIR);
    test_socket other(context, ZMQ_PAIR);
    test_socket shared(context, ZMQ_SERVER);
    test_poller poller;
    zmq_poller_event_t event{};
    zmq_fd_t fd{};
    ASSERT_EQ(0, zmq_poller_add(poller, socket, nullptr, 0));
    ASSERT_EQ(0, zmq_poller_add_fd(poller, 0, nullptr, 0));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_add(poller, socket, nullptr, ZMQ_POLLIN)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_add_fd(poller, 0, nullptr, ZMQ_POLLIN)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_add(poller, other, nullptr, 16)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_add(poller, other, nullptr, -1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_add_fd(poller, 1, nullptr, 32)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_modify(poller, socket, 16)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_modify_fd(poller, 0, 16)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_modify(poller, other, 1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_modify_fd(poller, 1, 1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_remove(poller, other)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_remove_fd(poller, 1)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poller_add(poller, nullptr, nullptr, 1)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poller_modify(poller, nullptr, 1)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poller_remove(poller, nullptr)));
    EXPECT_TRUE(fails_with(EBADF, zmq_poller_add_fd(poller, -1, nullptr, 1)));
    EXPECT_TRUE(fails_with(EBADF, zmq_poller_modify_fd(poller, -1, 1)));
    EXPECT_TRUE(fails_with(EBADF, zmq_poller_remove_fd(poller, -1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_fd(poller, &fd))); // no thread-safe socket in it
    EXPECT_TRUE(fails_with(EFAULT, zmq_poller_fd(poller, nullptr)));
    ASSERT_EQ(0, zmq_poller_add(poller, shared, nullptr, 0));
    EXPECT_EQ(0, zmq_poller_fd(poller, &fd));
    EXPECT_TRUE(fails_with(EFAULT, zmq_poller_fd(poller, nullptr)));
    ASSERT_EQ(0, zmq_poller_remove(poller, shared));
    EXPECT_TRUE(fails_with(EFAULT, zmq_poller_wait(poller, nullptr, 0)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_poller_wait_all(poller, nullptr, 1, 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_poller_wait_all(poller, &event, -1, 0)));
    EXPECT_TRUE(fails_with(EAGAIN, zmq_poller_wait_all(poller, &event, 0, 0)));
    EXPECT_EQ(2, zmq_poller_size(poller));
}

TEST(PollerArguments, are_checked_for_something_that_is_no_poller)
{
    test_context context;
    test_socket socket(context, ZMQ_PAIR);
    zmq_poller_event_t event{};
    zmq_fd_t fd{};
    void* gone = zmq_poller_new();
    void* const stale = gone;
    EXPECT_EQ(0, zmq_poller_destroy(&gone));
    EXPECT_EQ(nullptr, gone);
    EXPECT_TRUE(fails_with(EFAULT, zmq_poller_destroy(&gone)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_poller_destroy(nullptr)));
    for (void* none : {static_cast<void*>(nullptr), stale}) {
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_size(none)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_add(none, socket, nullptr, 1)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_modify(none, socket, 1)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_remove(none, socket)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_add_fd(none, 0, nullptr, 1)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_modify_fd(none, 0, 1)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_remove_fd(none, 0)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_wait(none, &event, 0)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_wait_all(none, &event, 1, 0)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_fd(none, &fd)));
    }
}

TEST(PollerArguments, nothing_to_wait_for_cannot_be_waited_for_without_end)
{
    test_context context;
    test_socket socket(context, ZMQ_PUB);
    test_poller poller;
    zmq_poller_event_t event{};
    for (int registered = 0; registered < 2; ++registered) {
        EXPECT_TRUE(fails_with(EFAULT, zmq_poller_wait(poller, &event, -1)));
        for (const int room : {0, 1})
            EXPECT_TRUE(fails_with(EFAULT, zmq_poller_wait_all(poller, &event, room, -1))) << room;
        const stopwatch clock;
        EXPECT_TRUE(fails_with(EAGAIN, zmq_poller_wait(poller, &event, 30)));
        EXPECT_LE(29, clock.elapsed_ms());
        EXPECT_TRUE(blank(event));
        zmq_poller_add(poller, socket, nullptr, 0); // writable, but nobody asks
    }
}

TEST(PollerArguments, a_closed_socket_is_reported_and_can_be_taken_out)
{
    test_context context;
    test_poller poller;
    test_socket socket(context, ZMQ_PAIR);
    void* const handle = socket;
    ASSERT_EQ(0, zmq_poller_add(poller, handle, nullptr, ZMQ_POLLIN));
    socket.close();
    zmq_poller_event_t event{};
    for (const long timeout_ms : {0, -1}) {
        EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poller_wait(poller, &event, timeout_ms)));
        EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poller_wait_all(poller, &event, 1, timeout_ms)));
    }
    EXPECT_EQ(0, zmq_poller_remove(poller, handle));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_poller_remove(poller, handle)));
}

TEST(PollerEvents, are_all_blank_when_nothing_came)
{
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    test_poller poller;
    ASSERT_EQ(0, zmq_poller_add(poller, socket, nullptr, ZMQ_POLLIN));
    std::array<zmq_poller_event_t, 3> events;
    events.fill({&context, 77, &context, 77});
    EXPECT_TRUE(fails_with(EAGAIN, zmq_poller_wait_all(poller, events.data(), 3, 5)));
    for (const zmq_poller_event_t& event : events)
        EXPECT_TRUE(blank(event));
}

} // namespace
} // namespace zlink::test
