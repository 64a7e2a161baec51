// SPDX-License-Identifier: Apache-2.0
#include "core/connection/reading_lease.hpp"

#include "base/system/no_cancellation.hpp"
#include "base/tuning.hpp"
#include "core/connection/read_loop.hpp"

#include <new>
#include <span>
#include <utility>

namespace zlink::core {
// --- the socket's thread

reading_lease::request reading_lease::read_for_room() noexcept
{
    std::lock_guard lock(mutex_);
    if (reader_ == reader::io_thread)
        return request::read;
    in_->withdraw_memory(); // nobody would come for the body
    const direct_end end = read_directly();
    in_->consumer_was_asleep(); // it is this thread
    if (end == direct_end::ahead) {
        in_->pause();
        // If this thread takes its time now, there is room that nobody reads into.
        return reader_ == reader::offered && !std::exchange(watch_asked_, true) ? request::watch
                                                                                : request::none;
    }
    if (end == direct_end::full || (end == direct_end::dry && reader_ == reader::leased))
        return request::none;
    end_direct_reading();
    return request::read;
}

reading_lease::leased_step reading_lease::read_leased(std::span<std::byte> memory) noexcept
{
    std::lock_guard lock(mutex_);
    if (reader_ != reader::leased)
        return {};
    const unsigned reads_before = reads_;
    if (!in_->reads_outside())
        in_->offer_memory(memory);
    const direct_end end = read_directly();
    const auto body = in_->take_outside_body();
    const bool ended = end == direct_end::needs_io_thread;
    if (ended)
        end_direct_reading();
    else if (!in_->reads_outside())
        in_->withdraw_memory();
    // Input that there is no room for must not end a sleep; the next call looks again.
    const int awaited = end == direct_end::full ? -1 : sharing_->descriptor;
    return {{!ended, in_->consumer_was_asleep(), reads_ != reads_before, awaited,
             in_->reads_outside(), body},
            ended};
}

void reading_lease::withdraw_memory() noexcept
{
    std::lock_guard lock(mutex_);
    if (reader_ == reader::leased)
        in_->withdraw_memory();
}

// With the mutex, by either thread, while reading is offered or leased.
void reading_lease::end_direct_reading() noexcept
{
    in_->withdraw_memory();
    reader_ = reader::io_thread;
}

bool reading_lease::give_back() noexcept
{
    std::lock_guard lock(mutex_);
    if (reader_ != reader::leased)
        return false;
    end_direct_reading();
    return true;
}

/// Those of one call of read_directly().
class reading_lease::direct_reads {
public:
    explicit direct_reads(reading_lease& lease) noexcept
        : lease_(lease), in_(*lease.in_), messages_before_(in_.messages())
    {}
    bool may_read() noexcept
    {
        if (!lease_.sharing_->found.commands.empty())
            end_ = direct_end::needs_io_thread;
        else if (!in_.has_room())
            end_ = direct_end::full;
        else if ((bytes_ >= tuning::direct_reading::read_ahead_bytes || in_.has_outside_body()) &&
                 in_.messages() != messages_before_)
            end_ = direct_end::ahead;
        else
            return true;
        return false;
    }
    int prepare(std::span<iovec> space) noexcept { return in_.prepare(space); }
    transport::io_result read(const iovec* space, int count) noexcept
    {
        return lease_.from_->read_some(space, count);
    }
    bool received(std::size_t bytes) noexcept
    {
        ++lease_.reads_;
        bytes_ += bytes;
        engine::inbound_error& error = lease_.sharing_->found.error;
        try {
            error = in_.received(bytes);
        } catch (...) {
            error = engine::inbound_error::out_of_memory;
        }
        return error == engine::inbound_error::none;
    }
    /// Why may_read() was false last.
    direct_end end() const noexcept { return end_; }

private:
    reading_lease& lease_;
    engine::decoder& in_;
    const std::uint64_t messages_before_;
    std::size_t bytes_ = 0;
    direct_end end_ = direct_end::needs_io_thread;
};

// With the mutex.
reading_lease::direct_end reading_lease::read_directly() noexcept
{
    const base::no_cancellation whole;
    reading_directly_ = true;
    direct_reads reads(*this);
    const pump_end how = pump(reads);
    reading_directly_ = false;
    if (how == pump_end::limited)
        return reads.end();
    // Without memory the I/O thread will find the same.
    return how == pump_end::dry && sharing_->found.commands.empty() ? direct_end::dry
                                                                    : direct_end::needs_io_thread;
}

bool reading_lease::keep_for_later(std::span<const std::byte> command)
{
    if (reading_directly_)
        sharing_->found.commands.emplace_back(command.begin(), command.end());
    return reading_directly_;
}

// --- the I/O thread

// Before the socket's thread may read.
void reading_lease::prepare()
{
    if (!sharing_)
        sharing_ = std::make_unique<sharing>(io_);
}

void reading_lease::hand_over(engine::decoder& in, transport::stream& from, reader to)
{
    std::lock_guard lock(mutex_);
    in_ = &in;
    from_ = &from;
    reader_ = to;
    reads_ = 0;
    watch_asked_ = false;
}

void reading_lease::offer(engine::decoder& in, transport::stream& from)
{
    prepare();
    hand_over(in, from, reader::offered);
}

bool reading_lease::grant(engine::decoder& in, transport::stream& from)
{
    prepare();
    transport::direct_input* const input = from.direct();
    sharing_->descriptor = input ? input->release() : -1;
    if (sharing_->descriptor < 0)
        return false;
    stream_released_ = true;
    grants_.add();
    hand_over(in, from, reader::leased);
    return true;
}

void reading_lease::watch(std::function<void()> unused)
{
    watching_ = true;
    sharing_->timer.expires_after(tuning::direct_reading::watch_interval);
    sharing_->timer.async_wait([this, unused = std::move(unused)](const auto& error) {
        if (error || !watching_)
            return;
        try {
            if (was_used())
                return watch(unused);
        } catch (const std::bad_alloc&) { // nobody would look again
        }
        unused();
    });
}

// Since the last look. If the socket's thread has stopped reading by itself, it will not again.
bool reading_lease::was_used()
{
    std::lock_guard lock(mutex_);
    return std::exchange(reads_, 0) != 0 && reader_ != reader::io_thread;
}

void reading_lease::take_back()
{
    {
        std::lock_guard lock(mutex_);
        if (reader_ != reader::io_thread)
            end_direct_reading();
    }
    if (std::exchange(watching_, false))
        sharing_->timer.cancel();
    if (std::exchange(stream_released_, false))
        from_->direct()->reclaim(); // if that fails, the next operation on the stream will
}

void reading_lease::stop()
{
    take_back();
    sharing_.reset();
}

} // namespace zlink::core
