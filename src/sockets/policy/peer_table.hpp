// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/system/keyed_hash.hpp"
#include "core/pipe/pipe.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zlink::sockets {

/// The peers of a socket by routing id. Finding the same one again and again costs a comparison.
class peer_table {
public:
    peer_table() : next_id_(std::random_device{}()) {}

    /// An id that no peer has: byte 0 and a number of 32 bits.
    std::string automatic_id()
    {
        std::string id(5, '\0');
        do {
            const std::uint32_t number = next_id_++;
            for (int i = 0; i < 4; ++i)
                id[static_cast<std::size_t>(i) + 1] = static_cast<char>(number >> (24 - 8 * i));
        } while (contains(id)); // nothing stops a peer from announcing such an id
        return id;
    }

    bool contains(std::string_view id) const noexcept { return peers_.contains(id); }

    /// The peer that was found last; null if it is no more.
    core::pipe_end* last_found() const noexcept { return last_; }
    /// The same, if it is this one.
    core::pipe_end* last_found(std::string_view id) const noexcept
    {
        return last_ && last_->slot.is_named(id) ? last_ : nullptr;
    }

    core::pipe_end* find(std::string_view id) noexcept
    {
        if (core::pipe_end* const again = last_found(id))
            return again;
        const auto found = peers_.find(id);
        return found == peers_.end() ? nullptr : last_ = found->second;
    }

    /// Does `condition(core::pipe_end&)` hold for one of them?
    template <class Condition>
    bool any_of(Condition condition)
    {
        return std::ranges::any_of(peers_,
                                   [&](const auto& peer) { return condition(*peer.second); });
    }

    /// `id` must be new. May throw std::bad_alloc, and nothing has changed.
    void add(core::pipe_end& pipe, std::string id)
    {
        peers_.emplace(id, &pipe);
        pipe.slot.routing_id = std::move(id);
    }

    void remove(const core::pipe_end& pipe)
    {
        if (last_ == &pipe)
            last_ = nullptr;
        const auto peer = peers_.find(pipe.slot.routing_id);
        if (peer != peers_.end() && peer->second == &pipe)
            peers_.erase(peer);
    }

private:
    std::unordered_map<std::string, core::pipe_end*, base::keyed_hash, std::equal_to<>> peers_;
    core::pipe_end* last_ = nullptr; ///< found last
    std::uint32_t next_id_;
};

} // namespace zlink::sockets
