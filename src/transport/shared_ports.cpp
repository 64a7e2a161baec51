// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_ports.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <fcntl.h>
#include <utility>

namespace zlink::transport {

// --- passed_inbox

void passed_inbox::put(acceptor::result connection)
{
    const std::lock_guard lock(mutex_);
    if (closed_)
        return;
    boost::asio::post(io_, [self = shared_from_this()] {
        std::function<void()> arrived;
        {
            const std::lock_guard lock(self->mutex_);
            arrived = std::exchange(self->arrived_, nullptr);
        }
        if (arrived)
            arrived();
    });
    waiting_.push_back(std::move(connection));
}

std::optional<acceptor::result> passed_inbox::take()
{
    const std::lock_guard lock(mutex_);
    if (waiting_.empty())
        return std::nullopt;
    std::optional<acceptor::result> first(std::move(waiting_.front()));
    waiting_.pop_front();
    return first;
}

bool passed_inbox::empty() const noexcept
{
    const std::lock_guard lock(mutex_);
    return waiting_.empty();
}

void passed_inbox::on_arrival(std::function<void()> arrived)
{
    const std::lock_guard lock(mutex_);
    arrived_ = std::move(arrived);
}

void passed_inbox::close() noexcept
{
    std::list<acceptor::result> dropped;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    arrived_ = nullptr;
    dropped.swap(waiting_);
}

// --- shared_port

bool shared_port::add(const std::string& path, std::shared_ptr<passed_inbox> inbox, int descriptor)
{
    const std::lock_guard lock(mutex_);
    return paths_.try_emplace(path, listening{std::move(inbox), descriptor}).second;
}

void shared_port::remove(const passed_inbox& inbox) noexcept
{
    const std::lock_guard lock(mutex_);
    std::erase_if(paths_,
                  [&inbox](const auto& entry) { return entry.second.inbox.get() == &inbox; });
}

std::shared_ptr<passed_inbox> shared_port::find(std::string_view target) const
{
    const std::lock_guard lock(mutex_);
    if (paths_.size() == 1)
        return paths_.begin()->second.inbox;
    auto found = paths_.find(target);
    if (found == paths_.end())
        found = paths_.find(target.substr(0, target.find('?')));
    return found == paths_.end() ? nullptr : found->second.inbox;
}

bool shared_port::has(const std::string& path) const
{
    const std::lock_guard lock(mutex_);
    return paths_.contains(path);
}

bool shared_port::empty() const noexcept
{
    const std::lock_guard lock(mutex_);
    return paths_.empty();
}

int shared_port::duplicate_descriptor() const noexcept
{
    const std::lock_guard lock(mutex_);
    if (paths_.empty()) {
        errno = EADDRINUSE;
        return -1;
    }
    return ::fcntl(paths_.begin()->second.descriptor, F_DUPFD_CLOEXEC, 0);
}

// --- shared_ports

std::shared_ptr<shared_port> shared_ports::find(const std::string& endpoint)
{
    const auto found = ports_.find(endpoint);
    const auto port = found == ports_.end() ? nullptr : found->second.lock();
    return port && !port->empty() ? port : nullptr;
}

void shared_ports::add(const std::string& endpoint, const std::shared_ptr<shared_port>& port)
{
    std::erase_if(ports_, [](const auto& entry) { return entry.second.expired(); });
    ports_[endpoint] = port;
}

} // namespace zlink::transport
