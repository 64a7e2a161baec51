// SPDX-License-Identifier: Apache-2.0
#include "transport/socket_stream.hpp"

#include "runtime/reactor.hpp"
#include "transport/stream.hpp"
#include "transport/tcp/tcp.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink::transport {
namespace {

std::size_t nothing(int)
{
    return 0;
}
constexpr socket_kind kind{nullptr, nullptr, nullptr, nothing, nullptr, nullptr};

/// Does any epoll set of this process list a descriptor for output?
bool is_told_of_room()
{
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
        std::ifstream lines(entry.path());
        for (std::string line; std::getline(lines, line);)
            if (unsigned events = 0;
                std::sscanf(line.c_str(), "tfd: %*d events: %x", &events) == 1 &&
                (events & EPOLLOUT))
                return true;
    }
    return false;
}

std::unique_ptr<acceptor> listen_tcp(boost::asio::io_context& io, const options& settings,
                                     error_code& error)
{
    return tcp.parse_bind("127.0.0.1:0", std::make_shared<options>(settings), error)
        ->listen(io, error);
}

std::shared_ptr<connect_attempt> connect_tcp(boost::asio::io_context& io, std::string_view address,
                                             connect_handler handler)
{
    error_code error;
    return tcp.parse_connect(address, std::make_shared<options>(), error)
        ->connect(io, std::move(handler));
}

/// A stream and, as a plain descriptor, the other end.
class SocketStream : public ::testing::Test {
protected:
    SocketStream()
    {
        EXPECT_EQ(0, runtime::make_reactor(io_)); // as an I/O thread has one
        int ends[2];
        EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
        stream_ = make_socket_stream(io_, base::owned_descriptor(ends[0]), kind, {});
        peer_ = ends[1];
    }
    ~SocketStream() override { ::close(peer_); }

