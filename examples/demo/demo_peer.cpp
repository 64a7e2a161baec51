// SPDX-License-Identifier: Apache-2.0
//
// One end of a counted and checked conversation; scripts/demo_matrix.py starts two of them, each
// with the library it names in LD_LIBRARY_PATH. Both ends may also be threads of one process
// (--inproc).
//
// Prints lines that a program can read:
//   LIBRARY <version> <file>              which library was loaded
//   ENDPOINT <endpoint>                   bound or connected
//   READY                                 (subscriber) the subscription works
//   RESULT <sent> <received> <seconds>    the end; with --inproc the talker's, then the listener's
#include "conversations.hpp"

#include <CLI/CLI.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <thread>

namespace demo {
namespace {

struct outcome {
    tally counted;
    double seconds = 0;
};

// `opened` is called with the socket's endpoint once it is bound or connected.
template <class Opened>
outcome run_end(void* context, const settings& how, const readiness& ready, Opened opened)
{
    const int type = socket_type(how);
    peer_socket socket(context, type, how.timeout_ms);
    prepare(socket, type);
    opened(socket.open(how.bind, how.endpoint));
    const tally counted = converse(socket, type, how, ready);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - counted.begin;
    return {counted, took.count()};
}

void print_library()
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    Dl_info where{};
    // Looked up by name: the address written in this program may be that of a jump into the
    // library.
    dladdr(dlsym(RTLD_DEFAULT, "zmq_version"), &where);
    char* file = realpath(where.dli_fname, nullptr);
    std::cout << "LIBRARY " << major << '.' << minor << '.' << patch << ' '
              << (file != nullptr ? file : "?") << std::endl;
    std::free(file);
}

void print_result(const outcome& result)
{
    std::cout << "RESULT " << result.counted.sent << ' ' << result.counted.received << ' '
              << result.seconds << std::endl;
}

void run_process(const settings& how)
{
    const context_handle context;
    print_result(run_end(context.raw, how, {}, [](const std::string& endpoint) {
        std::cout << "ENDPOINT " << endpoint << std::endl;
    }));
}

// The listener binds in a thread of its own, the talker connects in this one.
void run_threads(settings talker)
{
    const context_handle context;
    std::atomic<bool> subscribed = false;
    const readiness ready{&subscribed};
    const auto run = [&](const settings& how, outcome& result, std::exception_ptr& failure) {
        try {
            result = run_end(context.raw, how, ready, [](const std::string&) {});
        } catch (...) {
            failure = std::current_exception();
        }
    };
    talker.role = role::talker;
    talker.endpoint = "inproc://demo";
    settings listener = talker;
    listener.role = role::listener;
    listener.bind = true;

    outcome heard;
    outcome told;
    std::exception_ptr listener_failure;
    std::exception_ptr talker_failure;
    std::thread other(run, std::cref(listener), std::ref(heard), std::ref(listener_failure));
    run(talker, told, talker_failure);
    other.join();
    for (const std::exception_ptr& failure : {talker_failure, listener_failure}) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
    print_result(told);
    print_result(heard);
}

} // namespace
} // namespace demo

int main(int argc, char** argv)
{
    demo::settings how;
    bool inproc = false;
    bool talker = false;
    CLI::App app{"One end of a counted and checked conversation between ZeroMQ sockets"};
    app.add_option("--pattern", how.pattern, "pair, pipeline, pubsub, reqrep or dealer")
        ->required();
    app.add_flag("--talker", talker, "start the conversation instead of answering");
    app.add_option("--endpoint", how.endpoint, "for example tcp://127.0.0.1:*");
    app.add_flag("--bind", how.bind, "bind to the endpoint instead of connecting");
    app.add_flag("--inproc", inproc, "both ends, as threads of this process");
    app.add_option("--count", how.count, "how many messages");
    app.add_option("--timeout-ms", how.timeout_ms, "how long one call may wait");
    CLI11_PARSE(app, argc, argv);
    how.role = talker ? demo::role::talker : demo::role::listener;
    try {
        demo::print_library();
        if (inproc) {
            demo::run_threads(how);
        } else {
            demo::run_process(how);
        }
    } catch (const std::exception& problem) {
        std::cerr << "demo_peer (" << how.pattern << (talker ? " talker" : " listener")
                  << "): " << problem.what() << '\n';
        return 1;
    }
    return 0;
}
