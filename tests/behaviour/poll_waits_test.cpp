// SPDX-License-Identifier: Apache-2.0
// Waiting for what does not come while other things do, for files, and for many sockets at once.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/descriptors.hpp"
#include "support/draft.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <future>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

/// Sends a message every millisecond until it is destroyed, or for four seconds.
class trickle {
public:
    explicit trickle(test_socket& socket)
        : thread_([&socket, stopped = stop_.get_future()] {
              for (int count = 0; count < 4000; ++count) {
                  if (stopped.wait_for(1ms) == std::future_status::ready)
                      return;
                  socket.try_send("x");
              }
          })
    {}
    ~trickle()
    {
        stop_.set_value();
        thread_.join();
    }
    trickle(const trickle&) = delete;
    trickle& operator=(const trickle&) = delete;

private:
    std::promise<void> stop_;
    std::thread thread_;
};

constexpr auto limit = 100ms;

/// Does `wait` take `limit` though messages arrive all the time?
void expect_limit_kept(test_socket& sender, test_socket& receiver,
                       const std::function<void()>& wait)
{
    const trickle traffic(sender);
    ASSERT_TRUE(receiver.readable());
    const stopwatch clock;
    wait();
    EXPECT_LE(limit.count() - 1, clock.elapsed_ms());
    EXPECT_GT(3000, clock.elapsed_ms()); // what starts anew with every message ends after them
}

class PollUnderTraffic : public transport_test {
protected:
    connected_pair pair_ = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, no_limit, no_limit);
    test_socket& pull_ = pair_.bound;
    test_socket& push_ = pair_.peer;

private:
    static void no_limit(test_socket& socket)
    {
        socket.set(ZMQ_SNDHWM, 0);
        socket.set(ZMQ_RCVHWM, 0);
    }
};

TEST_P(PollUnderTraffic, keeps_the_limit_if_something_else_was_asked_for)
{
    for (const short events : {short{0}, short{ZMQ_POLLOUT}})
        expect_limit_kept(push_, pull_, [&] {
            zmq_pollitem_t item{pull_, 0, events, 0};
            EXPECT_EQ(0, zmq_poll(&item, 1, limit.count())) << events;
            EXPECT_EQ(0, item.revents);
        });
}

TEST_P(PollUnderTraffic, keeps_the_limit_beside_a_descriptor)
{
    const descriptor_pair quiet;
    expect_limit_kept(push_, pull_, [&] {
        std::array<zmq_pollitem_t, 2> items{
            {{pull_, 0, ZMQ_POLLOUT, 0}, {nullptr, quiet.reader(), ZMQ_POLLIN, 0}}};
        EXPECT_EQ(0, zmq_poll(items.data(), 2, limit.count()));
    });
}

ZLINK_ALL_TRANSPORTS(PollUnderTraffic);

/// Owns a poller.
struct poller_handle {
    ~poller_handle() { zmq_poller_destroy(&handle); }

    void* handle = zmq_poller_new();
};

class PollerUnderTraffic : public PollUnderTraffic {};

TEST_P(PollerUnderTraffic, keeps_the_limit_if_something_else_was_asked_for)
{
    for (const short events : {short{0}, short{ZMQ_POLLOUT}}) {
        const poller_handle poller;
        ASSERT_EQ(0, zmq_poller_add(poller.handle, pull_, nullptr, events));
        expect_limit_kept(push_, pull_, [&] {
            zmq_poller_event_t event{};
            EXPECT_TRUE(fails_with(EAGAIN, zmq_poller_wait(poller.handle, &event, limit.count())));
        });
    }
}

ZLINK_ALL_TRANSPORTS(PollerUnderTraffic);

/// A regular file, open for reading and writing.
class open_file {
public:
    open_file() : fd_(::open((scratch_directory() + "/file").c_str(), O_RDWR | O_CREAT, 0600))
    {
        if (fd_ < 0)
            throw std::runtime_error("no file");
    }
    ~open_file() { ::close(fd_); }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;

