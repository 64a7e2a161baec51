// SPDX-License-Identifier: Apache-2.0
//
// PAIR over inproc: two threads share a context, each has a socket of its own, and nothing else.
// The helper finds the longest Collatz sequence below the number it is given.
#include <zmq.h>

#include <cstdint>
#include <cstdio>
#include <thread>

namespace {

void search(void* context)
{
    void* socket = zmq_socket(context, ZMQ_PAIR);
    zmq_connect(socket, "inproc://search");
    std::uint64_t limit = 0;
    if (zmq_recv(socket, &limit, sizeof limit, 0) == sizeof limit) {
        std::uint64_t best[] = {1, 0};
        for (std::uint64_t start = 1; start < limit; ++start) {
            std::uint64_t steps = 0;
            for (std::uint64_t n = start; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) {
                ++steps;
            }
            if (steps > best[1]) {
                best[0] = start;
                best[1] = steps;
            }
        }
        zmq_send(socket, best, sizeof best, 0);
    }
    zmq_close(socket);
}

} // namespace

int main()
{
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_PAIR);
    zmq_bind(socket, "inproc://search");
    std::thread helper(search, context);
    const std::uint64_t limit = 10'000;
    std::uint64_t best[] = {0, 0};
    zmq_send(socket, &limit, sizeof limit, 0);
    const int size = zmq_recv(socket, best, sizeof best, 0);
    helper.join();
    zmq_close(socket);
    zmq_ctx_term(context);
    std::printf("%llu takes %llu steps\n", static_cast<unsigned long long>(best[0]),
                static_cast<unsigned long long>(best[1]));
    return size == sizeof best && best[0] == 6171 && best[1] == 261 ? 0 : 1;
}
