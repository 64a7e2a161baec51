// SPDX-License-Identifier: Apache-2.0
// A thread that waits for one answer after another takes over the reading of its connection.
// Nothing of this may be seen from outside, whatever it does next.
#include "support/fixture.hpp"

#include <atomic>
#include <memory>
#include <poll.h>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

constexpr int rounds_to_settle = 300;

/// Sends back what it receives, in a thread and a context of its own, until it is told to stop.
class echo {
public:
    explicit echo(const std::string& bind_to)
    {
        test_socket socket(context_, ZMQ_ROUTER);
        if (!wait_until([&] { return socket.try_bind(bind_to); }))
            throw call_failed("zmq_bind " + bind_to);
        address_ = socket.last_endpoint();
        thread_ = std::thread([this, socket = std::move(socket)]() mutable { run(socket); });
    }
    ~echo()
    {
        zmq_ctx_shutdown(context_);
        thread_.join();
    }
    const std::string& address() const { return address_; }

private:
    static void run(test_socket& socket)
    {
        socket.set(ZMQ_RCVTIMEO, -1);
        socket.set(ZMQ_SNDTIMEO, -1);
        try {
            for (;;)
                socket.send_parts(socket.recv_parts());
        } catch (const call_failed& end) {
            EXPECT_EQ(ETERM, end.code());
        }
    }

    test_context context_;
    std::string address_;
    std::thread thread_;
};

void settle(test_socket& socket)
{
    for (int round = 0; round < rounds_to_settle; ++round) {
        socket.send(std::to_string(round));
        ASSERT_EQ(std::to_string(round), socket.recv());
    }
}

class WaitingReceiver : public transport_test {
protected:
    WaitingReceiver()
    {
        client_.set(ZMQ_RECONNECT_IVL, 5);
        client_.connect(echo_->address());
    }

    std::unique_ptr<echo> echo_ = std::make_unique<echo>(fresh_bind_address(GetParam()));
    test_socket client_{context_, ZMQ_DEALER};
};

TEST_P(WaitingReceiver, gets_answers_however_it_waits)
{
    for (int change = 0; change < 10; ++change) {
        settle(client_);
        client_.send("polled");
        ASSERT_TRUE(client_.readable());
        EXPECT_EQ("polled", client_.recv(ZMQ_DONTWAIT));

        client_.send("asked for");
        ASSERT_TRUE(wait_until([&] { return (client_.events() & ZMQ_POLLIN) != 0; }));
        EXPECT_EQ("asked for", client_.recv(ZMQ_DONTWAIT));

        client_.send("tried for");
        char body[16];
        int bytes = -1;
        ASSERT_TRUE(wait_until([&] {
            bytes = zmq_recv(client_, body, sizeof body, ZMQ_DONTWAIT);
            return bytes >= 0;
        }));
        EXPECT_EQ("tried for", std::string(body, static_cast<std::size_t>(bytes)));
    }
}

TEST_P(WaitingReceiver, may_go_over_to_the_descriptor)
{
    settle(client_);
    const int fd = client_.get(ZMQ_FD);
    for (int round = 0; round < 100; ++round) {
        client_.send(std::to_string(round));
        while ((client_.events() & ZMQ_POLLIN) == 0) {
            pollfd item{fd, POLLIN, 0};
            ASSERT_EQ(1, ::poll(&item, 1, static_cast<int>(patience.count())));
        }
        EXPECT_EQ(std::to_string(round), client_.recv(ZMQ_DONTWAIT));
    }
    settle(client_);
}

TEST_P(WaitingReceiver, gets_what_came_while_it_did_not_wait)
{
    for (int change = 0; change < 5; ++change) {
        settle(client_);
        for (int index = 0; index < 500; ++index)
            client_.send_parts({std::to_string(index), "and more"});
        for (int index = 0; index < 500; ++index)
            ASSERT_EQ((parts{std::to_string(index), "and more"}), client_.recv_parts());
    }
}

TEST_P(WaitingReceiver, may_write_more_than_the_connection_takes)
{
    const std::string large(1'000'000, 'x');
    for (int change = 0; change < 3; ++change) {
        settle(client_);
        for (int index = 0; index < 30; ++index)
            client_.send(large);
        for (int index = 0; index < 30; ++index)
            ASSERT_EQ(large, client_.recv());
    }
}

TEST_P(WaitingReceiver, survives_the_end_of_its_peer)
{
    const std::string address = echo_->address();
    for (int change = 0; change < 3; ++change) {
        settle(client_);
        echo_.reset();
        echo_ = std::make_unique<echo>(address);
        // A question that was on its way may be lost.
        ASSERT_TRUE(wait_until([&] {
            client_.send("are you there?");
            return client_.readable(5ms);
        }));
        client_.send("last");
        while (client_.recv() != "last") {
        }
    }
    settle(client_);
}

TEST_P(WaitingReceiver, may_leave_its_peer)
{
    for (int change = 0; change < 5; ++change) {
        settle(client_);
        client_.disconnect(echo_->address());
        client_.connect(echo_->address());
    }
    settle(client_);
}

TEST_P(WaitingReceiver, runs_into_its_time_limit)
{
    settle(client_);
    client_.set(ZMQ_RCVTIMEO, 40);
    for (int round = 0; round < 3; ++round) {
        const stopwatch watch;
        EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(client_, nullptr, 0, 0)));
        EXPECT_GE(watch.elapsed_ms(), 39);
    }
    client_.set(ZMQ_RCVTIMEO, static_cast<int>(patience.count()));
    settle(client_);
}

TEST_P(WaitingReceiver, is_woken_by_the_end_of_its_context)
{
    settle(client_);
    client_.set(ZMQ_RCVTIMEO, -1);
    std::thread end([&] { zmq_ctx_shutdown(context_); });
    EXPECT_TRUE(fails_with(ETERM, zmq_recv(client_, nullptr, 0, 0)));
    end.join();
}

TEST_P(WaitingReceiver, hears_a_second_peer)
{
    settle(client_);
    echo second(fresh_bind_address(GetParam()));
    client_.connect(second.address());
    for (int round = 0; round < 500; ++round) {
        client_.send(std::to_string(round)); // to the two in turn, once both are there
        EXPECT_EQ(std::to_string(round), client_.recv());
    }
}

ZLINK_WIRE_TRANSPORTS(WaitingReceiver);

} // namespace
} // namespace zlink::test
