// SPDX-License-Identifier: Apache-2.0
#include "core/connection/inproc.hpp"

#include "core/options/conflation.hpp"
#include "core/pipe/notices.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace zlink::core {
namespace {

peer_info describe(const socket_options& options)
{
    peer_info info;
    info.routing_id = options.routing_id;
    info.socket_type = options.type;
    info.wants_newest = conflates_receiving(options);
    if (const auto text = disconnect_message(options); !text.empty())
        info.disconnect_message = std::string(text);
    info.marks_notices = options.traits->marks_notices;
    return info;
}

bool greet(pipe_end& pipe, const socket_options& options) noexcept
{
    const auto hello = hello_message(options);
    return hello.empty() || pipe.out.write(frame_of(hello, false));
}

} // namespace

int inproc_registry::bind(const std::string& name, const party& binder)
{
    std::lock_guard lock(mutex_);
    const auto [at, fresh] = bound_.try_emplace(name, binding{binder.side, *binder.options});
    if (!fresh)
        return EADDRINUSE;
    const auto [first, last] = waiting_.equal_range(name);
    try {
        for (auto pipe = first; pipe != last; ++pipe)
            prepare(pipe->second, at->second);
    } catch (...) {
        bound_.erase(at);
        throw;
    }
    for (auto pipe = first; pipe != last; ++pipe) {
        join(pipe->second, at->second);
        const auto& connector = pipe->second.connector_end;
        if (!connector)
            continue;
        connector->set_peer(std::move(pipe->second.binder_info));
        connector->notify(pipe_end::identified | pipe_end::writable);
    }
    waiting_.erase(first, last);
    return 0;
}

int inproc_registry::unbind(std::string_view name, const socket_side& binder) noexcept
{
    std::lock_guard lock(mutex_);
    const auto at = bound_.find(name);
    if (at == bound_.end() || at->second.side.get() != &binder)
        return ENOENT;
    bound_.erase(at);
    return 0;
}

// What join() needs memory for.
void inproc_registry::prepare(waiting_pipe& pipe, const binding& binder)
{
    pipe.hello.reset(); // of another one, whose bind() has failed
    pipe.binder_end->set_conflation(conflates_sending(binder.options),
                                    conflates_receiving(binder.options));
    if (!pipe.connector_end)
        return;
    pipe.binder_info = std::make_unique<peer_info>(describe(binder.options));
    if (const auto hello = hello_message(binder.options); !hello.empty()) {
        pipe.hello = pipe.binder_end->out.prepare(frame_of(hello, false));
        if (!pipe.hello)
            throw std::bad_alloc();
    }
}

void inproc_registry::join(waiting_pipe& pipe, const binding& binder) noexcept
{
    pipe.binder_end->channels()->a_to_b.stalled.store(false, std::memory_order_relaxed);
    pipe.binder_end->set_mailbox(binder.side->box);
    pipe.binder_end->set_limits(binder.options.send_hwm, binder.options.receive_hwm);
    std::uint32_t news = pipe_end::attached | pipe_end::identified;
    if (pipe.hello)
        pipe.binder_end->out.write_prepared(frame_of(hello_message(binder.options), false),
                                            std::move(pipe.hello));
    if (!pipe.connector_end)
        news |= pipe_end::closed;
    pipe.binder_end->notify(news);
}

std::shared_ptr<pipe_end> inproc_registry::connect(const std::string& name, const party& connector)
{
    auto channels = std::make_shared<channel_pair>();
    auto near = make_pipe_end(channels, true, connector.side->box);
    auto far = make_pipe_end(channels, false, nullptr);
    near->set_conflation(conflates_sending(*connector.options),
                         conflates_receiving(*connector.options));
    near->set_inproc();
    far->set_inproc();
    near->set_limits(connector.options->send_hwm, connector.options->receive_hwm);
    near->origin.connected_side = true;
    near->origin.endpoint = far->origin.endpoint = "inproc://" + name;
    near->in.let_reader_back_off();
    far->in.let_reader_back_off();
    near->origin.takes_subscriptions = far->origin.takes_subscriptions = true;
    far->set_peer(std::make_unique<peer_info>(describe(*connector.options)));
    if (!greet(*near, *connector.options))
        throw std::bad_alloc();

    std::lock_guard lock(mutex_);
    const auto at = bound_.find(name);
    waiting_pipe made{near, far, nullptr, {}};
    if (at == bound_.end()) {
        channels->a_to_b.stalled.store(true, std::memory_order_relaxed);
        waiting_.emplace(name, std::move(made));
    } else {
        prepare(made, at->second);
    }
    // From here on they keep each other.
    near->set_other_end(far);
    far->set_other_end(near);
    if (at != bound_.end()) {
        near->set_peer(std::move(made.binder_info));
        join(made, at->second);
    }
    return near;
}

std::shared_ptr<channel_pair> inproc_registry::channels_for_question()
{
    struct counted_channels : channel_pair {
        explicit counted_channels(std::shared_ptr<std::atomic<int>> all) : questions(std::move(all))
        {
            ++*questions;
        }
        ~counted_channels() { --*questions; }
        std::shared_ptr<std::atomic<int>> questions;
    };
    auto channels = std::make_shared<counted_channels>(questions_);
    return *questions_ <= most_questions ? std::move(channels) : nullptr;
}

std::shared_ptr<pipe_end>
inproc_registry::connect_to_handler(const std::string& name, std::shared_ptr<channel_pair> channels,
                                    std::shared_ptr<pipe_peer> asking)
{
    std::lock_guard lock(mutex_);
    const auto at = bound_.find(name);
    if (at == bound_.end() || !at->second.options.traits->may_authenticate)
        return nullptr;
    auto handler_end = make_pipe_end(std::move(channels), false, at->second.side->box);
    handler_end->set_other_end(std::move(asking));
    handler_end->set_inproc();
    handler_end->origin.endpoint = "inproc://" + name;
    handler_end->set_limits(0, 0);
    handler_end->origin.takes_subscriptions = true;
    handler_end->set_peer(std::make_unique<peer_info>());
    handler_end->notify(pipe_end::attached | pipe_end::identified);
    return handler_end;
}

void inproc_registry::close(pipe_end& connector, int linger_ms) noexcept
{
    std::unique_lock lock(mutex_);
    const auto [first, last] = waiting_.equal_range(inproc_name(connector.origin.endpoint));
    const auto found = std::find_if(first, last, [&](const auto& entry) {
        return entry.second.connector_end.get() == &connector;
    });
    if (found == last) {
        lock.unlock();
        connector.close(linger_ms);
        return;
    }
    connector.close(linger_ms); // under the lock: the other end must not get a mailbox meanwhile
    if (connector.out.has_unread() && !connector.is_refused()) {
        found->second.connector_end.reset();
    } else {
        found->second.binder_end->set_other_end(nullptr);
        waiting_.erase(found);
    }
}

} // namespace zlink::core
