/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kept for programs that still include it: everything it used to declare (stopwatch, sleep,
 * threads, Z85, CURVE key helpers) is declared by zmq.h.
 */

#ifndef __ZMQ_UTILS_H_INCLUDED__
#define __ZMQ_UTILS_H_INCLUDED__

#include "zmq.h"

#if defined(__GNUC__) || defined(_MSC_VER)
#pragma message("zmq_utils.h is deprecated: zmq.h declares all of it")
#endif

#endif
