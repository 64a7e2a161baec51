// SPDX-License-Identifier: Apache-2.0
// cppzmq on the library: each named check is one run of this program.
#include <zmq.hpp>
#include <zmq_addon.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                           \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)

struct linked {
    zmq::context_t context;
    zmq::socket_t server;
    zmq::socket_t client;

    linked(zmq::socket_type bound, zmq::socket_type connected)
        : server(context, bound), client(context, connected)
    {
        for (zmq::socket_t* socket : {&server, &client}) {
            socket->set(zmq::sockopt::linger, 0);
            socket->set(zmq::sockopt::rcvtimeo, 10'000);
        }
        server.bind("tcp://127.0.0.1:*");
        client.connect(server.get(zmq::sockopt::last_endpoint));
    }
};

std::string receive(zmq::socket_t& socket)
{
    zmq::message_t message;
    CHECK(socket.recv(message));
    return message.to_string();
}

void request_reply()
{
    linked pair(zmq::socket_type::rep, zmq::socket_type::req);
    for (int i = 0; i < 1000; ++i) {
        pair.client.send(zmq::buffer(std::to_string(i)));
        CHECK(receive(pair.server) == std::to_string(i));
        pair.server.send(zmq::str_buffer("reply"), zmq::send_flags::none);
        CHECK(receive(pair.client) == "reply");
    }
}

void multipart()
{
    linked pair(zmq::socket_type::router, zmq::socket_type::dealer);
    zmq::multipart_t sent;
    sent.addstr("one");
    sent.addtyp<int>(2);
    sent.addmem("three", 5);
    CHECK(sent.send(pair.client));
    zmq::multipart_t received(pair.server);
    CHECK(received.size() == 4);
    CHECK(received.send(pair.server));
    std::vector<zmq::message_t> parts;
    CHECK(zmq::recv_multipart(pair.client, std::back_inserter(parts)) == 3u);
    CHECK(parts[0].to_string() == "one" && *parts[1].data<int>() == 2);
}

void publish()
{
    linked pair(zmq::socket_type::xpub, zmq::socket_type::sub);
    pair.client.set(zmq::sockopt::subscribe, "a");
    CHECK(receive(pair.server) == std::string("\1a"));
    pair.server.send(zmq::str_buffer("b no"));
    pair.server.send(zmq::str_buffer("a yes"));
    CHECK(receive(pair.client) == "a yes");
    CHECK(pair.client.get(zmq::sockopt::type) == ZMQ_SUB);
}

void foreign_memory()
{
    linked pair(zmq::socket_type::pull, zmq::socket_type::push);
    static std::array<char, 100'000> memory;
    static std::atomic<int> freed;
    for (int i = 0; i < 100; ++i) {
        zmq::message_t message(memory.data(), memory.size(), [](void*, void*) { ++freed; });
        CHECK(pair.client.send(std::move(message), zmq::send_flags::none) == memory.size());
        CHECK(receive(pair.server).size() == memory.size());
    }
    for (int i = 0; i < 1000 && freed < 100; ++i)
        std::this_thread::sleep_for(10ms);
    CHECK(freed == 100);
}

void polling()
{
    linked pair(zmq::socket_type::pair, zmq::socket_type::pair);
    std::array<zmq::pollitem_t, 2> items{
        {{pair.server, 0, ZMQ_POLLIN, 0}, {pair.client, 0, ZMQ_POLLIN, 0}}};
    CHECK(zmq::poll(items, 0ms) == 0);
    pair.client.send(zmq::str_buffer("x"));
    CHECK(zmq::poll(items, 10s) == 1);
    CHECK(items[0].revents == ZMQ_POLLIN && items[1].revents == 0);
}

void errors()
{
    zmq::context_t context;
    zmq::socket_t socket(context, zmq::socket_type::req);
    try {
        (void)socket.recv(*std::make_unique<zmq::message_t>());
        CHECK(!"no error");
    } catch (const zmq::error_t& error) {
        CHECK(error.num() == EFSM);
    }
    try {
        socket.bind("nonsense");
        CHECK(!"no error");
    } catch (const zmq::error_t& error) {
        CHECK(error.num() == EINVAL);
    }
    CHECK(!zmq::socket_t(context, zmq::socket_type::pull)
               .recv(*std::make_unique<zmq::message_t>(), zmq::recv_flags::dontwait));
}

void monitor()
{
    struct counter : zmq::monitor_t {
        int accepted = 0;
        void on_event_accepted(const zmq_event_t&, const char*) override { ++accepted; }
    };
    zmq::context_t context;
    zmq::socket_t server(context, zmq::socket_type::rep);
    counter events;
    events.init(server, "inproc://monitor", ZMQ_EVENT_ALL);
    server.bind("tcp://127.0.0.1:*");
    zmq::socket_t client(context, zmq::socket_type::req);
    client.connect(server.get(zmq::sockopt::last_endpoint));
    for (int i = 0; i < 50 && !events.accepted; ++i)
        events.check_event(200);
    CHECK(events.accepted == 1);
}

void proxy()
{
    zmq::context_t context;
    zmq::socket_t front(context, zmq::socket_type::router);
    zmq::socket_t back(context, zmq::socket_type::dealer);
    zmq::socket_t worker(context, zmq::socket_type::rep);
    zmq::socket_t client(context, zmq::socket_type::req);
    front.bind("inproc://front");
    back.bind("inproc://back");
    worker.connect("inproc://back");
    client.connect("inproc://front");
    std::thread runs([&] {
        try {
            zmq::proxy(front, back);
        } catch (const zmq::error_t& error) {
            CHECK(error.num() == ETERM);
        }
        front.close();
        back.close();
    });
    client.send(zmq::str_buffer("through"));
    CHECK(receive(worker) == "through");
    worker.send(zmq::str_buffer("back"));
    CHECK(receive(client) == "back");
    worker.close();
    client.close();
    context.shutdown();
    runs.join();
}

#ifdef ZMQ_BUILD_DRAFT_API
void poller()
{
    linked pair(zmq::socket_type::pair, zmq::socket_type::pair);
    zmq::active_poller_t poller;
    int seen = 0;
    poller.add(pair.server, zmq::event_flags::pollin, [&](zmq::event_flags) {
        receive(pair.server);
        ++seen;
    });
    pair.client.send(zmq::str_buffer("x"));
    CHECK(poller.wait(10s) == 1);
    CHECK(seen == 1);
    CHECK(poller.wait(0ms) == 0);
}

void server_client()
{
    linked pair(zmq::socket_type::server, zmq::socket_type::client);
    pair.client.send(zmq::str_buffer("ask"));
    zmq::message_t asked;
    CHECK(pair.server.recv(asked));
    zmq::message_t answer(std::string("answer"));
    answer.set_routing_id(asked.routing_id());
    pair.server.send(answer, zmq::send_flags::none);
    CHECK(receive(pair.client) == "answer");
}
#endif

const std::map<std::string, std::function<void()>> checks{
    {"request_reply", request_reply},
    {"multipart", multipart},
    {"publish", publish},
    {"foreign_memory", foreign_memory},
    {"polling", polling},
    {"errors", errors},
    {"monitor", monitor},
    {"proxy", proxy},
#ifdef ZMQ_BUILD_DRAFT_API
    {"poller", poller},
    {"server_client", server_client},
#endif
};

} // namespace

int main(int count, char** arguments)
{
    if (count < 2) {
        for (const auto& [name, check] : checks)
            std::puts(name.c_str());
        return 0;
    }
    checks.at(arguments[1])();
}
