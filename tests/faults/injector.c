/* SPDX-License-Identifier: Apache-2.0
 * A library to preload that lets chosen calls of a process fail: allocations or system calls, of one
 * kind at a time. What it is to do is said by fault_plan and fault_arm, which the program calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

/* The allocator itself, below the names that are replaced here. */
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

enum { any_thread, own_threads, other_threads };

static char planned[32];          /* the name of what fails */
static long planned_first;        /* the first call that fails, from 1; 0: none */
static long planned_count;        /* of so many calls */
static long planned_every;        /* each so many-th fails */
static int planned_error;         /* errno; -1: the call moves one byte only */
static int planned_threads;       /* whose calls count */
static atomic_int armed;
static atomic_long calls;
static atomic_long fired;
static atomic_long blocks;
static __thread int is_own __attribute__((tls_model("initial-exec")));

/* Not armed afterwards. */
void fault_plan(const char* name, long first, long count, long every, int error, int threads)
{
    atomic_store(&armed, 0);
    strncpy(planned, name, sizeof planned - 1);
    planned_first = first;
    planned_count = count;
    planned_every = every;
    planned_error = error;
    planned_threads = threads;
    atomic_store(&calls, 0);
    atomic_store(&fired, 0);
}
void fault_arm(void) { atomic_store(&armed, 1); }
void fault_disarm(void) { atomic_store(&armed, 0); }
/* The calling thread is one of the program, not of the library. */
void fault_own_thread(void) { is_own = 1; }
/* Calls of the planned kind while it was armed, and those that failed. */
long fault_calls(void) { return atomic_load(&calls); }
long fault_fired(void) { return atomic_load(&fired); }
/* Allocations that were not freed. */
long fault_blocks(void) { return atomic_load(&blocks); }

static int fails(const char* name)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed) || strcmp(name, planned) != 0)
        return 0;
    if (planned_threads != any_thread && (planned_threads == own_threads) != (is_own != 0))
        return 0;
    const long number = atomic_fetch_add(&calls, 1) + 1;
    if (planned_first == 0 || number < planned_first || number >= planned_first + planned_count ||
        (number - planned_first) % planned_every != 0)
        return 0;
    atomic_fetch_add(&fired, 1);
    return 1;
}

/* --- memory: all of these are "malloc" */

static void* given(void* block)
{
    if (block)
        atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
    return block;
}

static void* refuse(void)
{
    errno = ENOMEM;
    return NULL;
}

void* malloc(size_t size) { return fails("malloc") ? refuse() : given(__libc_malloc(size)); }
void* calloc(size_t count, size_t size)
{
    return fails("malloc") ? refuse() : given(__libc_calloc(count, size));
}
void* aligned_alloc(size_t alignment, size_t size)
{
    return fails("malloc") ? refuse() : given(__libc_memalign(alignment, size));
}
void* memalign(size_t alignment, size_t size)
{
    return fails("malloc") ? refuse() : given(__libc_memalign(alignment, size));
}
int posix_memalign(void** out, size_t alignment, size_t size)
{
    if (fails("malloc"))
        return ENOMEM;
    *out = given(__libc_memalign(alignment, size));
    return *out ? 0 : ENOMEM;
}
void* realloc(void* block, size_t size)
{
    if (fails("malloc"))
        return refuse();
    void* const moved = __libc_realloc(block, size);
    if (!block)
        given(moved);
    else if (size == 0)
        atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
    return moved;
}
void free(void* block)
{
    if (!block)
        return;
    const int error = errno;
    atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
    __libc_free(block);
    errno = error;
}

/* --- system calls */

