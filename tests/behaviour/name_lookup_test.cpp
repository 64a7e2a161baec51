// SPDX-License-Identifier: Apache-2.0
// Names of hosts: when they are looked up.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <string_view>

namespace zlink::test {
namespace {

/// What the library is told when it looks up "moving.test"; null: there is no such name.
std::atomic<const char*> moving_address{nullptr};

} // namespace
} // namespace zlink::test

// Takes the place of the system's function, also for the library.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** results)
{
    using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (node && std::string_view(node) == "moving.test") {
        node = zlink::test::moving_address;
        if (!node)
            return EAI_NONAME;
    }
    return real(node, service, hints, results);
}

namespace zlink::test {
namespace {

TEST(NameLookup, is_repeated_for_every_attempt)
{
    test_context context;
    const raw_listener listener; // at 127.0.0.1 only
    test_socket socket(context, ZMQ_DEALER);
    socket.set(ZMQ_RECONNECT_IVL, 5);
    listening_post post(context, socket);
    moving_address = nullptr;
    socket.connect("tcp://moving.test:" + std::to_string(listener.port()));
    for (int attempt = 0; attempt < 3; ++attempt)
        post.expect(ZMQ_EVENT_CONNECT_RETRIED); // and nothing else
    moving_address = "127.0.0.2";
    while (post.next().event != ZMQ_EVENT_CLOSED) {
    }
    moving_address = "127.0.0.1";
    EXPECT_TRUE(listener.try_accept());
    while (post.next().event != ZMQ_EVENT_CONNECTED) {
    }
}

} // namespace
} // namespace zlink::test
