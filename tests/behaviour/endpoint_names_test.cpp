// SPDX-License-Identifier: Apache-2.0
// Names of endpoints: written in another way, as long as can be, and used before they are given.
#include "support/listening_post.hpp"
#include "support/plain_udp.hpp"
#include "support/raw_peer.hpp"

namespace zlink::test {
namespace {

class UnbindByName : public ::testing::Test {
protected:
    UnbindByName() : address_(socket_.bind_and_resolve("tcp://127.0.0.1:*")) {}

    std::string by_name(int port_offset = 0) const
    {
        return "tcp://localhost:" + std::to_string(port_of(address_) + port_offset);
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_PULL};
    std::string address_;
};

TEST_F(UnbindByName, ends_what_was_bound_by_number)
{
    EXPECT_EQ(0, zmq_unbind(socket_, by_name().c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, address_.c_str())));
    EXPECT_TRUE(wait_until([&] { return !raw_peer::try_to(address_); }));
}

TEST_F(UnbindByName, wants_the_same_port)
{
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, by_name(-1).c_str())));
    EXPECT_TRUE(raw_peer::try_to(address_).has_value());
}

TEST_F(UnbindByName, ends_no_other_endpoint)
{
    const std::string other = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    EXPECT_EQ(0, zmq_unbind(socket_, by_name().c_str()));
    test_socket peer(context_, ZMQ_PUSH);
    peer.connect(other);
    peer.send("x");
    EXPECT_EQ("x", socket_.recv());
}

TEST(DisconnectByName, ends_what_was_connected_by_number_only)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    const std::string port = std::to_string(port_of(known_address(transport::tcp)));
    socket.connect("tcp://127.0.0.1:" + port);
    EXPECT_EQ(0, zmq_disconnect(socket, ("tcp://localhost:" + port).c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket, ("tcp://127.0.0.1:" + port).c_str())));
    socket.connect("tcp://localhost:" + port);
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket, ("tcp://127.0.0.1:" + port).c_str())));
    EXPECT_EQ(0, zmq_disconnect(socket, ("tcp://localhost:" + port).c_str()));
}

/// A name in the namespace of the kernel that has this many bytes, '@' included.
std::string abstract_name(std::size_t bytes)
{
    std::string name = "@" + scratch_directory() + "-";
    name.resize(bytes, 'n');
    return "ipc://" + name;
}

TEST(AbstractNames, may_have_107_bytes)
{
    test_context context;
    test_socket bound(context, ZMQ_PULL);
    EXPECT_EQ(abstract_name(107), bound.bind_and_resolve(abstract_name(107)));
    test_socket peer(context, ZMQ_PUSH);
    peer.connect(abstract_name(107));
    peer.send("x");
    EXPECT_EQ("x", bound.recv());
}

TEST(AbstractNames, differ_in_their_last_byte)
{
    test_context context;
    std::vector<test_socket> bound;
    std::vector<std::string> names{abstract_name(107), abstract_name(107), abstract_name(106)};
    names[1].back() = 'm';
    for (const std::string& name : names) {
        bound.emplace_back(context, ZMQ_PULL);
        bound.back().bind(name);
    }
    for (std::size_t index = 0; index < names.size(); ++index) {
        test_socket peer(context, ZMQ_PUSH);
        peer.connect(names[index]);
        peer.send(names[index]);
        EXPECT_EQ(names[index], bound[index].recv());
    }
}

TEST(AbstractNames, have_no_more_than_107_bytes)
{
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    for (const std::size_t bytes : {108, 109, 1000}) {
        const std::string name = abstract_name(bytes);
        EXPECT_TRUE(fails_with(ENAMETOOLONG, zmq_bind(socket, name.c_str()))) << bytes;
        EXPECT_TRUE(fails_with(ENAMETOOLONG, zmq_connect(socket, name.c_str()))) << bytes;
    }
}

TEST(MonitorName, may_be_connected_to_before_there_is_a_monitor)
{
    test_context context;
    const std::string name = known_address(transport::inproc);
    test_socket listener(context, ZMQ_PAIR);
    listener.connect(name);
    test_socket socket(context, ZMQ_PULL);
    ASSERT_EQ(0, zmq_socket_monitor(socket, name.c_str(), ZMQ_EVENT_ALL));
    const std::string address = socket.bind_and_resolve("tcp://127.0.0.1:*");
    const told first = decode_1(listener.recv_parts());
    EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_EVENT_LISTENING), first.event);
    EXPECT_EQ(address, first.local);
}

} // namespace
} // namespace zlink::test
