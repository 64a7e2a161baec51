/* SPDX-License-Identifier: Apache-2.0 */

/*
 * C interface of the library: compatible with ZeroMQ 4.3.5 in source and binary form.
 *
 * General rules
 * - Failure is -1 for functions returning int, NULL for functions returning a pointer, and 0 for
 *   zmq_connect_peer; errno then tells why and zmq_errno() reads it.
 * - Text arguments are NUL-terminated. Sizes are bytes. Time is milliseconds where nothing else is
 *   said.
 * - A context may be used by any number of threads at once. A socket belongs to one thread at a
 *   time; it may be handed to another thread with a full memory barrier. Sockets of the types
 *   CLIENT, SERVER, RADIO, DISH, GATHER, SCATTER, PEER and CHANNEL are safe to share.
 * - Every function taking a socket fails with ENOTSOCK if it is NULL, closed or no socket, and,
 *   except for zmq_close, with ETERM once zmq_ctx_shutdown or zmq_ctx_term was called on its
 *   context. Calls that wait are interrupted by signal handlers and then fail with EINTR.
 * - After fork() the child may create contexts and pollers of its own. Contexts, sockets and
 *   pollers of its parent are to the child as if zmq_ctx_shutdown had been called: zmq_close,
 *   zmq_ctx_term, zmq_ctx_shutdown, zmq_poller_destroy and what else only ends something
 *   (zmq_unbind, zmq_disconnect, zmq_disconnect_peer, zmq_socket_monitor without an address,
 *   ZMQ_LINGER, zmq_poller_remove, zmq_poller_remove_fd) return 0 at once, everything else fails
 *   with ETERM. None of it reaches the parent, whose connections the child does not have.
 *   Messages, timers and counters belong to the child.
 * - Names under ZMQ_BUILD_DRAFT_API are drafts: the library always exports them, but a program
 *   sees them only if it defines ZMQ_BUILD_DRAFT_API before including this header.
 */

#ifndef __ZMQ_H_INCLUDED__
#define __ZMQ_H_INCLUDED__

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and build ---------------------------------------------------------------------- */

#define ZMQ_VERSION_MAJOR 4
#define ZMQ_VERSION_MINOR 3
#define ZMQ_VERSION_PATCH 5

/** One comparable number for a version, for example ZMQ_MAKE_VERSION(4, 3, 5) is 40305. */
#define ZMQ_MAKE_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))

/** Version of this header; compare with ZMQ_MAKE_VERSION(...). */
#define ZMQ_VERSION ZMQ_MAKE_VERSION(ZMQ_VERSION_MAJOR, ZMQ_VERSION_MINOR, ZMQ_VERSION_PATCH)

/* The fixed-width types of <stdint.h> are available after including this header. */
#define ZMQ_DEFINED_STDINT 1

/* zmq_has() exists. */
#define ZMQ_HAS_CAPABILITIES 1

/* The zmq_timers_* functions exist. */
#define ZMQ_HAVE_TIMERS

#ifdef ZMQ_BUILD_DRAFT_API
/* The zmq_poller_* functions exist. */
#define ZMQ_HAVE_POLLER
#endif

/*
 * Linkage of the functions. On Windows define DLL_EXPORT to build the shared library and
 * ZMQ_STATIC to build or use a static one.
 */
#ifndef ZMQ_EXPORT
#if defined _WIN32
#if defined ZMQ_STATIC
#define ZMQ_EXPORT
#elif defined DLL_EXPORT
#define ZMQ_EXPORT __declspec(dllexport)
#else
#define ZMQ_EXPORT __declspec(dllimport)
#endif
#elif defined __GNUC__ || defined __clang__ || defined __INTEL_COMPILER
#define ZMQ_EXPORT __attribute__((visibility("default")))
#else
#define ZMQ_EXPORT
#endif
#endif

/* ---- Errors --------------------------------------------------------------------------------- */

/* Base of the library's own error numbers, chosen not to meet those of any operating system. */
#define ZMQ_HAUSNUMERO 156384712

/* Standard errors: the platform's numbers; the values here only fill gaps of the platform. */
#ifndef ENOTSUP
#define ENOTSUP (ZMQ_HAUSNUMERO + 1)
#endif
#ifndef EPROTONOSUPPORT
#define EPROTONOSUPPORT (ZMQ_HAUSNUMERO + 2)
#endif
#ifndef ENOBUFS
#define ENOBUFS (ZMQ_HAUSNUMERO + 3)
#endif
#ifndef ENETDOWN
#define ENETDOWN (ZMQ_HAUSNUMERO + 4)
#endif
#ifndef EADDRINUSE
#define EADDRINUSE (ZMQ_HAUSNUMERO + 5)
#endif
#ifndef EADDRNOTAVAIL
#define EADDRNOTAVAIL (ZMQ_HAUSNUMERO + 6)
#endif
#ifndef ECONNREFUSED
#define ECONNREFUSED (ZMQ_HAUSNUMERO + 7)
#endif
#ifndef EINPROGRESS
#define EINPROGRESS (ZMQ_HAUSNUMERO + 8)
#endif
#ifndef ENOTSOCK
#define ENOTSOCK (ZMQ_HAUSNUMERO + 9)
#endif
#ifndef EMSGSIZE
#define EMSGSIZE (ZMQ_HAUSNUMERO + 10)
#endif
#ifndef EAFNOSUPPORT
#define EAFNOSUPPORT (ZMQ_HAUSNUMERO + 11)
#endif
#ifndef ENETUNREACH
#define ENETUNREACH (ZMQ_HAUSNUMERO + 12)
#endif
#ifndef ECONNABORTED
#define ECONNABORTED (ZMQ_HAUSNUMERO + 13)
#endif
#ifndef ECONNRESET
#define ECONNRESET (ZMQ_HAUSNUMERO + 14)
#endif
#ifndef ENOTCONN
#define ENOTCONN (ZMQ_HAUSNUMERO + 15)
#endif
#ifndef ETIMEDOUT
#define ETIMEDOUT (ZMQ_HAUSNUMERO + 16)
#endif
#ifndef EHOSTUNREACH
#define EHOSTUNREACH (ZMQ_HAUSNUMERO + 17)
#endif
#ifndef ENETRESET
#define ENETRESET (ZMQ_HAUSNUMERO + 18)
#endif

/* The library's own errors. */
#define EFSM (ZMQ_HAUSNUMERO + 51)           /* not possible in the socket's current state */
#define ENOCOMPATPROTO (ZMQ_HAUSNUMERO + 52) /* transport does not fit the socket type */
#define ETERM (ZMQ_HAUSNUMERO + 53)          /* the context is being or was terminated */
#define EMTHREAD (ZMQ_HAUSNUMERO + 54)       /* no I/O thread can serve the endpoint */

/* ---- Types ---------------------------------------------------------------------------------- */

/** Handle of an operating-system socket or file that can be polled. */
#if defined _WIN64
typedef unsigned __int64 zmq_fd_t;
#elif defined _WIN32
typedef unsigned int zmq_fd_t;
#else
typedef int zmq_fd_t;
#endif

/**
 * One message part. The content is private to the library: initialise it with one of the
 * zmq_msg_init functions and use it only through zmq_msg functions. 64 bytes, aligned as a pointer.
 */
