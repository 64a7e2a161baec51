// SPDX-License-Identifier: Apache-2.0
#include "transport/close_after_peer.hpp"

#include "transport/socket_stream.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace zlink::transport {
namespace {

std::size_t nothing(int)
{
    return 0;
}
constexpr socket_kind kind{nullptr, nullptr, nullptr, nothing, nullptr, nullptr};

/// A stream that ends and, as a plain descriptor, the other end.
class CloseAfterPeer : public ::testing::Test {
protected:
    CloseAfterPeer()
    {
        int ends[2];
        EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
        own_ = ends[0];
        stream_ = make_socket_stream(*io_, base::owned_descriptor(own_), kind, {});
        peer_ = ends[1];
    }
    ~CloseAfterPeer() override { close_peer(); }

    void close_peer()
    {
        if (const int peer = std::exchange(peer_, -1); peer >= 0)
            ::close(peer);
    }

    void close_stream() { close_after_peer(*io_, std::move(stream_)); }

    bool is_open() const { return ::fcntl(own_, F_GETFD) >= 0; }

    void peer_writes(std::string_view text)
    {
        EXPECT_EQ(static_cast<ssize_t>(text.size()),
                  ::send(peer_, text.data(), text.size(), MSG_NOSIGNAL));
    }

    /// What the peer finds, until the end or an error.
    std::string peer_reads()
    {
        std::string found;
        char buffer[64];
        for (;;) {
            const ssize_t got = ::recv(peer_, buffer, sizeof buffer, MSG_DONTWAIT);
            if (got == 0)
                return found + "(end)";
            if (got < 0)
                return found + (errno == EAGAIN ? "(more to come)" : "(broken)");
            found.append(buffer, static_cast<std::size_t>(got));
        }
    }

    std::optional<boost::asio::io_context> io_{std::in_place};
    std::unique_ptr<stream> stream_;
    int own_ = -1;
    int peer_ = -1;
};

TEST_F(CloseAfterPeer, the_peer_gets_what_was_written_last_whatever_it_has_sent)
{
    peer_writes("not read any more");
    const std::string last = "last";
    const iovec piece{const_cast<char*>(last.data()), last.size()};
    ASSERT_EQ(stream_->write_some(&piece, 1).bytes, last.size());
    close_stream();
    for (int i = 0; i < 3; ++i) {
        peer_writes("too late");
        io_->poll();
        EXPECT_TRUE(is_open());
    }
    EXPECT_EQ(peer_reads(), "last(end)");
    close_peer();
    io_->run(); // until nothing is waited for
    EXPECT_FALSE(is_open());
}

TEST_F(CloseAfterPeer, closes_at_once_if_the_peer_has)
{
    close_peer();
    close_stream();
    EXPECT_FALSE(is_open());
    EXPECT_EQ(io_->poll(), 0u);
}

TEST_F(CloseAfterPeer, waits_for_a_silent_peer_only_so_long)
{
    const auto begin = std::chrono::steady_clock::now();
    close_stream();
    EXPECT_TRUE(is_open());
    io_->run();
    EXPECT_FALSE(is_open());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, most_wait_for_peer);
}

TEST_F(CloseAfterPeer, ends_the_waits_there_are)
{
    std::optional<error_code> ended;
    stream_->async_wait(direction::read, [&](const error_code& error) { ended = error; });
    close_stream();
    peer_writes("x");
    io_->poll();
    EXPECT_EQ(ended, error_code(boost::asio::error::operation_aborted));
}

TEST_F(CloseAfterPeer, closes_with_the_io_context)
{
    close_stream();
    io_.reset();
    EXPECT_FALSE(is_open());
}

} // namespace
} // namespace zlink::transport
