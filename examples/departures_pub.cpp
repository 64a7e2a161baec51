// SPDX-License-Identifier: Apache-2.0
//
// PUB: a station announces departures on tcp://*:5556. The topic is the platform, the first part of
// the message; whoever listens chooses platforms with departures_sub.
#include <zmq.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

int main()
{
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_PUB);
    if (zmq_bind(socket, "tcp://*:5556") != 0) {
        std::fprintf(stderr, "departures_pub: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    const char* const towns[] = {"Aarhus", "Brno", "Cahors", "Dresden", "Evora"};
    for (unsigned train = 0;; ++train) {
        // The full stop keeps a subscription to platform 1 from matching platform 10.
        const std::string platform = "platform-" + std::to_string(1 + train * 7 % 12) + ".";
        const std::string text = "train " + std::to_string(100 + train) + " to " + towns[train % 5];
        zmq_send(socket, platform.data(), platform.size(), ZMQ_SNDMORE);
        if (zmq_send(socket, text.data(), text.size(), 0) < 0) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    zmq_close(socket);
    zmq_ctx_term(context);
}
