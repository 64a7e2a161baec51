// SPDX-License-Identifier: Apache-2.0
//
// ROUTER and DEALER: clients connect to port 5559, servers to 5560, and neither knows the other.
//   broker &  hello_server tcp://localhost:5560 &  SERVER=tcp://localhost:5559 hello_client
//   stressed
#include <zmq.h>

#include <cstdio>

namespace {

// Passes one whole message on. The first part names the client; the reply finds its way back by it.
bool forward(void* from, void* to)
{
    bool more = true;
    while (more) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, from, 0) < 0) {
            return false;
        }
        more = zmq_msg_more(&part) != 0;
        if (zmq_msg_send(&part, to, more ? ZMQ_SNDMORE : 0) < 0) {
            zmq_msg_close(&part);
            return false;
        }
    }
    return true;
}

} // namespace

int main()
{
    void* context = zmq_ctx_new();
    void* clients = zmq_socket(context, ZMQ_ROUTER);
    void* servers = zmq_socket(context, ZMQ_DEALER);
    bool running = zmq_bind(clients, "tcp://*:5559") == 0 && zmq_bind(servers, "tcp://*:5560") == 0;
    while (running) {
        zmq_pollitem_t items[] = {{clients, 0, ZMQ_POLLIN, 0}, {servers, 0, ZMQ_POLLIN, 0}};
        running = zmq_poll(items, 2, -1) >= 0;
        if (running && (items[0].revents & ZMQ_POLLIN) != 0) {
            running = forward(clients, servers);
        }
        if (running && (items[1].revents & ZMQ_POLLIN) != 0) {
            running = forward(servers, clients);
        }
    }
    std::fprintf(stderr, "broker: %s\n", zmq_strerror(zmq_errno()));
    zmq_close(clients);
    zmq_close(servers);
    zmq_ctx_term(context);
    return 1;
}
