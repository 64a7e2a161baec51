// SPDX-License-Identifier: Apache-2.0
#include "base/sync/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zlink::base {
namespace {

bool register_process() noexcept
{
    return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

} // namespace

bool has_heavy_fence() noexcept
{
    static const bool registered = register_process();
    return registered;
}

// While the library is loaded: a child that is forked while another thread is inside would wait.
[[maybe_unused]] const bool registered_in_time = has_heavy_fence();

void heavy_fence() noexcept
{
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

} // namespace zlink::base
