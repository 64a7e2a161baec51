// SPDX-License-Identifier: Apache-2.0
// Binding and connecting: which addresses are good, which errors the others give, and what is
// reported back.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/fixture.hpp"
#include "support/plain_udp.hpp"
#include "support/raw_peer.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace zlink::test {
namespace {

class Endpoints : public ::testing::Test {
protected:
    test_context context_;
    test_socket socket_{context_, ZMQ_DEALER};
};

TEST_F(Endpoints, bind_refuses_malformed_addresses)
{
    for (const char* address : {"", "tcp", "tcp://", "://x", "tcp://127.0.0.1",
                                "tcp://127.0.0.1:", "tcp://127.0.0.1:http", "tcp://127.0.0.1:65536",
                                "tcp://127.0.0.1:*/abc", "ipc://@"})
        EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket_, address))) << address;
}

TEST_F(Endpoints, unknown_transports_are_not_supported)
{
    for (const char* address : {"TCP://127.0.0.1:*", "foo://bar", "Inproc://x"}) {
        EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_bind(socket_, address))) << address;
        EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_connect(socket_, address))) << address;
        EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_unbind(socket_, address))) << address;
        EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_disconnect(socket_, address))) << address;
    }
}

TEST_F(Endpoints, udp_is_not_for_this_type)
{
    EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_bind(socket_, "udp://127.0.0.1:5555")));
    EXPECT_TRUE(fails_with(ENOCOMPATPROTO, zmq_connect(socket_, "udp://127.0.0.1:5555")));
}

TEST_F(Endpoints, bind_refuses_addresses_of_other_machines)
{
    EXPECT_TRUE(fails_with(ENODEV, zmq_bind(socket_, "tcp://no-such-interface:*")));
    EXPECT_TRUE(fails_with(ENODEV, zmq_bind(socket_, "tcp://[::1]:*")));
    EXPECT_TRUE(fails_with(EADDRNOTAVAIL, zmq_bind(socket_, "tcp://192.0.2.1:*")));
}

TEST_F(Endpoints, bind_refuses_bad_paths)
{
    const std::string directory = scratch_directory();
    const std::string too_long = "ipc://" + directory + "/" + std::string(108, 'p');
    EXPECT_TRUE(fails_with(ENAMETOOLONG, zmq_bind(socket_, too_long.c_str())));
    EXPECT_TRUE(fails_with(ENAMETOOLONG, zmq_connect(socket_, too_long.c_str())));
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket_, ("ipc://" + directory).c_str())));
    const std::string nowhere = "ipc://" + directory + "/missing/socket";
    EXPECT_TRUE(fails_with(ENOENT, zmq_bind(socket_, nowhere.c_str())));
}

TEST_F(Endpoints, connect_refuses_malformed_addresses)
{
    for (const char* address :
         {"", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:*",
          "tcp://127.0.0.1:http", "tcp://*:5555", "tcp://local host:5555", "tcp://_name:5555",
          "tcp://local/host:5555", "tcp://user@localhost:5555", "tcp://a,b:5555",
          "tcp://[::!1]:5555", "tcp://<localhost>:5555", "tcp://;127.0.0.1:5555",
          "tcp://a=b:0;127.0.0.1:5555", "tcp://\xc3\xa9.example:5555", "ipc://@"})
        EXPECT_TRUE(fails_with(EINVAL, zmq_connect(socket_, address))) << address;
}

TEST_F(Endpoints, connect_leaves_names_to_be_resolved_later)
{
    for (const char* address :
         {"tcp://name.invalid:5555", "tcp://under_score.invalid:5555", "tcp://a-b.invalid.:5555",
          "tcp://[fe80::1%nothing]:5555", "tcp://::1:5555", "tcp://nothing:0;name.invalid:5555",
          "tcp://nothing;127.0.0.1:5555", "tcp://[::1]:0;[::1]:5555"})
        EXPECT_EQ(0, zmq_connect(socket_, address)) << address;
    EXPECT_EQ(0, zmq_connect(socket_, "inproc://not-bound-yet"));
}

TEST_F(Endpoints, unbind_and_disconnect_want_a_known_address)
{
    EXPECT_TRUE(fails_with(EINVAL, zmq_unbind(socket_, nullptr)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_disconnect(socket_, nullptr)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_unbind(socket_, "tcp://")));
    EXPECT_TRUE(fails_with(EINVAL, zmq_disconnect(socket_, "tcp")));
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, "tcp://127.0.0.1:5555")));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket_, "tcp://127.0.0.1:5555")));
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, "inproc://nothing")));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket_, "inproc://nothing")));
}

