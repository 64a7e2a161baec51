// SPDX-License-Identifier: Apache-2.0
// RADIO and DISH: messages to groups.
#include "support/draft.hpp"

#include <vector>

namespace zlink::test {
namespace {

class RadioDish : public transport_test {
protected:
    test_socket radio_{context_, ZMQ_RADIO};
    std::string address_ = radio_.bind_and_resolve(fresh_bind_address(GetParam()));

    test_socket make_dish(const std::string& group)
    {
        test_socket dish(context_, ZMQ_DISH);
        EXPECT_EQ(0, zmq_join(dish, group.c_str()));
        dish.connect(address_);
        tune_in(radio_, dish, group);
        return dish;
    }

    /// Sends to the group until the dish has heard it, and removes what is on its way.
    static void tune_in(test_socket& radio, test_socket& dish, const std::string& group)
    {
        int sent = 0; // each may be dropped; what was sent before the last one is there before it
        ASSERT_TRUE(wait_until([&] {
            const std::string last = "marker " + std::to_string(++sent);
            send_in(radio, group, last);
            while (dish.readable(std::chrono::milliseconds(5)))
                if (dish.recv() == last)
                    return true;
            return false;
        }));
    }
    static void expect_in(test_socket& dish, const std::string& group, const std::string& body)
    {
        draft_message message;
        receive(dish, message);
        EXPECT_EQ(body, message.body());
        EXPECT_EQ(group, message.group());
        EXPECT_EQ(0, dish.get(ZMQ_RCVMORE));
    }
};

TEST_P(RadioDish, delivers_to_the_members_of_a_group)
{
    test_socket movies = make_dish("Movies");
    test_socket tv = make_dish("TV");
    EXPECT_EQ(7, send_in(radio_, "TV", "Friends"));
    EXPECT_EQ(9, send_in(radio_, "Movies", "Godfather"));
    EXPECT_EQ(4, send_in(radio_, "Mov", "none"));
    EXPECT_EQ(4, send_in(radio_, "Movies2", "none"));
    EXPECT_EQ(2, zmq_send(radio_, "no", 2, 0));
    EXPECT_EQ(4, send_in(radio_, "TV", "Last"));
    EXPECT_EQ(4, send_in(radio_, "Movies", "Last"));
    expect_in(tv, "TV", "Friends");
    expect_in(tv, "TV", "Last");
    expect_in(movies, "Movies", "Godfather");
    expect_in(movies, "Movies", "Last");
    EXPECT_FALSE(tv.readable(quiet_window));
}

TEST_P(RadioDish, carries_bodies_and_groups_of_all_sizes)
{
    test_socket dish(context_, ZMQ_DISH);
    dish.connect(address_);
    for (const std::size_t group_size : {0, 1, 13, 14, 255}) {
        const std::string group(group_size, 'g');
        ASSERT_EQ(0, zmq_join(dish, group.c_str()));
        tune_in(radio_, dish, group);
        for (const std::size_t size : {0, 1, 33, 34, 255, 256, 5'000, 20'000, 1'000'000}) {
            const std::string body(size, 'b');
            EXPECT_EQ(static_cast<int>(size), send_in(radio_, group, body));
            expect_in(dish, group, body);
        }
    }
}

TEST_P(RadioDish, leaves_a_group)
{
    test_socket dish = make_dish("a");
    ASSERT_EQ(0, zmq_join(dish, "b"));
    tune_in(radio_, dish, "b");
    ASSERT_EQ(0, zmq_leave(dish, "a"));
    // From now on nothing of "a" gets through, wherever it is dropped.
    send_in(radio_, "a", "unheard");
    send_in(radio_, "b", "heard");
    expect_in(dish, "b", "heard");
    EXPECT_FALSE(dish.readable(quiet_window));
    ASSERT_EQ(0, zmq_join(dish, "a"));
    tune_in(radio_, dish, "a");
}

TEST_P(RadioDish, tells_groups_to_radios_that_come_later)
{
    const std::string address = known_address(GetParam());
    test_socket dish(context_, ZMQ_DISH);
    ASSERT_EQ(0, zmq_join(dish, "early"));
    ASSERT_EQ(0, zmq_join(dish, ""));
    ASSERT_EQ(0, zmq_join(dish, "left"));
    ASSERT_EQ(0, zmq_leave(dish, "left"));
    dish.connect(address);
    test_socket late(context_, ZMQ_RADIO);
    late.bind(address);
    tune_in(late, dish, "early");
    EXPECT_EQ(1, zmq_send(late, "x", 1, 0)); // no group is the empty group
    expect_in(dish, "", "x");
}

TEST_P(RadioDish, works_with_a_bound_dish)
{
    test_socket dish(context_, ZMQ_DISH);
    ASSERT_EQ(0, zmq_join(dish, "g"));
    const std::string address = dish.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket one(context_, ZMQ_RADIO);
    test_socket two(context_, ZMQ_RADIO);
    one.connect(address);
    two.connect(address);
    tune_in(one, dish, "g");
    tune_in(two, dish, "g");
    send_in(one, "g", "1");
    expect_in(dish, "g", "1");
    send_in(two, "g", "2");
    expect_in(dish, "g", "2");
}

TEST_P(RadioDish, forgets_a_dish_that_has_gone)
{
    {
        test_socket gone = make_dish("g");
    }
    test_socket dish = make_dish("g");
    for (int index = 0; index < 100; ++index)
        send_in(radio_, "g", std::to_string(index));
    for (int index = 0; index < 100; ++index)
        expect_in(dish, "g", std::to_string(index));
}

TEST_P(RadioDish, drops_for_a_dish_that_does_not_read)
{
    radio_.set(ZMQ_SNDHWM, 10);
    test_socket dish(context_, ZMQ_DISH);
    dish.set(ZMQ_RCVHWM, 10);
    ASSERT_EQ(0, zmq_join(dish, "g"));
    dish.connect(address_);
    tune_in(radio_, dish, "g");
    constexpr int count = 20'000;
    const std::string filling(1000, 'x');
    for (int index = 0; index < count; ++index)
        ASSERT_EQ(1000, send_in(radio_, "g", filling));
    // What got through is whole, and the way is free again.
    int got = 0;
    while (dish.readable(quiet_window)) {
        expect_in(dish, "g", filling);
        ++got;
    }
    EXPECT_GE(got, 10);
    EXPECT_LT(got, count);
    tune_in(radio_, dish, "g");
}

TEST_P(RadioDish, waits_for_a_dish_that_does_not_read_if_nothing_may_be_dropped)
{
    radio_.set(ZMQ_XPUB_NODROP, 1);
    radio_.set(ZMQ_SNDHWM, 10);
    test_socket dish(context_, ZMQ_DISH);
    dish.set(ZMQ_RCVHWM, 10);
    ASSERT_EQ(0, zmq_join(dish, "g"));
    dish.connect(address_);
    tune_in(radio_, dish, "g");
    int sent = 0;
    while (send_in(radio_, "g", std::string(1000, 'x'), ZMQ_DONTWAIT) >= 0)
        ASSERT_LT(++sent, 1'000'000);
    EXPECT_EQ(EAGAIN, zmq_errno());
    EXPECT_EQ(1, send_in(radio_, "other", "x", ZMQ_DONTWAIT));
    for (int index = 0; index < sent; ++index)
        expect_in(dish, "g", std::string(1000, 'x'));
    EXPECT_EQ(4, send_in(radio_, "g", "more"));
    expect_in(dish, "g", "more");
}

TEST_P(RadioDish, only_sends_and_only_receives)
{
    test_socket dish(context_, ZMQ_DISH);
    char byte = 0;
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_send(dish, "x", 1, 0)));
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_recv(radio_, &byte, 1, ZMQ_DONTWAIT)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_send(radio_, "x", 1, ZMQ_SNDMORE)));
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(dish, &byte, 1, ZMQ_DONTWAIT)));
}

