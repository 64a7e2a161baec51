// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pipe/pipe.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace zlink::core {

/// The pipes of a socket, each with a small number that is used again when the pipe is gone, and
/// the list of those that are to be closed.
/// Thread safety: the socket's thread.
class pipe_table {
public:
    /// Gives the pipe the lowest number at hand. From then on remove() and drop() need no memory
    /// for it. May throw std::bad_alloc, and nothing has changed.
    void add(const std::shared_ptr<pipe_end>& pipe);
    void remove(pipe_end& pipe) noexcept;

    bool contains(const pipe_end& pipe) const noexcept
    {
        return pipe.slot.number < pipes_.size() && pipes_[pipe.slot.number].get() == &pipe;
    }
    std::size_t size() const noexcept { return pipes_.size() - free_numbers_.size(); }
    /// All numbers in use are below this.
    std::size_t numbers() const noexcept { return pipes_.size(); }
    /// Calls `what(pipe_end&)` for each pipe. `what` neither adds nor removes pipes.
    template <class What>
    void for_each(What what) const
    {
        for (const auto& pipe : pipes_)
            if (pipe)
                what(*pipe);
    }
    /// for_each() whose `what` may add and remove pipes; the pipe it is called for stays alive
    /// meanwhile.
    template <class What>
    void for_each_kept(What what) const
    {
        for (std::size_t i = 0; i < pipes_.size(); ++i)
            if (const auto pipe = pipes_[i])
                what(*pipe);
    }

    /// The pipe is closed when the call that asks for it is done. Until then it stays in the table.
    void drop(pipe_end& pipe) { dropped_.push_back(pipe.shared_from_this()); }
    bool has_dropped() const noexcept { return !dropped_.empty(); }
    /// One that was dropped, perhaps closed already. There must be one.
    std::shared_ptr<pipe_end> take_dropped() noexcept;

private:
    std::vector<std::shared_ptr<pipe_end>> pipes_; ///< by pipe_slot::number; null = free
    std::vector<std::uint32_t> free_numbers_;
    std::vector<std::shared_ptr<pipe_end>> dropped_;
};

} // namespace zlink::core