TEST(ZlinkOnlyEndpoints, null_is_no_address)
{
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, nullptr)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(socket, nullptr)));
}

TEST(ZlinkOnlyEndpoints, ports_do_not_wrap_around)
{
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, "tcp://127.0.0.1:-1")));
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, "tcp://127.0.0.1:70000")));
}

TEST(ZlinkOnlyEndpoints, what_follows_the_port_is_not_ignored)
{
    const std::string address = known_address(transport::tcp);
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    for (const char* rest : {"/abc", "abc", " ", "/"}) {
        EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, (address + rest).c_str()))) << rest;
        EXPECT_TRUE(fails_with(EINVAL, zmq_connect(socket, (address + rest).c_str()))) << rest;
    }
}

TEST(ZlinkOnlyEndpoints, ports_that_cannot_be_reached_are_refused)
{
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    for (const char* port : {"0", "-1", "65536", "99999", "1abc"})
        EXPECT_TRUE(fails_with(
            EINVAL, zmq_connect(socket, ("tcp://127.0.0.1:" + std::string(port)).c_str())))
            << port;
}

TEST(ZlinkOnlyEndpoints, a_port_alone_is_nowhere_to_connect_to)
{
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(socket, "tcp://:5555")));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket, "tcp://:5555")));
}

TEST_F(Endpoints, wildcard_ports_are_reported_resolved)
{
    for (const char* address : {"tcp://127.0.0.1:*", "tcp://127.0.0.1:0", "tcp://lo:*"}) {
        const std::string resolved = socket_.bind_and_resolve(address);
        EXPECT_EQ(0u, resolved.find("tcp://127.0.0.1:")) << resolved;
        EXPECT_LT(0, std::stoi(resolved.substr(resolved.rfind(':') + 1)));
    }
    EXPECT_EQ(0u, socket_.bind_and_resolve("tcp://*:*").find("tcp://0.0.0.0:"));
}

// Release 4.3.4 of the original fails here on machines without IPv6; 4.3.5 does not.
TEST_F(Endpoints, names_of_this_machine_can_be_bound)
{
    EXPECT_EQ(0u, socket_.bind_and_resolve("tcp://localhost:*").find("tcp://127.0.0.1:"));
}

TEST_F(Endpoints, the_last_endpoint_is_that_of_the_last_success)
{
    const std::string first = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    EXPECT_EQ("inproc://second", socket_.bind_and_resolve("inproc://second"));
    EXPECT_NE(0, zmq_bind(socket_, "tcp://127.0.0.1:http"));
    EXPECT_EQ("inproc://second", socket_.last_endpoint());
    test_socket other(context_, ZMQ_DEALER);
    other.connect(first);
    EXPECT_EQ(first, other.last_endpoint());
}

TEST_F(Endpoints, an_ipc_wildcard_makes_a_socket_of_its_own)
{
    const std::string address = socket_.bind_and_resolve("ipc://*");
    const std::string path = address.substr(6);
    struct stat info {};
    ASSERT_EQ(0, ::stat(path.c_str(), &info)) << address;
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
    test_socket peer(context_, ZMQ_DEALER);
    peer.connect(address);
    peer.send("via wildcard");
    EXPECT_EQ("via wildcard", socket_.recv());
    socket_.unbind(address);
    EXPECT_TRUE(wait_until([&] { return ::stat(path.c_str(), &info) != 0; }));
}

TEST_F(Endpoints, an_abstract_ipc_name_is_no_file)
{
    const std::string address = "ipc://@" + scratch_directory() + "-abstract";
    EXPECT_EQ(address, socket_.bind_and_resolve(address));
    test_socket second(context_, ZMQ_DEALER);
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(second, address.c_str())));
    second.connect(address);
    second.send("abstract");
    EXPECT_EQ("abstract", socket_.recv());
}

TEST_F(Endpoints, a_left_over_socket_file_is_replaced)
{
    const std::string address = known_address(transport::ipc);
    test_socket first(context_, ZMQ_DEALER);
    first.bind(address);
    socket_.bind(address);
    test_socket peer(context_, ZMQ_DEALER);
    peer.connect(address);
    peer.send("to the newcomer");
    EXPECT_EQ("to the newcomer", socket_.recv());
}

