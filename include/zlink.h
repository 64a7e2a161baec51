/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What zlink has beyond the C interface of ZeroMQ: calls for threads that wait in an event loop of
 * their own (Asio, libuv, a condition variable) instead of in a call of the library. Other
 * libraries that call themselves libzmq.so.5 do not have them. The general rules of zmq.h hold.
 *
 * One turn of such a loop:
 *
 *     for (;;) {
 *         handle all that can be done at once: zmq_msg_recv and zmq_msg_send with ZMQ_DONTWAIT,
 *         until they fail with EAGAIN
 *         if (zlink_arm(socket, wake, loop) == 0) break;
 *     }
 *     zlink_flush();
 *     sleep until wake() has been called
 *
 * docs/event_loops.md tells more; examples/asio_loop.cpp is a program.
 */

#ifndef ZLINK_H_INCLUDED
#define ZLINK_H_INCLUDED

#include "zmq.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes what the calling thread has sent, through whatever sockets, and the library still holds
 * back for larger writes. Call it at the end of each turn of an event loop, before the loop sleeps.
 *
 * Calls that wait do the same before they sleep, and so does a receive that has found nothing. A
 * thread that does neither, and does not call this either, has its messages written too, but later:
 * within 90 microseconds while it goes on sending, else after some 200.
 *
 * Always returns 0: what a connection does not take now is written as soon as it does. Costs some
 * nanoseconds if there is nothing to write. Thread-safe.
 */
ZMQ_EXPORT int zlink_flush(void);

/**
 * What zlink_arm calls, with the argument given there. It runs in the thread that has caused it, in
 * the middle of a call of the library or in an I/O thread, and all that this thread does waits for
 * it. So it has to be short, for instance to notify a condition variable, or to post to the queue
 * of a loop. It must not call the library, wait for anything that may take long, or throw.
 */
typedef void(zlink_wakeup_fn)(void* argument);

/**
 * Polls a socket and arms a wake-up, in one call: wake(argument) is called once, as soon as there
 * may be something new: the socket can receive, can send, or has been closed or its context been
 * terminated, which also a call of the own thread may have caused. It needs no descriptor.
 *
 * Returns 0 if it is armed. Returns 1, and it is not armed, if there may be something new already:
 * try again what has failed with EAGAIN before, and then arm again. "New" is what has happened
 * since a call of zlink_arm for this socket last returned 1, or since the socket was made, even if
 * other calls have processed it meanwhile. After messages were received it is also that there are
 * more. What the thread could have done already is not new: who sends and receives has to go on
 * until that fails with EAGAIN, and otherwise gets no wake-up.
 *
 * A wake-up may come without need, but at most once for each 0 returned. It may come before
 * zlink_arm has returned.
 *
 * Arming again takes the place of what was armed. wake == NULL disarms: it returns 0, and from then
 * on wake is not running and is not called any more, also for a context that has been terminated,
 * and in a forked child for a socket of its parent.
 * The same holds when zmq_close has returned. Both wait for a wake-up that is running in another
 * thread, so they must not be called with a lock held that wake() takes.
 *
 * The socket may be used in any way while it is armed, by its thread: as everything else, this is
 * for the thread to which the socket belongs. ZMQ_FD may be used beside it.
 *
 * Returns -1 with ENOTSOCK, ETERM, ENOTSUP (a socket of a thread-safe type), or ENOMEM; then nothing
 * is armed.
 */
ZMQ_EXPORT int zlink_arm(void* socket, zlink_wakeup_fn* wake, void* argument);

#ifdef __cplusplus
}
#endif

#endif
