// SPDX-License-Identifier: Apache-2.0
// A message that could not be sent stays as it was and belongs to the caller.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/draft.hpp"
#include "support/fixture.hpp"

#include <atomic>

namespace zlink::test {
namespace {

/// A message whose body is memory of the test, counting how often that was given back.
class lent_message {
public:
    explicit lent_message(std::size_t size) : body_(size, 'b')
    {
        if (zmq_msg_init_data(&message_, body_.data(), size, take_back, this) != 0)
            throw call_failed("zmq_msg_init_data");
    }
    lent_message(const lent_message&) = delete;
    lent_message& operator=(const lent_message&) = delete;

    operator zmq_msg_t*() { return &message_; }
    bool unchanged()
    {
        return zmq_msg_data(&message_) == body_.data() && zmq_msg_size(&message_) == body_.size() &&
               body_ == std::string(body_.size(), 'b');
    }
    int given_back() const { return given_back_; }

private:
    static void take_back(void*, void* hint) { ++static_cast<lent_message*>(hint)->given_back_; }

    std::string body_;
    zmq_msg_t message_;
    std::atomic<int> given_back_{0};
};

/// Sends messages of several sizes in vain; each must be there afterwards, and be freed when it is
/// closed, not before and not again.
void expect_refusals(int code, void* socket, int flags = 0)
{
    for (const std::size_t size : {0, 1, 33, 34, 100'000}) {
        SCOPED_TRACE(size);
        lent_message message(size);
        EXPECT_TRUE(fails_with(code, zmq_msg_send(message, socket, flags)));
        EXPECT_TRUE(message.unchanged());
        EXPECT_EQ(0, message.given_back());
        EXPECT_EQ(0, zmq_msg_close(message));
        EXPECT_EQ(1, message.given_back());
    }
}

TEST(FailedSend, leaves_the_message_where_the_type_does_not_send)
{
    test_context context;
    for (const int type : {ZMQ_PULL, ZMQ_SUB}) {
        SCOPED_TRACE(type);
        expect_refusals(ENOTSUP, test_socket(context, type));
        expect_refusals(ENOTSUP, test_socket(context, type), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    }
}

TEST(FailedSend, leaves_the_message_when_the_context_ends)
{
    for (const int type : {ZMQ_PAIR, ZMQ_PUB, ZMQ_REQ, ZMQ_DEALER, ZMQ_ROUTER, ZMQ_PUSH}) {
        SCOPED_TRACE(type);
        test_context context;
        test_socket socket(context, type);
        zmq_ctx_shutdown(context);
        expect_refusals(ETERM, socket);
        expect_refusals(ETERM, socket, ZMQ_SNDMORE);
    }
}

TEST(FailedSend, leaves_the_message_when_the_time_is_up)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_SNDTIMEO, 1);
    expect_refusals(EAGAIN, socket);
}

TEST(FailedSend, leaves_the_message_to_an_unknown_peer)
{
    test_context context;
    test_socket router(context, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    expect_refusals(EHOSTUNREACH, router, ZMQ_SNDMORE);
}

class FailedSendOutOfTurn : public transport_test {};

TEST_P(FailedSendOutOfTurn, leaves_the_message)
{
    auto [rep, req, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    expect_refusals(EFSM, rep);
    req.send("question");
    expect_refusals(EFSM, req);
    expect_refusals(EFSM, req, ZMQ_DONTWAIT);
    EXPECT_EQ("question", rep.recv());
    rep.send("answer");
    expect_refusals(EFSM, rep, ZMQ_SNDMORE);
    EXPECT_EQ("answer", req.recv()); // and nothing of them was sent
    EXPECT_FALSE(rep.readable(std::chrono::milliseconds(0)));
}

TEST_P(FailedSendOutOfTurn, leaves_a_message_that_can_be_sent_later)
{
    auto [rep, req, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    req.send("first");
    lent_message message(1000);
    EXPECT_TRUE(fails_with(EFSM, zmq_msg_send(message, req, 0)));
    EXPECT_EQ("first", rep.recv());
    rep.send("answer");
    EXPECT_EQ("answer", req.recv());
    EXPECT_EQ(1000, zmq_msg_send(message, req, 0));
    EXPECT_EQ(std::string(1000, 'b'), rep.recv());
    EXPECT_TRUE(wait_until([&] { return message.given_back() == 1; }));
}

ZLINK_ALL_TRANSPORTS(FailedSendOutOfTurn);

class FailedDraftSend : public ::testing::Test {
protected:
    test_context context_;
};

TEST_F(FailedDraftSend, leaves_the_message_where_the_type_does_not_send)
{
    for (const int type : {ZMQ_GATHER, ZMQ_DISH})
        expect_refusals(ENOTSUP, test_socket(context_, type));
}

TEST_F(FailedDraftSend, leaves_a_part_where_messages_have_one_part)
{
    for (const int type : {ZMQ_CLIENT, ZMQ_SERVER, ZMQ_RADIO, ZMQ_SCATTER, ZMQ_PEER, ZMQ_CHANNEL}) {
        SCOPED_TRACE(type);
        test_socket socket(context_, type);
        expect_refusals(EINVAL, socket, ZMQ_SNDMORE);
        expect_refusals(EINVAL, socket, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    }
}

TEST_F(FailedDraftSend, leaves_the_message_to_an_unknown_peer)
{
    for (const int type : {ZMQ_SERVER, ZMQ_PEER}) {
        SCOPED_TRACE(type);
        test_socket socket(context_, type);
        lent_message message(100);
        ASSERT_EQ(0, zmq_msg_set_routing_id(message, 77));
        EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_msg_send(message, socket, 0)));
        EXPECT_TRUE(message.unchanged());
        EXPECT_EQ(77u, zmq_msg_routing_id(message));
        EXPECT_EQ(0, message.given_back());
        EXPECT_EQ(0, zmq_msg_close(message));
        EXPECT_EQ(1, message.given_back());
    }
}

TEST_F(FailedDraftSend, leaves_the_group)
{
    test_socket radio(context_, ZMQ_RADIO);
    for (const std::size_t size : {1, 14, 15, 255}) {
        const std::string group(size, 'g');
        draft_message message("body");
        ASSERT_EQ(0, zmq_msg_set_group(message, group.c_str()));
        EXPECT_TRUE(fails_with(EINVAL, zmq_msg_send(message, radio, ZMQ_SNDMORE)));
        EXPECT_EQ(group, message.group());
        EXPECT_EQ("body", message.body());
    }
}

} // namespace
} // namespace zlink::test