TEST_F(Endpoints, ipv6_addresses_work_when_enabled)
{
    socket_.set(ZMQ_IPV6, 1);
    if (zmq_bind(socket_, "tcp://[::1]:*") != 0)
        GTEST_SKIP() << "no IPv6 loopback here";
    const std::string address = socket_.last_endpoint();
    EXPECT_EQ(0u, address.find("tcp://[::1]:"));
    test_socket peer(context_, ZMQ_DEALER);
    peer.set(ZMQ_IPV6, 1);
    peer.connect(address);
    peer.send("six");
    EXPECT_EQ("six", socket_.recv());
}

TEST_F(Endpoints, a_source_address_may_be_given)
{
    const std::string address = socket_.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket peer(context_, ZMQ_DEALER);
    peer.connect("tcp://127.0.0.1:0;" + address.substr(6));
    peer.send("from a chosen source");
    EXPECT_EQ("from a chosen source", socket_.recv());
}

TEST_F(Endpoints, a_source_address_means_nothing_to_a_listener)
{
    const std::string address = socket_.bind_and_resolve("tcp://127.0.0.1:0;127.0.0.1:*");
    EXPECT_EQ(0u, address.find("tcp://127.0.0.1:"));
    test_socket peer(context_, ZMQ_DEALER);
    peer.connect(address);
    peer.send("hello");
    EXPECT_EQ("hello", socket_.recv());
}

TEST_F(Endpoints, a_source_address_of_a_listener_has_to_be_one)
{
    for (const char* source : {"", "127.0.0.1", "*", "x", ";", "127.0.0.1:x"}) {
        const std::string address = "tcp://" + std::string(source) + ";127.0.0.1:*";
        EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket_, address.c_str()))) << address;
    }
    for (const char* source : {"nosuchinterface:0", "127.0.0.1:1;127.0.0.1:2"}) {
        const std::string address = "tcp://" + std::string(source) + ";127.0.0.1:*";
        EXPECT_TRUE(fails_with(ENODEV, zmq_bind(socket_, address.c_str()))) << address;
    }
    for (const char* address : {"tcp://;127.0.0.1:80", "tcp://;", "tcp://127.0.0.1:80;"})
        EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket_, address))) << address;
    for (const char* source : {"*:0", "lo:*"})
        socket_.bind("tcp://" + std::string(source) + ";127.0.0.1:*");
}

TEST_F(Endpoints, a_source_address_does_not_matter_to_unbind)
{
    const std::string with_source =
        "tcp://127.0.0.1:0;" + socket_.bind_and_resolve("tcp://127.0.0.1:*").substr(6);
    EXPECT_EQ(0, zmq_unbind(socket_, with_source.c_str()));
}

/// What is in the way of a socket file, and stays.
class IpcObstacle : public ::testing::Test {
protected:
    IpcObstacle() { std::ofstream(file_) << "precious"; }
    ~IpcObstacle() override
    {
        std::error_code ignored;
        for (const std::string& path : {link_, file_})
            std::filesystem::remove_all(path, ignored);
    }
    bool file_is_as_it_was() const
    {
        std::string content;
        std::ifstream(file_) >> content;
        return std::filesystem::is_regular_file(file_) && content == "precious";
    }

    const std::string file_ = known_address(transport::ipc).substr(6);
    const std::string link_ = file_ + ".link";
    test_context context_;
    test_socket socket_{context_, ZMQ_DEALER};
};

TEST_F(IpcObstacle, a_plain_file_is_not_replaced)
{
    for (int round = 0; round < 3; ++round)
        EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket_, ("ipc://" + file_).c_str())));
    EXPECT_TRUE(file_is_as_it_was());
    std::filesystem::remove(file_);
    socket_.bind("ipc://" + file_);
}

TEST_F(IpcObstacle, neither_is_a_link_to_a_file_or_a_directory)
{
    for (const std::string& target : {file_, scratch_directory()}) {
        std::filesystem::create_symlink(target, link_);
        EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket_, ("ipc://" + link_).c_str())));
        EXPECT_EQ(target, std::filesystem::read_symlink(link_));
        std::filesystem::remove(link_);
    }
    EXPECT_TRUE(file_is_as_it_was());
}

