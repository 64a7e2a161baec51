// SPDX-License-Identifier: Apache-2.0
// Which error comes first, and errors that have no better place: handles that were valid once,
// contexts that end, exhausted descriptors and memory, vectors, messages.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/descriptors.hpp"
#include "support/fixture.hpp"
#include "support/sanitizers.hpp"

#include <sys/uio.h>

#include <array>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace zlink::test {
namespace {

/// A message that was never initialised.
zmq_msg_t uninitialised()
{
    zmq_msg_t message;
    std::memset(&message, 0, sizeof message);
    return message;
}

/// Calls each function that takes a socket, with arguments that are wrong as well, and expects one
/// and the same error.
void every_call_fails_with(int code, void* socket)
{
    zmq_msg_t garbage = uninitialised();
    zmq_msg_t message;
    zmq_msg_init(&message);
    std::array<iovec, 1> vector{};
    std::size_t count = 1;
    int value = 0;
    std::size_t size = sizeof value;
    for (const char* endpoint : {"inproc://x", "tcp://127.0.0.1:*", "", "nonsense", "foo://bar",
                                 static_cast<const char*>(nullptr)}) {
        SCOPED_TRACE(endpoint ? endpoint : "NULL");
        EXPECT_TRUE(fails_with(code, zmq_bind(socket, endpoint)));
        EXPECT_TRUE(fails_with(code, zmq_connect(socket, endpoint)));
        EXPECT_TRUE(fails_with(code, zmq_unbind(socket, endpoint)));
        EXPECT_TRUE(fails_with(code, zmq_disconnect(socket, endpoint)));
    }
    for (const int option : {ZMQ_LINGER, ZMQ_EVENTS, ZMQ_FD, ZMQ_SUBSCRIBE, 9999}) {
        EXPECT_TRUE(fails_with(code, zmq_setsockopt(socket, option, &value, sizeof value)));
        EXPECT_TRUE(fails_with(code, zmq_setsockopt(socket, option, nullptr, 0)));
        EXPECT_TRUE(fails_with(code, zmq_getsockopt(socket, option, &value, &size)));
        EXPECT_TRUE(fails_with(code, zmq_getsockopt(socket, option, nullptr, nullptr)));
    }
    for (const int flags : {0, ZMQ_DONTWAIT, ZMQ_SNDMORE, 0x100}) {
        EXPECT_TRUE(fails_with(code, zmq_send(socket, "x", 1, flags)));
        EXPECT_TRUE(fails_with(code, zmq_send_const(socket, "x", 1, flags)));
        EXPECT_TRUE(fails_with(code, zmq_recv(socket, nullptr, 0, flags)));
        EXPECT_TRUE(fails_with(code, zmq_msg_send(&message, socket, flags)));
        EXPECT_TRUE(fails_with(code, zmq_msg_recv(&message, socket, flags)));
        EXPECT_TRUE(fails_with(code, zmq_msg_send(&garbage, socket, flags)));
        EXPECT_TRUE(fails_with(code, zmq_msg_recv(&garbage, socket, flags)));
        EXPECT_TRUE(fails_with(code, zmq_msg_send(nullptr, socket, flags)));
        EXPECT_TRUE(fails_with(code, zmq_msg_recv(nullptr, socket, flags)));
        EXPECT_TRUE(fails_with(code, zmq_sendmsg(socket, &message, flags)));
        EXPECT_TRUE(fails_with(code, zmq_recvmsg(socket, &message, flags)));
        EXPECT_TRUE(fails_with(code, zmq_sendiov(socket, vector.data(), 1, flags)));
        count = 1;
        EXPECT_TRUE(fails_with(code, zmq_recviov(socket, vector.data(), &count, flags)));
    }
    zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
    if (socket) {
        EXPECT_TRUE(fails_with(code, zmq_poll(&item, 1, 0)));
    }
    EXPECT_EQ(0, zmq_msg_close(&message));
}

TEST(ZlinkOnlyErrors, of_the_handle_come_before_all_others)
{
    every_call_fails_with(ENOTSOCK, nullptr);
    EXPECT_TRUE(fails_with(EFAULT, zmq_socket(nullptr, 99)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_set(nullptr, 99, -1)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_get(nullptr, 99)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_set_ext(nullptr, 99, nullptr, 0)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_get_ext(nullptr, 99, nullptr, nullptr)));
}

TEST(ZlinkOnlyErrors, of_the_ending_context_come_before_those_of_arguments)
{
    for (int type = ZMQ_PAIR; type <= ZMQ_CHANNEL; ++type) {
        SCOPED_TRACE(type);
        test_context context;
        test_socket socket(context, type);
        ASSERT_EQ(0, zmq_ctx_shutdown(context));
        every_call_fails_with(ETERM, socket);
        EXPECT_TRUE(fails_with(ETERM, zmq_socket(context, type)));
        EXPECT_TRUE(fails_with(ETERM, zmq_socket(context, 99)));
        // The context itself still knows its options.
        EXPECT_EQ(0, zmq_ctx_set(context, ZMQ_IO_THREADS, 2));
        EXPECT_TRUE(fails_with(EINVAL, zmq_ctx_set(context, ZMQ_IO_THREADS, -1)));
        EXPECT_EQ(0, zmq_close(socket.release()));
    }
}

TEST(ZlinkOnlyErrors, of_the_ending_context_come_before_all_those_of_arguments)
{
    test_context context;
    test_socket socket(context, ZMQ_DISH);
    ASSERT_EQ(0, zmq_ctx_shutdown(context));
    const std::string too_long(256, 'g');
    for (const char* group : {static_cast<const char*>(nullptr), too_long.c_str()}) {
        EXPECT_TRUE(fails_with(ETERM, zmq_join(socket, group)));
        EXPECT_TRUE(fails_with(ETERM, zmq_leave(socket, group)));
    }
    EXPECT_TRUE(fails_with(ETERM, zmq_socket_get_peer_state(socket, nullptr, 1)));
    EXPECT_TRUE(fails_with(ETERM, zmq_socket_monitor(socket, "inproc://x", 0x10000)));
    EXPECT_TRUE(
        fails_with(ETERM, zmq_socket_monitor_versioned(socket, "inproc://x", 1, 3, ZMQ_PAIR)));
    EXPECT_TRUE(
        fails_with(ETERM, zmq_socket_monitor_versioned(socket, "inproc://x", 1, 1, ZMQ_SUB)));
    iovec vector{};
    std::size_t none = 0;
    std::size_t one = 1;
    EXPECT_TRUE(fails_with(ETERM, zmq_sendiov(socket, nullptr, 1, 0)));
    EXPECT_TRUE(fails_with(ETERM, zmq_sendiov(socket, &vector, 0, 0)));
    EXPECT_TRUE(fails_with(ETERM, zmq_recviov(socket, nullptr, &one, 0)));
    EXPECT_TRUE(fails_with(ETERM, zmq_recviov(socket, &vector, &none, 0)));
    EXPECT_TRUE(fails_with(ETERM, zmq_recviov(socket, &vector, nullptr, 0)));
}

TEST(ZlinkOnlyErrors, of_the_ending_context_are_those_of_other_calls_too)
{
    for (int type = ZMQ_PAIR; type <= ZMQ_CHANNEL; ++type) {
        SCOPED_TRACE(type);
        test_context context;
        test_socket socket(context, type);
        ASSERT_EQ(0, zmq_ctx_shutdown(context));
        errno = 0;
        EXPECT_EQ(0u, zmq_connect_peer(socket, "inproc://x"));
        EXPECT_EQ(ETERM, zmq_errno());
        EXPECT_TRUE(fails_with(ETERM, zmq_disconnect_peer(socket, 1)));
        EXPECT_TRUE(fails_with(ETERM, zmq_join(socket, "g")));
        EXPECT_TRUE(fails_with(ETERM, zmq_leave(socket, "g")));
        EXPECT_TRUE(fails_with(ETERM, zmq_socket_get_peer_state(socket, "id", 2)));
        EXPECT_TRUE(fails_with(ETERM, zmq_socket_monitor(socket, "inproc://m", ZMQ_EVENT_ALL)));
        EXPECT_TRUE(fails_with(ETERM, zmq_socket_monitor_pipes_stats(socket)));
        EXPECT_TRUE(fails_with(ETERM, zmq_proxy(socket, socket, nullptr)));
        EXPECT_EQ(0, zmq_close(socket.release()));
    }
}

TEST(ZlinkOnlyErrors, of_handles_that_were_valid_once)
{
    void* const context = zmq_ctx_new();
    void* const socket = zmq_socket(context, ZMQ_DEALER);
    ASSERT_EQ(0, zmq_close(socket));
    every_call_fails_with(ENOTSOCK, socket);
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_close(socket)));
    ASSERT_EQ(0, zmq_ctx_term(context));
    every_call_fails_with(ENOTSOCK, socket);
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_term(context)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_destroy(context)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_term(context)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_shutdown(context)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_set(context, ZMQ_IO_THREADS, 1)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_get(context, ZMQ_IO_THREADS)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_socket(context, ZMQ_PAIR)));
    // The next ones may lie at the same place, and are others.
    test_context next;
    test_socket other(next, ZMQ_DEALER);
    every_call_fails_with(ENOTSOCK, socket);
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_get(context, ZMQ_IO_THREADS)));
}