/* Two threads may look it up at the same time, and find the same. */
#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (!real)                                                                                     \
    real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAIL(name)                                                                                 \
    REAL(name);                                                                                    \
    if (fails(#name)) {                                                                            \
        errno = planned_error;                                                                     \
        return -1;                                                                                 \
    }
/* With `size` bytes to move. */
#define FAIL_OR_SHORTEN(name, size)                                                                \
    REAL(name);                                                                                    \
    if (fails(#name)) {                                                                            \
        if (planned_error >= 0) {                                                                  \
            errno = planned_error;                                                                 \
            return -1;                                                                             \
        }                                                                                          \
        size = size ? 1 : 0;                                                                       \
    }

int socket(int domain, int type, int protocol)
{
    FAIL(socket)
    return real(domain, type, protocol);
}
int bind(int fd, const struct sockaddr* address, socklen_t size)
{
    FAIL(bind)
    return real(fd, address, size);
}
int listen(int fd, int backlog)
{
    FAIL(listen)
    return real(fd, backlog);
}
int accept4(int fd, struct sockaddr* address, socklen_t* size, int flags)
{
    FAIL(accept4)
    return real(fd, address, size, flags);
}
int connect(int fd, const struct sockaddr* address, socklen_t size)
{
    FAIL(connect)
    return real(fd, address, size);
}
int epoll_create1(int flags)
{
    FAIL(epoll_create1)
    return real(flags);
}
int epoll_ctl(int epoll, int what, int fd, struct epoll_event* event)
{
    /* To change or to remove an entry takes no memory, so it cannot fail. Entries of connections and
     * listeners are told from those that Asio has for itself. */
    REAL(epoll_ctl);
    struct stat kind;
    const int is_socket = fstat(fd, &kind) == 0 && S_ISSOCK(kind.st_mode);
    if (what == EPOLL_CTL_ADD && fails(is_socket ? "epoll_ctl" : "epoll_ctl_own")) {
        errno = planned_error;
        return -1;
    }
    return real(epoll, what, fd, event);
}
int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout_ms)
{
    FAIL(epoll_wait)
    return real(epoll, events, most, timeout_ms);
}
int eventfd(unsigned begin, int flags)
{
    FAIL(eventfd)
    return real(begin, flags);
}
int timerfd_create(int clock, int flags)
{
    FAIL(timerfd_create)
    return real(clock, flags);
}
int setsockopt(int fd, int level, int option, const void* value, socklen_t size)
{
    FAIL(setsockopt)
    return real(fd, level, option, value, size);
}
int getsockopt(int fd, int level, int option, void* value, socklen_t* size)
{
    FAIL(getsockopt)
    return real(fd, level, option, value, size);
}
int getsockname(int fd, struct sockaddr* address, socklen_t* size)
{
    FAIL(getsockname)
    return real(fd, address, size);
}
int getpeername(int fd, struct sockaddr* address, socklen_t* size)
{
    FAIL(getpeername)
    return real(fd, address, size);
}
int shutdown(int fd, int how)
{
    FAIL(shutdown)
    return real(fd, how);
}
int poll(struct pollfd* entries, nfds_t count, int timeout_ms)
{
    FAIL(poll)
    return real(entries, count, timeout_ms);
}
int ppoll(struct pollfd* entries, nfds_t count, const struct timespec* timeout,
          const sigset_t* mask)
{
    FAIL(ppoll)
    return real(entries, count, timeout, mask);
}
/* Closes all the same, as the kernel does. */
int close(int fd)
{
    REAL(close);
    if (!fails("close"))
        return real(fd);
    real(fd);
    errno = planned_error;
    return -1;
}
int ioctl(int fd, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    FAIL(ioctl)
    return real(fd, request, argument);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument)
{
    REAL(pthread_create);
    return fails("pthread_create") ? planned_error : real(thread, attributes, body, argument);
}
ssize_t read(int fd, void* bytes, size_t size)
{
    FAIL_OR_SHORTEN(read, size)
    return real(fd, bytes, size);
}
ssize_t write(int fd, const void* bytes, size_t size)
{
    FAIL_OR_SHORTEN(write, size)
    return real(fd, bytes, size);
}
ssize_t recv(int fd, void* bytes, size_t size, int flags)
{
    FAIL_OR_SHORTEN(recv, size)
    return real(fd, bytes, size, flags);
}
ssize_t send(int fd, const void* bytes, size_t size, int flags)
{
    FAIL_OR_SHORTEN(send, size)
    return real(fd, bytes, size, flags);
}

/* A message of one byte, the first one there is room for or that is to be sent. */
static struct msghdr shortened(const struct msghdr* whole, struct iovec* piece)
{
    struct msghdr message = *whole;
    size_t at = 0;
    while (at < whole->msg_iovlen && whole->msg_iov[at].iov_len == 0)
        ++at;
    if (at == whole->msg_iovlen)
        return message;
    piece->iov_base = whole->msg_iov[at].iov_base;
    piece->iov_len = 1;
    message.msg_iov = piece;
    message.msg_iovlen = 1;
    return message;
}
ssize_t recvmsg(int fd, struct msghdr* message, int flags)
{
    size_t bytes = 2; /* or more */
    FAIL_OR_SHORTEN(recvmsg, bytes)
    struct iovec piece;
    struct msghdr first_byte = shortened(message, &piece);
    return real(fd, bytes == 1 ? &first_byte : message, flags);
}
ssize_t sendmsg(int fd, const struct msghdr* message, int flags)
{
    size_t bytes = 2; /* or more */
    FAIL_OR_SHORTEN(sendmsg, bytes)
    struct iovec piece;
    struct msghdr first_byte = shortened(message, &piece);
    return real(fd, bytes == 1 ? &first_byte : message, flags);
}
