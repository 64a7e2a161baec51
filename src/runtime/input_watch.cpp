// SPDX-License-Identifier: Apache-2.0
#include "runtime/input_watch.hpp"

#include "runtime/handler_room.hpp"
#include "runtime/reactor.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <sys/epoll.h>
#include <utility>

namespace zlink::runtime {
namespace {

namespace intrusive = boost::intrusive;

// Asio's own events carry pointers to what is aligned.
enum : std::uint64_t { mark = 1 };

enum : std::uint32_t { ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR };

} // namespace

/// What the watches of an I/O context share.
class input_watches final : public boost::asio::execution_context::service {
public:
    static boost::asio::execution_context::id id;

    explicit input_watches(boost::asio::io_context& io) : service(io), io_(io), epoll_(epoll_of(io))
    {}

    static input_watches& of(boost::asio::io_context& io)
    {
        return boost::asio::use_service<input_watches>(io);
    }

    // 0, or the errno with which the kernel refuses it.
    int add(input_watch& which, int fd) noexcept
    {
        epoll_event event{};
        event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
        event.data.u64 = reinterpret_cast<std::uintptr_t>(&which) | mark;
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
            return errno;
        which.all_ = this;
        which.fd_ = fd;
        which.is_ready_ = which.has_ended_ = false;
        added_.push_back(which);
        return 0;
    }

    // Also of a descriptor that others may hold open, from where events would come for ever.
    void remove(input_watch& which) noexcept
    {
        epoll_event unused{};
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, which.fd_, &unused);
        which.all_ = nullptr;
        which.unlink();
    }

    void begin(input_watch& which, std::unique_ptr<input_wait> wait) noexcept
    {
        io_.get_executor().on_work_started();
        wait->of = &which;
        which.waits_.push_back(*wait.release());
    }

    static void note(input_watch& which, std::uint32_t events) noexcept
    {
        if ((events & ends) != 0)
            which.has_ended_ = true;
        if (which.waits_.empty())
            which.is_ready_ = true;
        else
            which.all_->end(which, {});
    }

    void end(input_watch& which, const boost::system::error_code& result) noexcept
    {
        for (input_wait& wait : which.waits_)
            wait.result = result;
        due_.splice(due_.end(), which.waits_);
        call_soon();
    }

    void cancel(input_watch& which) noexcept
    {
        for (input_wait& wait : due_)
            if (wait.of == &which) {
                wait.of = nullptr;
                wait.result = boost::asio::error::operation_aborted;
            }
        for (input_wait& wait : which.waits_)
            wait.of = nullptr;
        if (!which.waits_.empty())
            end(which, boost::asio::error::operation_aborted);
    }

private:
    using waits = intrusive::list<input_wait, intrusive::constant_time_size<false>>;

    // The handlers may hold the last references to the watches.
    void shutdown() override
    {
        waits dropped;
        dropped.splice(dropped.end(), due_);
        while (!added_.empty()) {
            input_watch& which = added_.front();
            which.unlink();
            which.all_ = nullptr;
            dropped.splice(dropped.end(), which.waits_);
        }
        while (!dropped.empty()) {
            const std::unique_ptr<input_wait> wait(&dropped.front());
            dropped.pop_front();
        }
    }

    void call_soon() noexcept
    {
        if (!std::exchange(is_called_, true))
            boost::asio::post(io_, boost::asio::bind_allocator(handler_allocator<std::byte>(room_),
                                                               [this] { call_handlers(); }));
    }

    // Only those that are due by now, so that the others of this thread have their turn.
    void call_handlers()
    {
        is_called_ = false;
        for (std::size_t left = due_.size(); left != 0 && !due_.empty(); --left) {
            const std::unique_ptr<input_wait> wait(&due_.front());
            due_.pop_front();
            try {
                std::exchange(wait->handler, nullptr)(wait->result);
            } catch (...) {
                // As io_thread::run_handlers() has it.
            }
            io_.get_executor().on_work_finished();
        }
    }

    boost::asio::io_context& io_;
    const int epoll_;
    bool is_called_ = false; ///< call_handlers() is to come
    handler_room room_;      ///< in use while is_called_
    waits due_;
    intrusive::list<input_watch, intrusive::constant_time_size<false>> added_;
};

boost::asio::execution_context::id input_watches::id;

void input_watch::async_wait(int fd, last_read before, wait_handler handler)
{
    auto wait = std::make_unique<input_wait>(std::move(handler));
    input_watches& all = all_ ? *all_ : input_watches::of(io_);
    const int refused = all_ ? 0 : all.add(*this, fd);
    const bool is_due = std::exchange(is_ready_, false) || before == last_read::full ||
                        (before == last_read::small && has_ended_);
    all.begin(*this, std::move(wait));
    if (refused != 0) {
        waits_.back().of = nullptr; // cancel() is not for it any more
        all.end(*this, {refused, boost::system::system_category()});
    } else if (is_due) {
        all.end(*this, {});
    }
}

void input_watch::cancel() noexcept
{
    if (all_)
        all_->cancel(*this);
}

void input_watch::remove() noexcept
{
    if (!all_)
        return;
    all_->cancel(*this);
    all_->remove(*this);
}

void prepare_watches(boost::asio::io_context& io)
{
    input_watches::of(io);
}

int take_watched(epoll_event* events, int count) noexcept
{
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        const epoll_event event = events[i];
        if ((event.data.u64 & mark) != 0)
            input_watches::note(
                *reinterpret_cast<input_watch*>(event.data.u64 & ~std::uint64_t{mark}),
                event.events);
        else
            events[kept++] = event;
    }
    return count < 0 ? count : kept;
}

} // namespace zlink::runtime
