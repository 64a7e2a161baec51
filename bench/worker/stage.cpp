// SPDX-License-Identifier: Apache-2.0
#include "worker/stage.hpp"

#include "worker/endpoints.hpp"
#include "worker/security.hpp"
#include "worker/usage.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <exception>
#include <utility>

namespace zlink::bench::worker {

namespace {

// Connections come faster than a listener may accept them.
constexpr int backlog = 4096;
constexpr int spare_sockets = 100;

} // namespace

stage::stage(const settings& chosen, run_guard& guard, int sockets)
    : chosen_(chosen), guard_(guard), hub_(chosen.what.io_threads)
{
    require_descriptors_for(sockets);
    if (chosen.contexts == 2) {
        parties_.emplace(chosen.what.io_threads);
    }
    for (const context* each : {&hub_, parties_ ? &*parties_ : &hub_}) {
        checked(zmq_ctx_set(each->handle(), ZMQ_MAX_SOCKETS, sockets + spare_sockets),
                "zmq_ctx_set(ZMQ_MAX_SOCKETS)");
    }
}

socket& stage::open_hub(int type)
{
    socket& added = open(hub_, type);
    secure_server(added, chosen_.what);
    return added;
}

socket& stage::open_party(int type)
{
    socket& added = open(parties_ ? *parties_ : hub_, type);
    secure_client(added, chosen_.what);
    return added;
}

socket& stage::open(const context& owner, int type)
{
    socket& added = sockets_.emplace_back(owner, type);
    added.set(ZMQ_SNDHWM, chosen_.hwm);
    added.set(ZMQ_RCVHWM, chosen_.hwm);
    return added;
}

std::string stage::bind(socket& target)
{
    target.set(ZMQ_BACKLOG, backlog);
    target.bind(endpoint_to_bind(chosen_.what.transport, chosen_.ipc_directory,
                                 fmt::format("hub-{}", endpoints_++)));
    return target.last_endpoint();
}

std::thread stage::guarded(std::function<void()> body)
{
    return std::thread([this, body = std::move(body)] {
        try {
            body();
        } catch (const std::exception& error) {
            guard_.fail("error", error.what());
        }
    });
}

void stage::start(std::function<void()> body)
{
    threads_.push_back(guarded(std::move(body)));
}

void stage::start_service(std::function<void()> body)
{
    services_.push_back(guarded(std::move(body)));
}

void stage::join()
{
    for (std::thread& each : threads_) {
        each.join();
    }
    threads_.clear();
}

void stage::end_services()
{
    hub_.shut_down();
    if (parties_) {
        parties_->shut_down();
    }
    for (std::thread& each : services_) {
        each.join();
    }
    services_.clear();
}

} // namespace zlink::bench::worker
