// SPDX-License-Identifier: Apache-2.0
// The forms of sending and receiving, time-outs and signals.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace zlink::test {
namespace {

class SendRecv : public transport_test {
protected:
    connected_pair pair_ = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    test_socket& left_ = pair_.bound;
    test_socket& right_ = pair_.peer;
};

TEST_P(SendRecv, truncates_to_the_buffer_and_returns_the_full_size)
{
    right_.send("0123456789");
    right_.send("next");
    std::array<char, 4> buffer{};
    EXPECT_EQ(10, zmq_recv(left_, buffer.data(), buffer.size(), 0));
    EXPECT_EQ("0123", std::string(buffer.data(), buffer.size()));
    EXPECT_EQ("next", left_.recv());
}

TEST_P(SendRecv, leaves_the_rest_of_a_larger_buffer_alone)
{
    right_.send("ab");
    std::array<char, 4> buffer{'w', 'x', 'y', 'z'};
    EXPECT_EQ(2, zmq_recv(left_, buffer.data(), buffer.size(), 0));
    EXPECT_EQ("abyz", std::string(buffer.data(), buffer.size()));
}

TEST_P(SendRecv, allows_null_for_empty_buffers)
{
    EXPECT_EQ(0, zmq_send(right_, nullptr, 0, 0));
    EXPECT_EQ(0, zmq_recv(left_, nullptr, 0, 0));
    right_.send("dropped");
    EXPECT_EQ(7, zmq_recv(left_, nullptr, 0, 0));
}

TEST_P(SendRecv, sends_constant_data)
{
    static const char text[] = "constant data that lives for ever, longer than any inline body";
    EXPECT_EQ(static_cast<int>(sizeof text), zmq_send_const(right_, text, sizeof text, 0));
    EXPECT_EQ(std::string(text, sizeof text), left_.recv());
}

// Over inproc, and while nobody takes it.
TEST_P(SendRecv, refers_to_constant_data_from_4_kib_on)
{
    constexpr std::size_t sizes[] = {4'096, 20'000, 1'000'000};
    static const std::string constant(1'000'000, 'c');
    for (const std::size_t size : sizes)
        for (const bool as_message : {false, true}) {
            if (as_message) {
                zmq_msg_t message;
                ASSERT_EQ(0, zmq_msg_init_data(&message, const_cast<char*>(constant.data()), size,
                                               nullptr, nullptr));
                EXPECT_EQ(static_cast<int>(size), zmq_msg_send(&message, right_, 0));
            } else {
                EXPECT_EQ(static_cast<int>(size), zmq_send_const(right_, constant.data(), size, 0));
            }
        }
    for (const std::size_t size : sizes)
        for (int count = 0; count < 2; ++count) {
            zmq_msg_t message;
            zmq_msg_init(&message);
            ASSERT_EQ(static_cast<int>(size), zmq_msg_recv(&message, left_, 0));
            const auto* const data = static_cast<const char*>(zmq_msg_data(&message));
            EXPECT_TRUE(std::string_view(data, size) == std::string_view(constant).substr(0, size));
            if (GetParam() == transport::inproc) {
                EXPECT_EQ(constant.data(), data) << size;
            }
            zmq_msg_close(&message);
        }
}

TEST_P(SendRecv, copies_the_buffer_it_sends)
{
    for (const std::size_t size : {10, 1000, 100'000}) {
        std::string body(size, 'a');
        right_.send(body);
        body.assign(size, 'b');
        EXPECT_EQ(std::string(size, 'a'), left_.recv());
    }
}

TEST_P(SendRecv, supports_the_deprecated_message_calls)
{
    zmq_msg_t message;
    zmq_msg_init_size(&message, 3);
    std::memcpy(zmq_msg_data(&message), "old", 3);
    EXPECT_EQ(3, zmq_sendmsg(right_, &message, 0));
    EXPECT_EQ(3, zmq_recvmsg(left_, &message, 0));
    EXPECT_EQ(0, std::memcmp("old", zmq_msg_data(&message), 3));
    zmq_msg_close(&message);
}

TEST_P(SendRecv, replaces_the_content_of_the_message_it_receives_into)
{
    right_.send("new");
    zmq_msg_t message;
    zmq_msg_init_size(&message, 10'000);
    EXPECT_EQ(3, zmq_msg_recv(&message, left_, 0));
    EXPECT_EQ(3u, zmq_msg_size(&message));
    zmq_msg_close(&message);
}

TEST_P(SendRecv, marks_parts_with_more)
{
    right_.send_parts({"a", "", "c"});
    EXPECT_EQ("a", left_.recv());
    EXPECT_EQ(1, left_.get(ZMQ_RCVMORE));
    EXPECT_EQ("", left_.recv());
    EXPECT_EQ(1, left_.get(ZMQ_RCVMORE));
    EXPECT_EQ("c", left_.recv());
    EXPECT_EQ(0, left_.get(ZMQ_RCVMORE));
}

TEST_P(SendRecv, ignores_unknown_flags)
{
    EXPECT_EQ(1, zmq_send(right_, "x", 1, 0x100));
    char byte = 0;
    EXPECT_EQ(1, zmq_recv(left_, &byte, 1, 0x100));
}

TEST_P(SendRecv, receives_nothing_without_waiting)
{
    char byte = 0;
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(left_, &byte, 1, ZMQ_DONTWAIT)));
    left_.set(ZMQ_RCVTIMEO, 0);
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(left_, &byte, 1, 0)));
}

