// SPDX-License-Identifier: Apache-2.0
// zmq_msg_*: life cycle, content, sharing and ownership of foreign memory.
#include "support/draft.hpp"
#include "support/fixture.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

namespace zlink::test {
namespace {

std::string content_of(zmq_msg_t& message)
{
    return {static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message)};
}

void fill(zmq_msg_t& message, const std::string& content)
{
    ASSERT_EQ(0, zmq_msg_init_size(&message, content.size()));
    std::memcpy(zmq_msg_data(&message), content.data(), content.size());
}

std::string pattern_of(std::size_t size)
{
    std::string text(size, '\0');
    for (std::size_t index = 0; index < size; ++index)
        text[index] = static_cast<char>(index * 31 + size);
    return text;
}

TEST(Message, is_empty_after_init)
{
    zmq_msg_t message;
    ASSERT_EQ(0, zmq_msg_init(&message));
    EXPECT_EQ(0u, zmq_msg_size(&message));
    EXPECT_NE(nullptr, zmq_msg_data(&message));
    EXPECT_EQ(0, zmq_msg_more(&message));
    EXPECT_EQ(0, zmq_msg_close(&message));
}

TEST(Message, keeps_content_of_any_size)
{
    for (const std::size_t size : {0, 1, 29, 30, 32, 33, 34, 63, 64, 255, 256, 8192, 100'000}) {
        zmq_msg_t message;
        fill(message, pattern_of(size));
        EXPECT_EQ(size, zmq_msg_size(&message));
        EXPECT_EQ(pattern_of(size), content_of(message));
        EXPECT_EQ(0, zmq_msg_close(&message));
    }
}

TEST(Message, cannot_be_closed_twice)
{
    zmq_msg_t message;
    zmq_msg_init_size(&message, 100);
    EXPECT_EQ(0, zmq_msg_close(&message));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_close(&message)));
}

TEST(Message, calls_with_uninitialised_memory_fail)
{
    zmq_msg_t garbage;
    std::memset(&garbage, 0, sizeof garbage);
    zmq_msg_t good;
    zmq_msg_init(&good);
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_close(&garbage)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_copy(&good, &garbage)));
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_move(&good, &garbage)));
    test_context context;
    test_socket socket(context, ZMQ_PAIR);
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_recv(&garbage, socket, ZMQ_DONTWAIT)));
    zmq_msg_close(&good);
}

TEST(ZlinkOnlyMessage, sending_uninitialised_memory_fails)
{
    zmq_msg_t garbage;
    std::memset(&garbage, 0, sizeof garbage);
    test_context context;
    test_socket socket(context, ZMQ_PUB);
    EXPECT_TRUE(fails_with(EFAULT, zmq_msg_send(&garbage, socket, 0)));
}

TEST(ZlinkOnlyMessage, moving_and_copying_onto_itself_changes_nothing)
{
    for (const std::size_t size : {5, 5000}) {
        zmq_msg_t message;
        fill(message, pattern_of(size));
        EXPECT_EQ(0, zmq_msg_move(&message, &message));
        EXPECT_EQ(pattern_of(size), content_of(message));
        EXPECT_EQ(0, zmq_msg_copy(&message, &message));
        EXPECT_EQ(pattern_of(size), content_of(message));
        EXPECT_EQ(0, zmq_msg_close(&message));
    }
}

TEST(Message, moves_its_content)
{
    for (const std::size_t size : {0, 5, 33, 34, 5000}) {
        zmq_msg_t from;
        zmq_msg_t to;
        fill(from, pattern_of(size));
        fill(to, "replaced");
        ASSERT_EQ(0, zmq_msg_move(&to, &from));
        EXPECT_EQ(pattern_of(size), content_of(to));
        EXPECT_EQ(0u, zmq_msg_size(&from));
        EXPECT_EQ(0, zmq_msg_close(&from));
        EXPECT_EQ(0, zmq_msg_close(&to));
    }
}

TEST(Message, copies_outlive_the_original)
{
    for (const std::size_t size : {0, 5, 33, 34, 5000}) {
        zmq_msg_t from;
        zmq_msg_t to;
        fill(from, pattern_of(size));
        zmq_msg_init(&to);
        ASSERT_EQ(0, zmq_msg_copy(&to, &from));
        EXPECT_EQ(pattern_of(size), content_of(from));
        EXPECT_EQ(0, zmq_msg_close(&from));
        EXPECT_EQ(pattern_of(size), content_of(to));
        EXPECT_EQ(0, zmq_msg_close(&to));
    }
}

