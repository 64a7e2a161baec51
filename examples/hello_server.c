// SPDX-License-Identifier: Apache-2.0
//
// REP: turns every request round and sends it back. One request, one reply, for any number of
// clients.
//   hello_server                             binds to tcp://*:5555
//   hello_server tcp://localhost:5560        works behind the broker instead
#include <zmq.h>

#include <stdio.h>

int main(int argc, char** argv) {
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_REP);
    const int failed = argc > 1 ? zmq_connect(socket, argv[1]) : zmq_bind(socket, "tcp://*:5555");
    if (failed) {
        fprintf(stderr, "hello_server: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    for (;;) {
        char text[256];
        int size = zmq_recv(socket, text, sizeof text, 0);
        if (size < 0) {
            break;
        }
        // zmq_recv tells the full size of a message that it had to cut.
        if (size > (int)sizeof text) {
            size = sizeof text;
        }
        for (int left = 0, right = size - 1; left < right; ++left, --right) {
            const char kept = text[left];
            text[left] = text[right];
            text[right] = kept;
        }
        zmq_send(socket, text, size, 0);
    }
    zmq_close(socket);
    zmq_ctx_term(context);
    return 0;
}
