// SPDX-License-Identifier: Apache-2.0
#include "transport/ip/settings.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>

namespace zlink::transport::ip_settings {
namespace {

int family_of(int fd) noexcept
{
    int family = 0;
    socklen_t bytes = sizeof family;
    ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
    return family;
}

} // namespace

void set_int(int fd, int level, int name, int value) noexcept
{
    ::setsockopt(fd, level, name, &value, sizeof value);
}

void apply_per_connection(int fd, const options& settings) noexcept
{
    if (settings.priority > 0)
        set_int(fd, SOL_SOCKET, SO_PRIORITY, settings.priority);
    if (settings.busy_poll_us > 0)
        set_int(fd, SOL_SOCKET, SO_BUSY_POLL, settings.busy_poll_us);
}

error_code apply(int fd, const options& settings)
{
    if (settings.send_buffer_bytes >= 0)
        set_int(fd, SOL_SOCKET, SO_SNDBUF, settings.send_buffer_bytes);
    if (settings.receive_buffer_bytes >= 0)
        set_int(fd, SOL_SOCKET, SO_RCVBUF, settings.receive_buffer_bytes);
    const bool ipv6 = family_of(fd) == AF_INET6;
    if (ipv6)
        set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (settings.type_of_service > 0) {
        // A socket of both families keeps one for each.
        set_int(fd, IPPROTO_IP, IP_TOS, settings.type_of_service);
        if (ipv6)
            set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, settings.type_of_service);
    }
    apply_per_connection(fd, settings); // after the type of service, which sets a priority too
    if (!settings.bind_to_device.empty() &&
        ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, settings.bind_to_device.data(),
                     static_cast<socklen_t>(settings.bind_to_device.size())) != 0)
        return {errno, boost::system::system_category()};
    return {};
}

} // namespace zlink::transport::ip_settings
