// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/give_back.hpp"
#include "engine/traffic/frame_source.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace zlink::engine {

/// What this side sends besides the messages of its socket: the first bytes of a connection as they
/// are, and frames such as commands. Those wait, in the format of the queue, until they may be
/// written between two messages: as they are after begin_waiting(), or encoded by somebody else.
///
/// Thread safety: that of outgoing.
class own_frames final : public frame_source {
public:
    /// A connection begins: `first` is written at once, `waiting` waits.
    void begin(std::vector<std::byte> first, std::vector<std::byte> waiting) noexcept
    {
        begun_ = std::move(first);
        written_bytes_ = 0;
        waiting_ = std::move(waiting);
    }
    void clear() noexcept
    {
        begun_.clear();
        written_bytes_ = 0;
        waiting_.clear();
    }
    /// Do frames wait?
    bool wait() const noexcept { return !waiting_.empty(); }
    std::vector<std::byte>& waiting() noexcept { return waiting_; }
    const std::vector<std::byte>& waiting() const noexcept { return waiting_; }
    /// The frames that wait are written next, as they are; nothing else is begun.
    void begin_waiting() noexcept
    {
        begun_.swap(waiting_);
        written_bytes_ = 0;
    }

    std::size_t next(std::span<iovec> entries, std::size_t& bytes) noexcept override
    {
        const std::size_t left = begun_.size() - written_bytes_;
        entries[0] = {begun_.data() + written_bytes_, left};
        bytes += left;
        return 1;
    }
    void taken(std::size_t bytes) noexcept override
    {
        written_bytes_ += bytes;
        if (written_bytes_ < begun_.size())
            return;
        base::give_back(begun_); // seldom needed again
        written_bytes_ = 0;
    }
    bool at_boundary() const noexcept override { return begun_.empty(); }

private:
    std::vector<std::byte> begun_;
    std::size_t written_bytes_ = 0; ///< of begun_
    std::vector<std::byte> waiting_;
};

} // namespace zlink::engine