TEST_F(IpcObstacle, neither_is_a_pipe)
{
    ASSERT_EQ(0, ::mkfifo(link_.c_str(), 0600));
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket_, ("ipc://" + link_).c_str())));
    EXPECT_TRUE(std::filesystem::is_fifo(link_));
}

TEST_F(IpcObstacle, a_link_to_a_socket_or_to_nothing_is_replaced)
{
    const std::string stale = known_address(transport::ipc);
    {
        test_socket first(context_, ZMQ_DEALER);
        first.bind(stale);
    }
    for (const std::string& target : {stale.substr(6), file_ + ".nothing"}) {
        std::filesystem::create_symlink(target, link_);
        test_socket bound(context_, ZMQ_DEALER);
        bound.bind("ipc://" + link_);
        EXPECT_TRUE(std::filesystem::is_socket(std::filesystem::symlink_status(link_)));
        std::filesystem::remove(link_);
    }
}

TEST_F(Endpoints, a_wildcard_is_a_file_name_to_those_who_connect)
{
    EXPECT_EQ(0, zmq_connect(socket_, "ipc://*"));
    EXPECT_EQ("ipc://*", socket_.last_endpoint());
    EXPECT_EQ(0, zmq_disconnect(socket_, "ipc://*"));
}

TEST_F(Endpoints, transports_that_are_not_built_are_not_supported)
{
    test_socket publisher(context_, ZMQ_PUB);
    for (const char* address : {"pgm://127.0.0.1;239.0.0.1:5555", "epgm://lo;239.0.0.1:5555",
                                "norm://127.0.0.1:5555", "vmci://1:1", "tipc://{1,1,1}"})
        for (void* const socket : {static_cast<void*>(socket_), static_cast<void*>(publisher)}) {
            EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_bind(socket, address))) << address;
            EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_connect(socket, address))) << address;
        }
}

class BoundAddress : public transport_test {};

TEST_P(BoundAddress, cannot_be_bound_again)
{
    test_socket first(context_, ZMQ_PAIR);
    const std::string address = first.bind_and_resolve(fresh_bind_address(GetParam()));
    EXPECT_FALSE(first.try_bind(address));
    EXPECT_EQ(EADDRINUSE, zmq_errno());
    test_socket second(context_, ZMQ_PAIR);
    EXPECT_FALSE(second.try_bind(address));
    EXPECT_EQ(EADDRINUSE, zmq_errno());
}

/// A named socket file of ipc is taken over.
std::vector<link_kind> links_that_keep_an_address()
{
    std::vector<link_kind> links = all_links();
    std::erase(links, transport::ipc);
    return links;
}
ZLINK_LINKS(BoundAddress, links_that_keep_an_address());

class EndpointsOver : public transport_test {};

TEST_P(EndpointsOver, an_address_is_free_again_after_unbind)
{
    test_socket first(context_, ZMQ_PULL);
    const std::string address = first.bind_and_resolve(fresh_bind_address(GetParam()));
    first.unbind(address);
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(first, address.c_str())));
    test_socket second(context_, ZMQ_PULL);
    EXPECT_TRUE(wait_until([&] { return second.try_bind(address); }));
    test_socket peer(context_, ZMQ_PUSH);
    peer.connect(address);
    peer.send("to the second");
    EXPECT_EQ("to the second", second.recv());
}

TEST_P(EndpointsOver, an_address_is_free_again_after_close)
{
    test_socket first(context_, ZMQ_PULL);
    const std::string address = first.bind_and_resolve(fresh_bind_address(GetParam()));
    first.close();
    test_socket second(context_, ZMQ_PULL);
    EXPECT_TRUE(wait_until([&] { return second.try_bind(address); }));
}

TEST_P(EndpointsOver, disconnecting_twice_fails)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH);
    peer.disconnect(address);
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(peer, address.c_str())));
}

TEST_P(EndpointsOver, one_socket_may_bind_and_connect_many_endpoints)
{
    test_socket hub(context_, ZMQ_PULL);
    std::vector<test_socket> sources(6);
    for (std::size_t index = 0; index < sources.size(); ++index) {
        sources[index] = test_socket(context_, ZMQ_PUSH);
        if (index % 2 == 0)
            sources[index].connect(hub.bind_and_resolve(fresh_bind_address(GetParam())));
        else
            hub.connect(sources[index].bind_and_resolve(fresh_bind_address(GetParam())));
        sources[index].send("1");
    }
    for (std::size_t index = 0; index < sources.size(); ++index)
        EXPECT_EQ("1", hub.recv());
}

