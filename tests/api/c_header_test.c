/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The public headers as a strict C99 compiler sees them: no warnings, and the layouts that compiled
 * programs and bindings rely on. Links nothing but what it calls. Returns 0 if all is well.
 */
#include <zlink.h>
#include <zmq.h>
#include <zmq_utils.h>

#include <stddef.h>
#include <stdio.h>

static int failures = 0;

static void expect_size(const char* what, size_t actual, size_t expected) {
    if (actual != expected) {
        fprintf(stderr, "%s: %lu, expected %lu\n", what, (unsigned long)actual,
                (unsigned long)expected);
        ++failures;
    }
}

#define EXPECT_SIZE(expression, expected) expect_size(#expression, (expression), (expected))

/* The alignment of a type, which C99 has no operator for. */
struct aligned_msg {
    char before;
    zmq_msg_t msg;
};

static void check_message(void) {
    EXPECT_SIZE(sizeof(zmq_msg_t), 64);
    EXPECT_SIZE(offsetof(struct aligned_msg, msg), sizeof(void*));
}

static void check_pollitem(void) {
#if defined _WIN64
    EXPECT_SIZE(sizeof(zmq_fd_t), 8);
#else
    EXPECT_SIZE(sizeof(zmq_fd_t), 4);
#endif
    EXPECT_SIZE(offsetof(zmq_pollitem_t, socket), 0);
    EXPECT_SIZE(offsetof(zmq_pollitem_t, fd), sizeof(void*));
    EXPECT_SIZE(offsetof(zmq_pollitem_t, events), sizeof(void*) + sizeof(zmq_fd_t));
    EXPECT_SIZE(offsetof(zmq_pollitem_t, revents), sizeof(void*) + sizeof(zmq_fd_t) + 2);
    EXPECT_SIZE(sizeof(zmq_pollitem_t), sizeof(zmq_fd_t) == 8 ? 24 : sizeof(void*) + 8);
}

#ifdef ZMQ_BUILD_DRAFT_API
static void check_poller_event(void) {
    const size_t pointer = sizeof(void*);
    EXPECT_SIZE(sizeof(zmq_poller_event_t), 4 * pointer);
    EXPECT_SIZE(offsetof(zmq_poller_event_t, socket), 0);
    EXPECT_SIZE(offsetof(zmq_poller_event_t, fd), pointer);
    EXPECT_SIZE(offsetof(zmq_poller_event_t, user_data), 2 * pointer);
    EXPECT_SIZE(offsetof(zmq_poller_event_t, events), 3 * pointer);
}
#endif

static void check_version(void) {
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    if (ZMQ_MAKE_VERSION(major, minor, patch) != ZMQ_VERSION) {
        fprintf(stderr, "library %d.%d.%d, header %d\n", major, minor, patch, ZMQ_VERSION);
        ++failures;
    }
}

static void check_own_functions(void) {
    zlink_wakeup_fn* const nothing = NULL;
    if (zlink_flush() != 0 || zlink_arm(NULL, nothing, NULL) != -1) {
        fprintf(stderr, "functions of zlink.h\n");
        ++failures;
    }
}

int main(void) {
    check_message();
    check_pollitem();
#ifdef ZMQ_BUILD_DRAFT_API
    check_poller_event();
#endif
    check_version();
    check_own_functions();
    return failures == 0 ? 0 : 1;
}