TEST(Errors, of_messages_come_after_those_of_sockets)
{
    test_context context;
    test_socket publisher(context, ZMQ_PUB);
    zmq_msg_t garbage = uninitialised();
    // Even where receiving is not supported at all.
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_recv(&garbage, publisher, ZMQ_DONTWAIT)));
    zmq_msg_t message;
    zmq_msg_init_size(&message, 3);
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_msg_recv(&message, publisher, ZMQ_DONTWAIT)));
    EXPECT_EQ(3u, zmq_msg_size(&message)) << "a failed call leaves the message alone";
    zmq_msg_close(&message);
}

// --- exhaustion ----------------------------------------------------------------------------------

TEST(ZlinkOnlyExhaustion, of_descriptors_is_an_error_and_passes)
{
    if (has_address_sanitizer())
        GTEST_SKIP() << "see no_descriptors";
    const std::string ipc = known_address(transport::ipc);
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    {
        const no_descriptors none;
        EXPECT_TRUE(fails_with(EMFILE, zmq_bind(socket, "tcp://127.0.0.1:*")));
        EXPECT_TRUE(fails_with(EMFILE, zmq_bind(socket, ipc.c_str())));
        int value = 0;
        std::size_t size = sizeof value;
        EXPECT_TRUE(fails_with(EMFILE, zmq_getsockopt(socket, ZMQ_FD, &value, &size)));
    }
    EXPECT_LE(0, socket.get(ZMQ_FD));
    const std::string address = socket.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket peer(context, ZMQ_DEALER);
    peer.connect(address);
    peer.send("works again");
    EXPECT_EQ("works again", socket.recv());
}

