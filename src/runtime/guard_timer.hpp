// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace zlink::runtime {

/// What has to be looked after while its thread stays away. Called in the I/O thread.
class guarded {
public:
    /// Does what has to be done. False if it needs no guard any more.
    virtual bool look_after() noexcept = 0;
    /// Its guard has gone before: there is no memory for it, or its context goes.
    virtual void lose_guard() noexcept = 0;

protected:
    ~guarded() = default;
};

/// Looks after objects of other threads now and then, by one timer for all that belong to an I/O
/// context: a timer for each of them would wake the I/O thread of a busy broker ten times as often.
/// It goes off soon after an object has joined, then less often, and stops when none is left. See
/// docs/decisions 0022.
///
/// Thread safety: watch() in any thread, all else in the I/O thread of the context.
class guard_timer final : public boost::asio::execution_context::service {
public:
    static inline boost::asio::execution_context::id id;

    explicit guard_timer(boost::asio::execution_context& io);

    /// Looks after `what`. Throws std::bad_alloc, after what->lose_guard().
    static void watch(boost::asio::io_context& io, std::shared_ptr<guarded> what);

private:
    /// An object that has a guard, or is on its way to it.
    class watched {
    public:
        explicit watched(std::shared_ptr<guarded> what) noexcept : what_(std::move(what)) {}
        watched(watched&& from) noexcept = default;
        watched& operator=(watched&& from) noexcept
        {
            what_.swap(from.what_);
            return *this;
        }
        ~watched()
        {
            if (what_)
                what_->lose_guard();
        }
        bool look_after() noexcept
        {
            if (what_->look_after())
                return true;
            what_.reset();
            return false;
        }

    private:
        std::shared_ptr<guarded> what_;
    };

    void shutdown() noexcept override;
    void begin(watched what);
    void schedule();
    void look_after_all();

    std::vector<watched> all_;
    std::optional<boost::asio::steady_timer> timer_; ///< until shutdown()
    std::chrono::nanoseconds interval_{};
};

} // namespace zlink::runtime