ZLINK_ALL_TRANSPORTS(RadioDish);

TEST(Groups, are_joined_once_and_left_once)
{
    test_context context;
    test_socket dish(context, ZMQ_DISH);
    EXPECT_EQ(0, zmq_join(dish, "g"));
    EXPECT_TRUE(fails_with(EINVAL, zmq_join(dish, "g")));
    EXPECT_EQ(0, zmq_leave(dish, "g"));
    EXPECT_TRUE(fails_with(EINVAL, zmq_leave(dish, "g")));
    EXPECT_EQ(0, zmq_join(dish, std::string(255, 'g').c_str()));
    EXPECT_TRUE(fails_with(EINVAL, zmq_join(dish, std::string(256, 'g').c_str())));
    EXPECT_TRUE(fails_with(EINVAL, zmq_leave(dish, std::string(256, 'g').c_str())));
    EXPECT_EQ(0, zmq_join(dish, ""));
    EXPECT_EQ(0, zmq_leave(dish, ""));
}

TEST(Groups, are_for_dishes)
{
    test_context context;
    for (const int type : {ZMQ_RADIO, ZMQ_SUB, ZMQ_CLIENT}) {
        test_socket socket(context, type);
        EXPECT_TRUE(fails_with(ENOTSUP, zmq_join(socket, "g"))) << type;
        EXPECT_TRUE(fails_with(ENOTSUP, zmq_leave(socket, "g"))) << type;
    }
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_join(nullptr, "g")));
    EXPECT_TRUE(fails_with(ENOTSOCK, zmq_leave(nullptr, "g")));
}