    /// Writes until the connection takes no more.
    void fill()
    {
        std::vector<std::byte> body(100'000);
        const iovec piece{body.data(), body.size()};
        while (!stream_->write_some(&piece, 1).would_block())
            ;
    }
    void empty()
    {
        std::vector<std::byte> body(1'000'000);
        while (::recv(peer_, body.data(), body.size(), MSG_DONTWAIT) > 0)
            ;
    }
    /// Waits in `which` direction; the answer is there once the handler has run.
    std::shared_ptr<std::optional<error_code>> wait(direction which)
    {
        auto answer = std::make_shared<std::optional<error_code>>();
        stream_->async_wait(which, [answer](const error_code& error) { *answer = error; });
        return answer;
    }

    boost::asio::io_context io_;
    std::unique_ptr<stream> stream_;
    int peer_ = -1;
};

TEST_F(SocketStream, waits_for_room)
{
    fill();
    const auto room = wait(direction::write);
    io_.poll();
    EXPECT_FALSE(*room);
    empty();
    io_.run_one();
    EXPECT_EQ(error_code(), *room);
}

TEST_F(SocketStream, waits_for_room_while_it_is_released)
{
    fill();
    const auto input = wait(direction::read);
    ASSERT_NE(nullptr, stream_->direct());
    ASSERT_LE(0, stream_->direct()->release());
    const auto room = wait(direction::write);
    io_.poll();
    EXPECT_EQ(boost::asio::error::operation_aborted, *input);
    EXPECT_FALSE(*room);
    empty();
    io_.run_one();
    EXPECT_EQ(error_code(), *room);
    EXPECT_TRUE(stream_->direct()->reclaim());
}

// A thread that writes by itself must not wake the I/O thread with each piece that the peer takes.
TEST_F(SocketStream, hears_of_room_only_while_it_waits_for_it)
{
    fill();
    EXPECT_FALSE(is_told_of_room());
    const auto room = wait(direction::write);
    EXPECT_TRUE(is_told_of_room());
    empty();
    io_.run_one();
    EXPECT_TRUE(*room);
    EXPECT_FALSE(is_told_of_room());
}

// Asio waits for the end of connecting as for room.
TEST(Connecting, leaves_nothing_behind_that_hears_of_room)
{
    boost::asio::io_context io;
    const auto work = boost::asio::make_work_guard(io);
    error_code failed;
    const auto listening = listen_tcp(io, {}, failed);
    ASSERT_FALSE(failed);
    std::unique_ptr<stream> connected;
    const auto attempt =
        connect_tcp(io, listening->endpoint().substr(std::string_view("tcp://").size()),
                    [&](const error_code& error, std::unique_ptr<stream> made) {
                        EXPECT_FALSE(error);
                        connected = std::move(made);
                    });
    while (!connected)
        io.run_one();
    EXPECT_FALSE(is_told_of_room());
    std::optional<error_code> input;
    connected->async_wait(direction::read, [&](const error_code& error) { input = error; });
    listening->async_wait([&](const error_code&) { listening->accept(io); });
    while (!input)
        io.run_one();
    EXPECT_EQ(error_code(), input) << "the connection is still watched";
}

TEST(Connecting, ends_at_once_within_the_machine)
{
    boost::asio::io_context io;
    error_code failed;
    const auto listening = listen_tcp(io, {}, failed);
    ASSERT_FALSE(failed);
    std::unique_ptr<stream> connected;
    connect_tcp(io, listening->endpoint().substr(std::string_view("tcp://").size()),
                [&](const error_code& error, std::unique_ptr<stream> made) {
                    EXPECT_FALSE(error);
                    connected = std::move(made);
                });
    ASSERT_TRUE(connected) << "without the I/O thread";
    EXPECT_EQ(listening->endpoint(), connected->info().remote_endpoint);
    io.poll();
    EXPECT_TRUE(listening->accept(io).connection);
}

TEST(Connecting, tells_later_that_nobody_listens)
{
    boost::asio::io_context io;
    error_code failed;
    const auto listening = listen_tcp(io, {}, failed);
    ASSERT_FALSE(failed);
    const std::string address = listening->endpoint().substr(std::string_view("tcp://").size());
    listening->close();
    std::optional<error_code> result;
    int closed = -1;
    const auto attempt = connect_tcp(io, address,
                                     {[&](const error_code& error, std::unique_ptr<stream> made) {
                                          EXPECT_FALSE(made);
                                          result = error;
                                      },
                                      [&](connect_handler::step what, int value) {
                                          if (what == connect_handler::step::closed)
                                              closed = value;
                                      }});
    EXPECT_FALSE(result);
    io.run();
    EXPECT_EQ(boost::asio::error::connection_refused, result);
    EXPECT_LE(0, closed);
    EXPECT_NE(0, ::fcntl(closed, F_GETFD));
}

TEST(Accepting, takes_one_after_the_other_until_there_is_nobody)
{
    boost::asio::io_context io;
    error_code failed;
    const auto listening = listen_tcp(io, {}, failed);
    ASSERT_FALSE(failed);
    EXPECT_EQ(boost::asio::error::would_block, listening->accept(io).error);
    const std::string address = listening->endpoint().substr(std::string_view("tcp://").size());
    constexpr std::size_t callers = 3;
    std::vector<std::unique_ptr<stream>> connected;
    for (std::size_t caller = 0; caller < callers; ++caller)
        connect_tcp(io, address, [&](const error_code&, std::unique_ptr<stream> made) {
            connected.push_back(std::move(made));
        });
    while (connected.size() < callers)
        io.run_one();
    for (std::size_t caller = 0; caller < callers; ++caller) {
        const auto result = listening->accept(io);
        EXPECT_EQ(error_code(), result.error);
        EXPECT_NE(nullptr, result.connection);
    }
    const auto nobody = listening->accept(io);
    EXPECT_EQ(boost::asio::error::would_block, nobody.error);
    EXPECT_EQ(nullptr, nobody.connection);
}

// The kernel keeps one more than the backlog says.
TEST(Accepting, makes_room_for_others_before_anybody_is_served)
{
    boost::asio::io_context io;
    const auto work = boost::asio::make_work_guard(io);
    error_code failed;
    options settings;
    constexpr std::size_t callers = 40;
    settings.backlog = callers / 2;
    const auto listening = listen_tcp(io, settings, failed);
    ASSERT_FALSE(failed);
    const std::string address = listening->endpoint().substr(std::string_view("tcp://").size());
    std::vector<std::unique_ptr<stream>> connected;
    for (std::size_t caller = 1; caller <= callers; ++caller) {
        connect_tcp(io, address, [&](const error_code&, std::unique_ptr<stream> made) {
            connected.push_back(std::move(made));
        });
        while (connected.size() < caller)
            io.run_one();
        listening->collect();
        EXPECT_TRUE(listening->has_collected());
    }
    for (std::size_t caller = 0; caller < callers; ++caller)
        EXPECT_NE(nullptr, listening->accept(io).connection) << caller;
    EXPECT_FALSE(listening->has_collected());
    EXPECT_EQ(boost::asio::error::would_block, listening->accept(io).error);
}

std::size_t descriptors()
{
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// So many of a crowd that calls at once are taken into the process before they are served.
std::size_t taken_of_a_crowd(const options& settings)
{
    boost::asio::io_context io;
    error_code failed;
    const auto listening = listen_tcp(io, settings, failed);
    EXPECT_FALSE(failed);
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    ::getsockname(listening->descriptor(), reinterpret_cast<sockaddr*>(&address), &bytes);
    std::vector<int> callers;
    for (int caller = 0; caller < 200; ++caller) {
        callers.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
        ::connect(callers.back(), reinterpret_cast<const sockaddr*>(&address), bytes);
    }
    const std::size_t before = descriptors();
    listening->collect();
    const std::size_t taken = descriptors() - before;
    for (const int caller : callers)
        ::close(caller);
    return taken;
}

TEST(Accepting, takes_a_small_share_of_the_descriptors_before_anybody_is_served)
{
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit scarce = before;
    scarce.rlim_cur = 512;
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &scarce));
    EXPECT_EQ(512U / 8, taken_of_a_crowd({}));
    ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(Accepting, takes_no_more_before_anybody_is_served_than_the_backlog_says)
{
    options settings;
    settings.backlog = 10;
    EXPECT_EQ(11U, taken_of_a_crowd(settings));
}

TEST(Accepting, ends_with_those_that_were_not_served)
{
    boost::asio::io_context io;
    const auto work = boost::asio::make_work_guard(io);
    error_code failed;
    const auto listening = listen_tcp(io, {}, failed);
    ASSERT_FALSE(failed);
    std::unique_ptr<stream> connected;
    connect_tcp(
        io, listening->endpoint().substr(std::string_view("tcp://").size()),
        [&](const error_code&, std::unique_ptr<stream> made) { connected = std::move(made); });
    while (!connected)
        io.run_one();
    listening->collect();
    listening->close();
    EXPECT_FALSE(listening->has_collected());
    std::optional<error_code> input;
    connected->async_wait(direction::read, [&](const error_code& error) { input = error; });
    while (!input)
        io.run_one();
    std::byte byte{};
    const iovec space{&byte, 1};
    EXPECT_FALSE(connected->read_some(&space, 1).would_block()) << "it has an end";
}

// The undefined-behaviour sanitizer, which is built in together with the address sanitizer, cannot
// do without descriptors itself.
#if !defined(__SANITIZE_ADDRESS__)
TEST_F(SocketStream, waits_for_room_without_descriptors)
{
    fill();
    rlimit limit{};
    ASSERT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &limit));
    const rlimit none{1, limit.rlim_max};
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &none));
    const auto room = wait(direction::write);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    io_.run_one();
    EXPECT_EQ(error_code(), *room) << "it may be worth a try";
}
#endif

