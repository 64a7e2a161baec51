// SPDX-License-Identifier: Apache-2.0
#include "runtime/input_watch.hpp"

#include "runtime/reactor.hpp"

#include <boost/asio/error.hpp>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink::runtime {
namespace {

using boost::system::error_code;
using last = input_watch::last_read;

/// A watched descriptor and the other end.
class InputWatch : public ::testing::Test {
protected:
    InputWatch()
    {
        EXPECT_EQ(0, make_reactor(*io_));
        EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends_));
        watch_ = std::make_unique<input_watch>(*io_);
    }
    ~InputWatch() override
    {
        watch_.reset();
        ::close(ends_[0]);
        close_peer();
    }

    void write(std::string_view text)
    {
        EXPECT_EQ(static_cast<ssize_t>(text.size()), ::write(ends_[1], text.data(), text.size()));
    }
    void read(std::size_t bytes)
    {
        std::vector<char> space(bytes);
        EXPECT_EQ(static_cast<ssize_t>(bytes), ::read(ends_[0], space.data(), bytes));
    }
    void close_peer()
    {
        if (const int peer = std::exchange(ends_[1], -1); peer >= 0)
            ::close(peer);
    }
    /// The answer is there once the handler has run.
    std::shared_ptr<std::optional<error_code>> wait(last before = last::dry)
    {
        auto answer = std::make_shared<std::optional<error_code>>();
        watch_->async_wait(ends_[0], before, [answer](const error_code& error) {
            EXPECT_FALSE(*answer) << "once";
            *answer = error;
        });
        EXPECT_FALSE(*answer) << "not from within";
        return answer;
    }
    void run()
    {
        io_->restart();
        io_->poll();
    }

    std::optional<boost::asio::io_context> io_{std::in_place};
    std::unique_ptr<input_watch> watch_;
    int ends_[2] = {-1, -1};
};

TEST_F(InputWatch, tells_of_input_that_is_there_and_that_comes)
{
    write("a");
    const auto there = wait();
    run();
    EXPECT_EQ(error_code(), *there);
    read(1);
    const auto coming = wait();
    run();
    EXPECT_FALSE(*coming);
    write("b");
    run();
    EXPECT_EQ(error_code(), *coming);
}

TEST_F(InputWatch, tells_of_input_that_came_while_nothing_was_waiting)
{
    write("a");
    const auto first = wait();
    run();
    read(1);
    write("b");
    run();
    const auto second = wait();
    run();
    EXPECT_EQ(error_code(), *second);
}

// No edge tells of the rest.
TEST_F(InputWatch, tells_of_what_a_full_read_has_left)
{
    write("abc");
    const auto first = wait();
    run();
    read(1);
    const auto rest = wait(last::full);
    run();
    EXPECT_EQ(error_code(), *rest);
    read(2);
    const auto none = wait(last::small);
    run();
    EXPECT_FALSE(*none);
}

// The end came with the bytes, in one edge: the short read has not met it.
TEST_F(InputWatch, tells_of_an_end_behind_a_short_read)
{
    write("abc");
    close_peer();
    const auto first = wait();
    run();
    EXPECT_EQ(error_code(), *first);
    read(3);
    const auto end = wait(last::small);
    run();
    EXPECT_EQ(error_code(), *end);
    char none = 0;
    EXPECT_EQ(0, ::read(ends_[0], &none, 1));
}

TEST_F(InputWatch, has_its_waits_end_when_it_is_cancelled_and_goes_on)
{
    const auto cancelled = wait();
    watch_->cancel();
    const auto next = wait();
    run();
    EXPECT_EQ(boost::asio::error::operation_aborted, *cancelled);
    EXPECT_FALSE(*next);
    write("a");
    run();
    EXPECT_EQ(error_code(), *next);
}

TEST_F(InputWatch, cancels_what_is_told_already_but_not_heard)
{
    write("a");
    const auto told = wait();
    const auto full = wait(last::full); // due at once
    watch_->cancel();
    run();
    EXPECT_EQ(boost::asio::error::operation_aborted, *told);
    EXPECT_EQ(boost::asio::error::operation_aborted, *full);
}

TEST_F(InputWatch, can_be_taken_out_and_used_again)
{
    write("a");
    const auto first = wait();
    run();
    watch_->remove();
    const auto again = wait(); // nothing was read meanwhile
    run();
    EXPECT_EQ(error_code(), *again);
    watch_->remove();
    read(1);
    write("b");
    run();
    const auto third = wait();
    run();
    EXPECT_EQ(error_code(), *third);
}

TEST_F(InputWatch, may_go_while_handlers_are_still_to_be_called)
{
    const auto pending = wait();
    write("a");
    const auto due = wait(last::full);
    watch_.reset();
    run();
    EXPECT_EQ(boost::asio::error::operation_aborted, *pending);
    EXPECT_EQ(boost::asio::error::operation_aborted, *due);
}

// One of two descriptors that have input together is closed by the handler of the other.
TEST_F(InputWatch, may_go_in_the_handler_of_another)
{
    int ends[2];
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
    auto other = std::make_unique<input_watch>(*io_);
    int called = 0;
    int aborted = 0;
    const auto end_both = [&](const error_code& error) {
        ++called;
        aborted += error == boost::asio::error::operation_aborted ? 1 : 0;
        watch_.reset();
        other.reset();
    };
    watch_->async_wait(ends_[0], last::dry, end_both);
    other->async_wait(ends[0], last::dry, end_both);
    write("a");
    EXPECT_EQ(1, ::write(ends[1], "b", 1));
    run();
    EXPECT_EQ(2, called);
    EXPECT_EQ(1, aborted);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(InputWatch, goes_on_after_a_handler_that_throws)
{
    watch_->async_wait(ends_[0], last::dry, [](const error_code&) { throw std::bad_alloc(); });
    const auto next = wait();
    write("a");
    run();
    EXPECT_EQ(error_code(), *next);
}

TEST_F(InputWatch, says_why_a_descriptor_cannot_be_added)
{
    auto answer = std::make_shared<std::optional<error_code>>();
    watch_->async_wait(-1, last::dry, [answer](const error_code& error) { *answer = error; });
    EXPECT_FALSE(*answer);
    run();
    EXPECT_EQ(error_code(EBADF, boost::system::system_category()), *answer);
    const auto next = wait();
    write("a");
    run();
    EXPECT_EQ(error_code(), *next) << "the next one can";
}

TEST_F(InputWatch, keeps_the_context_at_work_while_it_waits)
{
    const auto pending = wait();
    io_->restart();
    io_->poll();
    EXPECT_FALSE(io_->stopped());
    write("a");
    EXPECT_EQ(1U, io_->run()); // ends
    EXPECT_EQ(error_code(), *pending);
}

// What the handlers hold goes, perhaps the watch itself.
TEST_F(InputWatch, ends_with_its_context)
{
    const auto held = std::make_shared<int>();
    std::unique_ptr<input_watch> other = std::make_unique<input_watch>(*io_);
    std::shared_ptr<input_watch> own = std::move(other);
    const std::weak_ptr<input_watch> remaining = own;
    own->async_wait(ends_[0], last::dry, [own, held](const error_code&) { FAIL(); });
    own.reset();
    watch_->async_wait(ends_[1], last::full, [held](const error_code&) { FAIL(); }); // due
    io_.reset();
    EXPECT_EQ(1, held.use_count());
    EXPECT_TRUE(remaining.expired());
    watch_.reset();
}

} // namespace
} // namespace zlink::runtime
