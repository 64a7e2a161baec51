// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/reading_lease.hpp"
#include "core/connection/writer.hpp"
#include "core/pace/fan_out_writes.hpp"
#include "core/pace/flush_list.hpp"
#include "core/pace/lone_messages.hpp"
#include "core/pipe/channel_pair.hpp"
#include "core/pipe/inlet.hpp"
#include "core/pipe/outlet.hpp"
#include "runtime/io_thread.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/uio.h>

namespace zlink::core {

/// Does in the I/O thread what a link is asked for.
class link_owner {
public:
    /// What is asked of the I/O thread, by it or another; done in this order.
    enum class request : unsigned {
        write_for_batcher, ///< see writer::write_for_batcher()
        grant_lease,       ///< lease the reading to the socket's thread
        watch_reading,     ///< check now and then that reading which was offered is used
        read,
        tell_of_room, ///< the socket waits for room to write, and there is some
        drain,        ///< write what is queued
    };
    /// If it throws, as there is no memory, the same is asked for again after a while.
    virtual void serve(request what) = 0;

protected:
    ~link_owner() = default;
};

/// What joins a socket's end of a pipe to the connection that carries it: the two channels, the way
/// out of one and the way into the other. Whoever uses it owns it: the pipe end (through its
/// channels), the session, and the flush list of a thread that batches for it. So a thread that has
/// begun a call may be overtaken by any number of connections that come and go.
///
/// Thread safety: as said with each function. `outlet` and `inlet` are for the socket's thread,
/// `batched_connection` for any thread.
class link final : public outlet,
                   public inlet,
                   public batched_connection,
                   public runtime::resident,
                   public std::enable_shared_from_this<link> {
public:
    using request = link_owner::request;

    /// `shared`, not null, is what the connections of the socket have in common; `batches`: may
    /// messages wait for others?
    link(runtime::io_thread& thread, std::shared_ptr<fan_out_writes> shared, bool batches) noexcept
        : thread_(thread), lease_(thread.context()), shared_(std::move(shared)), batches_(batches)
    {}

    /// For the pipe end, which writes a_to_b; they keep the link alive.
    std::shared_ptr<channel_pair> channels() noexcept { return {shared_from_this(), &channels_}; }

    /// The I/O thread: who serves from now on; null: nobody any more.
    void set_owner(link_owner* owner) noexcept { owner_ = owner; }
    /// Any thread, while the I/O thread is there: has the owner do this soon, once for all the
    /// times that it is asked for until then.
    void ask(request what) noexcept
    {
        thread_.ask(*this, static_cast<unsigned>(what), shared_from_this());
    }
    /// The I/O thread: the same after a pause in which memory may come back.
    void ask_later(request what) noexcept
    {
        thread_.ask_later(*this, static_cast<unsigned>(what), shared_from_this());
    }
    writer& out() noexcept { return out_; }
    reading_lease& lease() noexcept { return lease_; }
    /// Keeps the link alive.
    std::shared_ptr<reading_lease> shared_lease() noexcept { return {shared_from_this(), &lease_}; }

    // outlet
    plan committed() noexcept override;
    plan flush(flush_reason why) noexcept override;
    direct_write write_direct(const iovec (&message)[2],
                              base::certain_memory& for_rest) noexcept override;
    traffic_counts counts() const noexcept override;

    // inlet
    void made_room() noexcept override;
    void ask_to_read() noexcept override;
    leased_read read(std::span<std::byte> memory) noexcept override;
    void withdraw_memory() noexcept override { lease_.withdraw_memory(); }
    void give_back() noexcept override;

    // batched_connection
    bool write_batch() noexcept override;
    bool stop_batches() noexcept override { return out_.stop_batches(); }
    void write_last() noexcept override;
    void leave_to_io_thread() noexcept override;
    bool request_write() noexcept override;
    std::uint64_t committed_messages() const noexcept override
    {
        return channels_.a_to_b.credit.sent();
    }

    // runtime::resident
    void do_request(unsigned number) override
    {
        io_requests_.add();
        if (owner_)
            owner_->serve(static_cast<request>(number));
    }

private:
    writer::stalls stalls() const noexcept;
    cadence cadence_of_message(flush_list& thread) noexcept;
    plan join(flush_list& thread) noexcept;
    static std::size_t batch_bytes(const flush_list& thread) noexcept;
    plan follow(plan written) noexcept;
    plan write_full_batch() noexcept;
    plan write_backlog() noexcept;
    void leave_rest(plan rest) noexcept;

    // In an order that leaves little room between them, as the channels begin with a cache line.
    runtime::io_thread& thread_;
    link_owner* owner_ = nullptr; ///< the I/O thread only
    reading_lease lease_;
    const std::shared_ptr<fan_out_writes> shared_; ///< the socket's thread
    lone_messages lone_;
    const bool batches_;
    // the socket's thread
    base::counter flushes_[static_cast<std::size_t>(flush_reason::about_to_wait) + 1];
    base::counter lease_requests_;
    base::counter leased_reads_;
    // the I/O thread
    base::counter io_requests_;
    channel_pair channels_;
    writer out_{channels_.a_to_b};
};

} // namespace zlink::core
