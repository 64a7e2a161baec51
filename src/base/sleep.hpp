// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/mailbox.hpp"

#include <span>

namespace zlink::base {

/// Sleeps until there is mail in one of the boxes (each listed once), which all belong to the
/// calling thread, or another signal for `sleeper` since its count was `seen`. Returns at once if
/// there is some already. `ready`: one of `others`, at most waiter::most_others descriptors, is
/// readable; with any of these nothing but the boxes may signal the sleeper.
wait_result sleep_until_mail(std::span<mailbox* const> boxes, waiter& sleeper, std::uint32_t seen,
                             deadline until, std::span<const int> others = {}) noexcept;

} // namespace zlink::base