TEST_P(EndpointsOver, a_socket_may_connect_to_itself)
{
    test_socket socket(context_, ZMQ_ROUTER);
    const std::string address = socket.bind_and_resolve(fresh_bind_address(GetParam()));
    socket.set(ZMQ_CONNECT_ROUTING_ID, "myself");
    socket.connect(address);
    socket.send_parts({"myself", "talking"});
    EXPECT_EQ("talking", socket.recv_parts().back());
}

ZLINK_ALL_TRANSPORTS(EndpointsOver);

class ConnectTwice : public transport_test {
protected:
    /// Number of connections made by connecting twice, seen by what a bound socket gets of one
    /// broadcast or, for the types that balance, by the peers it can tell apart.
    bool second_connect_is_ignored(int type)
    {
        test_socket bound(context_, ZMQ_ROUTER);
        const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
        test_socket peer(context_, type);
        peer.connect(address);
        peer.connect(address);
        for (int index = 0; index < 2; ++index)
            peer.send("x");
        const std::string first = bound.recv_parts().front();
        return first == bound.recv_parts().front();
    }
};

TEST_P(ConnectTwice, is_ignored_by_dealers)
{
    EXPECT_TRUE(second_connect_is_ignored(ZMQ_DEALER));
}

TEST_P(ConnectTwice, makes_a_second_connection_of_a_push_socket)
{
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket source(context_, ZMQ_PUSH);
    source.connect(address);
    source.connect(address);
    source.send("one way");
    source.send("or the other");
    EXPECT_TRUE(sink.readable());
    sink.recv();
    sink.recv();
    source.disconnect(address);
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(source, address.c_str())));
    EXPECT_TRUE(wait_until([&] { return !source.try_send("nowhere"); }));
}

ZLINK_WIRE_TRANSPORTS(ConnectTwice);

/// The current directory is another one while it lives.
class working_directory {
public:
    explicit working_directory(const std::string& path) { std::filesystem::current_path(path); }
    ~working_directory() { std::filesystem::current_path(before_); }
    working_directory(const working_directory&) = delete;
    working_directory& operator=(const working_directory&) = delete;

private:
    const std::filesystem::path before_ = std::filesystem::current_path();
};

/// The variables that name a directory for temporary files are what a test says while it lives.
class temporary_directories {
public:
    static constexpr std::array names{"TMPDIR", "TEMPDIR", "TMP"};

    temporary_directories()
    {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (const char* value = std::getenv(names[i]))
                before_[i] = value;
            ::unsetenv(names[i]);
        }
    }
    ~temporary_directories()
    {
        for (std::size_t i = 0; i < names.size(); ++i)
            if (before_[i])
                ::setenv(names[i], before_[i]->c_str(), 1);
            else
                ::unsetenv(names[i]);
    }
    temporary_directories(const temporary_directories&) = delete;
    temporary_directories& operator=(const temporary_directories&) = delete;

private:
    std::array<std::optional<std::string>, names.size()> before_;
};

bool exists(const std::string& path)
{
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0;
}

class IpcEndpoints : public ::testing::Test {
protected:
    void expect_delivery(const std::string& address)
    {
        test_socket peer(context_, ZMQ_DEALER);
        peer.connect(address);
        peer.send("x");
        EXPECT_EQ("x", socket_.recv()) << address;
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_DEALER};
};

TEST_F(IpcEndpoints, may_be_relative_paths)
{
    const working_directory here(scratch_directory());
    EXPECT_EQ("ipc://relative.socket", socket_.bind_and_resolve("ipc://relative.socket"));
    expect_delivery("ipc://relative.socket");
    expect_delivery("ipc://./relative.socket");
    expect_delivery("ipc://" + scratch_directory() + "/relative.socket");
}

TEST_F(IpcEndpoints, have_at_most_107_bytes)
{
    std::string path = scratch_directory() + "/";
    path.resize(107, 'p');
    EXPECT_EQ("ipc://" + path, socket_.bind_and_resolve("ipc://" + path));
    expect_delivery("ipc://" + path);
    EXPECT_TRUE(fails_with(ENAMETOOLONG, zmq_bind(socket_, ("ipc://" + path + "p").c_str())));
    EXPECT_TRUE(fails_with(ENAMETOOLONG, zmq_connect(socket_, ("ipc://" + path + "p").c_str())));
}

