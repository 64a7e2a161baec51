// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/adaptive_spin.hpp"
#include "base/pace/trial_interval.hpp"
#include "base/tuning.hpp"
#include "base/wait/waiter.hpp"
#include "core/pipe/pipe.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace zlink::core {

/// The connections that a socket's thread reads by itself, because it often waits for what comes,
/// and the memory of its caller that a large body may be read into. The other side of each is a
/// reading_lease.
/// Thread safety: the socket's thread.
class direct_reading {
public:
    struct connection {
        pipe_end* pipe;
        int descriptor;
    };

    bool empty() const noexcept { return connections_.empty(); }
    std::span<const connection> connections() const noexcept { return connections_; }

    /// The reading of this pipe's connection was granted; it is read at once. `readable(pipe_end&)`
    /// is called if there is something new in the queue. No effect if it is read here already.
    template <class Readable>
    void add(pipe_end& pipe, Readable readable)
    {
        if (contains(pipe))
            return;
        // More than there is place for may come from several times of asking.
        if (connections_.size() == tuning::direct_reading::max_connections)
            return pipe.in.stop_reading();
        const auto read = pipe.in.read_connection();
        if (read.got)
            readable(pipe);
        if (read.leased)
            connections_.push_back({&pipe, read.descriptor});
    }
    /// Reads what is there from all of them; `readable(pipe_end&)` as with add(): it adds and
    /// removes none.
    template <class Readable>
    base::glance read(Readable readable)
    {
        auto seen = base::glance::nothing;
        for (std::size_t i = 0; i < connections_.size();) {
            pipe_end& pipe = *connections_[i].pipe;
            const auto read = read_one(pipe);
            if (read.moved)
                seen = std::max(seen, base::glance::progress);
            if (read.got) {
                seen = base::glance::news;
                readable(pipe);
            }
            connections_[i].descriptor = read.descriptor;
            if (read.leased)
                ++i;
            else
                connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return seen;
    }
    /// The I/O threads read again. What is there should be read() before.
    void give_back() noexcept;
    /// The pipe goes, or somebody else reads its connection: true if it was read here.
    bool remove(const pipe_end& pipe) noexcept;

    /// Until reclaim_memory(), the large body that comes first may be read there. Nothing is if
    /// bodies had to make way for messages of other connections lately.
    void offer_memory(std::span<std::byte> memory) noexcept;
    /// Has the body of this part, which was received, come to the memory as a whole? If so, that is
    /// not said again.
    bool take_body(const frame& part) noexcept;
    /// The memory is its owner's again. What has come there and was not taken stays in the queue.
    void reclaim_memory() noexcept;

private:
    bool contains(const pipe_end& pipe) const noexcept;
    void note_use_of_memory(bool taken) noexcept;
    inlet::leased_read read_one(pipe_end& pipe) noexcept;

    std::vector<connection> connections_;

    std::span<std::byte> memory_;
    pipe_end* coming_from_ = nullptr;         ///< a body is on its way from there to the memory
    engine::decoder::outside_body body_here_; ///< has come there as a whole
    unsigned offers_to_skip_ = 0;
    base::trial_interval<1, tuning::direct_reading::max_skipped_offers> skips_after_vain_offer_;
};

} // namespace zlink::core
