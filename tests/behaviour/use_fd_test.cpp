// SPDX-License-Identifier: Apache-2.0
// USE_FD: binding with a listening socket that the application brings along.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/fixture.hpp"

namespace zlink::test {
namespace {

/// A socket of the operating system; whoever takes it over calls release().
class plain_socket {
public:
    explicit plain_socket(transport kind)
        : fd_(::socket(kind == transport::tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        if (kind == transport::tcp) {
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            bind(&address, sizeof address);
            socklen_t bytes = sizeof address;
            ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes);
            endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        } else {
            endpoint_ = fresh_bind_address(transport::ipc);
            const std::string path = endpoint_.substr(sizeof "ipc://" - 1);
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            path.copy(address.sun_path, sizeof address.sun_path - 1);
            bind(&address, sizeof address);
        }
    }
    ~plain_socket()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }
    plain_socket(const plain_socket&) = delete;
    plain_socket& operator=(const plain_socket&) = delete;

    void listen() { EXPECT_EQ(0, ::listen(fd_, 10)); }
    int fd() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }
    const std::string& endpoint() const { return endpoint_; }

private:
    void bind(const void* address, socklen_t bytes)
    {
        EXPECT_EQ(0, ::bind(fd_, static_cast<const sockaddr*>(address), bytes));
    }

    int fd_;
    std::string endpoint_;
};

bool is_open(int fd)
{
    return ::fcntl(fd, F_GETFD) != -1;
}

class UseFd : public transport_test {};

TEST_P(UseFd, peers_reach_the_given_socket_and_its_address_is_shown)
{
    plain_socket given(GetParam());
    given.listen();
    test_socket sink(context_, ZMQ_PULL);
    sink.set(ZMQ_USE_FD, given.fd());
    sink.bind(GetParam() == transport::tcp ? "tcp://127.0.0.1:*" : "ipc:///no/such/place");
    EXPECT_EQ(given.endpoint(), sink.last_endpoint());
    EXPECT_EQ(given.fd(), sink.get(ZMQ_USE_FD));
    given.release();
    for (int index = 0; index < 2; ++index) {
        test_socket source(context_, ZMQ_PUSH);
        source.connect(given.endpoint());
        source.send("x");
        EXPECT_EQ("x", sink.recv());
    }
}

TEST_P(UseFd, unbinding_closes_the_given_socket)
{
    plain_socket given(GetParam());
    given.listen();
    const int fd = given.fd();
    test_socket sink(context_, ZMQ_PULL);
    sink.set(ZMQ_USE_FD, fd);
    sink.bind(GetParam() == transport::tcp ? "tcp://127.0.0.1:*" : "ipc:///no/such/place");
    given.release();
    sink.unbind(given.endpoint());
    EXPECT_TRUE(wait_until([&] { return !is_open(fd); }));
}

ZLINK_LINKS_WITH(UseFd, has_plain_zmtp);

class ZlinkOnlyUseFd : public UseFd {};

TEST_P(ZlinkOnlyUseFd, what_cannot_be_used_is_refused_and_stays_the_callers)
{
    const std::string own = fresh_bind_address(GetParam());
    plain_socket not_listening(GetParam());
    plain_socket other_family(GetParam() == transport::tcp ? transport::ipc : transport::tcp);
    other_family.listen();
    test_socket sink(context_, ZMQ_PULL);
    for (const int fd : {not_listening.fd(), other_family.fd()}) {
        sink.set(ZMQ_USE_FD, fd);
        EXPECT_TRUE(fails_with(EINVAL, zmq_bind(sink, own.c_str())));
        EXPECT_TRUE(is_open(fd));
    }
    sink.set(ZMQ_USE_FD, -1);
    sink.bind(own);
}

ZLINK_LINKS_WITH(ZlinkOnlyUseFd, has_plain_zmtp);

} // namespace
} // namespace zlink::test