TEST(ZlinkOnlyExhaustion, of_descriptors_does_not_spoil_a_context)
{
    if (has_address_sanitizer())
        GTEST_SKIP() << "see no_descriptors";
    const std::string address = known_address(transport::tcp);
    test_context context;
    test_socket sender;
    {
        const no_descriptors none;
        // Either the first socket needs a descriptor, or the connection does.
        if (void* const opened = zmq_socket(context, ZMQ_PUSH)) {
            if (zmq_connect(opened, address.c_str()) != 0) {
                EXPECT_EQ(EMFILE, zmq_errno());
            }
            const int linger_ms = 0;
            zmq_setsockopt(opened, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
            zmq_close(opened);
        } else {
            EXPECT_EQ(EMFILE, zmq_errno());
        }
    }
    sender = test_socket(context, ZMQ_PUSH);
    test_socket receiver(context, ZMQ_PULL);
    receiver.bind(address);
    sender.connect(address);
    sender.send("works again");
    EXPECT_EQ("works again", receiver.recv());
}

TEST(ZlinkOnlyExhaustion, of_descriptors_leaves_a_poller_without_one)
{
    if (has_address_sanitizer())
        GTEST_SKIP() << "see no_descriptors";
    test_context context;
    test_socket server(context, ZMQ_SERVER);
    void* poller = zmq_poller_new();
    zmq_fd_t descriptor = -1;
    {
        const no_descriptors none;
        EXPECT_EQ(0, zmq_poller_add(poller, server, nullptr, ZMQ_POLLIN));
        EXPECT_TRUE(fails_with(EMFILE, zmq_poller_fd(poller, &descriptor)));
    }
    EXPECT_EQ(0, zmq_poller_fd(poller, &descriptor));
    EXPECT_LE(0, descriptor);
    EXPECT_EQ(0, zmq_poller_destroy(&poller));
}

TEST(ZlinkOnlyExhaustion, of_memory_is_an_error)
{
    zmq_msg_t message;
    for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 64, SIZE_MAX / 2 + 1}) {
        EXPECT_TRUE(fails_with(ENOMEM, zmq_msg_init_size(&message, size))) << size;
        EXPECT_TRUE(fails_with(ENOMEM, zmq_msg_init_buffer(&message, "x", size))) << size;
    }
}

