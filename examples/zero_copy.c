// SPDX-License-Identifier: Apache-2.0
//
// zmq_msg_init_data: the library sends a buffer of ours from where it lies and calls us when it has
// no more use for it, in a thread of its own.
#include <zmq.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { picture_bytes = 4 * 1024 * 1024 };

static void give_back(void* data, void* hint) {
    atomic_int* returned = hint;
    free(data);
    atomic_fetch_add(returned, 1);
}

int main(void) {
    atomic_int returned = 0;
    char endpoint[128];
    size_t endpoint_size = sizeof endpoint;
    void* context = zmq_ctx_new();
    void* in = zmq_socket(context, ZMQ_PULL);
    void* out = zmq_socket(context, ZMQ_PUSH);
    zmq_bind(in, "tcp://127.0.0.1:*");
    zmq_getsockopt(in, ZMQ_LAST_ENDPOINT, endpoint, &endpoint_size);
    zmq_connect(out, endpoint);

    char* picture = malloc(picture_bytes);
    memset(picture, 0x5a, picture_bytes);
    zmq_msg_t message;
    zmq_msg_init_data(&message, picture, picture_bytes, give_back, &returned);
    // From here the message belongs to the library, and the picture with it.
    int fine = zmq_msg_send(&message, out, 0) == picture_bytes;

    zmq_msg_t arrived;
    zmq_msg_init(&arrived);
    fine = fine && zmq_msg_recv(&arrived, in, 0) == picture_bytes;
    const char* bytes = zmq_msg_data(&arrived);
    for (size_t i = 0; fine && i < picture_bytes; ++i) {
        fine = bytes[i] == 0x5a;
    }
    zmq_msg_close(&arrived);
    zmq_close(out);
    zmq_close(in);
    zmq_ctx_term(context); // after this nothing refers to our buffer any more
    printf("%d buffer came back\n", atomic_load(&returned));
    return fine && atomic_load(&returned) == 1 ? 0 : 1;
}
