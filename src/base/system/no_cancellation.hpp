// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace zlink::base {

/// While it lives, pthread_cancel() does not act on this thread: what is done meanwhile is done as
/// a whole. May be nested.
///
/// The C library acts on a request at its cancellation points, among them most system calls, and
/// unwinds the stack from there as an exception does; a function that is noexcept ends the process
/// then. So whatever calls them, but where a call of the API waits, has one of these. I/O threads
/// have one for good, which makes others in them cheap; else they cost two locked instructions.
class no_cancellation {
public:
    no_cancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~no_cancellation() { pthread_setcancelstate(before_, nullptr); }
    no_cancellation(const no_cancellation&) = delete;
    no_cancellation& operator=(const no_cancellation&) = delete;

private:
    int before_ = PTHREAD_CANCEL_DISABLE;
};

} // namespace zlink::base