TEST_P(SendRecv, waits_for_the_receive_timeout)
{
    left_.set(ZMQ_RCVTIMEO, 50);
    const stopwatch clock;
    char byte = 0;
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(left_, &byte, 1, 0)));
    EXPECT_LE(49, clock.elapsed_ms());
}

TEST_P(SendRecv, a_waiting_receiver_gets_what_comes_later)
{
    std::thread sender([this] {
        left_.readable(std::chrono::milliseconds(1));
        left_.send("later");
    });
    EXPECT_EQ("later", right_.recv());
    sender.join();
}

TEST_P(SendRecv, sends_vectors_as_parts)
{
    std::string first = "first";
    std::string second = "second!";
    std::array<iovec, 2> parts_to_send{iovec{first.data(), first.size()},
                                       iovec{second.data(), second.size()}};
    EXPECT_EQ(7, zmq_sendiov(right_, parts_to_send.data(), 2, ZMQ_SNDMORE));
    EXPECT_EQ((parts{"first", "second!"}), left_.recv_parts());
    EXPECT_EQ(7, zmq_sendiov(right_, parts_to_send.data(), 2, 0));
    EXPECT_EQ(parts{"first"}, left_.recv_parts());
    EXPECT_EQ(parts{"second!"}, left_.recv_parts());
}

TEST_P(SendRecv, receives_parts_as_vectors)
{
    right_.send_parts({"one", "two", "three"});
    std::array<iovec, 4> received{};
    std::size_t count = received.size();
    ASSERT_EQ(3, zmq_recviov(left_, received.data(), &count, 0));
    EXPECT_EQ(3u, count);
    parts texts;
    for (std::size_t index = 0; index < count; ++index) {
        texts.emplace_back(static_cast<char*>(received[index].iov_base), received[index].iov_len);
        std::free(received[index].iov_base);
    }
    EXPECT_EQ((parts{"one", "two", "three"}), texts);
}

TEST_P(SendRecv, leaves_the_rest_of_a_message_that_exceeds_the_vector)
{
    right_.send_parts({"one", "two", "three"});
    std::array<iovec, 2> received{};
    std::size_t count = received.size();
    ASSERT_EQ(2, zmq_recviov(left_, received.data(), &count, 0));
    for (const iovec& part : received)
        std::free(part.iov_base);
    EXPECT_EQ("three", left_.recv());
}