TEST_F(IpcEndpoints, leave_a_named_file_behind)
{
    const std::string unbound = known_address(transport::ipc);
    const std::string closed = known_address(transport::ipc);
    socket_.bind(unbound);
    socket_.bind(closed);
    socket_.unbind(unbound);
    socket_.close();
    context_.term();
    EXPECT_TRUE(exists(unbound.substr(6)));
    EXPECT_TRUE(exists(closed.substr(6)));
}

TEST_F(IpcEndpoints, made_for_a_wildcard_lie_where_temporary_files_belong)
{
    const temporary_directories none_yet;
    // From the last choice to the first.
    for (const char* const variable : {"", "TMP", "TEMPDIR", "TMPDIR"}) {
        std::string directory = scratch_directory() + "/for" + variable;
        std::filesystem::create_directory(directory);
        const working_directory here(directory);
        if (*variable)
            ::setenv(variable, directory.c_str(), 1);
        const std::string prefix = *variable ? directory + "/tmp" : "tmp";
        for (const bool close : {false, true}) {
            test_socket socket(context_, ZMQ_DEALER);
            const std::string endpoint = socket.bind_and_resolve("ipc://*");
            const std::string path = endpoint.substr(6);
            EXPECT_EQ(prefix, path.substr(0, prefix.size()));
            EXPECT_EQ(prefix.size() + 6 + 7, path.size());
            EXPECT_EQ("/socket", path.substr(path.size() - 7));
            EXPECT_TRUE(exists(path));
            if (close)
                socket.close();
            else
                socket.unbind(endpoint);
            EXPECT_TRUE(wait_until([&] { return !exists(path.substr(0, path.size() - 7)); }));
        }
    }
}

TEST(InprocEndpoints, are_any_text_that_is_not_empty)
{
    test_context context;
    test_socket bound(context, ZMQ_PULL);
    for (const std::string& name : {std::string(" "), std::string("*"), std::string("a/b:c;d@*"),
                                    std::string("\xff\1"), std::string(5000, 'n')}) {
        const std::string address = "inproc://" + name;
        bound.bind(address);
        test_socket peer(context, ZMQ_PUSH);
        peer.connect(address);
        peer.send(name);
        EXPECT_EQ(name, bound.recv());
        bound.unbind(address);
    }
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(bound, "inproc://")));
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(bound, "inproc://")));
}

class UnbindWildcard : public ::testing::TestWithParam<const char*> {
protected:
    /// Binds the address of the test. @return LAST_ENDPOINT.
    std::string bind()
    {
        const std::string last = socket_.bind_and_resolve(GetParam());
        port_ = std::to_string(port_of(last));
        return last;
    }
    std::string given_with_port() const
    {
        const std::string given = GetParam();
        return given.substr(0, given.rfind(':') + 1) + port_;
    }
    bool somebody_listens() const
    {
        return raw_peer::try_to("tcp://127.0.0.1:" + port_).has_value();
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_DEALER};
    std::string port_;
};

TEST_P(UnbindWildcard, takes_the_last_endpoint)
{
    const std::string last = bind();
    EXPECT_EQ(0, zmq_unbind(socket_, last.c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, last.c_str())));
    const std::string with_port = given_with_port();
    EXPECT_TRUE(wait_until([&] { return socket_.try_bind(with_port); }));
    EXPECT_EQ(last, socket_.last_endpoint());
    EXPECT_EQ(0, zmq_unbind(socket_, last.c_str()));
    EXPECT_TRUE(wait_until([&] { return !somebody_listens(); }));
}

TEST_P(UnbindWildcard, does_not_take_the_text_used)
{
    const std::string last = bind();
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, GetParam())));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket_, GetParam())));
    EXPECT_TRUE(somebody_listens());
    EXPECT_EQ(0, zmq_disconnect(socket_, last.c_str()));
    EXPECT_TRUE(wait_until([&] { return !somebody_listens(); }));
}

TEST_P(UnbindWildcard, takes_the_text_with_the_port_in_it_if_that_is_a_number)
{
    bind();
    const std::string with_port = given_with_port();
    if (std::string_view(GetParam()).find("127.0.0.1") != std::string_view::npos)
        EXPECT_EQ(0, zmq_unbind(socket_, with_port.c_str()));
    else
        EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, with_port.c_str())));
}

