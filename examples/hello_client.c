// SPDX-License-Identifier: Apache-2.0
//
// REQ: sends each argument to hello_server and prints the reply. It may start before the server.
//   hello_client stressed desserts           asks tcp://localhost:5555
//   SERVER=tcp://host:5559 hello_client ...  asks somewhere else, the broker for example
#include <zmq.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    const char* server = getenv("SERVER");
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_REQ);
    const int patience_ms = 5000;
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience_ms, sizeof patience_ms);
    zmq_setsockopt(socket, ZMQ_LINGER, &(int){0}, sizeof(int));
    int failed = zmq_connect(socket, server ? server : "tcp://localhost:5555");
    for (int i = 1; !failed && i < argc; ++i) {
        char reply[256];
        zmq_send(socket, argv[i], strlen(argv[i]), 0);
        const int size = zmq_recv(socket, reply, sizeof reply, 0);
        failed = size < 0;
        if (!failed) {
            printf("%s -> %.*s\n", argv[i], size < 256 ? size : 256, reply);
        }
    }
    if (failed) {
        fprintf(stderr, "hello_client: %s\n", zmq_strerror(zmq_errno()));
    }
    zmq_close(socket);
    zmq_ctx_term(context);
    return failed ? 1 : 0;
}