TEST_P(SendRecv, refuses_bad_vectors)
{
    std::array<iovec, 1> vector{};
    std::size_t count = 0;
    EXPECT_TRUE(fails_with(EINVAL, zmq_sendiov(right_, nullptr, 1, 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_sendiov(right_, vector.data(), 0, 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_recviov(left_, vector.data(), nullptr, 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_recviov(left_, vector.data(), &count, 0)));
    count = 1;
    EXPECT_TRUE(fails_with(EINVAL, zmq_recviov(left_, nullptr, &count, 0)));
}

ZLINK_ALL_TRANSPORTS(SendRecv);

TEST(SendTimeout, elapses_when_there_is_no_peer)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_SNDTIMEO, 50);
    const stopwatch clock;
    EXPECT_TRUE(fails_with(EAGAIN, zmq_send(socket, "x", 1, 0)));
    EXPECT_LE(49, clock.elapsed_ms());
    socket.set(ZMQ_SNDTIMEO, 0);
    EXPECT_TRUE(fails_with(EAGAIN, zmq_send(socket, "x", 1, 0)));
}

TEST(SendTimeout, ends_early_when_a_peer_connects)
{
    test_context context;
    test_socket sender(context, ZMQ_PUSH);
    const std::string address = sender.bind_and_resolve("tcp://127.0.0.1:*");
    std::thread connecting([&] {
        test_socket receiver(context, ZMQ_PULL);
        receiver.connect(address);
        EXPECT_EQ("at last", receiver.recv());
    });
    sender.send("at last");
    connecting.join();
}

/// Counts signals.
std::atomic<int> signals_seen{0};

/// The parameter: the flags of the handler. Waiting ends whatever they say.
class Signals : public ::testing::TestWithParam<int> {
protected:
    Signals()
    {
        struct sigaction action {};
        action.sa_handler = [](int) { ++signals_seen; };
        action.sa_flags = GetParam();
        ::sigaction(SIGUSR1, &action, &previous_);
        signals_seen = 0;
    }
    ~Signals() override { ::sigaction(SIGUSR1, &previous_, nullptr); }

    /// Runs `call` in this thread and sends it signals until it has returned.
    int interrupted(const std::function<int()>& call)
    {
        const pthread_t self = ::pthread_self();
        std::atomic<bool> returned{false};
        std::thread bell([&] {
            wait_until([&] {
                if (!returned)
                    ::pthread_kill(self, SIGUSR1);
                return returned.load();
            });
        });
        const int result = call();
        const int code = zmq_errno();
        returned = true;
        bell.join();
        errno = code;
        return result;
    }

    test_context context_;

private:
    struct sigaction previous_ {};
};

TEST_P(Signals, interrupt_a_blocked_receive)
{
    test_socket socket(context_, ZMQ_PULL);
    char byte = 0;
    const int result = interrupted([&] { return zmq_recv(socket, &byte, 1, 0); });
    EXPECT_TRUE(fails_with(EINTR, result));
    EXPECT_LT(0, signals_seen);
}

TEST_P(Signals, interrupt_a_blocked_send)
{
    test_socket socket(context_, ZMQ_PUSH);
    const int result = interrupted([&] { return zmq_send(socket, "x", 1, 0); });
    EXPECT_TRUE(fails_with(EINTR, result));
}

TEST_P(Signals, interrupt_a_blocked_poll)
{
    test_socket socket(context_, ZMQ_PULL);
    zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
    const int result = interrupted([&] { return zmq_poll(&item, 1, 10'000); });
    EXPECT_TRUE(fails_with(EINTR, result));
}

TEST_P(Signals, interrupt_a_blocked_termination_which_can_be_repeated)
{
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_PAIR);
    const int result = interrupted([&] { return zmq_ctx_term(context); });
    EXPECT_TRUE(fails_with(EINTR, result));
    EXPECT_EQ(0, zmq_close(socket));
    EXPECT_EQ(0, zmq_ctx_term(context));
}

TEST_P(Signals, interrupt_a_blocked_poll_without_a_limit)
{
    test_socket socket(context_, ZMQ_PULL);
    zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
    const int result = interrupted([&] { return zmq_poll(&item, 1, -1); });
    EXPECT_TRUE(fails_with(EINTR, result));
}

TEST_P(Signals, interrupt_calls_that_would_wait_for_ever)
{
    test_socket receiver = test_socket::with_defaults(context_, ZMQ_PULL);
    test_socket sender = test_socket::with_defaults(context_, ZMQ_PUSH);
    iovec vector{};
    std::size_t count = 1;
    EXPECT_TRUE(fails_with(EINTR, interrupted([&] { return zmq_recv(receiver, nullptr, 0, 0); })));
    EXPECT_TRUE(fails_with(EINTR, interrupted([&] { return zmq_send(sender, nullptr, 0, 0); })));
    EXPECT_TRUE(
        fails_with(EINTR, interrupted([&] { return zmq_recviov(receiver, &vector, &count, 0); })));
    EXPECT_EQ(0u, count);
    EXPECT_TRUE(fails_with(EINTR, interrupted([&] { return zmq_sendiov(sender, &vector, 1, 0); })));
}

INSTANTIATE_TEST_SUITE_P(With, Signals, ::testing::Values(0, SA_RESTART), [](const auto& info) {
    return std::string(info.param ? "restarting_handler" : "handler");
});

/// More bytes than an int can count, which take no memory as long as they are only read.
class huge_body {
public:
    ~huge_body() { ::munmap(data_, size_); }
    void* data() const { return data_; }
    std::size_t size() const { return size_; }

private:
    std::size_t size_ = std::size_t{INT_MAX} + 10;
    void* data_ =
        ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
};

TEST(SentSize, is_the_largest_int_at_most)
{
    const huge_body body;
    ASSERT_NE(MAP_FAILED, body.data());
    test_context context;
    test_socket publisher(context, ZMQ_PUB); // nobody listens
    EXPECT_EQ(INT_MAX, zmq_send_const(publisher, body.data(), body.size(), 0));
    zmq_msg_t message;
    ASSERT_EQ(0, zmq_msg_init_data(&message, body.data(), body.size(), nullptr, nullptr));
    EXPECT_EQ(INT_MAX, zmq_msg_send(&message, publisher, 0));
    EXPECT_EQ(0u, zmq_msg_size(&message));
    zmq_msg_close(&message);
}

TEST(ZlinkOnlySentSize, is_the_largest_int_at_most)
{
    const huge_body body;
    ASSERT_NE(MAP_FAILED, body.data());
    test_context context;
    test_socket publisher(context, ZMQ_PUB);
    EXPECT_EQ(INT_MAX, zmq_send(publisher, body.data(), body.size(), 0));
}

struct lonely_row {
    int type;
    int sending;   ///< the error of a send that does not wait; 0: taken
    int receiving; ///< the same of a receive
    bool writable;
};

void expect_lonely(test_context& context, const lonely_row& row)
{
    SCOPED_TRACE(row.type);
    test_socket socket(context, row.type);
    EXPECT_EQ(row.writable ? ZMQ_POLLOUT : 0, socket.events());
    const bool addresses = row.type == ZMQ_ROUTER || row.type == ZMQ_STREAM;
    const int sent = zmq_send(socket, "x", 1, ZMQ_DONTWAIT | (addresses ? ZMQ_SNDMORE : 0));
    if (row.sending)
        EXPECT_TRUE(fails_with(row.sending, sent));
    else
        EXPECT_EQ(1, sent);
    EXPECT_TRUE(fails_with(row.receiving, zmq_recv(socket, nullptr, 0, ZMQ_DONTWAIT)));
}

TEST(WithoutPeers, each_type_answers_at_once)
{
    test_context context;
    for (const lonely_row& row :
         {lonely_row{ZMQ_PAIR, EAGAIN, EAGAIN, false}, lonely_row{ZMQ_PUB, 0, ENOTSUP, true},
          lonely_row{ZMQ_SUB, ENOTSUP, EAGAIN, false}, lonely_row{ZMQ_XPUB, 0, EAGAIN, true},
          lonely_row{ZMQ_XSUB, 0, EAGAIN, true}, lonely_row{ZMQ_REQ, EAGAIN, EFSM, false},
          lonely_row{ZMQ_REP, EFSM, EAGAIN, false}, lonely_row{ZMQ_DEALER, EAGAIN, EAGAIN, false},
          lonely_row{ZMQ_ROUTER, 0, EAGAIN, true}, lonely_row{ZMQ_PUSH, EAGAIN, ENOTSUP, false},
          lonely_row{ZMQ_PULL, ENOTSUP, EAGAIN, false},
          lonely_row{ZMQ_STREAM, EHOSTUNREACH, EAGAIN, true}})
        expect_lonely(context, row);
}

TEST(ZlinkOnlyWithoutPeers, each_draft_type_answers_at_once)
{
    test_context context;
    for (const lonely_row& row :
         {lonely_row{ZMQ_CLIENT, EAGAIN, EAGAIN, false},
          lonely_row{ZMQ_SERVER, EHOSTUNREACH, EAGAIN, true},
          lonely_row{ZMQ_RADIO, 0, ENOTSUP, true}, lonely_row{ZMQ_DISH, ENOTSUP, EAGAIN, false},
          lonely_row{ZMQ_SCATTER, EAGAIN, ENOTSUP, false},
          lonely_row{ZMQ_GATHER, ENOTSUP, EAGAIN, false},
          lonely_row{ZMQ_PEER, EHOSTUNREACH, EAGAIN, true},
          lonely_row{ZMQ_CHANNEL, EAGAIN, EAGAIN, false}})
        expect_lonely(context, row);
}

} // namespace
} // namespace zlink::test