typedef struct zmq_msg_t {
#if defined _MSC_VER && (defined _M_X64 || defined _M_ARM64)
    __declspec(align(8)) unsigned char _[64];
#elif defined _MSC_VER && (defined _M_IX86 || defined _M_ARM || defined _M_ARM_ARMV7VE)
    __declspec(align(4)) unsigned char _[64];
#elif defined __GNUC__ || defined __clang__ || defined __INTEL_COMPILER ||                         \
    (defined __SUNPRO_C && __SUNPRO_C >= 0x590) || (defined __SUNPRO_CC && __SUNPRO_CC >= 0x590)
    unsigned char _[64] __attribute__((aligned(sizeof(void*))));
#else
    unsigned char _[64];
#endif
} zmq_msg_t;

/** What zmq_poll watches: a socket of this library, or an operating-system handle. */
typedef struct zmq_pollitem_t {
    void* socket;  /* socket to watch, or NULL to watch fd */
    zmq_fd_t fd;   /* used only if socket is NULL */
    short events;  /* wanted: ZMQ_POLLIN, ZMQ_POLLOUT, ZMQ_POLLPRI, ZMQ_POLLERR or'ed together */
    short revents; /* result: what is ready, 0 for nothing */
} zmq_pollitem_t;

#ifdef ZMQ_BUILD_DRAFT_API
/** What a zmq_poller reports: one ready socket or handle. */
typedef struct zmq_poller_event_t {
    void* socket;    /* ready socket, or NULL if it is fd (or nothing) */
    zmq_fd_t fd;     /* ready handle, or the invalid handle (-1) */
    void* user_data; /* value given at registration */
    short events;    /* what is ready, or'ed ZMQ_POLL bits */
} zmq_poller_event_t;
#endif

/** Releases a buffer given to zmq_msg_init_data; may be called in any thread. */
typedef void(zmq_free_fn)(void* data, void* hint);

/** Called by zmq_timers_execute for a timer that is due; must not throw. */
typedef void(zmq_timer_fn)(int timer_id, void* arg);

/** Body of a thread started by zmq_threadstart; must not throw. */
typedef void(zmq_thread_fn)(void* arg);

/* Buffer description of the POSIX header <sys/uio.h>, used by zmq_sendiov and zmq_recviov. */
struct iovec;

/* ---- Library: version, errors, capabilities ------------------------------------------------- */

/**
 * Stores the version of the library that runs into the three integers (4, 3, 5); it may be newer
 * than the header. NULL pointers are skipped. Never fails. Thread-safe.
 */
ZMQ_EXPORT void zmq_version(int* major, int* minor, int* patch);

/**
 * Returns errno of the calling thread as the library sees it (a difference only where the program
 * and the library use different C runtimes). Thread-safe.
 */
ZMQ_EXPORT int zmq_errno(void);

/**
 * Returns a text for an error number, the library's own or one of the system. The text belongs to
 * the library and must not be changed or freed. Thread-safe as far as strerror() is.
 */
ZMQ_EXPORT const char* zmq_strerror(int errnum);

/**
 * Tells whether the library was built with an optional capability: "ipc", "pgm", "tipc", "norm",
 * "curve", "gssapi", "vmci", "draft", "tls", "ws" or "wss", the last three also in capitals.
 * Returns 1 if so, otherwise 0, also for NULL and names it does not know. Thread-safe.
 */
ZMQ_EXPORT int zmq_has(const char* capability);

/* ---- Context -------------------------------------------------------------------------------- */

/* Context options: integers for zmq_ctx_set and zmq_ctx_get. */
#define ZMQ_IO_THREADS 1                 /* number of I/O threads, fixed by the first socket */
#define ZMQ_MAX_SOCKETS 2                /* most sockets at a time, fixed by the first socket */
#define ZMQ_SOCKET_LIMIT 3               /* get only: largest value for ZMQ_MAX_SOCKETS */
#define ZMQ_THREAD_PRIORITY 3            /* set only: real-time priority, else > 0 = nice -20 */
#define ZMQ_THREAD_SCHED_POLICY 4        /* scheduling policy of the I/O threads */
#define ZMQ_MAX_MSGSZ 5                  /* largest message size, bytes */
#define ZMQ_MSG_T_SIZE 6                 /* get only: sizeof(zmq_msg_t) in the library */
#define ZMQ_THREAD_AFFINITY_CPU_ADD 7    /* set only: adds a CPU for the I/O threads */
#define ZMQ_THREAD_AFFINITY_CPU_REMOVE 8 /* set only: takes a CPU away again */
#define ZMQ_THREAD_NAME_PREFIX 9         /* prefix of the names of the library's threads */
#ifdef ZMQ_BUILD_DRAFT_API
#define ZMQ_ZERO_COPY_RECV 10 /* 1: large bodies may refer to the receive buffer */
#endif
/* ZMQ_IPV6 and ZMQ_BLOCKY, listed with the socket options, are context options too. */

/* Defaults of context options; -1 leaves the choice to the system. */
#define ZMQ_IO_THREADS_DFLT 1
#define ZMQ_MAX_SOCKETS_DFLT 1023
#define ZMQ_THREAD_PRIORITY_DFLT -1
#define ZMQ_THREAD_SCHED_POLICY_DFLT -1

/**
 * Creates a context: the I/O threads and everything its sockets share. Threads start with the
 * first socket. The caller owns it and ends it with zmq_ctx_term.
 * Returns NULL with EMFILE (no file descriptor left) or ENOMEM. Thread-safe.
 */
ZMQ_EXPORT void* zmq_ctx_new(void);

/**
 * Ends a context: wakes every call waiting on its sockets with ETERM, waits until the application
 * has closed all of them and until their unsent messages are delivered or given up (ZMQ_LINGER),
 * then frees the context. Waits for ever if a socket is never closed.
 * Returns 0; -1 with EFAULT (no context) or EINTR (a signal; call again). Thread-safe, but the
 * pointer must not be used any more once it returned 0.
 */
ZMQ_EXPORT int zmq_ctx_term(void* context);

/**
 * Announces the end of a context without waiting: calls on its sockets, also those waiting now,
 * fail with ETERM. Sockets must still be closed and zmq_ctx_term called. May be repeated.
 * Returns 0; -1 with EFAULT. Thread-safe.
 */
ZMQ_EXPORT int zmq_ctx_shutdown(void* context);

/**
 * Sets an integer context option. The number of I/O threads and sockets can be set at any time but
 * only counts before the first socket is created.
 * Returns 0; -1 with EFAULT (no context) or EINVAL (unknown option or bad value). Thread-safe.
 */
ZMQ_EXPORT int zmq_ctx_set(void* context, int option, int optval);

/**
 * Returns an integer context option; -1 with EFAULT (no context) or EINVAL (unknown or set-only
 * option). ZMQ_THREAD_SCHED_POLICY may be -1 without an error. Thread-safe.
 */
ZMQ_EXPORT int zmq_ctx_get(void* context, int option);

#ifdef ZMQ_BUILD_DRAFT_API
/**
 * As zmq_ctx_set for a value of any type: size bytes at optval, an int or, for
 * ZMQ_THREAD_NAME_PREFIX, 1 to 16 characters (four printable ones are text, not an int).
 * Returns 0; -1 with EFAULT or EINVAL (also wrong size). Thread-safe.
 */
ZMQ_EXPORT int zmq_ctx_set_ext(void* context, int option, const void* optval, size_t optvallen);

