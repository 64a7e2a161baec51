// SPDX-License-Identifier: Apache-2.0
//
// PUSH: cuts "how many primes are below five million?" into ranges and deals them out to however
// many workers connect to tcp://*:5557. The sink learns from the first message how many ranges
// there are. Start primes_sink and some primes_worker first: ranges go to those who are there.
#include <zmq.h>

#include <cstdint>
#include <cstdio>

int main()
{
    constexpr std::uint64_t limit = 5'000'000;
    constexpr std::uint64_t step = 10'000;
    void* context = zmq_ctx_new();
    void* ranges = zmq_socket(context, ZMQ_PUSH);
    void* sink = zmq_socket(context, ZMQ_PUSH);
    if (zmq_bind(ranges, "tcp://*:5557") != 0 || zmq_connect(sink, "tcp://localhost:5558") != 0) {
        std::fprintf(stderr, "primes_ventilator: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    const std::uint64_t announcement[] = {0, limit / step};
    zmq_send(sink, announcement, sizeof announcement, 0);
    for (std::uint64_t first = 0; first < limit; first += step) {
        // Waits until there is a worker with room in its queue.
        const std::uint64_t range[] = {first, first + step};
        zmq_send(ranges, range, sizeof range, 0);
    }
    zmq_close(ranges);
    zmq_close(sink);
    zmq_ctx_term(context); // returns when everything has been delivered
}
