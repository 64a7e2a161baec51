// SPDX-License-Identifier: Apache-2.0
#include "core/notices.hpp"

#include "engine/socket_types.hpp"

#include <algorithm>
#include <array>
#include <zmq.h>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;

struct notice_row {
    int type;
    bool greets;
    bool hears_disconnect;
    bool hears_hiccup;
};

constexpr std::array rows{
    notice_row{types::dealer, true, false, true}, notice_row{types::req, true, false, true},
    notice_row{types::router, true, true, false}, notice_row{types::rep, true, true, false},
    notice_row{types::client, true, false, true}, notice_row{types::server, true, true, false},
    notice_row{types::peer, true, true, true},
};

std::string_view message_if(bool notice_row::*wanted, const socket_options& options,
                            const std::string& message) noexcept
{
    const auto row = std::ranges::find(rows, options.type, &notice_row::type);
    return row != rows.end() && (*row).*wanted ? std::string_view(message) : std::string_view();
}

} // namespace

std::string_view hello_message(const socket_options& options) noexcept
{
    return message_if(&notice_row::greets, options, options.hello_message);
}

std::string_view disconnect_message(const socket_options& options) noexcept
{
    return message_if(&notice_row::hears_disconnect, options, options.disconnect_message);
}

std::string_view hiccup_message(const socket_options& options) noexcept
{
    return message_if(&notice_row::hears_hiccup, options, options.hiccup_message);
}

bool notifies_connect(const socket_options& options) noexcept
{
    return options.wire == wire_format::raw_with_notices ||
           (options.type == types::router && (options.router_notify & ZMQ_NOTIFY_CONNECT) != 0);
}

bool notifies_disconnect(const socket_options& options) noexcept
{
    return options.wire == wire_format::raw_with_notices ||
           (options.type == types::router && (options.router_notify & ZMQ_NOTIFY_DISCONNECT) != 0);
}

frame notice_frame(int socket_type, std::string_view text) noexcept
{
    frame notice = frame_of(text, false);
    if (socket_type == types::req || socket_type == types::rep)
        notice.flags = engine::zmtp3::flag_command;
    return notice;
}

} // namespace zlink::core