/**
 * As zmq_ctx_get for a value of any type: fills optval, which has *optvallen bytes.
 * Returns 0; -1 with EFAULT or EINVAL (also too small a buffer). Thread-safe.
 */
ZMQ_EXPORT int zmq_ctx_get_ext(void* context, int option, void* optval, size_t* optvallen);
#endif

/** Deprecated: zmq_ctx_new with ZMQ_IO_THREADS set. NULL with EINVAL if io_threads is negative. */
ZMQ_EXPORT void* zmq_init(int io_threads);

/** Deprecated name of zmq_ctx_term. */
ZMQ_EXPORT int zmq_term(void* context);

/** Deprecated name of zmq_ctx_term. */
ZMQ_EXPORT int zmq_ctx_destroy(void* context);

/* ---- Messages ------------------------------------------------------------------------------- */

/* Integer properties for zmq_msg_get. */
#define ZMQ_MORE 1   /* 1: more parts of the same message follow */
#define ZMQ_SRCFD 2  /* deprecated: descriptor of the connection it came from */
#define ZMQ_SHARED 3 /* 1: the body may be shared with another zmq_msg_t */

#ifdef ZMQ_BUILD_DRAFT_API
/* Names of text properties for zmq_msg_gets. */
#define ZMQ_MSG_PROPERTY_ROUTING_ID "Routing-Id"
#define ZMQ_MSG_PROPERTY_SOCKET_TYPE "Socket-Type"
#define ZMQ_MSG_PROPERTY_USER_ID "User-Id"
#define ZMQ_MSG_PROPERTY_PEER_ADDRESS "Peer-Address"
#endif

/* Longest group name of RADIO and DISH sockets, bytes. */
#define ZMQ_GROUP_MAX_LENGTH 255

/*
 * Every zmq_msg_t must first be initialised by one of the zmq_msg_init functions, and in the end
 * closed or given away by a successful send or move. One thread at a time may use a zmq_msg_t;
 * copies that share a body may be used in different threads, and then must not be written to.
 */

/** Initialises an empty message. Always returns 0. */
ZMQ_EXPORT int zmq_msg_init(zmq_msg_t* msg);

/** Initialises a message of size bytes, content undefined. Returns 0; -1 with ENOMEM. */
ZMQ_EXPORT int zmq_msg_init_size(zmq_msg_t* msg, size_t size);

/**
 * Initialises a message that refers to size bytes at data without copying. The library calls
 * ffn(data, hint) exactly once when the last reference is gone, possibly in another thread. With
 * ffn NULL the bytes must stay valid and unchanged for ever.
 * Returns 0; -1 with ENOMEM, then data still belongs to the caller and ffn is not called.
 */
ZMQ_EXPORT int zmq_msg_init_data(zmq_msg_t* msg, void* data, size_t size, zmq_free_fn* ffn,
                                 void* hint);

#ifdef ZMQ_BUILD_DRAFT_API
/** Initialises a message with a copy of size bytes at buf. Returns 0; -1 with ENOMEM. */
ZMQ_EXPORT int zmq_msg_init_buffer(zmq_msg_t* msg, const void* buf, size_t size);
#endif

/**
 * Sends one message part; ZMQ_SNDMORE in flags if another one follows, ZMQ_DONTWAIT not to wait. On
 * success msg is left empty and initialised; on failure it is unchanged and still the caller's.
 * Returns the number of bytes in the part; -1 with the errors of zmq_send, or EFAULT if msg is not
 * initialised.
 */
ZMQ_EXPORT int zmq_msg_send(zmq_msg_t* msg, void* socket, int flags);

/**
 * Receives one message part into an initialised msg, releasing what it held; ZMQ_DONTWAIT in flags
 * not to wait. zmq_msg_more tells whether another part follows.
 * Returns the number of bytes in the part; -1 with the errors of zmq_recv, or EFAULT if msg is not
 * initialised. After EAGAIN, EINTR and ETERM msg is empty, after other errors it is unchanged.
 */
ZMQ_EXPORT int zmq_msg_recv(zmq_msg_t* msg, void* socket, int flags);

/** Releases a message. Returns 0; -1 with EFAULT if it is not initialised or already closed. */
ZMQ_EXPORT int zmq_msg_close(zmq_msg_t* msg);

/**
 * Releases dest and moves the content of src into it; src stays initialised and becomes empty.
 * Moving a message onto itself does nothing. Returns 0; -1 with EFAULT if one is not initialised.
 */
ZMQ_EXPORT int zmq_msg_move(zmq_msg_t* dest, zmq_msg_t* src);

/**
 * Releases dest and makes it a copy of src; large bodies are shared, not duplicated, and must then
 * be treated as read-only. Copying a message onto itself does nothing.
 * Returns 0; -1 with EFAULT if one is not initialised.
 */
ZMQ_EXPORT int zmq_msg_copy(zmq_msg_t* dest, zmq_msg_t* src);

/** Returns the body, owned by msg and valid until it changes or is closed. Never NULL. */
ZMQ_EXPORT void* zmq_msg_data(zmq_msg_t* msg);

/** Returns the number of bytes in the body. */
ZMQ_EXPORT size_t zmq_msg_size(const zmq_msg_t* msg);

/** Returns 1 if msg was received and more parts of the same message follow, otherwise 0. */
ZMQ_EXPORT int zmq_msg_more(const zmq_msg_t* msg);

/** Returns ZMQ_MORE, ZMQ_SRCFD or ZMQ_SHARED of a message; -1 with EINVAL for other properties. */
ZMQ_EXPORT int zmq_msg_get(const zmq_msg_t* msg, int property);

/** No integer property can be set: always -1 with EINVAL. */
ZMQ_EXPORT int zmq_msg_set(zmq_msg_t* msg, int property, int optval);

/**
 * Returns a text property of a received message, such as "Peer-Address" or a property of the peer's
 * handshake; owned by msg and valid until it is closed. NULL with EINVAL if there is none.
 */
ZMQ_EXPORT const char* zmq_msg_gets(const zmq_msg_t* msg, const char* property);

#ifdef ZMQ_BUILD_DRAFT_API
/**
 * Sets the peer a SERVER or PEER socket sends to; other sockets ignore it.
 * Returns 0; -1 with EINVAL for 0, or EFAULT if msg is not initialised.
 */
ZMQ_EXPORT int zmq_msg_set_routing_id(zmq_msg_t* msg, uint32_t routing_id);

/** Returns the peer a SERVER or PEER socket received the message from; 0 if there is none. */
ZMQ_EXPORT uint32_t zmq_msg_routing_id(zmq_msg_t* msg);

/**
 * Sets the group a RADIO socket sends to. Other sockets ignore it. A message without a group goes
 * to the group with the empty name.
 * Returns 0; -1 with EINVAL (more than ZMQ_GROUP_MAX_LENGTH bytes), ENOMEM, or EFAULT if msg is not
 * initialised or group is NULL.
 */
ZMQ_EXPORT int zmq_msg_set_group(zmq_msg_t* msg, const char* group);

/**
 * Returns the group of a message, one set or the one a DISH socket received it in. The text is owned
 * by msg and valid until msg changes, is moved or is closed; empty if there is none.
 */
ZMQ_EXPORT const char* zmq_msg_group(zmq_msg_t* msg);
#endif

/* ---- Sockets: types and life ---------------------------------------------------------------- */

