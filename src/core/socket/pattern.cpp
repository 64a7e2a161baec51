// SPDX-License-Identifier: Apache-2.0
#include "core/socket/pattern.hpp"

#include <cerrno>

namespace zlink::core {

bool pattern::put(const std::byte*, std::size_t, bool) noexcept
{
    return false;
}

taken_part pattern::take(std::size_t) noexcept
{
    return {};
}

int pattern::set_option(int, const void*, std::size_t)
{
    return EINVAL;
}

int pattern::get_option(int, void*, std::size_t*)
{
    return EINVAL;
}

const metadata* pattern::share_source_metadata() const noexcept
{
    const pipe_end* const pipe = source();
    return pipe ? pipe->slot.properties.share() : nullptr;
}

int pattern::join(std::string_view)
{
    return ENOTSUP;
}

int pattern::leave(std::string_view)
{
    return ENOTSUP;
}

int pattern::drop_peer(std::uint32_t)
{
    return ENOTSUP;
}

int pattern::peer_events(std::string_view, int&)
{
    return ENOTSUP;
}

} // namespace zlink::core