// --- messages ------------------------------------------------------------------------------------

TEST(MessageErrors, of_properties)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (const int property : {-1, 0, 4, 99})
        EXPECT_TRUE(fails_with(EINVAL, zmq_msg_get(&message, property))) << property;
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_get(&message, ZMQ_SRCFD))) << "came from nowhere";
    for (const int property : {-1, 0, ZMQ_MORE, ZMQ_SRCFD, ZMQ_SHARED, 99})
        EXPECT_TRUE(fails_with(EINVAL, zmq_msg_set(&message, property, 0))) << property;
    for (const char* name : {"", "Socket-Type", "nonsense"})
        EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(&message, name))) << name;
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(&message, nullptr)));
    zmq_msg_close(&message);
}

TEST(MessageErrors, of_uninitialised_messages)
{
    zmq_msg_t garbage = uninitialised();
    zmq_msg_t good;
    zmq_msg_init_size(&good, 5);
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_close(&garbage)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_close(nullptr)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_move(&garbage, &good)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_move(&good, &garbage)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_copy(&garbage, &good)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_copy(&good, &garbage)));
    EXPECT_EQ(5u, zmq_msg_size(&good)) << "as it was";
    zmq_msg_close(&good);
}

TEST(ZlinkOnlyMessageErrors, of_uninitialised_messages_end_no_program)
{
    zmq_msg_t garbage = uninitialised();
    EXPECT_EQ(nullptr, zmq_msg_data(&garbage));
    EXPECT_EQ(0u, zmq_msg_size(&garbage));
    EXPECT_EQ(0, zmq_msg_more(&garbage));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_get(&garbage, ZMQ_MORE)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(&garbage, "Socket-Type")));
}

TEST(ZlinkOnlyMessage, init_buffer_copies)
{
    for (const std::size_t size : {0, 5, 33, 34, 5000}) {
        std::string text(size, 'a');
        zmq_msg_t message;
        ASSERT_EQ(0, zmq_msg_init_buffer(&message, size ? text.data() : nullptr, size));
        text.assign(size, 'b');
        ASSERT_EQ(size, zmq_msg_size(&message));
        EXPECT_EQ(std::string(size, 'a'),
                  std::string(static_cast<char*>(zmq_msg_data(&message)), size));
        zmq_msg_close(&message);
    }
}

// --- vectors -------------------------------------------------------------------------------------

class Vectors : public ::testing::Test {
protected:
    test_context context_;
    std::array<iovec, 4> vector_{};
};

