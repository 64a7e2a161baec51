// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/mailbox.hpp"

#include <span>

namespace zlink::base {

/// Sleeps until there is mail in one of the boxes (each listed once), which all belong to the
/// calling thread, or another signal for `sleeper` since its count was `seen`. Returns at once if
/// there is some already. With `also` (null: nothing) descriptors end the sleep too: it is `ready`
/// then, or `interrupted` with the reason in errno; and others than the boxes may then signal the
/// sleeper only if there is no alarm. A cancellation point; nothing is announced any more when the
/// stack is unwound.
wait_result sleep_until_mail(std::span<mailbox* const> boxes, waiter& sleeper, std::uint32_t seen,
                             deadline until, const polling* also = nullptr);

} // namespace zlink::base
