// SPDX-License-Identifier: Apache-2.0
// Creating and closing sockets, and calls with handles that are none.
#include "support/fixture.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace zlink::test {
namespace {

TEST(SocketHandle, every_classic_type_can_be_created)
{
    test_context context;
    for (int type = ZMQ_PAIR; type <= ZMQ_XSUB; ++type) {
        test_socket socket(context, type);
        EXPECT_EQ(type, socket.get(ZMQ_TYPE));
    }
}

TEST(SocketHandle, unknown_types_are_refused)
{
    test_context context;
    for (const int type : {-1, 21, 99})
        EXPECT_TRUE(fails_with(EINVAL, zmq_socket(context, type))) << type;
}

/// Calls every function that takes a socket and expects ENOTSOCK.
void expect_not_a_socket(void* handle)
{
    char byte = 0;
    int value = 0;
    std::size_t size = sizeof value;
    zmq_msg_t message;
    zmq_msg_init(&message);
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_close(handle)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_bind(handle, "inproc://x")));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_connect(handle, "inproc://x")));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_unbind(handle, "inproc://x")));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_disconnect(handle, "inproc://x")));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_send(handle, "x", 1, 0)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_send_const(handle, "x", 1, 0)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_recv(handle, &byte, 1, 0)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_msg_send(&message, handle, 0)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_msg_recv(&message, handle, 0)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_getsockopt(handle, ZMQ_LINGER, &value, &size)));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_setsockopt(handle, ZMQ_LINGER, &value, sizeof value)));
    zmq_msg_close(&message);
}

TEST(SocketHandle, null_is_no_socket)
{
    expect_not_a_socket(nullptr);
}

TEST(ZlinkOnlySocketHandle, a_pointer_to_something_else_is_no_socket)
{
    std::array<unsigned char, 4096> garbage{};
    expect_not_a_socket(garbage.data());
    garbage.fill(0xA5);
    expect_not_a_socket(garbage.data());
}

TEST(ZlinkOnlySocketHandle, a_context_is_no_socket)
{
    std::vector<std::unique_ptr<test_context>> contexts;
    std::vector<test_socket> sockets;
    for (int index = 0; index < 10; ++index) {
        contexts.push_back(std::make_unique<test_context>());
        sockets.emplace_back(*contexts.back(), ZMQ_PAIR);
        expect_not_a_socket(*contexts.back());
        EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_get(sockets.back(), ZMQ_IO_THREADS)));
        EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_shutdown(sockets.back())));
    }
}

TEST(ZlinkOnlySocketHandle, a_closed_socket_is_no_socket)
{
    test_context context;
    void* handle = test_socket(context, ZMQ_PAIR).release();
    ASSERT_EQ(0, zmq_close(handle));
    expect_not_a_socket(handle);
}

// czmq reads a mark there, to tell sockets of its own from those of this library.
TEST(SocketHandle, points_to_memory_that_can_be_read)
{
    test_context context;
    const test_socket socket(context, ZMQ_PAIR);
    for (void* const handle : {static_cast<void*>(context), static_cast<void*>(socket)}) {
        std::array<unsigned char, 8> bytes{};
        std::memcpy(bytes.data(), handle, bytes.size());
        EXPECT_NE((std::array<unsigned char, 8>{0x05, 0x00, 0xfe, 0xca}), bytes);
    }
}

TEST(ZlinkOnlySocketHandle, is_not_given_again_soon)
{
    test_context context;
    void* const stale = test_socket(context, ZMQ_PAIR).release();
    ASSERT_EQ(0, zmq_close(stale));
    for (int round = 0; round < 5'000; ++round) {
        const test_socket socket(context, ZMQ_PAIR);
        ASSERT_NE(stale, static_cast<void*>(socket)) << "in round " << round;
    }
    expect_not_a_socket(stale);
}

TEST(ZlinkOnlySocketHandle, garbage_is_no_context)
{
    std::array<unsigned char, 4096> garbage{};
    EXPECT_TRUE(fails_with(EFAULT, zmq_socket(garbage.data(), ZMQ_PAIR)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_set(garbage.data(), ZMQ_IO_THREADS, 1)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_get(garbage.data(), ZMQ_IO_THREADS)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_shutdown(garbage.data())));
    EXPECT_TRUE(fails_with(EFAULT, zmq_ctx_term(garbage.data())));
}

class SocketTypes : public ::testing::TestWithParam<int> {
protected:
    test_context context_;
};

TEST_P(SocketTypes, can_be_closed_while_bound_and_connected)
{
    test_socket socket(context_, GetParam());
    socket.bind("tcp://127.0.0.1:*");
    socket.connect(known_address(transport::tcp));
    if (GetParam() != ZMQ_STREAM) {
        socket.bind(known_address(transport::ipc));
        socket.bind(known_address(transport::inproc));
        socket.connect(known_address(transport::inproc));
    }
}

INSTANTIATE_TEST_SUITE_P(All, SocketTypes, ::testing::Range(ZMQ_PAIR, ZMQ_STREAM + 1));

class SendOnlyTypes : public SocketTypes {};

TEST_P(SendOnlyTypes, cannot_receive)
{
    test_socket socket(context_, GetParam());
    char byte = 0;
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_recv(socket, &byte, 1, ZMQ_DONTWAIT)));
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_recv(socket, &byte, 1, 0)));
}

INSTANTIATE_TEST_SUITE_P(All, SendOnlyTypes, ::testing::Values(ZMQ_PUSH, ZMQ_PUB));

class ReceiveOnlyTypes : public SocketTypes {};

TEST_P(ReceiveOnlyTypes, cannot_send)
{
    test_socket socket(context_, GetParam());
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_send(socket, "x", 1, ZMQ_DONTWAIT)));
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_send(socket, "x", 1, 0)));
}

INSTANTIATE_TEST_SUITE_P(All, ReceiveOnlyTypes, ::testing::Values(ZMQ_PULL, ZMQ_SUB));

class BlockingTypes : public SocketTypes {};

TEST_P(BlockingTypes, wait_for_a_peer_when_sending)
{
    test_socket socket(context_, GetParam());
    EXPECT_TRUE(fails_with(EAGAIN, zmq_send(socket, "x", 1, ZMQ_DONTWAIT)));
    EXPECT_EQ(0, socket.events() & ZMQ_POLLOUT);
}

INSTANTIATE_TEST_SUITE_P(All, BlockingTypes,
                         ::testing::Values(ZMQ_PAIR, ZMQ_PUSH, ZMQ_DEALER, ZMQ_REQ));

class DroppingTypes : public SocketTypes {};

TEST_P(DroppingTypes, drop_what_is_sent_without_a_peer)
{
    test_socket socket(context_, GetParam());
    EXPECT_EQ(1, zmq_send(socket, "x", 1, ZMQ_DONTWAIT));
    EXPECT_NE(0, socket.events() & ZMQ_POLLOUT);
}

INSTANTIATE_TEST_SUITE_P(All, DroppingTypes,
                         ::testing::Values(ZMQ_PUB, ZMQ_XPUB, ZMQ_XSUB, ZMQ_ROUTER));

} // namespace
} // namespace zlink::test
