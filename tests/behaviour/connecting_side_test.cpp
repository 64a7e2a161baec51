// SPDX-License-Identifier: Apache-2.0
// Sockets that connect and lose the connection keep what they know of the peer, and whoever binds
// next is taken for the same one.
#include "support/listening_post.hpp"
#include "support/xpub.hpp"

#include <memory>

namespace zlink::test {
namespace {

/// A socket under test that connects, and the peers that bind one after the other.
class ConnectingSide : public transport_test {
protected:
    void open(int type, const configuration& configure = {})
    {
        socket_ = test_socket(context_, type);
        socket_.set(ZMQ_RECONNECT_IVL, 5);
        if (configure)
            configure(socket_);
        post_ = std::make_unique<listening_post>(
            context_, socket_, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
        address_ = known_address(GetParam());
        socket_.connect(address_);
    }
    /// The next peer, connected.
    test_socket peer(int type)
    {
        test_socket next(context_, type);
        if (type == ZMQ_SUB)
            next.set(ZMQ_SUBSCRIBE, "");
        if (!wait_until([&] { return next.try_bind(address_); }))
            throw call_failed("zmq_bind " + address_);
        wait_for(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        return next;
    }
    void lose(test_socket& peer)
    {
        peer.close();
        wait_for(ZMQ_EVENT_DISCONNECTED);
        socket_.events(); // a loss may be noticed only in a call
    }

    test_socket socket_;

private:
    // An attempt may meet the last listener just before it closes, and end as well.
    void wait_for(std::uint64_t event)
    {
        while (post_->next().event != event) {
        }
    }

    std::unique_ptr<listening_post> post_;
    std::string address_;
};

// --- publishers ---------------------------------------------------------------------------------

class ConnectingPublisher : public ConnectingSide {
protected:
    /// Whatever the type of the publisher.
    void accept(test_socket& subscriber, const std::string& topic)
    {
        subscriber.send(subscribe(topic));
        if (socket_.get(ZMQ_TYPE) == ZMQ_XPUB) {
            EXPECT_EQ(subscribe(topic), socket_.recv());
            if (manual_)
                socket_.set(ZMQ_SUBSCRIBE, topic);
        }
        publish_until_received(socket_, subscriber, topic);
    }
    void expect_topics_to_be_kept()
    {
        test_socket first = peer(ZMQ_XSUB);
        accept(first, "a");
        lose(first);
        socket_.send("b that nobody asked for");
        socket_.send_parts({"a while it is away", "in parts"});
        test_socket second = peer(ZMQ_XSUB);
        socket_.send("a when its successor is there");
        EXPECT_EQ((parts{"a while it is away", "in parts"}), second.recv_parts());
        EXPECT_EQ("a when its successor is there", second.recv());
        accept(second, "b");
        socket_.send("a and");
        socket_.send("b");
        EXPECT_EQ("a and", second.recv());
        EXPECT_EQ("b", second.recv());
        lose(second);
        if (socket_.get(ZMQ_TYPE) == ZMQ_XPUB) {
            EXPECT_FALSE(socket_.readable(quiet_window)) << "nothing was cancelled";
        }
    }

    bool manual_ = false;
};

TEST_P(ConnectingPublisher, keeps_the_topics_of_a_lost_subscriber_for_its_successor)
{
    open(ZMQ_PUB);
    expect_topics_to_be_kept();
}

TEST_P(ConnectingPublisher, tells_no_cancellation_when_its_subscriber_is_lost)
{
    for (const int option : {ZMQ_XPUB_VERBOSE, ZMQ_XPUB_VERBOSER, ZMQ_XPUB_MANUAL}) {
        manual_ = option == ZMQ_XPUB_MANUAL;
        open(ZMQ_XPUB, [&](test_socket& publisher) { publisher.set(option, 1); });
        expect_topics_to_be_kept();
    }
}

TEST_P(ConnectingPublisher, welcomes_the_first_subscriber_and_no_successor)
{
    open(ZMQ_XPUB, [](test_socket& publisher) { publisher.set(ZMQ_XPUB_WELCOME_MSG, "welcome"); });
    for (int round = 0; round < 3; ++round) {
        test_socket subscriber = peer(ZMQ_XSUB);
        if (round == 0) {
            EXPECT_EQ("welcome", subscriber.recv());
        }
        const std::string topic = std::to_string(round);
        subscriber.send(subscribe(topic));
        EXPECT_EQ(subscribe(topic), socket_.recv());
        socket_.send(topic);
        EXPECT_EQ(topic, subscriber.recv());
        lose(subscriber);
    }
}

ZLINK_WIRE_TRANSPORTS(ConnectingPublisher);

// --- repliers -----------------------------------------------------------------------------------

class ConnectingRep : public ConnectingSide {
protected:
    void be_asked(test_socket& requester, const std::string& question)
    {
        requester.send_parts({"", question});
        EXPECT_EQ(question, socket_.recv());
    }
};

TEST_P(ConnectingRep, may_reply_while_there_is_no_connection)
{
    open(ZMQ_REP);
    test_socket first = peer(ZMQ_DEALER);
    be_asked(first, "question");
    lose(first);
    socket_.send("reply");
    test_socket second = peer(ZMQ_DEALER);
    EXPECT_EQ((parts{"", "reply"}), second.recv_parts());
    be_asked(second, "another");
    socket_.send("its reply");
    EXPECT_EQ((parts{"", "its reply"}), second.recv_parts());
}

TEST_P(ConnectingRep, replies_to_whoever_binds_next)
{
    open(ZMQ_REP);
    test_socket first = peer(ZMQ_DEALER);
    be_asked(first, "question");
    lose(first);
    test_socket second = peer(ZMQ_DEALER);
    socket_.send_parts({"reply", "in parts"});
    EXPECT_EQ((parts{"", "reply", "in parts"}), second.recv_parts());
    be_asked(second, "another");
    socket_.send("its reply");
    EXPECT_EQ((parts{"", "its reply"}), second.recv_parts());
}

ZLINK_WIRE_TRANSPORTS(ConnectingRep);

// --- messages that were begun -------------------------------------------------------------------

class BegunMessage : public ConnectingSide {
protected:
    /// Begins a message before the loss, goes on after it, and ends it when the next peer is there
    /// or, if `away`, before.
    void expect_to_arrive_whole(int peer_type, bool away, const std::string& id = "")
    {
        const std::string large(50'000, 'l');
        const auto begin = [&] {
            if (!id.empty())
                socket_.send(id, ZMQ_SNDMORE);
        };
        test_socket first = peer(peer_type);
        begin();
        socket_.send("before");
        EXPECT_EQ("before", first.recv());
        begin();
        socket_.send("begun", ZMQ_SNDMORE);
        socket_.send(large, ZMQ_SNDMORE);
        lose(first);
        socket_.send("gone on", ZMQ_SNDMORE);
        test_socket second = away ? test_socket() : peer(peer_type);
        socket_.send("ended");
        begin();
        socket_.send_parts({"another", "one"});
        if (away)
            second = peer(peer_type);
        EXPECT_EQ((parts{"begun", large, "gone on", "ended"}), second.recv_parts());
        EXPECT_EQ((parts{"another", "one"}), second.recv_parts());
    }
};

TEST_P(BegunMessage, of_a_sender_arrives_whole_over_the_next_connection)
{
    for (const auto& [type, peer_type] :
         {std::pair{ZMQ_PUSH, ZMQ_PULL}, {ZMQ_DEALER, ZMQ_DEALER}, {ZMQ_PAIR, ZMQ_PAIR}})
        for (const bool away : {false, true}) {
            open(type);
            expect_to_arrive_whole(peer_type, away);
        }
}

TEST_P(BegunMessage, of_a_router_arrives_whole_over_the_next_connection)
{
    for (const bool away : {false, true}) {
        open(ZMQ_ROUTER, [](test_socket& router) { router.set(ZMQ_CONNECT_ROUTING_ID, "peer"); });
        expect_to_arrive_whole(ZMQ_DEALER, away, "peer");
    }
}

ZLINK_WIRE_TRANSPORTS(BegunMessage);

class ZlinkOnlyBegunMessage : public BegunMessage {};

// libzmq drops it.
TEST_P(ZlinkOnlyBegunMessage, of_a_publisher_arrives_whole_over_the_next_connection)
{
    for (const bool away : {false, true}) {
        open(ZMQ_XPUB);
        test_socket first = peer(ZMQ_SUB);
        EXPECT_EQ(subscribe(""), socket_.recv());
        socket_.send("begun", ZMQ_SNDMORE);
        lose(first);
        test_socket second = away ? test_socket() : peer(ZMQ_SUB);
        socket_.send("ended");
        socket_.send("another");
        if (away)
            second = peer(ZMQ_SUB);
        EXPECT_EQ((parts{"begun", "ended"}), second.recv_parts());
        EXPECT_EQ(parts{"another"}, second.recv_parts());
    }
}

ZLINK_WIRE_TRANSPORTS(ZlinkOnlyBegunMessage);

} // namespace
} // namespace zlink::test