INSTANTIATE_TEST_SUITE_P(Of, UnbindWildcard,
                         ::testing::Values("tcp://*:*", "tcp://127.0.0.1:*", "tcp://127.0.0.1:0",
                                           "tcp://lo:*"));

TEST_F(Endpoints, an_ipc_wildcard_is_not_unbound_by_the_text_used)
{
    const std::string last = socket_.bind_and_resolve("ipc://*");
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(socket_, "ipc://*")));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket_, "ipc://*")));
    EXPECT_EQ(0, zmq_unbind(socket_, last.c_str()));
}

TEST(Disconnecting, takes_the_text_that_was_connected_to)
{
    test_context context;
    test_socket bound(context, ZMQ_PULL);
    const std::string address = bound.bind_and_resolve("tcp://127.0.0.1:*");
    const std::string by_name = "tcp://localhost:" + std::to_string(port_of(address));
    test_socket peer(context, ZMQ_PUSH);
    peer.connect(by_name);
    peer.send("x");
    EXPECT_EQ("x", bound.recv());
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(peer, address.c_str())));
    EXPECT_EQ(0, zmq_disconnect(peer, by_name.c_str()));
}

// What is bound is ended by zmq_disconnect too, and what is connected by zmq_unbind.
TEST_P(EndpointsOver, either_call_ends_an_endpoint_of_either_kind)
{
    test_socket bound(context_, ZMQ_PULL);
    const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket peer(context_, ZMQ_PUSH);
    peer.connect(address);
    EXPECT_EQ(0, zmq_unbind(peer, address.c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(peer, address.c_str())));
    EXPECT_EQ(0, zmq_disconnect(bound, address.c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(bound, address.c_str())));
}

TEST_P(EndpointsOver, a_socket_connected_to_itself_ends_both)
{
    test_socket both(context_, ZMQ_DEALER);
    const std::string address = both.bind_and_resolve(fresh_bind_address(GetParam()));
    both.connect(address);
    EXPECT_EQ(0, zmq_disconnect(both, address.c_str()));
    // Over inproc one call ends one of the two.
    const bool all = GetParam() != transport::inproc;
    EXPECT_EQ(all ? -1 : 0, zmq_unbind(both, address.c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(both, address.c_str())));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(both, address.c_str())));
}

TEST(Disconnecting, takes_another_way_to_write_what_was_bound)
{
    test_context context;
    test_socket bound(context, ZMQ_PULL);
    const std::string port = std::to_string(port_of(bound.bind_and_resolve("tcp://127.0.0.1:*")));
    EXPECT_EQ(0, zmq_disconnect(bound, ("tcp://localhost:" + port).c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_unbind(bound, ("tcp://127.0.0.1:" + port).c_str())));
}

class ConnectTwiceBy : public ::testing::TestWithParam<int> {};

TEST_P(ConnectTwiceBy, makes_one_connection_or_two_which_are_disconnected_at_once)
{
    const bool once = GetParam() == ZMQ_DEALER || GetParam() == ZMQ_REQ || GetParam() == ZMQ_SUB ||
                      GetParam() == ZMQ_PUB;
    const raw_listener listener;
    test_context context;
    test_socket socket(context, GetParam());
    socket.connect(listener.endpoint());
    socket.connect(listener.endpoint());
    const raw_peer first = listener.accept();
    EXPECT_EQ(!once, listener.has_caller(once ? quiet_window : patience));
    EXPECT_EQ(0, zmq_disconnect(socket, listener.endpoint().c_str()));
    EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(socket, listener.endpoint().c_str())));
}

INSTANTIATE_TEST_SUITE_P(Of, ConnectTwiceBy,
                         ::testing::Values(ZMQ_PAIR, ZMQ_PUB, ZMQ_SUB, ZMQ_REQ, ZMQ_REP, ZMQ_DEALER,
                                           ZMQ_ROUTER, ZMQ_PULL, ZMQ_PUSH, ZMQ_XPUB, ZMQ_XSUB,
                                           ZMQ_STREAM));
INSTANTIATE_TEST_SUITE_P(ZlinkOnlyOf, ConnectTwiceBy,
                         ::testing::Values(ZMQ_SERVER, ZMQ_CLIENT, ZMQ_RADIO, ZMQ_DISH, ZMQ_GATHER,
                                           ZMQ_SCATTER, ZMQ_PEER, ZMQ_CHANNEL));

} // namespace
} // namespace zlink::test
