// SPDX-License-Identifier: Apache-2.0
//
// PULL and PUSH: counts the primes of each range it gets and passes the number on. Run as many as
// the machine has cores; each range goes to one of them.
#include <zmq.h>

#include <cstdint>
#include <cstdio>

namespace {

bool is_prime(std::uint64_t number)
{
    if (number < 2) {
        return false;
    }
    for (std::uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
        if (number % divisor == 0) {
            return false;
        }
    }
    return true;
}

} // namespace

int main()
{
    void* context = zmq_ctx_new();
    void* ranges = zmq_socket(context, ZMQ_PULL);
    void* sink = zmq_socket(context, ZMQ_PUSH);
    if (zmq_connect(ranges, "tcp://localhost:5557") != 0 ||
        zmq_connect(sink, "tcp://localhost:5558") != 0) {
        std::fprintf(stderr, "primes_worker: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    std::uint64_t range[2];
    while (zmq_recv(ranges, range, sizeof range, 0) == sizeof range) {
        std::uint64_t result[] = {1, 0};
        for (std::uint64_t number = range[0]; number < range[1]; ++number) {
            result[1] += is_prime(number) ? 1 : 0;
        }
        zmq_send(sink, result, sizeof result, 0);
    }
    zmq_close(ranges);
    zmq_close(sink);
    zmq_ctx_term(context);
}
