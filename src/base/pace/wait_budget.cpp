// SPDX-License-Identifier: Apache-2.0
#include "base/pace/wait_budget.hpp"

#include "base/memory/thread_own.hpp"

namespace zlink::base {
namespace {

using budget_of_thread = thread_own<wait_budget>;
const budget_of_thread keep_budget_of_thread;

} // namespace

wait_budget* wait_budget::of_this_thread() noexcept
{
    return budget_of_thread::find_or_make();
}

} // namespace zlink::base
