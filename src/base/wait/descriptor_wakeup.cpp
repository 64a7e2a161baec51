// SPDX-License-Identifier: Apache-2.0
#include "base/wait/descriptor_wakeup.hpp"
#include "base/system/no_cancellation.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

namespace zlink::base {

descriptor_wakeup::~descriptor_wakeup()
{
    const no_cancellation whole;
    if (fd_ >= 0)
        ::close(fd_);
}

int descriptor_wakeup::open() noexcept
{
    if (fd_ < 0)
        fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd_ < 0 ? errno : 0;
}

void descriptor_wakeup::signal() noexcept
{
    const no_cancellation whole;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

void descriptor_wakeup::clear() noexcept
{
    const no_cancellation whole;
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
}

} // namespace zlink::base