TEST_F(Vectors, that_are_none_are_refused)
{
    test_socket socket(context_, ZMQ_DEALER);
    std::size_t zero = 0;
    std::size_t one = 1;
    EXPECT_TRUE(fails_with(EINVAL, zmq_sendiov(socket, nullptr, 1, 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_sendiov(socket, vector_.data(), 0, 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_recviov(socket, nullptr, &one, 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_recviov(socket, vector_.data(), nullptr, 0)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_recviov(socket, vector_.data(), &zero, 0)));
}

TEST_F(Vectors, fail_like_single_parts)
{
    std::size_t count = vector_.size();
    test_socket dealer(context_, ZMQ_DEALER);
    EXPECT_TRUE(fails_with(EAGAIN, zmq_sendiov(dealer, vector_.data(), 4, ZMQ_DONTWAIT)));
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recviov(dealer, vector_.data(), &count, ZMQ_DONTWAIT)));
    EXPECT_EQ(0u, count) << "as many as were received";
    dealer.set(ZMQ_SNDTIMEO, 10);
    dealer.set(ZMQ_RCVTIMEO, 10);
    count = vector_.size();
    EXPECT_TRUE(fails_with(EAGAIN, zmq_sendiov(dealer, vector_.data(), 4, 0)));
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recviov(dealer, vector_.data(), &count, 0)));
    test_socket pull(context_, ZMQ_PULL);
    test_socket push(context_, ZMQ_PUSH);
    test_socket reply(context_, ZMQ_REP);
    test_socket request(context_, ZMQ_REQ);
    count = vector_.size();
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_sendiov(pull, vector_.data(), 4, 0)));
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_recviov(push, vector_.data(), &count, 0)));
    EXPECT_TRUE(fails_with(EFSM, zmq_sendiov(reply, vector_.data(), 4, 0)));
    count = vector_.size();
    EXPECT_TRUE(fails_with(EFSM, zmq_recviov(request, vector_.data(), &count, 0)));
}

TEST_F(Vectors, that_fail_half_way_leave_what_was_sent)
{
    test_socket sender(context_, ZMQ_PUSH);
    test_socket receiver(context_, ZMQ_PULL);
    sender.set(ZMQ_SNDHWM, 1);
    receiver.set(ZMQ_RCVHWM, 1);
    receiver.bind("inproc://half-way");
    sender.connect("inproc://half-way");
    std::string text = "part";
    for (iovec& element : vector_)
        element = {text.data(), text.size()};
    // Without SNDMORE each element is a message of its own: two fit.
    EXPECT_TRUE(fails_with(EAGAIN, zmq_sendiov(sender, vector_.data(), 4, ZMQ_DONTWAIT)));
    EXPECT_EQ("part", receiver.recv());
    EXPECT_EQ("part", receiver.recv());
    EXPECT_FALSE(receiver.readable(quiet_window));
}

TEST_F(Vectors, stop_at_the_end_of_the_message)
{
    test_socket left(context_, ZMQ_PAIR);
    test_socket right(context_, ZMQ_PAIR);
    left.bind("inproc://end");
    right.connect("inproc://end");
    right.send("alone");
    right.send_parts({"", "empty before"});
    std::size_t count = vector_.size();
    ASSERT_EQ(1, zmq_recviov(left, vector_.data(), &count, 0));
    EXPECT_EQ(1u, count);
    EXPECT_EQ("alone", std::string(static_cast<char*>(vector_[0].iov_base), vector_[0].iov_len));
    std::free(vector_[0].iov_base);
    count = vector_.size();
    ASSERT_EQ(2, zmq_recviov(left, vector_.data(), &count, 0));
    EXPECT_EQ(0u, vector_[0].iov_len);
    EXPECT_EQ(12u, vector_[1].iov_len);
    std::free(vector_[0].iov_base);
    std::free(vector_[1].iov_base);
}

// --- turns ---------------------------------------------------------------------------------------

TEST(Errors, of_requests_and_replies_out_of_turn)
{
    test_context context;
    auto [reply, request, address] = link(context, transport::tcp, ZMQ_REP, ZMQ_REQ);
    char byte = 0;
    EXPECT_TRUE(fails_with(EFSM, zmq_recv(request, &byte, 1, 0)));
    EXPECT_TRUE(fails_with(EFSM, zmq_send(reply, "x", 1, 0)));
    request.send("question");
    EXPECT_TRUE(fails_with(EFSM, zmq_send(request, "x", 1, 0)));
    EXPECT_EQ("question", reply.recv());
    EXPECT_TRUE(fails_with(EFSM, zmq_recv(reply, &byte, 1, 0)));
}

TEST(Errors, of_routers_that_must_deliver)
{
    test_context context;
    test_socket router(context, ZMQ_ROUTER);
    EXPECT_EQ(7, zmq_send(router, "unknown", 7, ZMQ_SNDMORE));
    EXPECT_EQ(1, zmq_send(router, "x", 1, 0));
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(router, "unknown", 7, ZMQ_SNDMORE)));
}

} // namespace
} // namespace zlink::test