#define ZMQ_PAIR 0
#define ZMQ_PUB 1
#define ZMQ_SUB 2
#define ZMQ_REQ 3
#define ZMQ_REP 4
#define ZMQ_DEALER 5
#define ZMQ_ROUTER 6
#define ZMQ_PULL 7
#define ZMQ_PUSH 8
#define ZMQ_XPUB 9
#define ZMQ_XSUB 10
#define ZMQ_STREAM 11
#ifdef ZMQ_BUILD_DRAFT_API
#define ZMQ_SERVER 12
#define ZMQ_CLIENT 13
#define ZMQ_RADIO 14
#define ZMQ_DISH 15
#define ZMQ_GATHER 16
#define ZMQ_SCATTER 17
#define ZMQ_DGRAM 18
#define ZMQ_PEER 19
#define ZMQ_CHANNEL 20
#endif

/* Deprecated names. */
#define ZMQ_XREQ ZMQ_DEALER
#define ZMQ_XREP ZMQ_ROUTER

/**
 * Creates a socket of a type. The caller owns it and closes it with zmq_close.
 * Returns NULL with EFAULT (no context), EINVAL (unknown type), EMFILE (too many sockets or file
 * descriptors), ENOMEM or ETERM. Thread-safe.
 */
ZMQ_EXPORT void* zmq_socket(void* context, int type);

/**
 * Closes a socket without waiting; messages not yet sent are delivered in the background as
 * ZMQ_LINGER allows, those not yet received are dropped. Returns 0; -1 with ENOTSOCK.
 */
ZMQ_EXPORT int zmq_close(void* socket);

/* ---- Sockets: options ----------------------------------------------------------------------- */

#define ZMQ_AFFINITY 4
#define ZMQ_ROUTING_ID 5
#define ZMQ_SUBSCRIBE 6
#define ZMQ_UNSUBSCRIBE 7
#define ZMQ_RATE 8
#define ZMQ_RECOVERY_IVL 9
#define ZMQ_SNDBUF 11
#define ZMQ_RCVBUF 12
#define ZMQ_RCVMORE 13
#define ZMQ_FD 14
#define ZMQ_EVENTS 15
#define ZMQ_TYPE 16
#define ZMQ_LINGER 17
#define ZMQ_RECONNECT_IVL 18
#define ZMQ_BACKLOG 19
#define ZMQ_RECONNECT_IVL_MAX 21
#define ZMQ_MAXMSGSIZE 22
#define ZMQ_SNDHWM 23
#define ZMQ_RCVHWM 24
#define ZMQ_MULTICAST_HOPS 25
#define ZMQ_RCVTIMEO 27
#define ZMQ_SNDTIMEO 28
#define ZMQ_LAST_ENDPOINT 32
#define ZMQ_ROUTER_MANDATORY 33
#define ZMQ_TCP_KEEPALIVE 34
#define ZMQ_TCP_KEEPALIVE_CNT 35
#define ZMQ_TCP_KEEPALIVE_IDLE 36
#define ZMQ_TCP_KEEPALIVE_INTVL 37
#define ZMQ_IMMEDIATE 39
#define ZMQ_XPUB_VERBOSE 40
#define ZMQ_ROUTER_RAW 41
#define ZMQ_IPV6 42
#define ZMQ_MECHANISM 43
#define ZMQ_PLAIN_SERVER 44
#define ZMQ_PLAIN_USERNAME 45
#define ZMQ_PLAIN_PASSWORD 46
#define ZMQ_CURVE_SERVER 47
#define ZMQ_CURVE_PUBLICKEY 48
#define ZMQ_CURVE_SECRETKEY 49
#define ZMQ_CURVE_SERVERKEY 50
#define ZMQ_PROBE_ROUTER 51
#define ZMQ_REQ_CORRELATE 52
#define ZMQ_REQ_RELAXED 53
#define ZMQ_CONFLATE 54
#define ZMQ_ZAP_DOMAIN 55
#define ZMQ_ROUTER_HANDOVER 56
#define ZMQ_TOS 57
#define ZMQ_CONNECT_ROUTING_ID 61
#define ZMQ_GSSAPI_SERVER 62
#define ZMQ_GSSAPI_PRINCIPAL 63
#define ZMQ_GSSAPI_SERVICE_PRINCIPAL 64
#define ZMQ_GSSAPI_PLAINTEXT 65
#define ZMQ_HANDSHAKE_IVL 66
#define ZMQ_SOCKS_PROXY 68
#define ZMQ_XPUB_NODROP 69
#define ZMQ_BLOCKY 70 /* context option only */
#define ZMQ_XPUB_MANUAL 71
#define ZMQ_XPUB_WELCOME_MSG 72
#define ZMQ_STREAM_NOTIFY 73
#define ZMQ_INVERT_MATCHING 74
#define ZMQ_HEARTBEAT_IVL 75
#define ZMQ_HEARTBEAT_TTL 76
#define ZMQ_HEARTBEAT_TIMEOUT 77
#define ZMQ_XPUB_VERBOSER 78
#define ZMQ_CONNECT_TIMEOUT 79
#define ZMQ_TCP_MAXRT 80
#define ZMQ_THREAD_SAFE 81
#define ZMQ_MULTICAST_MAXTPDU 84
#define ZMQ_VMCI_BUFFER_SIZE 85
#define ZMQ_VMCI_BUFFER_MIN_SIZE 86
#define ZMQ_VMCI_BUFFER_MAX_SIZE 87
#define ZMQ_VMCI_CONNECT_TIMEOUT 88
#define ZMQ_USE_FD 89
#define ZMQ_GSSAPI_PRINCIPAL_NAMETYPE 90
#define ZMQ_GSSAPI_SERVICE_PRINCIPAL_NAMETYPE 91
#define ZMQ_BINDTODEVICE 92
#ifdef ZMQ_BUILD_DRAFT_API
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#define ZMQ_LOOPBACK_FASTPATH 94
#define ZMQ_METADATA 95
#define ZMQ_MULTICAST_LOOP 96
#define ZMQ_ROUTER_NOTIFY 97
#define ZMQ_XPUB_MANUAL_LAST_VALUE 98
#define ZMQ_SOCKS_USERNAME 99
#define ZMQ_SOCKS_PASSWORD 100
#define ZMQ_IN_BATCH_SIZE 101
#define ZMQ_OUT_BATCH_SIZE 102
#define ZMQ_WSS_KEY_PEM 103
#define ZMQ_WSS_CERT_PEM 104
#define ZMQ_WSS_TRUST_PEM 105
#define ZMQ_WSS_HOSTNAME 106
#define ZMQ_WSS_TRUST_SYSTEM 107
#define ZMQ_ONLY_FIRST_SUBSCRIBE 108
#define ZMQ_RECONNECT_STOP 109
#define ZMQ_HELLO_MSG 110
#define ZMQ_DISCONNECT_MSG 111
#define ZMQ_PRIORITY 112
#define ZMQ_BUSY_POLL 113
#define ZMQ_HICCUP_MSG 114
#define ZMQ_XSUB_VERBOSE_UNSUBSCRIBE 115
#define ZMQ_TOPICS_COUNT 116
#define ZMQ_NORM_MODE 117
#define ZMQ_NORM_UNICAST_NACK 118
#define ZMQ_NORM_BUFFER_SIZE 119
#define ZMQ_NORM_SEGMENT_SIZE 120
#define ZMQ_NORM_BLOCK_SIZE 121
#define ZMQ_NORM_NUM_PARITY 122
#define ZMQ_NORM_NUM_AUTOPARITY 123
#define ZMQ_NORM_PUSH 124
#endif

