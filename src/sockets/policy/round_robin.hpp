// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pipe/pipe.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace zlink::sockets {

/// Pipes that are served in round-robin order as long as they are active. `index` is the member of
/// a pipe's slot that holds its place in it.
template <std::size_t core::pipe_slot::*index>
class round_robin {
public:
    void add(core::pipe_end& pipe)
    {
        pipe.slot.*index = pipes_.size();
        pipes_.push_back(&pipe);
        activate(pipe);
    }
    /// Takes part again, if it was added.
    void activate(core::pipe_end& pipe)
    {
        if (contains(pipe) && pipe.slot.*index >= active_)
            exchange(pipe.slot.*index, active_++);
    }
    /// The current pipe takes no part until it is activated.
    void deactivate_current() { deactivate(current_); }
    void remove(core::pipe_end& pipe)
    {
        if (pipe.slot.*index < active_)
            deactivate(pipe.slot.*index);
        exchange(pipe.slot.*index, pipes_.size() - 1);
        pipes_.pop_back();
    }
    bool contains(const core::pipe_end& pipe) const noexcept
    {
        return pipe.slot.*index < pipes_.size() && pipes_[pipe.slot.*index] == &pipe;
    }

    bool none_active() const noexcept { return active_ == 0; }
    /// The pipe that is to be served next; only if any is active.
    core::pipe_end* current() const noexcept { return pipes_[current_]; }
    /// Is only one active?
    bool one_active() const noexcept { return active_ == 1; }
    /// The one behind is current from now on.
    void next_after(const core::pipe_end& pipe) noexcept
    {
        if (active_ <= 1)
            return; // one alone stays current
        current_ = pipe.slot.*index + 1;
        if (current_ >= active_)
            current_ = 0;
    }
    const std::vector<core::pipe_end*>& pipes() const noexcept { return pipes_; }

private:
    void exchange(std::size_t a, std::size_t b) noexcept
    {
        if (a == b)
            return;
        std::swap(pipes_[a], pipes_[b]);
        pipes_[a]->slot.*index = a;
        pipes_[b]->slot.*index = b;
    }

    // The current pipe stays current: a part of its message may be given already.
    void deactivate(std::size_t at) noexcept
    {
        exchange(at, --active_);
        if (current_ == active_)
            current_ = at;
        if (current_ >= active_)
            current_ = 0;
    }

    std::vector<core::pipe_end*> pipes_; ///< the first `active_` take part
    std::size_t active_ = 0;
    std::size_t current_ = 0;
};

} // namespace zlink::sockets
