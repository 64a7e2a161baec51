// SPDX-License-Identifier: Apache-2.0
// What a received message tells of its origin, and what of that goes along when it is moved or sent
// on.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/draft.hpp"
#include "support/listening_post.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <tuple>

namespace zlink::test {
namespace {

/// Copies the bytes of a message to another place, as bindings do, and makes the old place useless.
/// The caller closes the message at its new place.
std::unique_ptr<zmq_msg_t> moved_by_bytes(std::unique_ptr<zmq_msg_t> from)
{
    auto to = std::make_unique<zmq_msg_t>();
    std::memcpy(to.get(), from.get(), sizeof *to);
    std::memset(from.get(), 0xEE, sizeof *from);
    return to;
}

std::unique_ptr<zmq_msg_t> received_from(void* socket)
{
    auto message = std::make_unique<zmq_msg_t>();
    zmq_msg_init(message.get());
    if (zmq_msg_recv(message.get(), socket, 0) < 0)
        throw call_failed("zmq_msg_recv");
    return message;
}

std::string body_of(zmq_msg_t* message)
{
    return {static_cast<const char*>(zmq_msg_data(message)), zmq_msg_size(message)};
}

class Origin : public transport_test {
protected:
    test_socket sink_{context_, ZMQ_PULL};
};

TEST_P(Origin, is_the_descriptor_that_the_monitor_told_when_it_accepted)
{
    listening_post post(context_, sink_, ZMQ_EVENT_ACCEPTED);
    const std::string address = sink_.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> peers;
    std::vector<int> accepted;
    for (int index = 0; index < 3; ++index) {
        peers.emplace_back(context_, ZMQ_PUSH);
        peers.back().connect(address);
        accepted.push_back(static_cast<int>(post.expect(ZMQ_EVENT_ACCEPTED).values.at(0)));
    }
    for (const std::size_t index : {2, 0, 1}) {
        peers[index].send("x");
        const auto message = received_from(sink_);
        EXPECT_EQ(accepted[index], zmq_msg_get(message.get(), ZMQ_SRCFD)) << index;
        EXPECT_STREQ(std::to_string(accepted[index]).c_str(), zmq_msg_gets(message.get(), "__fd"));
        zmq_msg_close(message.get());
    }
}

TEST_P(Origin, is_still_told_after_the_message_was_moved_by_its_bytes)
{
    test_socket source(context_, ZMQ_PUSH);
    source.connect(sink_.bind_and_resolve(fresh_bind_address(GetParam())));
    for (const std::size_t size : {0, 1, 29, 33, 34, 300, 100'000}) {
        SCOPED_TRACE(size);
        const std::string body(size, 'b');
        source.send_parts({body, "last"});
        auto message = received_from(sink_);
        const int fd = zmq_msg_get(message.get(), ZMQ_SRCFD);
        EXPECT_LE(0, fd);
        message = moved_by_bytes(std::move(message));
        EXPECT_EQ(body, body_of(message.get()));
        EXPECT_EQ(1, zmq_msg_more(message.get()));
        EXPECT_EQ(fd, zmq_msg_get(message.get(), ZMQ_SRCFD));
        EXPECT_STREQ("PUSH", zmq_msg_gets(message.get(), "Socket-Type"));
        EXPECT_EQ(0, zmq_msg_close(message.get()));
        EXPECT_EQ("last", sink_.recv());
    }
}

ZLINK_WIRE_TRANSPORTS(Origin);

TEST(MovedGroup, is_kept_at_every_length)
{
    for (const std::size_t body_size : {0, 33, 34, 5000})
        for (const std::size_t size : {0, 1, 14, 15, 16, 31, 64, 100, 254, 255}) {
            const std::string body(body_size, 'b');
            const std::string group(size, 'g');
            auto message = std::make_unique<zmq_msg_t>();
            zmq_msg_init_buffer(message.get(), body.data(), body.size());
            ASSERT_EQ(0, zmq_msg_set_group(message.get(), group.c_str()));
            message = moved_by_bytes(std::move(message));
            EXPECT_EQ(group, zmq_msg_group(message.get()));
            EXPECT_EQ(body, body_of(message.get()));
            EXPECT_EQ(0, zmq_msg_close(message.get()));
        }
}

class MovedGroupOver : public transport_test {};

TEST_P(MovedGroupOver, is_kept_by_a_message_that_was_received)
{
    auto [radio, dish, address] = link(context_, GetParam(), ZMQ_RADIO, ZMQ_DISH);
    for (const std::size_t size : {1, 14, 15, 16, 100, 255}) {
        const std::string group(size, 'g');
        ASSERT_EQ(0, zmq_join(dish, group.c_str()));
        ASSERT_TRUE(wait_until([&, &to = radio, &from = dish] {
            send_in(to, group, "body");
            return from.readable(std::chrono::milliseconds(5));
        }));
        send_in(radio, group, "last");
        bool last = false;
        while (!last) {
            const auto message = moved_by_bytes(received_from(dish));
            last = body_of(message.get()) == "last";
            EXPECT_EQ(group, zmq_msg_group(message.get()));
            EXPECT_EQ(0, zmq_msg_close(message.get()));
        }
    }
}

ZLINK_ALL_TRANSPORTS(MovedGroupOver);

/// Messages travel from `source_` to `middle_`, and from `onward_` to `end_`.
class Forwarding : public ::testing::TestWithParam<std::tuple<transport, transport>> {
protected:
    void forward(int flags = 0)
    {
        const auto message = received_from(middle_);
        if (zmq_msg_send(message.get(), onward_, flags) < 0)
            throw call_failed("zmq_msg_send");
    }

    test_context context_;
    connected_pair first_ = link(context_, std::get<0>(GetParam()), ZMQ_PULL, ZMQ_PUSH);
    connected_pair second_ = link(context_, std::get<1>(GetParam()), ZMQ_DEALER, ZMQ_DEALER);
    test_socket& source_ = first_.peer;
    test_socket& middle_ = first_.bound;
    test_socket& onward_ = second_.peer;
    test_socket& end_ = second_.bound;
};

TEST_P(Forwarding, a_part_that_had_others_behind_it_may_be_a_message_of_its_own)
{
    for (const std::size_t size : {1, 34, 10'000}) {
        const std::string body(size, 'b');
        source_.send_parts({body, "second", "third"});
        for (int part = 0; part < 3; ++part)
            forward();
        EXPECT_EQ(parts{body}, end_.recv_parts());
        EXPECT_EQ(parts{"second"}, end_.recv_parts());
        EXPECT_EQ(parts{"third"}, end_.recv_parts());
    }
}

TEST_P(Forwarding, the_last_part_may_have_others_behind_it)
{
    for (const std::size_t size : {1, 34, 10'000}) {
        const std::string body(size, 'b');
        source_.send(body);
        forward(ZMQ_SNDMORE);
        onward_.send("more");
        EXPECT_EQ((parts{body, "more"}), end_.recv_parts());
    }
}

TEST_P(Forwarding, the_origin_is_that_of_the_last_way)
{
    for (const std::size_t size : {1, 34, 10'000}) {
        SCOPED_TRACE(size);
        source_.send(std::string(size, 'b'));
        forward();
        const auto message = received_from(end_);
        if (std::get<1>(GetParam()) == transport::inproc) {
            for (const char* name : {"Socket-Type", "Peer-Address", "__fd"})
                EXPECT_TRUE(fails_with(EINVAL, zmq_msg_gets(message.get(), name))) << name;
            EXPECT_TRUE(fails_with(EINVAL, zmq_msg_get(message.get(), ZMQ_SRCFD)));
        } else {
            EXPECT_STREQ("DEALER", zmq_msg_gets(message.get(), "Socket-Type"));
        }
        zmq_msg_close(message.get());
    }
}

std::string name_of_ways(const ::testing::TestParamInfo<Forwarding::ParamType>& info)
{
    const auto [first, second] = info.param;
    return std::string(name_of(first)) + "_" + name_of(second);
}

INSTANTIATE_TEST_SUITE_P(From, Forwarding,
                         ::testing::Combine(::testing::ValuesIn(all_links()),
                                            ::testing::ValuesIn(all_links())),
                         name_of_ways);

} // namespace
} // namespace zlink::test