/*
 * TLS: options of zlink for the transport tls, which endpoints bound or connected to later have.
 * Certificates, keys and lists of trusted certificates are each the text of a PEM file or the path
 * of one; when a file has changed, new connections go by what it says now. All are char strings
 * but where it says int; an empty one takes a setting back. What is wrong with a certificate, a
 * key or a list shows when an endpoint is bound or connected to: EINVAL. A certificate, key or
 * password that is set again also counts for new connections of endpoints that are bound already,
 * once the certificate and the key can be used together.
 */
#define ZMQ_TLS_CERT 0x3028 /* the own certificate, then those that lead to a trusted one */
#define ZMQ_TLS_KEY 0x3029  /* the private key of the certificate; cannot be read */
#define ZMQ_TLS_CA 0x302a   /* a peer's certificate is trusted that leads to one of these */
/* int, 1: who connects checks the certificate and the host name; 0: not, which is not secure. */
#define ZMQ_TLS_VERIFY 0x302b
/* int, 0: who binds asks for no certificate, 1: it may be missing, 2: it may not. Needs a CA. */
#define ZMQ_TLS_REQUIRE_CLIENT_CERT 0x302c
#define ZMQ_TLS_HOSTNAME 0x302d /* whose certificate it has to be, instead of the host's */
/* int, 1: without a CA, who connects trusts the certificates that the system trusts. */
#define ZMQ_TLS_TRUST_SYSTEM 0x302e
#define ZMQ_TLS_PASSWORD 0x302f    /* of the private key; cannot be read */
#define ZMQ_TLS_MIN_VERSION 0x3030 /* int, ZMQ_TLS_1_2: the oldest version that is spoken */
#define ZMQ_TLS_CIPHERS 0x3031     /* names of OpenSSL with ':' between, the best ones first */
/* SHA-256 of public keys as hex, with ',' between: the peer's has to be one of these as well. */
#define ZMQ_TLS_PINNED 0x3032

/* Values of ZMQ_TLS_MIN_VERSION: the numbers that TLS has for its versions. */
#define ZMQ_TLS_1_2 0x0303
#define ZMQ_TLS_1_3 0x0304

/*
 * Origins: options of zlink for the transports ws and wss, which endpoints bound or connected to
 * later have. An origin is what a browser tells of the page that opens a WebSocket, as in
 * "https://example.org:8443". Both are char strings; an empty one takes a setting back.
 */
/*
 * Who binds answers a request with 403 whose Origin is missing or is none of these, which have
 * spaces or commas between and may be "null"; without any, every request is admitted.
 */
#define ZMQ_WS_ALLOWED_ORIGINS 0x3033
#define ZMQ_WS_ORIGIN 0x3034 /* who connects sends this Origin; without it, none */

/* Deprecated options. */
#define ZMQ_IPV4ONLY 31
#define ZMQ_TCP_ACCEPT_FILTER 38
#define ZMQ_IPC_FILTER_PID 58
#define ZMQ_IPC_FILTER_UID 59
#define ZMQ_IPC_FILTER_GID 60

/* Deprecated names of options. */
#define ZMQ_IDENTITY ZMQ_ROUTING_ID
#define ZMQ_CONNECT_RID ZMQ_CONNECT_ROUTING_ID
#define ZMQ_DELAY_ATTACH_ON_CONNECT ZMQ_IMMEDIATE
#define ZMQ_FAIL_UNROUTABLE ZMQ_ROUTER_MANDATORY
#define ZMQ_ROUTER_BEHAVIOR ZMQ_ROUTER_MANDATORY

/* Values of ZMQ_MECHANISM. */
#define ZMQ_NULL 0
#define ZMQ_PLAIN 1
#define ZMQ_CURVE 2
#define ZMQ_GSSAPI 3

/* Values of ZMQ_GSSAPI_PRINCIPAL_NAMETYPE and ZMQ_GSSAPI_SERVICE_PRINCIPAL_NAMETYPE. */
#define ZMQ_GSSAPI_NT_HOSTBASED 0
#define ZMQ_GSSAPI_NT_USER_NAME 1
#define ZMQ_GSSAPI_NT_KRB5_PRINCIPAL 2

#ifdef ZMQ_BUILD_DRAFT_API
/* Bits of ZMQ_ROUTER_NOTIFY. */
#define ZMQ_NOTIFY_CONNECT 1
#define ZMQ_NOTIFY_DISCONNECT 2

/* Bits of ZMQ_RECONNECT_STOP. */
#define ZMQ_RECONNECT_STOP_CONN_REFUSED 0x1
#define ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED 0x2
#define ZMQ_RECONNECT_STOP_AFTER_DISCONNECT 0x4

/* Values of ZMQ_NORM_MODE. */
#define ZMQ_NORM_FIXED 0
#define ZMQ_NORM_CC 1
#define ZMQ_NORM_CCL 2
#define ZMQ_NORM_CCE 3
#define ZMQ_NORM_CCE_ECNONLY 4
#endif

/**
 * Sets a socket option from optvallen bytes at optval (not kept). Many options count only for later
 * zmq_bind and zmq_connect calls.
 * Returns 0; -1 with EINVAL (unknown or get-only option, wrong length or value, option of another
 * socket type), ENOTSUP (a good value of a feature that is not built), ETERM, ENOTSOCK or EINTR.
 * The option is unchanged then.
 */
ZMQ_EXPORT int zmq_setsockopt(void* socket, int option, const void* optval, size_t optvallen);

/**
 * Reads a socket option into optval, which has *optvallen bytes; *optvallen becomes the size of the
 * value. Numbers want exactly their size: 4 bytes, or 8 for ZMQ_AFFINITY and ZMQ_MAXMSGSIZE. Text,
 * bytes, ZMQ_FD, ZMQ_EVENTS, ZMQ_RCVMORE and ZMQ_THREAD_SAFE take any room that is large enough,
 * and the rest of it is zeroed. Text is NUL-terminated and its size includes the NUL. Returns 0; -1
 * with EINVAL (unknown or set-only option, unfit length), ETERM, ENOTSOCK or EINTR.
 */
ZMQ_EXPORT int zmq_getsockopt(void* socket, int option, void* optval, size_t* optvallen);

/* ---- Sockets: endpoints --------------------------------------------------------------------- */

/**
 * Makes a socket reachable at an address such as "tcp://127.0.0.1:5555", "ipc:///run/app.sock" or
 * "inproc://name". Listening has begun when the call returns; ZMQ_LAST_ENDPOINT then tells the
 * address with wildcards resolved. A socket may bind any number of addresses.
 * Returns 0; -1 with EINVAL (malformed address), EPROTONOSUPPORT (unknown transport),
 * ENOCOMPATPROTO (transport does not fit the socket type), EADDRINUSE, EADDRNOTAVAIL, ENODEV
 * (unknown interface or name), EMTHREAD (no I/O thread), ENAMETOOLONG, ETERM, ENOTSOCK, or what the
 * operating system reported.
 */
ZMQ_EXPORT int zmq_bind(void* socket, const char* addr);