TEST(DishInproc, drops_what_is_no_message_to_a_group)
{
    test_context context;
    test_socket dish(context, ZMQ_DISH);
    ASSERT_EQ(0, zmq_join(dish, "g"));
    dish.bind("inproc://dish");
    test_socket push(context, ZMQ_PUSH); // nobody checks types within a process
    push.connect("inproc://dish");
    push.send("lonely");
    push.send("g");
    push.send_parts({"g", "two", "bodies"});
    push.send_parts({std::string(300, 'g'), "long"});
    push.send_parts({"h", "other"});
    push.send_parts({"g", "right"});
    EXPECT_EQ("right", dish.recv());
    EXPECT_FALSE(dish.readable(quiet_window));
}

class RadioDishUdp : public ::testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_EQ(0, zmq_join(dish_, "TV"));
        radio_.connect(dish_.bind_and_resolve("udp://127.0.0.1:*"));
    }
    /// Datagrams can get lost, so it is sent until it has come.
    void expect_to_arrive(const std::string& group, const std::string& body)
    {
        ASSERT_TRUE(wait_until([&] {
            send_in(radio_, group, body);
            return dish_.readable(std::chrono::milliseconds(50));
        }));
        while (dish_.readable(std::chrono::milliseconds(50))) {
            draft_message message;
            receive(dish_, message);
            EXPECT_EQ(body, message.body());
            EXPECT_EQ(group, message.group());
        }
    }

    test_context context_;
    test_socket dish_{context_, ZMQ_DISH};
    test_socket radio_{context_, ZMQ_RADIO};
};

TEST_F(RadioDishUdp, delivers_to_the_members_of_a_group)
{
    for (const std::size_t size : {0, 1, 100, 8000}) {
        EXPECT_EQ(4, send_in(radio_, "Movies", "none"));
        EXPECT_EQ(2, zmq_send(radio_, "no", 2, 0));
        expect_to_arrive("TV", std::string(size, 'b'));
    }
}

TEST_F(RadioDishUdp, joins_and_leaves)
{
    expect_to_arrive("TV", "1");
    ASSERT_EQ(0, zmq_join(dish_, "Movies"));
    expect_to_arrive("Movies", "2");
    ASSERT_EQ(0, zmq_leave(dish_, "TV"));
    EXPECT_EQ(1, send_in(radio_, "TV", "3"));
    expect_to_arrive("Movies", "4");
}

TEST_F(RadioDishUdp, connects_only_radios_and_binds_only_dishes)
{
    EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_bind(radio_, "udp://127.0.0.1:*")));
    EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_connect(dish_, "udp://127.0.0.1:5555")));
}

/// A radio that sends to two dishes by datagrams, and to others over connections.
class RadioOfSeveralTransports : public ::testing::Test {
protected:
    RadioOfSeveralTransports()
    {
        for (test_socket* const dish : {&one_, &two_, &connected_})
            EXPECT_EQ(0, zmq_join(*dish, "TV"));
        for (test_socket* const dish : {&one_, &two_})
            radio_.connect(dish->bind_and_resolve("udp://127.0.0.1:*"));
    }
    void connect_the_third()
    {
        connected_.set(ZMQ_RCVHWM, 10);
        connected_.connect(radio_.bind_and_resolve("tcp://127.0.0.1:*"));
    }

    /// All the bodies that have come to a dish.
    static std::vector<std::string> heard_by(test_socket& dish)
    {
        std::vector<std::string> bodies;
        while (dish.readable(std::chrono::milliseconds(50)))
            bodies.push_back(dish.recv());
        return bodies;
    }
    /// Datagrams can get lost, so it is sent until it has come.
    void expect_to_arrive(const std::string& body, std::initializer_list<test_socket*> dishes)
    {
        for (test_socket* const dish : dishes)
            ASSERT_TRUE(wait_until([&] {
                send_in(radio_, "Movies", "nobody's");
                send_in(radio_, "TV", body);
                return dish->readable(std::chrono::milliseconds(20));
            }));
        for (test_socket* const dish : dishes)
            for (const std::string& heard : heard_by(*dish))
                EXPECT_EQ(body, heard);
    }

    test_context context_;
    test_socket one_{context_, ZMQ_DISH};
    test_socket two_{context_, ZMQ_DISH};
    test_socket connected_{context_, ZMQ_DISH};
    test_socket radio_{context_, ZMQ_RADIO};
};

