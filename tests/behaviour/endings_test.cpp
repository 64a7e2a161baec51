// SPDX-License-Identifier: Apache-2.0
// What was under way when a context was shut down or a process ended.
#include "support/fixture.hpp"
#include "support/sanitizers.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class ZlinkOnlyShutdown : public transport_test {
protected:
    connected_pair pair_ = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    test_socket& pull_ = pair_.bound;
    test_socket& push_ = pair_.peer;
};

TEST_P(ZlinkOnlyShutdown, a_message_that_has_come_is_not_received)
{
    push_.send("first");
    push_.send("second");
    EXPECT_EQ("first", pull_.recv());
    ASSERT_TRUE(pull_.readable());
    zmq_ctx_shutdown(context_);
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (const int flags : {0, ZMQ_DONTWAIT}) {
        EXPECT_TRUE(fails_with(ETERM, zmq_recv(pull_, nullptr, 0, flags)));
        EXPECT_TRUE(fails_with(ETERM, zmq_msg_recv(&message, pull_, flags)));
    }
    zmq_msg_close(&message);
}

TEST_P(ZlinkOnlyShutdown, the_rest_of_a_message_is_not_received)
{
    push_.send_parts({"one", "two", "three"});
    EXPECT_EQ("one", pull_.recv());
    ASSERT_EQ(1, pull_.get(ZMQ_RCVMORE));
    zmq_ctx_shutdown(context_);
    for (const int flags : {0, ZMQ_DONTWAIT})
        EXPECT_TRUE(fails_with(ETERM, zmq_recv(pull_, nullptr, 0, flags)));
}

TEST_P(ZlinkOnlyShutdown, the_rest_of_a_message_is_not_sent)
{
    push_.send("whole");
    push_.send("begun", ZMQ_SNDMORE);
    EXPECT_EQ("whole", pull_.recv());
    zmq_ctx_shutdown(context_);
    for (const int flags : {ZMQ_SNDMORE, ZMQ_DONTWAIT, 0})
        EXPECT_TRUE(fails_with(ETERM, zmq_send(push_, "rest", 4, flags)));
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyShutdown);

// What was begun when the sender's context was shut down is nothing to a peer in another one.
TEST(ZlinkOnlyShutdownOfTheSender, gives_away_no_part_of_a_message)
{
    test_context theirs;
    test_socket pull(theirs, ZMQ_PULL);
    const std::string address = pull.bind_and_resolve("tcp://127.0.0.1:*");
    {
        test_context context;
        test_socket push(context, ZMQ_PUSH);
        push.set(ZMQ_LINGER, static_cast<int>(patience.count()));
        push.connect(address);
        push.send("whole");
        push.send("begun", ZMQ_SNDMORE);
        EXPECT_EQ("whole", pull.recv());
        zmq_ctx_shutdown(context);
        EXPECT_TRUE(fails_with(ETERM, zmq_send(push, "rest", 4, 0)));
    }
    EXPECT_FALSE(pull.readable(quiet_window));
}

constexpr int own_status = 7;

/// Calls `work` in a process of its own, which calls exit and leaves everything as it is. It is
/// killed if it hangs. @return its exit status.
int status_after(const std::function<void()>& work)
{
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        try {
            work();
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(2); // `work` is to call exit in the middle of its doings
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Exit : public transport_test {
protected:
    // The thread sanitizer ends a child that starts threads, and the leak check that comes with the
    // address sanitizer misses the threads that a child does not have.
    void SetUp() override
    {
        if (is_sanitized())
            GTEST_SKIP() << "a child would start threads";
    }
};

TEST_P(Exit, keeps_its_status_with_messages_for_a_peer_that_never_came)
{
    const std::string address = known_address(GetParam());
    EXPECT_EQ(own_status, status_after([&] {
                  test_context context;
                  test_socket push = test_socket::with_defaults(context, ZMQ_PUSH);
                  push.connect(address);
                  for (int index = 0; index < 500; ++index)
                      push.send(std::string(100, 'x'));
                  std::exit(own_status);
              }));
}

TEST_P(Exit, keeps_its_status_while_messages_are_being_sent)
{
    EXPECT_EQ(own_status, status_after([] {
                  test_context context;
                  auto [pull, push, address] = link(context, GetParam(), ZMQ_PULL, ZMQ_PUSH);
                  push.set(ZMQ_LINGER, -1);
                  push.send_until_full(std::string(1000, 'x'), 20'000);
                  std::exit(own_status);
              }));
}

TEST_P(Exit, keeps_its_status_when_closed_sockets_linger)
{
    const std::string address = known_address(GetParam());
    EXPECT_EQ(own_status, status_after([&] {
                  test_context context;
                  test_socket push = test_socket::with_defaults(context, ZMQ_PUSH);
                  push.connect(address);
                  push.send("x");
                  push.close();
                  std::exit(own_status);
              }));
}

TEST_P(Exit, keeps_its_status_while_another_thread_receives)
{
    EXPECT_EQ(own_status, status_after([] {
                  test_context context;
                  auto [pull, push, address] = link(context, GetParam(), ZMQ_PULL, ZMQ_PUSH);
                  std::promise<void> received;
                  std::promise<void> ended;
                  std::thread receiving([&, &from = pull] {
                      from.recv();
                      received.set_value();
                      from.recv();
                      ended.set_value();
                  });
                  push.send("x");
                  received.get_future().wait();
                  ended.get_future().wait_for(20ms); // lets it wait again, most likely
                  std::exit(own_status);
              }));
}

TEST_P(Exit, keeps_its_status_while_another_thread_is_in_the_middle_of_traffic)
{
    EXPECT_EQ(own_status, status_after([] {
                  test_context context;
                  auto [left, right, address] = link(context, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
                  std::promise<void> received;
                  std::thread echoing([&, &socket = left] {
                      socket.recv();
                      received.set_value();
                      for (;;)
                          socket.send(socket.recv());
                  });
                  right.send("x");
                  received.get_future().wait();
                  right.send_until_full(std::string(1000, 'x'), 1000);
                  std::exit(own_status);
              }));
}

ZLINK_ALL_TRANSPORTS(Exit);

} // namespace
} // namespace zlink::test
