// SPDX-License-Identifier: Apache-2.0
#include "core/context.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <zmq.h>

namespace zlink::core {
namespace {

constexpr int socket_limit = 65535;

} // namespace

context::context(const builtins& parts) : parts_(parts) {}

context::~context()
{
    pool_.stop();
}

int context::set_option(int id, int value)
{
    std::lock_guard lock(mutex_);
    const auto store = [value](int least, int& field) {
        if (value < least)
            return EINVAL;
        field = value;
        return 0;
    };
    const auto store_flag = [value](bool& field) {
        if (value < 0)
            return EINVAL;
        field = value != 0;
        return 0;
    };
    auto& cpus = thread_settings_.cpus;
    switch (id) {
    case ZMQ_IO_THREADS:
        return store(0, io_threads_);
    case ZMQ_MAX_SOCKETS:
        return store(1, max_sockets_);
    case ZMQ_MAX_MSGSZ:
        return store(0, max_message_bytes_);
    case ZMQ_THREAD_PRIORITY:
        return store(0, thread_settings_.priority);
    case ZMQ_THREAD_SCHED_POLICY:
        return store(0, thread_settings_.scheduling_policy);
    case ZMQ_THREAD_AFFINITY_CPU_ADD:
        if (value < 0 || value >= CPU_SETSIZE)
            return EINVAL;
        cpus.push_back(value);
        return 0;
    case ZMQ_THREAD_AFFINITY_CPU_REMOVE:
        return std::erase(cpus, value) ? 0 : EINVAL;
    case ZMQ_THREAD_NAME_PREFIX:
        thread_settings_.name_prefix = std::to_string(value);
        return 0;
    case ZMQ_ZERO_COPY_RECV:
        return store_flag(zero_copy_receive_);
    case ZMQ_IPV6:
        return store_flag(ipv6_);
    case ZMQ_BLOCKY:
        return store_flag(blocky_);
    default:
        return EINVAL;
    }
}

int context::get_option(int id, int& error) const
{
    std::lock_guard lock(mutex_);
    error = 0;
    switch (id) {
    case ZMQ_IO_THREADS:
        return io_threads_;
    case ZMQ_MAX_SOCKETS:
        return max_sockets_;
    case ZMQ_SOCKET_LIMIT:
        return socket_limit;
    case ZMQ_MAX_MSGSZ:
        return max_message_bytes_;
    case ZMQ_MSG_T_SIZE:
        return static_cast<int>(sizeof(zmq_msg_t));
    case ZMQ_THREAD_SCHED_POLICY:
        return thread_settings_.scheduling_policy;
    case ZMQ_THREAD_NAME_PREFIX:
        return std::atoi(thread_settings_.name_prefix.c_str());
    case ZMQ_ZERO_COPY_RECV:
        return zero_copy_receive_ ? 1 : 0;
    case ZMQ_IPV6:
        return ipv6_ ? 1 : 0;
    case ZMQ_BLOCKY:
        return blocky_ ? 1 : 0;
    default:
        error = EINVAL;
        return -1;
    }
}

int context::set_name_prefix(std::string_view prefix)
{
    if (prefix.empty() || prefix.size() > 16)
        return EINVAL;
    std::lock_guard lock(mutex_);
    thread_settings_.name_prefix = prefix;
    return 0;
}

std::string context::name_prefix() const
{
    std::lock_guard lock(mutex_);
    return thread_settings_.name_prefix;
}

const transport::scheme* context::find_scheme(std::string_view name) const noexcept
{
    for (const transport::scheme* scheme : parts_.schemes)
        if (scheme->name == name)
            return scheme;
    return nullptr;
}

std::shared_ptr<void> context::make_hold()
{
    {
        std::lock_guard lock(hold_mutex_);
        ++holds_;
    }
    return std::shared_ptr<void>(nullptr, [this](void*) { released(); });
}

void context::released() noexcept
{
    std::lock_guard lock(hold_mutex_);
    // Signalled under the lock: terminate() may destroy the object as soon as it has seen 0.
    if (--holds_ == 0)
        ended_.signal();
}

std::shared_ptr<socket> context::open_socket(int type, int& error)
{
    std::lock_guard lock(mutex_);
    const auto row = std::ranges::find(parts_.patterns, type, &pattern_row::type);
    if (row == parts_.patterns.end()) {
        error = EINVAL;
        return nullptr;
    }
    if (shut_down_) {
        error = ETERM;
        return nullptr;
    }
    if (!started_) {
        error = pool_.start(io_threads_, thread_settings_);
        if (error)
            return nullptr;
        started_ = true;
        socket_slots_ = max_sockets_;
    }
    if (static_cast<int>(sockets_.size()) >= socket_slots_) {
        error = EMFILE;
        return nullptr;
    }
    socket_options defaults;
    defaults.transport.ipv6 = ipv6_;
    if (!blocky_)
        defaults.linger_ms = 0;
    auto opened = std::make_shared<socket>(*this, *row, std::move(defaults), make_hold());
    sockets_.insert(opened);
    return opened;
}

void context::close_socket(const std::shared_ptr<socket>& closing)
{
    closing->close();
    std::shared_ptr<socket> last;
    std::lock_guard lock(mutex_);
    if (const auto at = sockets_.find(closing); at != sockets_.end()) {
        last = *at;
        sockets_.erase(at);
        ended_.signal();
    }
}

void context::shutdown()
{
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    for (const auto& open : sockets_)
        open->interrupt();
}

int context::terminate()
{
    shutdown();
    for (;;) {
        const std::uint32_t seen = ended_.count();
        {
            std::scoped_lock lock(mutex_, hold_mutex_);
            if (sockets_.empty() && holds_ == 0)
                break;
        }
        if (ended_.wait(seen, base::no_deadline) == base::wait_result::interrupted)
            return EINTR;
    }
    pool_.stop();
    return 0;
}

} // namespace zlink::core
