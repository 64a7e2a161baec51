// SPDX-License-Identifier: Apache-2.0
// Messages while there is no memory: an error, and nothing lost.
#include "support/fixture.hpp"

// A sanitizer has an allocator of its own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" void* __libc_malloc(std::size_t bytes);

namespace {

thread_local std::size_t refused_bytes = SIZE_MAX; // for this thread, and all that is more

/// While it lives, this thread gets no memory, or none of so many bytes.
class no_memory {
public:
    explicit no_memory(std::size_t from_bytes = 0) { refused_bytes = from_bytes; }
    ~no_memory() { refused_bytes = SIZE_MAX; }
    no_memory(const no_memory&) = delete;
    no_memory& operator=(const no_memory&) = delete;
};

} // namespace

extern "C" void* malloc(std::size_t bytes)
{
    if (bytes >= refused_bytes) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_malloc(bytes);
}

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
