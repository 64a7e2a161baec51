// SPDX-License-Identifier: Apache-2.0
//
// PULL: adds up what the workers found. A message is a pair of numbers: {0, how many ranges there
// are} from the ventilator, {1, primes found} from a worker.
#include <zmq.h>

#include <cstdint>
#include <cstdio>

int main()
{
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_PULL);
    if (zmq_bind(socket, "tcp://*:5558") != 0) {
        std::fprintf(stderr, "primes_sink: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    std::uint64_t expected = 0;
    std::uint64_t arrived = 0;
    std::uint64_t primes = 0;
    std::uint64_t message[2];
    // The announcement may be overtaken by results: they come over other connections.
    while (expected == 0 || arrived < expected) {
        if (zmq_recv(socket, message, sizeof message, 0) != sizeof message) {
            break;
        }
        if (message[0] == 0) {
            expected = message[1];
        } else {
            ++arrived;
            primes += message[1];
        }
    }
    std::printf("%llu primes in %llu ranges\n", static_cast<unsigned long long>(primes),
                static_cast<unsigned long long>(arrived));
    zmq_close(socket);
    zmq_ctx_term(context);
    return expected != 0 && arrived == expected ? 0 : 1;
}