/**
 * Connects a socket to an address, in the background and again after every loss of the connection.
 * Returns 0 before a connection exists; -1 with EINVAL (malformed address), EPROTONOSUPPORT,
 * ENOCOMPATPROTO, EMTHREAD, ENAMETOOLONG, ETERM or ENOTSOCK.
 */
ZMQ_EXPORT int zmq_connect(void* socket, const char* addr);

/**
 * Stops listening at addr, the text given to zmq_bind or ZMQ_LAST_ENDPOINT after it, and ends
 * connections made to it as zmq_disconnect does (inproc: only if nothing is bound there).
 * Returns 0; -1 with EINVAL (malformed), EPROTONOSUPPORT, ENOENT (neither bound nor connected
 * there), ETERM or ENOTSOCK.
 */
ZMQ_EXPORT int zmq_unbind(void* socket, const char* addr);

/**
 * Ends every connection made by zmq_connect with the same addr; unsent messages follow ZMQ_LINGER.
 * Stops listening at addr as well, as zmq_unbind does (inproc: only if nothing is connected there).
 * Returns 0; -1 with EINVAL (malformed), EPROTONOSUPPORT, ENOENT (neither connected nor bound
 * there), ETERM or ENOTSOCK.
 */
ZMQ_EXPORT int zmq_disconnect(void* socket, const char* addr);

#ifdef ZMQ_BUILD_DRAFT_API
/**
 * As zmq_connect for a PEER socket, and returns the routing id of the peer, usable at once for
 * sending to it. Returns 0 on failure, with the errors of zmq_connect, ENOTSUP (not a PEER socket)
 * or EFAULT (ZMQ_IMMEDIATE is set). Thread-safe.
 */
ZMQ_EXPORT uint32_t zmq_connect_peer(void* socket, const char* addr);

/**
 * Ends the connection of a SERVER or PEER socket to one peer; a connection made by zmq_connect is
 * not made again. Unsent messages to it follow ZMQ_LINGER, unread ones from it are dropped.
 * Returns 0; -1 with EHOSTUNREACH (no such peer), ENOTSUP (not a SERVER or PEER socket), ETERM or
 * ENOTSOCK. Thread-safe. Newer than 4.3.5.
 */
ZMQ_EXPORT int zmq_disconnect_peer(void* socket, uint32_t routing_id);

/**
 * Lets a DISH socket receive a group: messages sent to exactly this name, of at most
 * ZMQ_GROUP_MAX_LENGTH bytes and possibly empty.
 * Returns 0; -1 with ENOTSUP (not a DISH socket), EINVAL (NULL, name too long, or joined already),
 * ETERM or ENOTSOCK. Thread-safe.
 */
ZMQ_EXPORT int zmq_join(void* socket, const char* group);

/** Undoes zmq_join, with the same errors; EINVAL if the group was not joined. Thread-safe. */
ZMQ_EXPORT int zmq_leave(void* socket, const char* group);

/**
 * Tells whether a ROUTER socket could send to a peer now: returns ZMQ_POLLOUT or 0.
 * -1 with ENOTSUP (not a ROUTER socket), EHOSTUNREACH (no such peer), ETERM or ENOTSOCK.
 */
ZMQ_EXPORT int zmq_socket_get_peer_state(void* socket, const void* routing_id,
                                         size_t routing_id_size);
#endif

/* ---- Sockets: sending and receiving --------------------------------------------------------- */

/* Flags; unknown bits are ignored. */
#define ZMQ_DONTWAIT 1 /* fail with EAGAIN instead of waiting */
#define ZMQ_SNDMORE 2  /* another part of the same message follows */

/* Deprecated name. */
#define ZMQ_NOBLOCK ZMQ_DONTWAIT

/**
 * Sends a copy of len bytes at buf as one message part. Waits as long as ZMQ_SNDTIMEO allows if the
 * message cannot be queued now. Success means queued, not delivered; a multipart message arrives
 * complete or not at all.
 * Returns len (at most INT_MAX); -1 with EAGAIN (ZMQ_DONTWAIT or ZMQ_SNDTIMEO), ENOTSUP (type
 * cannot send), EINVAL (ZMQ_SNDMORE where parts are not possible, malformed message), EFSM (out of
 * turn), EHOSTUNREACH (no such peer), ENOMEM, ETERM, ENOTSOCK or EINTR.
 */
ZMQ_EXPORT int zmq_send(void* socket, const void* buf, size_t len, int flags);

/** As zmq_send without a copy: the bytes must stay valid and unchanged for ever. */
ZMQ_EXPORT int zmq_send_const(void* socket, const void* buf, size_t len, int flags);

/**
 * Receives one message part into buf, which has len bytes; what does not fit is dropped. Waits as
 * long as ZMQ_RCVTIMEO allows; buf may have been written to also if nothing was received then.
 * ZMQ_RCVMORE tells whether another part follows.
 * Returns the full size of the part, which may exceed len; -1 with EAGAIN (ZMQ_DONTWAIT or
 * ZMQ_RCVTIMEO), ENOTSUP (type cannot receive), EFSM (out of turn), ETERM, ENOTSOCK or EINTR.
 */
ZMQ_EXPORT int zmq_recv(void* socket, void* buf, size_t len, int flags);

/**
 * Sends count buffers, each as one message part. With ZMQ_SNDMORE in flags they form one message,
 * otherwise each is a message of its own.
 * Returns the size of the last part; -1 with the errors of zmq_send (parts before the failing one
 * stay sent) or EINVAL (iov NULL or count 0).
 */
ZMQ_EXPORT int zmq_sendiov(void* socket, struct iovec* iov, size_t count, int flags);

/**
 * Receives the parts of one message into at most *count elements; *count becomes the number filled,
 * also on failure. The library allocates each iov_base with malloc(); the caller frees it.
 * Returns the number of parts; -1 with the errors of zmq_recv, EINVAL (bad arguments) or ENOMEM.
 */
ZMQ_EXPORT int zmq_recviov(void* socket, struct iovec* iov, size_t* count, int flags);

/** Deprecated: zmq_msg_send with the arguments in another order. */
ZMQ_EXPORT int zmq_sendmsg(void* socket, zmq_msg_t* msg, int flags);

/** Deprecated: zmq_msg_recv with the arguments in another order. */
ZMQ_EXPORT int zmq_recvmsg(void* socket, zmq_msg_t* msg, int flags);

/* ---- Polling -------------------------------------------------------------------------------- */

#define ZMQ_POLLIN 1  /* a message or data can be read */
#define ZMQ_POLLOUT 2 /* a message or data can be written */
#define ZMQ_POLLERR 4 /* handles only: an error or any other condition */
#define ZMQ_POLLPRI 8 /* handles only: urgent data */

/* Number of items that fit on the stack of zmq_poll. */
#define ZMQ_POLLITEMS_DFLT 16

/**
 * Waits until one of nitems items is ready, at most timeout ms (0: only looks, -1: for ever), and
 * sets revents of every item.
 * Returns the number of items with revents other than 0, 0 after the timeout; -1 with EINVAL
 * (nitems negative), EFAULT (items NULL), ENOTSOCK (an item's socket is none), ETERM or EINTR. A
 * socket must not be polled by two threads at once.
 */
ZMQ_EXPORT int zmq_poll(zmq_pollitem_t* items, int nitems, long timeout);

#ifdef ZMQ_BUILD_DRAFT_API
/**
 * As zmq_poll with the signal mask sigmask (a POSIX sigset_t, or NULL) in force while it waits.
 * Fails with ENOTSUP where the system has no such thing.
 */
