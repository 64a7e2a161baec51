// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/notices.hpp"

#include <zmq.h>

namespace zlink::core {
namespace {

std::string_view message_if(bool wanted, const std::string& message) noexcept
{
    return wanted ? std::string_view(message) : std::string_view();
}

bool has_router_notify(const socket_options& options, int event) noexcept
{
    return options.traits->has_router_notify && (options.router_notify & event) != 0;
}

} // namespace

std::string_view hello_message(const socket_options& options) noexcept
{
    return message_if(options.traits->says_hello, options.hello_message);
}

std::string_view disconnect_message(const socket_options& options) noexcept
{
    return message_if(options.traits->hears_disconnect, options.disconnect_message);
}

std::string_view hiccup_message(const socket_options& options) noexcept
{
    return message_if(options.traits->hears_hiccup, options.hiccup_message);
}

bool notifies_connect(const socket_options& options) noexcept
{
    return options.wire == wire_format::raw_with_notices ||
           has_router_notify(options, ZMQ_NOTIFY_CONNECT);
}

bool notifies_disconnect(const socket_options& options) noexcept
{
    return options.wire == wire_format::raw_with_notices ||
           has_router_notify(options, ZMQ_NOTIFY_DISCONNECT);
}

frame notice_frame(bool is_marked, std::string_view text) noexcept
{
    frame notice = frame_of(text, false);
    if (is_marked)
        notice.flags = engine::zmtp3::flag_command;
    return notice;
}

} // namespace zlink::core
