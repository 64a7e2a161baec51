// SPDX-License-Identifier: Apache-2.0
#include "crowd_cell.hpp"

#include <exception>
#include <memory>
#include <sstream>

#include "crowd_stage.hpp"

namespace zlink::test {
namespace {

std::unique_ptr<crowd_scene> make_scene(crowd_stage& stage)
{
    switch (stage.cell().what) {
    case scene::router_dealer:
    case scene::server_client:
        return scene_to_each(stage);
    case scene::push_pull:
        return scene_to_any(stage);
    case scene::pub_sub:
        return scene_to_all(stage);
    case scene::dealer_rep:
    case scene::dealer_router:
        return scene_of_requests(stage);
    case scene::many_push:
    case scene::many_dealer:
        return scene_from_many(stage);
    case scene::broker_dealer_dealer:
    case scene::broker_dealer_rep:
    case scene::broker_req_dealer:
    case scene::broker_req_rep:
        return scene_of_broker(stage);
    }
    throw std::logic_error("unknown scene");
}

bool is_complete(crowd_stage& stage, crowd_scene& scene, std::chrono::milliseconds stall)
{
    try {
        scene.launch();
        if (!stage.watch(stall))
            return false;
        scene.check();
        return true;
    } catch (const std::exception& error) {
        stage.fail(error.what());
        return false;
    }
}

} // namespace

const char* name_of(scene what)
{
    switch (what) {
    case scene::router_dealer:
        return "router-dealer";
    case scene::server_client:
        return "server-client";
    case scene::push_pull:
        return "push-pull";
    case scene::pub_sub:
        return "pub-sub";
    case scene::dealer_rep:
        return "dealer-rep";
    case scene::dealer_router:
        return "dealer-router";
    case scene::many_push:
        return "many-push";
    case scene::many_dealer:
        return "many-dealer";
    case scene::broker_dealer_dealer:
        return "broker-dealer-dealer";
    case scene::broker_dealer_rep:
        return "broker-dealer-rep";
    case scene::broker_req_dealer:
        return "broker-req-dealer";
    case scene::broker_req_rep:
        return "broker-req-rep";
    }
    return "?";
}

const char* name_of(bodies what)
{
    switch (what) {
    case bodies::small:
        return "64";
    case bodies::middle:
        return "1024";
    case bodies::mixed:
        return "mixed";
    case bodies::multipart:
        return "multipart";
    case bodies::any:
        return "any";
    case bodies::any_parts:
        return "any-parts";
    }
    return "?";
}

const char* name_of(readers what)
{
    return what == readers::shared ? "shared" : "own";
}

std::string crowd_cell::description() const
{
    std::ostringstream text;
    text << name_of(what) << ' ' << name_of(kind) << ' ' << name_of(body) << " B hwm " << hwm << ' '
         << peers << (come_and_go ? " changing" : " lasting") << " peers, " << name_of(threads)
         << " threads, x " << count;
    return text.str();
}

crowd_result run_crowd(const crowd_cell& cell, std::chrono::milliseconds stall)
{
    crowd_result result;
    if (cell.what == scene::server_client && zmq_has("draft") == 0) {
        result.passed = result.skipped = true;
        return result;
    }
    const stopwatch clock;
    auto stage = std::make_unique<crowd_stage>(cell);
    std::unique_ptr<crowd_scene> scene = make_scene(*stage);
    if (is_complete(*stage, *scene, stall)) {
        scene.reset();
        result.passed = stage->terminate(stall);
        if (!result.passed) {
            result.failure = "the contexts do not end";
            result.unstoppable = true;
            static_cast<void>(stage.release());
        }
    } else {
        // Before they are stopped.
        result.failure = (stage->failed() ? stage->failure() : "stuck") + stage->whereabouts();
        result.unstoppable = !stage->stop();
        if (result.unstoppable)
            result.failure += "\n    not even the end of the contexts wakes all";
        // What is still to be sent would keep the contexts from ending.
        static_cast<void>(stage.release());
        static_cast<void>(scene.release());
    }
    result.seconds = static_cast<double>(clock.elapsed_ms()) / 1000.0;
    return result;
}

} // namespace zlink::test