ZMQ_EXPORT int zmq_ppoll(zmq_pollitem_t* items, int nitems, long timeout, const void* sigmask);

/*
 * A poller is a set of sockets and handles that is registered once and waited for often. One thread
 * at a time may use it. Every function fails with EFAULT if poller is none.
 */

/** Creates an empty poller, owned by the caller. NULL with ENOMEM. */
ZMQ_EXPORT void* zmq_poller_new(void);

/** Destroys a poller and sets *poller_p to NULL. Returns 0; -1 with EFAULT. */
ZMQ_EXPORT int zmq_poller_destroy(void** poller_p);

/** Returns the number of registered sockets and handles; -1 with EFAULT. */
ZMQ_EXPORT int zmq_poller_size(void* poller);

/**
 * Registers a socket with any pointer to report with it. The socket must be removed before it is
 * closed. Returns 0; -1 with ENOTSOCK, EINVAL (registered already, unknown event bits) or ENOMEM.
 */
ZMQ_EXPORT int zmq_poller_add(void* poller, void* socket, void* user_data, short events);

/** Changes the events of a registered socket. Returns 0; -1 with ENOTSOCK or EINVAL. */
ZMQ_EXPORT int zmq_poller_modify(void* poller, void* socket, short events);

/**
 * Takes a socket out, also one that was closed. Returns 0; -1 with ENOTSOCK or EINVAL (not
 * registered).
 */
ZMQ_EXPORT int zmq_poller_remove(void* poller, void* socket);

/**
 * Waits at most timeout ms (-1: for ever) until something is ready and stores one event; after a
 * timeout the event is blank. Returns 0; -1 with EAGAIN (timeout), EFAULT (event NULL, or nothing
 * to wait for with timeout -1), ETERM or EINTR.
 */
ZMQ_EXPORT int zmq_poller_wait(void* poller, zmq_poller_event_t* event, long timeout);

/**
 * As zmq_poller_wait for up to n_events events, in the order of registration. Returns the number of
 * events stored; -1 with the same errors or EINVAL (n_events negative).
 */
ZMQ_EXPORT int zmq_poller_wait_all(void* poller, zmq_poller_event_t* events, int n_events,
                                   long timeout);

/**
 * Stores a handle that becomes readable when the poller may have events; only with at least one
 * thread-safe socket registered. The handle belongs to the poller. Returns 0; -1 with EINVAL or
 * EMFILE (no file descriptor left).
 */
ZMQ_EXPORT int zmq_poller_fd(void* poller, zmq_fd_t* fd);

/** As zmq_poller_add for a handle; EBADF if it is invalid. */
ZMQ_EXPORT int zmq_poller_add_fd(void* poller, zmq_fd_t fd, void* user_data, short events);

/** As zmq_poller_modify for a handle; EBADF if it is invalid. */
ZMQ_EXPORT int zmq_poller_modify_fd(void* poller, zmq_fd_t fd, short events);

/** As zmq_poller_remove for a handle; EBADF if it is invalid. */
ZMQ_EXPORT int zmq_poller_remove_fd(void* poller, zmq_fd_t fd);
#endif

/* ---- Proxies -------------------------------------------------------------------------------- */

/**
 * Passes whole messages between two sockets in both directions, and a copy of each to capture
 * unless that is NULL, until the context ends.
 * Never returns but with -1 and EFAULT (frontend or backend NULL), ENOTSOCK, ENOTSUP (one of
 * them is of a thread-safe type), ETERM or EINTR.
 */
ZMQ_EXPORT int zmq_proxy(void* frontend, void* backend, void* capture);

/**
 * As zmq_proxy, directed by single-part commands received on control (may be NULL): PAUSE, RESUME,
 * TERMINATE and STATISTICS. STATISTICS is answered by eight uint64_t parts in native byte order:
 * messages and bytes received and sent by the frontend, then by the backend. A REP control socket
 * gets an empty reply to every other command.
 * Returns 0 after TERMINATE; -1 with the errors of zmq_proxy.
 */
ZMQ_EXPORT int zmq_proxy_steerable(void* frontend, void* backend, void* capture, void* control);

/* Values for the first argument of zmq_device, which makes no difference. */
#define ZMQ_STREAMER 1
#define ZMQ_FORWARDER 2
#define ZMQ_QUEUE 3

/** Deprecated: zmq_proxy without capture. */
ZMQ_EXPORT int zmq_device(int type, void* frontend, void* backend);

/* ---- Monitoring ----------------------------------------------------------------------------- */

#define ZMQ_EVENT_CONNECTED 0x0001
#define ZMQ_EVENT_CONNECT_DELAYED 0x0002
#define ZMQ_EVENT_CONNECT_RETRIED 0x0004
#define ZMQ_EVENT_LISTENING 0x0008
#define ZMQ_EVENT_BIND_FAILED 0x0010
#define ZMQ_EVENT_ACCEPTED 0x0020
#define ZMQ_EVENT_ACCEPT_FAILED 0x0040
#define ZMQ_EVENT_CLOSED 0x0080
#define ZMQ_EVENT_CLOSE_FAILED 0x0100
#define ZMQ_EVENT_DISCONNECTED 0x0200
#define ZMQ_EVENT_MONITOR_STOPPED 0x0400
#define ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL 0x0800 /* value: error number */
#define ZMQ_EVENT_HANDSHAKE_SUCCEEDED 0x1000
#define ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL 0x2000 /* value: ZMQ_PROTOCOL_ERROR_... */
#define ZMQ_EVENT_HANDSHAKE_FAILED_AUTH 0x4000     /* value: status 300, 400 or 500 */
#define ZMQ_EVENT_ALL 0xFFFF

#ifdef ZMQ_BUILD_DRAFT_API
#define ZMQ_EVENT_PIPES_STATS 0x10000
#define ZMQ_EVENT_ALL_V1 ZMQ_EVENT_ALL
#define ZMQ_EVENT_ALL_V2 (ZMQ_EVENT_ALL_V1 | ZMQ_EVENT_PIPES_STATS)

/* Versions of the event message. */
#define ZMQ_CURRENT_EVENT_VERSION 1
#define ZMQ_CURRENT_EVENT_VERSION_DRAFT 2
#endif

/* Values of ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL. */
#define ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED 0x10000000
#define ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND 0x10000001
#define ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_SEQUENCE 0x10000002
#define ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE 0x10000003
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_UNSPECIFIED 0x10000011
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_MESSAGE 0x10000012
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_HELLO 0x10000013
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_INITIATE 0x10000014
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR 0x10000015
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_READY 0x10000016
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_WELCOME 0x10000017
#define ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA 0x10000018
#define ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC 0x11000001
#define ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH 0x11000002
#define ZMQ_PROTOCOL_ERROR_ZAP_UNSPECIFIED 0x20000000
#define ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY 0x20000001
#define ZMQ_PROTOCOL_ERROR_ZAP_BAD_REQUEST_ID 0x20000002
#define ZMQ_PROTOCOL_ERROR_ZAP_BAD_VERSION 0x20000003
#define ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE 0x20000004
#define ZMQ_PROTOCOL_ERROR_ZAP_INVALID_METADATA 0x20000005
#define ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED 0x30000000

