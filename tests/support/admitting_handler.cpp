// SPDX-License-Identifier: Apache-2.0
#include "support/admitting_handler.hpp"

#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "support/socket.hpp"

namespace zlink::test {
namespace {

/// The contexts that have a handler. Its threads use it until they end, which is after main() has
/// returned where a context is left open.
struct served_contexts {
    std::mutex mutex;
    std::set<void*> contexts;
};

served_contexts& served()
{
    static auto* const all = new served_contexts;
    return *all;
}

/// Answers until the context ends.
void answer(void* context, test_socket handler)
{
    try {
        for (;;) {
            const parts asked = handler.recv_parts();
            // What a request consists of: RFC 27. Servers of CURVE in this context ask as well.
            const bool is_admitted =
                asked.at(5) != "PLAIN" ||
                (asked.size() == 8 && asked[6] == plain_username && asked[7] == plain_password);
            handler.send_parts({"1.0", asked[1], is_admitted ? "200" : "400", "", "", ""});
        }
    } catch (const std::exception&) {
        // ETERM. Another context may have the same handle as soon as the socket is closed.
    }
    const std::lock_guard lock(served().mutex);
    served().contexts.erase(context);
}

} // namespace

void admit_plain_peers(void* context)
{
    const std::lock_guard lock(served().mutex);
    if (served().contexts.contains(context))
        return;
    test_socket handler = test_socket::with_defaults(context, ZMQ_REP);
    handler.set(ZMQ_LINGER, 0);
    if (zmq_bind(handler, "inproc://zeromq.zap.01") != 0) {
        if (zmq_errno() == EADDRINUSE)
            return; // the test has its own
        throw call_failed("zmq_bind inproc://zeromq.zap.01");
    }
    served().contexts.insert(context);
    std::thread(answer, context, std::move(handler)).detach();
}

} // namespace zlink::test
