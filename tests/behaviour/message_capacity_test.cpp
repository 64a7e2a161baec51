// SPDX-License-Identifier: Apache-2.0
// Receiving into room that is too small, just enough, or too large, with what each type receives.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/draft.hpp"
#include "support/xpub.hpp"

#include <algorithm>
#include <functional>

namespace zlink::test {
namespace {

std::string pattern_of(std::size_t size)
{
    std::string text(size, '\0');
    for (std::size_t index = 0; index < size; ++index)
        text[index] = static_cast<char>('a' + (index * 7 + size) % 26);
    return text;
}

/// Receives what is known into this much room, and checks that the size returned is the whole, that
/// the room is used as far as it goes, and that nothing is written behind.
void expect_in_room(const std::string& expected, void* socket, std::size_t capacity)
{
    constexpr std::size_t guard = 64;
    std::string room(capacity + guard, '#');
    ASSERT_EQ(static_cast<int>(expected.size()), zmq_recv(socket, room.data(), capacity, 0));
    const std::size_t filled = std::min(capacity, expected.size());
    EXPECT_TRUE(room.compare(0, filled, expected, 0, filled) == 0);
    EXPECT_TRUE(room.find_first_not_of('#', filled) == std::string::npos);
}

/// Sends messages of all sizes and receives each with room for one byte less, for all, and for one
/// more.
/// @param send sends a message that is received as what it is given
void expect_in_any_room(void* socket, const std::function<void(const std::string&)>& send)
{
    for (const std::size_t size :
         {0, 1, 29, 30, 33, 34, 255, 256, 4095, 4096, 8191, 8192, 65'536}) {
        for (const std::size_t capacity : {size - 1, size, size + 1}) {
            if (capacity > size + 1)
                continue; // there is no room of less than nothing
            SCOPED_TRACE(std::to_string(size) + " into " + std::to_string(capacity));
            const std::string body = pattern_of(size);
            send(body);
            ASSERT_NO_FATAL_FAILURE(expect_in_room(body, socket, capacity));
        }
    }
}

class Capacity : public transport_test {};

TEST_P(Capacity, of_a_message)
{
    auto [pull, push, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    expect_in_any_room(pull, [&, &to = push](const std::string& body) { to.send(body); });
}

TEST_P(Capacity, of_a_part_leaves_the_parts_behind_it)
{
    auto [pull, push, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    bool first = true;
    expect_in_any_room(pull, [&, &to = push, &from = pull](const std::string& body) {
        if (!first) {
            EXPECT_EQ(1, from.get(ZMQ_RCVMORE));
            EXPECT_EQ("behind", from.recv());
            EXPECT_EQ(0, from.get(ZMQ_RCVMORE));
        }
        first = false;
        to.send_parts({body, "behind"});
    });
}

TEST_P(Capacity, of_a_routing_id_leaves_the_message_behind_it)
{
    test_socket router(context_, ZMQ_ROUTER);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    for (const std::size_t size : {1, 29, 30, 33, 34, 255})
        for (const std::size_t capacity : {size - 1, size, size + 1}) {
            SCOPED_TRACE(std::to_string(size) + " into " + std::to_string(capacity));
            std::string id = pattern_of(size);
            id.back() = static_cast<char>(capacity); // nobody else's
            test_socket dealer(context_, ZMQ_DEALER);
            dealer.set(ZMQ_ROUTING_ID, id);
            dealer.connect(address);
            dealer.send("body");
            ASSERT_NO_FATAL_FAILURE(expect_in_room(id, router, capacity));
            EXPECT_EQ("body", router.recv());
        }
}

TEST_P(Capacity, of_a_subscription)
{
    auto [xpub, xsub, address] = link(context_, GetParam(), ZMQ_XPUB, ZMQ_XSUB);
    for (const std::size_t size : {1, 29, 30, 33, 34, 255, 256, 4095, 4096, 8191, 8192, 65'536})
        for (const std::size_t capacity : {size - 1, size, size + 1}) {
            SCOPED_TRACE(std::to_string(size) + " into " + std::to_string(capacity));
            const std::string topic = pattern_of(size - 1);
            xsub.send(subscribe(topic));
            ASSERT_NO_FATAL_FAILURE(expect_in_room(subscribe(topic), xpub, capacity));
            xsub.send(cancel(topic));
            ASSERT_NO_FATAL_FAILURE(expect_in_room(cancel(topic), xpub, capacity));
        }
}

ZLINK_ALL_TRANSPORTS(Capacity);

class DraftCapacity : public transport_test {
protected:
    /// Of what the one that connects sends to the one that is bound.
    void expect_upwards(int bound_type, int peer_type)
    {
        auto [bound, peer, address] = link(context_, GetParam(), bound_type, peer_type);
        expect_in_any_room(bound, [&, &to = peer](const std::string& body) { to.send(body); });
    }
};

TEST_P(DraftCapacity, of_a_message_to_a_server)
{
    expect_upwards(ZMQ_SERVER, ZMQ_CLIENT);
}

TEST_P(DraftCapacity, of_a_message_to_a_client)
{
    auto [server, client, address] = link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT);
    client.send("hello");
    draft_message hello;
    receive(server, hello);
    expect_in_any_room(client, [&, &from = server](const std::string& body) {
        send_to(from, hello.routing_id(), body);
    });
}

TEST_P(DraftCapacity, of_what_is_gathered)
{
    expect_upwards(ZMQ_GATHER, ZMQ_SCATTER);
}

TEST_P(DraftCapacity, of_what_comes_through_a_channel)
{
    expect_upwards(ZMQ_CHANNEL, ZMQ_CHANNEL);
}

TEST_P(DraftCapacity, of_a_message_to_a_group)
{
    auto [radio, dish, address] = link(context_, GetParam(), ZMQ_RADIO, ZMQ_DISH);
    for (const std::size_t group_size : {1, 15, 255}) {
        const std::string group(group_size, 'g');
        ASSERT_EQ(0, zmq_join(dish, group.c_str()));
        ASSERT_TRUE(wait_until([&, &to = radio, &from = dish] {
            send_in(to, group, "marker");
            return from.readable(std::chrono::milliseconds(5));
        }));
        send_in(radio, group, "last");
        while (dish.recv() != "last") {
        }
        expect_in_any_room(dish,
                           [&, &to = radio](const std::string& body) { send_in(to, group, body); });
    }
}

ZLINK_ALL_TRANSPORTS(DraftCapacity);

} // namespace
} // namespace zlink::test