TEST(Message, copies_of_large_bodies_share_them)
{
    zmq_msg_t from;
    zmq_msg_t to;
    fill(from, pattern_of(5000));
    zmq_msg_init(&to);
    EXPECT_EQ(0, zmq_msg_get(&from, ZMQ_SHARED));
    zmq_msg_copy(&to, &from);
    EXPECT_EQ(zmq_msg_data(&from), zmq_msg_data(&to));
    EXPECT_EQ(1, zmq_msg_get(&from, ZMQ_SHARED));
    EXPECT_EQ(1, zmq_msg_get(&to, ZMQ_SHARED));
    zmq_msg_close(&from);
    zmq_msg_close(&to);
}

TEST(Message, keeps_bodies_of_up_to_33_bytes_within_itself_and_shares_others)
{
    if (sizeof(void*) != 8)
        GTEST_SKIP() << "the limit is that of 64 bits";
    for (const std::size_t size : {0, 1, 33, 34, 1000}) {
        SCOPED_TRACE(size);
        zmq_msg_t from;
        zmq_msg_t to;
        fill(from, pattern_of(size));
        zmq_msg_init(&to);
        const auto* const body = static_cast<const unsigned char*>(zmq_msg_data(&from));
        const auto* const begin = reinterpret_cast<const unsigned char*>(&from);
        const bool within =
            std::less_equal<>()(begin, body) && std::less<>()(body, begin + sizeof from);
        EXPECT_EQ(size <= 33, within);
        zmq_msg_copy(&to, &from);
        EXPECT_EQ(size > 33, zmq_msg_data(&from) == zmq_msg_data(&to));
        EXPECT_EQ(size > 33 ? 1 : 0, zmq_msg_get(&to, ZMQ_SHARED));
        zmq_msg_close(&from);
        EXPECT_EQ(size > 33 ? 1 : 0, zmq_msg_get(&to, ZMQ_SHARED)) << "though it is alone now";
        zmq_msg_close(&to);
    }
}

TEST(Message, survives_a_bitwise_move_of_its_structure)
{
    for (const std::size_t size : {5, 5000}) {
        auto from = std::make_unique<zmq_msg_t>();
        fill(*from, pattern_of(size));
        zmq_msg_t to;
        std::memcpy(&to, from.get(), sizeof to);
        std::memset(from.get(), 0xEE, sizeof to);
        from.reset();
        EXPECT_EQ(pattern_of(size), content_of(to));
        EXPECT_EQ(0, zmq_msg_close(&to));
    }
}

TEST(Message, has_properties_to_read_only)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    EXPECT_EQ(0, zmq_msg_get(&message, ZMQ_MORE));
    EXPECT_EQ(0, zmq_msg_get(&message, ZMQ_SHARED));
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_get(&message, 99)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_set(&message, ZMQ_MORE, 1)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(&message, "Socket-Type")));
    zmq_msg_close(&message);
}

/// Memory given to zmq_msg_init_data, counting how often it was given back.
class foreign_memory {
public:
    explicit foreign_memory(std::size_t size) : content_(pattern_of(size)) {}

    void wrap(zmq_msg_t& message)
    {
        ASSERT_EQ(0, zmq_msg_init_data(&message, content_.data(), content_.size(), release, this));
    }
    int freed() const { return freed_; }
    bool freed_once() const
    {
        return wait_until([this] { return freed_ > 0; }) && freed_ == 1 && right_pointer_;
    }
    const std::string& content() const { return content_; }
    void* data() { return content_.data(); }

private:
    static void release(void* data, void* hint)
    {
        auto* self = static_cast<foreign_memory*>(hint);
        self->right_pointer_ = data == self->content_.data();
        ++self->freed_;
    }

    std::string content_;
    std::atomic<int> freed_{0};
    std::atomic<bool> right_pointer_{false};
};

