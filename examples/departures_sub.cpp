// SPDX-License-Identifier: Apache-2.0
//
// SUB: prints the departures from the platforms named as arguments, from all without arguments.
//   departures_sub 1 7
#include <zmq.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv)
{
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_SUB);
    if (argc == 1) {
        zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
    }
    for (int i = 1; i < argc; ++i) {
        const std::string topic = "platform-" + std::string(argv[i]) + ".";
        zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic.data(), topic.size());
    }
    if (zmq_connect(socket, "tcp://localhost:5556") != 0) {
        std::fprintf(stderr, "departures_sub: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    char platform[32];
    char text[128];
    for (;;) {
        // These messages are small; bigger ones would be received with zmq_msg_recv.
        const int first = zmq_recv(socket, platform, sizeof platform, 0);
        const int second = zmq_recv(socket, text, sizeof text, 0);
        if (first < 0 || second < 0) {
            break;
        }
        std::printf("%-14.*s %.*s\n", first, platform, second, text);
        std::fflush(stdout);
    }
    zmq_close(socket);
    zmq_ctx_term(context);
}