TEST_F(SocketStream, knows_what_the_peer_has_not_got)
{
    EXPECT_EQ(0U, stream_->undelivered_bytes());
    fill();
    EXPECT_LT(0U, stream_->undelivered_bytes());
    empty();
    EXPECT_EQ(0U, stream_->undelivered_bytes());
}

/// The same over tcp.
class TcpStream : public ::testing::Test {
protected:
    TcpStream()
    {
        EXPECT_EQ(0, runtime::make_reactor(io_));
        using boost::asio::ip::tcp;
        tcp::acceptor listener(io_, {boost::asio::ip::address_v4::loopback(), 0});
        peer_.connect(listener.local_endpoint());
        stream_ =
            make_socket_stream(io_, base::owned_descriptor(listener.accept().release()), kind, {});
    }

    boost::asio::io_context io_;
    boost::asio::ip::tcp::socket peer_{io_};
    std::unique_ptr<stream> stream_;
};

// The kernel goes on counting what it has thrown away.
TEST_F(TcpStream, has_nothing_to_deliver_after_a_reset)
{
    std::vector<std::byte> body(100'000);
    const iovec piece{body.data(), body.size()};
    while (!stream_->write_some(&piece, 1).would_block())
        ;
    EXPECT_LT(0U, stream_->undelivered_bytes());
    peer_.close(); // with unread input
    EXPECT_EQ(0U, stream_->undelivered_bytes());
}

// A peer that sends such data must not make this side deaf: a read stops in front of it.
TEST_F(TcpStream, waits_for_nothing_while_there_is_more_behind_urgent_data)
{
    const auto work = boost::asio::make_work_guard(io_);
    const auto wait = [&] {
        std::optional<error_code> ended;
        stream_->async_wait(direction::read, [&](const error_code& error) { ended = error; });
        while (!ended)
            io_.run_one();
        return *ended;
    };
    ASSERT_EQ(3, ::send(peer_.native_handle(), "abc", 3, 0));
    ASSERT_EQ(1, ::send(peer_.native_handle(), "!", 1, MSG_OOB));
    ASSERT_EQ(4, ::send(peer_.native_handle(), "defg", 4, 0));
    char text[100] = {};
    const iovec space{text, sizeof text};
    std::string all;
    while (all.size() < 7) {
        ASSERT_EQ(error_code(), wait());
        const auto got = stream_->read_some(&space, 1);
        ASSERT_FALSE(got.failed());
        all.append(text, got.bytes);
    }
    EXPECT_EQ("abcdefg", all);
}

TEST_F(SocketStream, forgets_its_waits_when_it_closes)
{
    fill();
    const auto room = wait(direction::write);
    stream_->close();
    io_.run();
    EXPECT_EQ(boost::asio::error::operation_aborted, *room);
    char last[100'000];
    while (::recv(peer_, last, sizeof last, 0) > 0)
        ;
    EXPECT_EQ(0, ::recv(peer_, last, sizeof last, MSG_DONTWAIT)) << "nothing keeps it open";
}

TEST_F(SocketStream, may_go_while_an_answer_is_on_its_way)
{
    const auto room = wait(direction::write);
    stream_->close();
    stream_.reset();
    io_.run();
    EXPECT_TRUE(*room);
}

} // namespace
} // namespace zlink::transport