TEST(ForeignMemory, is_freed_when_the_message_is_closed_unsent)
{
    for (const std::size_t size : {0, 1, 10, 10'000}) {
        foreign_memory memory(size);
        zmq_msg_t message;
        memory.wrap(message);
        EXPECT_EQ(memory.content().data(), zmq_msg_data(&message));
        EXPECT_EQ(0, memory.freed());
        zmq_msg_close(&message);
        EXPECT_EQ(1, memory.freed());
    }
}

TEST(ForeignMemory, is_freed_with_the_last_copy)
{
    foreign_memory memory(1000);
    zmq_msg_t first;
    zmq_msg_t second;
    zmq_msg_t third;
    memory.wrap(first);
    zmq_msg_init(&second);
    zmq_msg_init(&third);
    zmq_msg_copy(&second, &first);
    zmq_msg_copy(&third, &second);
    zmq_msg_close(&first);
    zmq_msg_close(&third);
    EXPECT_EQ(0, memory.freed());
    EXPECT_EQ(memory.content(), content_of(second));
    zmq_msg_close(&second);
    EXPECT_EQ(1, memory.freed());
}

TEST(ForeignMemory, moves_without_being_freed)
{
    foreign_memory memory(1000);
    zmq_msg_t from;
    zmq_msg_t to;
    memory.wrap(from);
    zmq_msg_init(&to);
    zmq_msg_move(&to, &from);
    zmq_msg_close(&from);
    EXPECT_EQ(0, memory.freed());
    zmq_msg_close(&to);
    EXPECT_EQ(1, memory.freed());
}

TEST(ForeignMemory, is_freed_when_the_message_is_overwritten)
{
    foreign_memory memory(1000);
    zmq_msg_t to;
    zmq_msg_t from;
    memory.wrap(to);
    zmq_msg_init(&from);
    zmq_msg_move(&to, &from);
    EXPECT_EQ(1, memory.freed());
    zmq_msg_close(&to);
    zmq_msg_close(&from);
    EXPECT_EQ(1, memory.freed());
}

TEST(ForeignMemory, is_freed_when_another_message_is_copied_or_received_over_it)
{
    foreign_memory copied_over(1000);
    foreign_memory received_over(1000);
    zmq_msg_t to;
    zmq_msg_t from;
    copied_over.wrap(to);
    zmq_msg_init(&from);
    zmq_msg_copy(&to, &from);
    EXPECT_EQ(1, copied_over.freed());
    test_context context;
    auto [sink, source, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    source.send("new");
    received_over.wrap(to);
    EXPECT_EQ(3, zmq_msg_recv(&to, sink, 0));
    EXPECT_EQ(1, received_over.freed());
    zmq_msg_close(&to);
    zmq_msg_close(&from);
    EXPECT_EQ(1, copied_over.freed());
    EXPECT_EQ(1, received_over.freed());
}

TEST(ForeignMemory, is_freed_by_a_receive_that_finds_nothing)
{
    test_context context;
    for (const int type : {ZMQ_PULL, ZMQ_PAIR, ZMQ_ROUTER, ZMQ_SERVER}) {
        foreign_memory memory(1000);
        test_socket socket(context, type);
        zmq_msg_t message;
        memory.wrap(message);
        EXPECT_TRUE(fails_with(EAGAIN, zmq_msg_recv(&message, socket, ZMQ_DONTWAIT)));
        EXPECT_EQ(1, memory.freed());
        EXPECT_EQ(0U, zmq_msg_size(&message));
        EXPECT_EQ(0, zmq_msg_close(&message));
    }
}

TEST(ForeignMemory, is_kept_by_a_receive_that_is_not_possible)
{
    test_context context;
    for (const auto& [type, error] : {std::pair{ZMQ_PUSH, ENOTSUP}, std::pair{ZMQ_REQ, EFSM}}) {
        foreign_memory memory(1000);
        test_socket socket(context, type);
        zmq_msg_t message;
        memory.wrap(message);
        EXPECT_TRUE(fails_with(error, zmq_msg_recv(&message, socket, ZMQ_DONTWAIT)));
        EXPECT_EQ(0, memory.freed());
        EXPECT_EQ(1000U, zmq_msg_size(&message));
        EXPECT_EQ(0, zmq_msg_close(&message));
        EXPECT_EQ(1, memory.freed());
    }
}

TEST(ForeignMemory, is_freed_once_though_threads_make_and_close_copies)
{
    foreign_memory memory(1000);
    zmq_msg_t original;
    std::array<zmq_msg_t, 4> copies;
    memory.wrap(original);
    std::vector<std::thread> threads;
    for (zmq_msg_t& own : copies) {
        zmq_msg_init(&own);
        zmq_msg_copy(&own, &original);
        threads.emplace_back([&memory, &own] {
            for (int round = 0; round < 2000; ++round) {
                zmq_msg_t copy;
                zmq_msg_init(&copy);
                zmq_msg_copy(&copy, &own);
                ASSERT_EQ(memory.content(), content_of(copy));
                zmq_msg_close(&copy);
            }
            zmq_msg_close(&own);
        });
    }
    zmq_msg_close(&original);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(1, memory.freed());
}

TEST(ForeignMemory, without_a_free_function_is_constant_data)
{
    static char text[] = "constant";
    zmq_msg_t message;
    ASSERT_EQ(0, zmq_msg_init_data(&message, text, sizeof text, nullptr, nullptr));
    EXPECT_EQ(text, zmq_msg_data(&message));
    EXPECT_EQ(1, zmq_msg_get(&message, ZMQ_SHARED));
    EXPECT_EQ(0, zmq_msg_close(&message));
}

TEST(ForeignMemory, stays_with_the_caller_when_sending_fails)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    foreign_memory memory(1000);
    zmq_msg_t message;
    memory.wrap(message);
    EXPECT_TRUE(fails_with(EAGAIN, zmq_msg_send(&message, socket, ZMQ_DONTWAIT)));
    EXPECT_EQ(0, memory.freed());
    EXPECT_EQ(memory.content(), content_of(message));
    zmq_msg_close(&message);
    EXPECT_EQ(1, memory.freed());
}

TEST(ForeignMemory, is_freed_when_a_publisher_has_no_subscriber)
{
    test_context context;
    test_socket socket(context, ZMQ_PUB);
    foreign_memory memory(1000);
    zmq_msg_t message;
    memory.wrap(message);
    EXPECT_EQ(1000, zmq_msg_send(&message, socket, 0));
    EXPECT_TRUE(memory.freed_once());
}

/// The types of who binds and who connects, and sends.
class HandedOn : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(HandedOn, memory_of_the_sender_is_what_the_receiver_gets_over_inproc)
{
    test_context context;
    auto [bound, peer, address] =
        link(context, transport::inproc, GetParam().first, GetParam().second);
    for (const std::size_t size : {1024, 1025, 2047, 2048, 4095, 4096, 100'000})
        for (const bool with_free : {true, false}) {
            foreign_memory memory(size);
            zmq_msg_t message;
            if (with_free)
                memory.wrap(message);
            else
                ASSERT_EQ(0, zmq_msg_init_data(&message, memory.data(), size, nullptr, nullptr));
            ASSERT_EQ(static_cast<int>(size), zmq_msg_send(&message, peer, 0));
            EXPECT_EQ(0, memory.freed());
            zmq_msg_t received;
            ASSERT_EQ(0, zmq_msg_init(&received));
            do
                ASSERT_LE(0, zmq_msg_recv(&received, bound, 0)) << zmq_strerror(errno);
            while (zmq_msg_more(&received));
            EXPECT_EQ(memory.data(), zmq_msg_data(&received)) << size;
            EXPECT_EQ(size, zmq_msg_size(&received));
            EXPECT_EQ(0, memory.freed());
            EXPECT_EQ(0, zmq_msg_close(&received));
            EXPECT_EQ(with_free ? 1 : 0, memory.freed());
        }
}

INSTANTIATE_TEST_SUITE_P(From, HandedOn,
                         ::testing::Values(std::pair{ZMQ_PAIR, ZMQ_PAIR},
                                           std::pair{ZMQ_PULL, ZMQ_PUSH},
                                           std::pair{ZMQ_ROUTER, ZMQ_DEALER},
                                           std::pair{ZMQ_SERVER, ZMQ_CLIENT}));

class MessageOver : public transport_test {};

TEST_P(MessageOver, frees_foreign_memory_once_after_transfer)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    for (const std::size_t size : {0, 1, 10, 33, 34, 1000, 8192, 100'000, 1'000'000}) {
        foreign_memory memory(size);
        zmq_msg_t message;
        memory.wrap(message);
        ASSERT_EQ(static_cast<int>(size), zmq_msg_send(&message, peer, 0));
        EXPECT_EQ(0u, zmq_msg_size(&message));
        EXPECT_EQ(memory.content(), bound.recv());
        EXPECT_TRUE(memory.freed_once()) << size;
        EXPECT_EQ(0, zmq_msg_close(&message));
    }
}

TEST_P(MessageOver, frees_foreign_memory_once_when_closed_while_queued)
{
    foreign_memory large(5000);
    foreign_memory small(5);
    {
        auto [bound, peer, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
        for (foreign_memory* memory : {&large, &small}) {
            zmq_msg_t message;
            memory->wrap(message);
            ASSERT_LE(0, zmq_msg_send(&message, peer, 0));
        }
        peer.close();
    }
    context_.term();
    EXPECT_TRUE(large.freed_once());
    EXPECT_TRUE(small.freed_once());
}

TEST_P(MessageOver, frees_foreign_memory_once_when_never_connected)
{
    foreign_memory memory(5000);
    {
        test_socket socket(context_, ZMQ_PUSH);
        socket.connect(known_address(GetParam()));
        zmq_msg_t message;
        memory.wrap(message);
        ASSERT_LE(0, zmq_msg_send(&message, socket, 0));
    }
    context_.term();
    EXPECT_TRUE(memory.freed_once());
}

TEST_P(MessageOver, frees_memory_once_after_being_sent_to_several_subscribers)
{
    test_socket publisher(context_, ZMQ_XPUB);
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(GetParam()));
    publisher.set(ZMQ_XPUB_VERBOSE, 1);
    std::vector<test_socket> subscribers;
    for (int index = 0; index < 3; ++index) {
        subscribers.emplace_back(context_, ZMQ_SUB);
        subscribers.back().set(ZMQ_SUBSCRIBE, "");
        subscribers.back().connect(address);
        publisher.recv();
    }
    for (const std::size_t size : {10, 1000, 100'000}) {
        foreign_memory memory(size);
        zmq_msg_t message;
        memory.wrap(message);
        ASSERT_LE(0, zmq_msg_send(&message, publisher, 0));
        for (test_socket& subscriber : subscribers)
            EXPECT_EQ(memory.content(), subscriber.recv());
        EXPECT_TRUE(memory.freed_once());
    }
}

TEST_P(MessageOver, a_copy_can_be_sent_and_the_original_read)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    for (const std::size_t size : {10, 100'000}) {
        foreign_memory memory(size);
        zmq_msg_t original;
        zmq_msg_t copy;
        memory.wrap(original);
        zmq_msg_init(&copy);
        zmq_msg_copy(&copy, &original);
        ASSERT_LE(0, zmq_msg_send(&copy, peer, 0));
        EXPECT_EQ(memory.content(), bound.recv());
        EXPECT_EQ(memory.content(), content_of(original));
        EXPECT_EQ(0, memory.freed());
        zmq_msg_close(&original);
        EXPECT_TRUE(memory.freed_once());
    }
}

TEST_P(MessageOver, arrives_unchanged_at_every_size)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    std::vector<std::size_t> sizes{8191, 8192, 8193, 65535, 65536, 65537, 100'000, 1'000'000};
    for (std::size_t size = 0; size < 300; ++size)
        sizes.push_back(size);
    for (const std::size_t size : sizes) {
        peer.send(pattern_of(size));
        ASSERT_EQ(pattern_of(size), bound.recv()) << size;
    }
}

TEST_P(MessageOver, knows_whether_more_parts_follow)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.send_parts({"first", "second"});
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_EQ(5, zmq_msg_recv(&message, bound, 0));
    EXPECT_EQ(1, zmq_msg_more(&message));
    EXPECT_EQ(1, zmq_msg_get(&message, ZMQ_MORE));
    ASSERT_EQ(6, zmq_msg_recv(&message, bound, 0));
    EXPECT_EQ(0, zmq_msg_more(&message));
    EXPECT_EQ(0, zmq_msg_get(&message, ZMQ_MORE));
    EXPECT_EQ("second", content_of(message));
    zmq_msg_close(&message);
}

ZLINK_ALL_TRANSPORTS(MessageOver);

class UnsentMessage : public transport_test {};

// However small it is: who waits for the free function wants to know that the message has gone.
TEST_P(UnsentMessage, keeps_foreign_memory_until_there_is_a_connection)
{
    const std::string address = known_address(GetParam());
    test_socket sender(context_, ZMQ_PUSH);
    sender.connect(address);
    foreign_memory small(1);
    foreign_memory large(10'000);
    foreign_memory empty(0);
    for (foreign_memory* memory : {&small, &large, &empty}) {
        zmq_msg_t message;
        memory->wrap(message);
        ASSERT_NE(-1, zmq_msg_send(&message, sender, 0));
    }
    EXPECT_EQ(0, small.freed());
    EXPECT_EQ(0, large.freed());
    test_socket receiver(context_, ZMQ_PULL);
    receiver.bind(address);
    for (foreign_memory* memory : {&small, &large, &empty}) {
        EXPECT_EQ(memory->content(), receiver.recv());
        EXPECT_TRUE(memory->freed_once());
    }
}

TEST_P(UnsentMessage, frees_small_foreign_memory_of_messages_that_are_never_sent)
{
    foreign_memory memory(1);
    {
        test_socket sender(context_, ZMQ_PUSH);
        sender.set(ZMQ_LINGER, 0);
        sender.connect(known_address(GetParam()));
        zmq_msg_t message;
        memory.wrap(message);
        ASSERT_EQ(1, zmq_msg_send(&message, sender, 0));
        EXPECT_EQ(0, memory.freed());
    }
    if (GetParam() == transport::inproc) {
        EXPECT_EQ(0, memory.freed()) << "somebody may still bind";
        context_.term();
    }
    EXPECT_TRUE(memory.freed_once());
}

ZLINK_ALL_TRANSPORTS(UnsentMessage);

TEST(MessageProperties, tell_about_the_peer_on_tcp)
{
    test_context context;
    auto [bound, peer, address] =
        link(context, transport::tcp, ZMQ_ROUTER, ZMQ_DEALER, {},
             [](test_socket& socket) { socket.set(ZMQ_ROUTING_ID, "alice"); });
    peer.send("hello");
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_EQ(5, zmq_msg_recv(&message, bound, 0));
    ASSERT_EQ(5, zmq_msg_recv(&message, bound, 0));
    EXPECT_STREQ("DEALER", zmq_msg_gets(&message, "Socket-Type"));
    EXPECT_STREQ("alice", zmq_msg_gets(&message, "Identity"));
    EXPECT_STREQ("127.0.0.1", zmq_msg_gets(&message, "Peer-Address"));
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(&message, "No-Such-Thing")));
    zmq_msg_close(&message);
}

TEST(MessageProperties, do_not_exist_on_inproc)
{
    test_context context;
    auto [bound, peer, address] = link(context, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    peer.send("hello");
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_EQ(5, zmq_msg_recv(&message, bound, 0));
    EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(&message, "Socket-Type")));
    zmq_msg_close(&message);
}

class ReceivedMessage : public transport_test {};

TEST_P(ReceivedMessage, gives_its_properties_to_copies_and_outlives_the_socket)
{
    for (const std::size_t size : {5, 5000}) {
        zmq_msg_t received;
        zmq_msg_t copy;
        zmq_msg_t moved;
        for (zmq_msg_t* message : {&received, &copy, &moved})
            zmq_msg_init(message);
        {
            test_context context;
            auto [sink, source, address] = link(context, GetParam(), ZMQ_PULL, ZMQ_PUSH);
            source.send_parts({pattern_of(size), "last"});
            ASSERT_EQ(static_cast<int>(size), zmq_msg_recv(&received, sink, 0));
            const int fd = zmq_msg_get(&received, ZMQ_SRCFD);
            EXPECT_LE(0, fd);
            EXPECT_EQ(std::to_string(fd), zmq_msg_gets(&received, "__fd"));
            zmq_msg_copy(&copy, &received);
            EXPECT_EQ(fd, zmq_msg_get(&copy, ZMQ_SRCFD));
        }
        for (zmq_msg_t* message : {&received, &copy}) {
            zmq_msg_move(&moved, message);
            EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(message, "Socket-Type")));
            EXPECT_EQ(0, zmq_msg_more(message));
            zmq_msg_close(message);
            EXPECT_STREQ("PUSH", zmq_msg_gets(&moved, "Socket-Type"));
            EXPECT_EQ(1, zmq_msg_more(&moved));
            EXPECT_EQ(pattern_of(size), content_of(moved));
        }
        zmq_msg_close(&moved);
    }
}

ZLINK_WIRE_TRANSPORTS(ReceivedMessage);

} // namespace
} // namespace zlink::test