/**
 * Reports the events in the mask events on an internal PAIR socket bound to addr, which must be
 * inproc; connect a PAIR socket to it. A second call replaces the first, addr NULL ends monitoring.
 * Each event is two parts: uint16_t event and uint32_t value in native byte order without padding
 * (6 bytes), and the address as text. Nobody waits for who listens: events that are not received
 * are kept, some thousands of them, and later ones are dropped.
 * Returns 0; -1 with EINVAL (malformed addr, unknown event bits), EPROTONOSUPPORT (not inproc),
 * EADDRINUSE, ETERM or ENOTSOCK.
 */
ZMQ_EXPORT int zmq_socket_monitor(void* socket, const char* addr, int events);

#ifdef ZMQ_BUILD_DRAFT_API
/**
 * As zmq_socket_monitor with a choice of the event message (version 1 or 2) and of the internal
 * socket's type (PAIR, PUB or PUSH). Version 2: uint64_t event, uint64_t number of values, that
 * many uint64_t values, local address, remote address, each a part. EINVAL for other versions or
 * types.
 */
ZMQ_EXPORT int zmq_socket_monitor_versioned(void* socket, const char* addr, uint64_t events,
                                            int event_version, int type);

/**
 * Asks for one ZMQ_EVENT_PIPES_STATS event per peer, with the lengths of its outbound and inbound
 * queues in messages. Returns 0; -1 with EINVAL (not monitored with that event), EAGAIN (no peers),
 * ETERM or ENOTSOCK.
 */
ZMQ_EXPORT int zmq_socket_monitor_pipes_stats(void* socket);
#endif

/* ---- Z85 text and CURVE keys ---------------------------------------------------------------- */

/**
 * Writes size bytes at data, a multiple of 4, as Z85 text into dest, which needs size * 5 / 4 + 1
 * bytes. Returns dest; NULL with EINVAL. Thread-safe.
 */
ZMQ_EXPORT char* zmq_z85_encode(char* dest, const uint8_t* data, size_t size);

/**
 * Decodes Z85 text, a multiple of 5 and at least 5 characters, into dest, which needs
 * strlen(string) * 4 / 5 bytes; dest may be written to in part on failure. Returns dest; NULL with
 * EINVAL (length, character outside the alphabet, group beyond 32 bits). Thread-safe.
 */
ZMQ_EXPORT uint8_t* zmq_z85_decode(uint8_t* dest, const char* string);

/**
 * Makes a CURVE key pair as Z85 text: 40 characters and a NUL each, so both buffers need 41 bytes.
 * Returns 0; -1 with ENOTSUP if the library has no CURVE. Thread-safe.
 */
ZMQ_EXPORT int zmq_curve_keypair(char* z85_public_key, char* z85_secret_key);

/**
 * Derives the public key of a secret key, both Z85 text of 40 characters; the public buffer needs
 * 41 bytes. Returns 0; -1 with EINVAL (malformed secret) or ENOTSUP (no CURVE). Thread-safe.
 */
ZMQ_EXPORT int zmq_curve_public(char* z85_public_key, const char* z85_secret_key);

/* ---- Timers --------------------------------------------------------------------------------- */

/*
 * A timers object holds repeating timers which run only inside zmq_timers_execute. One thread at a
 * time may use it. Handlers may add, cancel, reset and change timers, their own included. Functions
 * taking the object fail with EFAULT if it is none.
 */

/** Creates an empty timers object, owned by the caller. NULL with ENOMEM. */
ZMQ_EXPORT void* zmq_timers_new(void);

/**
 * Destroys a timers object and sets *timers_p to NULL; in a handler it ends the running
 * zmq_timers_execute. Returns 0; -1 with EFAULT.
 */
ZMQ_EXPORT int zmq_timers_destroy(void** timers_p);

/**
 * Adds a timer that calls handler(id, arg) every interval ms, first after one interval; 0 means
 * once per zmq_timers_execute. Returns its id, at least 1 and never used again; -1 with EFAULT
 * (also handler NULL) or ENOMEM (also when all ids are used up).
 */
ZMQ_EXPORT int zmq_timers_add(void* timers, size_t interval, zmq_timer_fn handler, void* arg);

/** Removes a timer. Returns 0; -1 with EFAULT or EINVAL (no such timer). */
ZMQ_EXPORT int zmq_timers_cancel(void* timers, int timer_id);

/** Changes the interval (ms) of a timer and starts it anew. Returns 0; -1 with EFAULT or EINVAL. */
ZMQ_EXPORT int zmq_timers_set_interval(void* timers, int timer_id, size_t interval);

/** Starts the interval of a timer anew. Returns 0; -1 with EFAULT or EINVAL. */
ZMQ_EXPORT int zmq_timers_reset(void* timers, int timer_id);

/**
 * Returns the ms until the next timer is due, 0 if one is due now, -1 if there is none: a fit
 * timeout for zmq_poll. -1 with EFAULT on failure.
 */
ZMQ_EXPORT long zmq_timers_timeout(void* timers);

/**
 * Calls the handler of every timer that is due, each once, in the order of becoming due. Missed
 * intervals are not made up for. Returns 0; -1 with EFAULT.
 */
ZMQ_EXPORT int zmq_timers_execute(void* timers);

/* ---- Atomic counters, threads, time --------------------------------------------------------- */

/*
 * Atomic counters may be used by any number of threads at once. A NULL counter reads as 0 and
 * ignores changes.
 */

/** Creates a counter with value 0, owned by the caller. NULL with ENOMEM. */
ZMQ_EXPORT void* zmq_atomic_counter_new(void);

/** Sets the value; not meant to happen at the same time as other changes. */
ZMQ_EXPORT void zmq_atomic_counter_set(void* counter, int value);

/** Adds 1 and returns the value before. */
ZMQ_EXPORT int zmq_atomic_counter_inc(void* counter);

/** Takes 1 away and returns 0 if the value became 0, otherwise 1. */
ZMQ_EXPORT int zmq_atomic_counter_dec(void* counter);

/** Returns the value. */
ZMQ_EXPORT int zmq_atomic_counter_value(void* counter);

/** Frees a counter and sets *counter_p to NULL; no thread may use it any more. */
ZMQ_EXPORT void zmq_atomic_counter_destroy(void** counter_p);

/** Starts a stopwatch, owned by the caller and freed by zmq_stopwatch_stop. NULL with ENOMEM. */
ZMQ_EXPORT void* zmq_stopwatch_start(void);

/** Returns the microseconds since the start; the stopwatch goes on. 0 for NULL. Thread-safe. */
ZMQ_EXPORT unsigned long zmq_stopwatch_intermediate(void* watch);

/** Returns the microseconds since the start and frees the stopwatch. 0 for NULL. */
ZMQ_EXPORT unsigned long zmq_stopwatch_stop(void* watch);

/** Sleeps for whole seconds, less if a signal handler runs. Thread-safe. */
ZMQ_EXPORT void zmq_sleep(int seconds);

/**
 * Runs func(arg) in a new thread that has all signals blocked. Returns a handle, owned by the
 * caller and freed by zmq_threadclose; NULL with EFAULT (func NULL), ENOMEM or EAGAIN (no more
 * threads). Thread-safe.
 */
ZMQ_EXPORT void* zmq_threadstart(zmq_thread_fn* func, void* arg);

/** Waits for the thread to end and frees the handle. NULL does nothing. */
ZMQ_EXPORT void zmq_threadclose(void* thread);

#ifdef __cplusplus
}
#endif

#endif
