// SPDX-License-Identifier: Apache-2.0
//
// ZMQ_FD: a socket in an event loop that is not ours, here poll(2). The descriptor tells that
// something may have changed, once; ZMQ_EVENTS tells what, and asking it readies the descriptor
// again. So: read until there is nothing left, ask, and only then wait.
#include <zmq.h>

#include <poll.h>
#include <stdio.h>

enum { messages = 1000 };

static int readable(void* socket) {
    int events = 0;
    size_t size = sizeof events;
    zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size);
    return events & ZMQ_POLLIN;
}

int main(void) {
    char endpoint[128];
    size_t endpoint_size = sizeof endpoint;
    void* context = zmq_ctx_new();
    void* in = zmq_socket(context, ZMQ_PULL);
    void* out = zmq_socket(context, ZMQ_PUSH);
    zmq_bind(in, "tcp://127.0.0.1:*");
    zmq_getsockopt(in, ZMQ_LAST_ENDPOINT, endpoint, &endpoint_size);
    zmq_connect(out, endpoint);

    int fd = -1;
    size_t fd_size = sizeof fd;
    zmq_getsockopt(in, ZMQ_FD, &fd, &fd_size);
    for (int i = 0; i < messages; ++i) {
        zmq_send(out, &i, sizeof i, 0);
    }

    int expected = 0;
    int waits = 0;
    while (expected < messages) {
        while (readable(in)) {
            int number = -1;
            if (zmq_recv(in, &number, sizeof number, ZMQ_DONTWAIT) != sizeof number ||
                number != expected++) {
                return 1;
            }
        }
        struct pollfd item = {fd, POLLIN, 0};
        if (expected < messages && poll(&item, 1, 10000) != 1) {
            return 1;
        }
        ++waits;
    }
    printf("%d messages, waited %d times\n", expected, waits);
    zmq_close(out);
    zmq_close(in);
    zmq_ctx_term(context);
    return 0;
}