TEST_F(RadioOfSeveralTransports, reaches_all_of_them)
{
    expect_to_arrive("by datagrams", {&one_, &two_});
    connect_the_third();
    expect_to_arrive("to all", {&one_, &two_, &connected_});
    connected_.close();
    expect_to_arrive("by datagrams again", {&one_, &two_});
}

TEST_F(RadioOfSeveralTransports, is_disconnected_from_one_of_them)
{
    connect_the_third();
    expect_to_arrive("to all", {&one_, &two_, &connected_});
    const std::string address = one_.last_endpoint();
    radio_.disconnect(address);
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(radio_, address.c_str())));
    heard_by(one_); // what was under way
    expect_to_arrive("to the others", {&two_, &connected_});
    EXPECT_FALSE(one_.readable(std::chrono::milliseconds(1)));
    radio_.connect(address);
    expect_to_arrive("to all again", {&one_, &two_, &connected_});
}

TEST_F(RadioOfSeveralTransports, that_drops_nothing_does_not_wait_for_datagrams)
{
    radio_.set(ZMQ_XPUB_NODROP, 1);
    const std::string body(1'000, 'x');
    for (int index = 0; index < 10'000; ++index)
        ASSERT_EQ(1'000, send_in(radio_, "TV", body)) << index;
    for (test_socket* const dish : {&one_, &two_}) {
        const std::vector<std::string> heard = heard_by(*dish);
        EXPECT_FALSE(heard.empty());
        for (const std::string& each : heard)
            ASSERT_TRUE(body == each);
    }
    expect_to_arrive("and more", {&one_, &two_});
}

TEST_F(RadioOfSeveralTransports, that_drops_nothing_waits_for_a_connection_that_is_full)
{
    radio_.set(ZMQ_XPUB_NODROP, 1);
    radio_.set(ZMQ_SNDHWM, 10);
    radio_.set(ZMQ_SNDTIMEO, 400);
    connect_the_third();
    expect_to_arrive("to all", {&one_, &two_, &connected_});
    const std::string body(50'000, 'x');
    int sent = 0;
    while (send_in(radio_, "TV", body) >= 0)
        ASSERT_LT(++sent, 1'000'000);
    EXPECT_EQ(EAGAIN, zmq_errno());
    EXPECT_EQ(1, send_in(radio_, "Movies", "x", ZMQ_DONTWAIT)); // nobody has joined that
    for (test_socket* const dish : {&one_, &two_})
        heard_by(*dish);
    EXPECT_EQ(-1, send_in(radio_, "TV", "to nobody", ZMQ_DONTWAIT));
    for (int index = 0; index < sent; ++index)
        ASSERT_TRUE(body == connected_.recv()) << index;
    EXPECT_FALSE(one_.readable(quiet_window));
    radio_.set(ZMQ_SNDTIMEO, static_cast<int>(patience.count()));
    expect_to_arrive("to all again", {&one_, &two_, &connected_});
}

TEST(RadioDishMulticast, reaches_every_member_on_the_interface_named)
{
    test_context context;
    std::vector<test_socket> dishes;
    std::string endpoint = "udp://lo;239.192.7.11:*";
    for (int index = 0; index < 2; ++index) {
        dishes.emplace_back(context, ZMQ_DISH);
        ASSERT_EQ(0, zmq_join(dishes.back(), "TV"));
        endpoint = dishes.back().bind_and_resolve(endpoint);
    }
    EXPECT_EQ(0u, endpoint.find("udp://lo;239.192.7.11:")) << endpoint;
    test_socket radio(context, ZMQ_RADIO);
    radio.connect(endpoint);
    for (test_socket& dish : dishes)
        ASSERT_TRUE(wait_until([&] {
            send_in(radio, "Movies", "nobody's");
            send_in(radio, "TV", "everybody's");
            return dish.readable(std::chrono::milliseconds(20));
        }));
    for (test_socket& dish : dishes) {
        draft_message message;
        receive(dish, message);
        EXPECT_EQ("everybody's", message.body());
        EXPECT_EQ("TV", message.group());
    }
}

// With libzmq it always does.
TEST(ZlinkOnlyDish, never_shows_itself_as_writable)
{
    test_context context;
    test_socket radio(context, ZMQ_RADIO);
    test_socket dish(context, ZMQ_DISH);
    EXPECT_EQ(0, dish.events());
    dish.connect(radio.bind_and_resolve("tcp://127.0.0.1:*"));
    EXPECT_EQ(0, zmq_join(dish, "g"));
    ASSERT_TRUE(wait_until([&] {
        send_in(radio, "g", "");
        return dish.readable(std::chrono::milliseconds(20));
    }));
    EXPECT_EQ(ZMQ_POLLIN, dish.events());
}

} // namespace
} // namespace zlink::test
