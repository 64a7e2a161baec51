// SPDX-License-Identifier: Apache-2.0
#include "base/wait/alarm_reserve.hpp"

#include <new>
#include <utility>

namespace zlink::base {

alarm_reserve::alarm alarm_reserve::open_one() noexcept
{
    alarm opened(new (std::nothrow) descriptor_wakeup);
    return opened && opened->open() == 0 ? std::move(opened) : nullptr;
}

void alarm_reserve::fill() noexcept
{
    release(open_one());
}

alarm_reserve::alarm alarm_reserve::acquire() noexcept
{
    {
        std::lock_guard lock(mutex_);
        if (count_)
            return std::move(kept_[--count_]);
    }
    return open_one();
}

void alarm_reserve::release(alarm used) noexcept
{
    if (!used)
        return;
    std::lock_guard lock(mutex_);
    if (count_ < kept_.size())
        kept_[count_++] = std::move(used);
}

} // namespace zlink::base
