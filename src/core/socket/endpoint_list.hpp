// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/datagram_session.hpp"
#include "core/connection/listener.hpp"
#include "core/connection/session.hpp"
#include "core/pipe/shared_text.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace zlink::core {

struct bound_endpoint {
    std::string endpoint;                ///< wildcards resolved
    std::shared_ptr<listener> listening; ///< null for inproc
};
struct connected_endpoint {
    shared_text endpoint;
    std::shared_ptr<session> connection; ///< null for inproc, and when it has ended by itself
    std::weak_ptr<pipe_end> pipe;
};
struct datagram_endpoint {
    std::string endpoint;
    std::string as_given;
    endpoint_role role;
    std::shared_ptr<datagram_session> session;
    std::weak_ptr<pipe_end> pipe;
};

/// What a socket is bound and connected to, by the names that unbind and disconnect know it by.
/// Ending what is taken out of it is the caller's business.
/// Thread safety: the socket's thread.
class endpoint_list {
public:
    /// add() of one endpoint of this kind needs no memory after this. Throws std::bad_alloc.
    template <class Endpoint>
    void reserve_one()
    {
        if constexpr (std::is_same_v<Endpoint, bound_endpoint>)
            make_room(bound_);
        else if constexpr (std::is_same_v<Endpoint, connected_endpoint>)
            make_room(connected_);
        else
            make_room(datagrams_);
    }
    void add(bound_endpoint made) { bound_.push_back(std::move(made)); }
    /// Valid until the list is changed.
    connected_endpoint& add(connected_endpoint made)
    {
        return connected_.emplace_back(std::move(made));
    }
    void add(datagram_endpoint made) { datagrams_.push_back(std::move(made)); }

    std::span<const bound_endpoint> bound() const noexcept { return bound_; }
    std::span<const connected_endpoint> connected() const noexcept { return connected_; }
    std::span<const datagram_endpoint> datagrams() const noexcept { return datagrams_; }
    /// Is there none, but for datagrams?
    bool has_no_streams() const noexcept { return bound_.empty() && connected_.empty(); }
    /// Is there a connection to this endpoint, or one that is being made?
    bool has_connection_to(const shared_text& endpoint) const noexcept;

    /// Takes out the oldest of this name; nothing if there is none.
    std::optional<bound_endpoint> take_bound(std::string_view endpoint);
    std::optional<connected_endpoint> take_connected(std::string_view endpoint);
    /// Takes out all of this name and role.
    std::vector<datagram_endpoint> take_datagrams(endpoint_role role, std::string_view endpoint);
    void clear() noexcept;

    /// A new connection to this endpoint takes the place of those that have ended.
    void replace_ended(const shared_text& endpoint) noexcept
    {
        if (knows_ended_)
            erase_ended(endpoint);
    }
    /// Forgets sessions that have given up, so that zmq_connect may begin anew. If such a session
    /// never had a connection of use, its name stays for zmq_disconnect. `count`: how many sessions
    /// of the socket have given up by now, see socket_side::endpoints_given_up.
    void forget_given_up(std::uint32_t count) noexcept
    {
        if (count != given_up_) [[unlikely]]
            look_for_given_up(count);
    }

private:
    template <class Endpoint>
    static void make_room(std::vector<Endpoint>& in)
    {
        if (in.size() == in.capacity())
            in.reserve(2 * in.size() + 1);
    }
    void erase_ended(const shared_text& endpoint) noexcept;
    void look_for_given_up(std::uint32_t count) noexcept;

    std::vector<bound_endpoint> bound_;
    std::vector<connected_endpoint> connected_;
    std::vector<datagram_endpoint> datagrams_;
    bool knows_ended_ = false; ///< some of those connected are only there to be disconnected
    std::uint32_t given_up_ = 0;
};

} // namespace zlink::core