    int fd() const { return fd_; }

private:
    int fd_;
};

constexpr short both = ZMQ_POLLIN | ZMQ_POLLOUT;

TEST(PollFiles, are_ready_at_once)
{
    const open_file file;
    for (const short events : {short{ZMQ_POLLIN}, short{ZMQ_POLLOUT}, both})
        for (const long timeout_ms : {0L, static_cast<long>(patience.count()), -1L}) {
            zmq_pollitem_t item{nullptr, file.fd(), events, 0};
            const stopwatch clock;
            EXPECT_EQ(1, zmq_poll(&item, 1, timeout_ms)) << timeout_ms;
            EXPECT_EQ(events, item.revents);
            EXPECT_GT(patience.count() / 2, clock.elapsed_ms());
        }
}

TEST(PollFiles, are_ready_beside_a_socket_that_is_not)
{
    const open_file file;
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    std::array<zmq_pollitem_t, 2> items{
        {{socket, 0, ZMQ_POLLIN, 0}, {nullptr, file.fd(), both, 0}}};
    EXPECT_EQ(1, zmq_poll(items.data(), 2, -1));
    EXPECT_EQ(0, items[0].revents);
    EXPECT_EQ(both, items[1].revents);
}

TEST(PollerFiles, are_ready_at_once)
{
    const open_file file;
    for (const long timeout_ms : {0L, static_cast<long>(patience.count()), -1L}) {
        const poller_handle poller;
        ASSERT_EQ(0, zmq_poller_add_fd(poller.handle, file.fd(), nullptr, both));
        zmq_poller_event_t event{};
        EXPECT_EQ(0, zmq_poller_wait(poller.handle, &event, timeout_ms)) << timeout_ms;
        EXPECT_EQ(file.fd(), event.fd);
        EXPECT_EQ(both, event.events);
    }
}

TEST(PollerFiles, are_ready_beside_a_socket_that_is_not)
{
    const open_file file;
    test_context context;
    for (const int type : {ZMQ_PULL, ZMQ_GATHER}) {
        SCOPED_TRACE(type);
        const test_socket socket(context, type);
        const poller_handle poller;
        ASSERT_EQ(0, zmq_poller_add(poller.handle, socket, nullptr, ZMQ_POLLIN));
        ASSERT_EQ(0, zmq_poller_add_fd(poller.handle, file.fd(), nullptr, ZMQ_POLLIN));
        std::array<zmq_poller_event_t, 2> events{};
        EXPECT_EQ(1, zmq_poller_wait_all(poller.handle, events.data(), 2, -1));
        EXPECT_EQ(file.fd(), events[0].fd);
        EXPECT_EQ(ZMQ_POLLIN, events[0].events);
    }
}

class PollManySockets : public transport_test {};

TEST_P(PollManySockets, finds_the_one_of_400_that_is_ready)
{
    std::vector<test_socket> sockets;
    std::vector<zmq_pollitem_t> items;
    for (int index = 0; index < 400; ++index) {
        sockets.emplace_back(context_, ZMQ_PULL);
        items.push_back({sockets.back(), 0, ZMQ_POLLIN, 0});
    }
    EXPECT_EQ(0, zmq_poll(items.data(), 400, 0));
    for (const std::size_t index : {0, 1, 63, 64, 255, 256, 399}) {
        SCOPED_TRACE(index);
        test_socket push(context_, ZMQ_PUSH);
        push.connect(sockets[index].bind_and_resolve(fresh_bind_address(GetParam())));
        push.send("x");
        EXPECT_EQ(1, zmq_poll(items.data(), 400, patience.count()));
        for (std::size_t other = 0; other < items.size(); ++other)
            EXPECT_EQ(other == index ? ZMQ_POLLIN : 0, items[other].revents) << other;
        EXPECT_EQ("x", sockets[index].recv());
    }
    EXPECT_EQ(0, zmq_poll(items.data(), 400, 1));
}

ZLINK_ALL_TRANSPORTS(PollManySockets);

} // namespace
} // namespace zlink::test
