// SPDX-License-Identifier: Apache-2.0
// What calls of the C API cost by themselves, in one thread.

#include <benchmark/benchmark.h>
#include <cstddef>
#include <cstring>
#include <vector>
#include <zmq.h>

namespace {

void message_with_body(benchmark::State& state)
{
    const auto bytes = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        zmq_msg_t message;
        zmq_msg_init_size(&message, bytes);
        benchmark::DoNotOptimize(zmq_msg_data(&message));
        zmq_msg_close(&message);
    }
}
BENCHMARK(message_with_body)->Arg(32)->Arg(64)->Arg(1024)->Arg(64 * 1024);

void message_of_user_memory(benchmark::State& state)
{
    static char memory[1024];
    for (auto _ : state) {
        zmq_msg_t message;
        zmq_msg_init_data(
            &message, memory, sizeof memory, [](void*, void*) {}, nullptr);
        benchmark::DoNotOptimize(zmq_msg_data(&message));
        zmq_msg_close(&message);
    }
}
BENCHMARK(message_of_user_memory);

/// Two PAIR sockets over inproc.
class inproc_pair {
public:
    inproc_pair()
        : context_(zmq_ctx_new()),
          bound(zmq_socket(context_, ZMQ_PAIR)),
          connected(zmq_socket(context_, ZMQ_PAIR))
    {
        zmq_bind(bound, "inproc://micro");
        zmq_connect(connected, "inproc://micro");
    }
    ~inproc_pair()
    {
        zmq_close(bound);
        zmq_close(connected);
        zmq_ctx_term(context_);
    }
    inproc_pair(const inproc_pair&) = delete;
    inproc_pair& operator=(const inproc_pair&) = delete;

private:
    void* const context_;

public:
    void* const bound;
    void* const connected;
};

void send_and_receive_buffers(benchmark::State& state)
{
    const inproc_pair sockets;
    std::vector<char> out(static_cast<std::size_t>(state.range(0)));
    std::vector<char> in(out.size());
    for (auto _ : state) {
        zmq_send(sockets.connected, out.data(), out.size(), 0);
        zmq_recv(sockets.bound, in.data(), in.size(), 0);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(send_and_receive_buffers)->Arg(64)->Arg(1024);

void send_and_receive_messages(benchmark::State& state)
{
    const inproc_pair sockets;
    const auto bytes = static_cast<std::size_t>(state.range(0));
    zmq_msg_t in;
    zmq_msg_init(&in);
    for (auto _ : state) {
        zmq_msg_t out;
        zmq_msg_init_size(&out, bytes);
        zmq_msg_send(&out, sockets.connected, 0);
        zmq_msg_recv(&in, sockets.bound, 0);
    }
    zmq_msg_close(&in);
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(send_and_receive_messages)->Arg(64)->Arg(1024);

void poll_without_news(benchmark::State& state)
{
    const inproc_pair sockets;
    zmq_pollitem_t item{sockets.bound, 0, ZMQ_POLLIN, 0};
    for (auto _ : state)
        benchmark::DoNotOptimize(zmq_poll(&item, 1, 0));
}
BENCHMARK(poll_without_news);

} // namespace
