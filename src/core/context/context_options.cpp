// SPDX-License-Identifier: Apache-2.0
#include "core/context/context_options.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <zmq.h>

namespace zlink::core {
namespace {

constexpr int socket_limit = 65535;

/// One option: how it is set and read; null = it cannot be.
struct row {
    int id;
    int (*set)(context_options&, int);
    int (*get)(const context_options&);
};

template <int Least, auto At>
int store(context_options& options, int value)
{
    if (value < Least)
        return EINVAL;
    At(options) = value;
    return 0;
}

template <auto At>
int store_flag(context_options& options, int value)
{
    if (value < 0)
        return EINVAL;
    At(options) = value != 0;
    return 0;
}

template <auto At>
int load(const context_options& options)
{
    return At(options);
}

template <int Value>
int constant(const context_options&)
{
    return Value;
}

int add_cpu(context_options& options, int cpu)
{
    if (cpu < 0)
        return EINVAL;
    auto& cpus = options.threads.cpus;
    if (std::ranges::find(cpus, cpu) == cpus.end())
        cpus.push_back(cpu);
    return 0;
}

int remove_cpu(context_options& options, int cpu)
{
    return std::erase(options.threads.cpus, cpu) ? 0 : EINVAL;
}

int set_prefix(context_options& options, int number)
{
    options.threads.name_prefix = std::to_string(number);
    return 0;
}

// A prefix that is no number reads as 0.
int get_prefix(const context_options& options)
{
    const std::string& prefix = options.threads.name_prefix;
    int number = 0;
    std::from_chars(prefix.data(), prefix.data() + prefix.size(), number);
    return number;
}

#define ZLINK_AT(path)                                                                             \
    [](auto& o) -> auto&                                                                           \
    {                                                                                              \
        return o.path;                                                                             \
    }
#define ZLINK_NUMBER(least, path) store<least, ZLINK_AT(path)>, load<ZLINK_AT(path)>
#define ZLINK_FLAG(path) store_flag<ZLINK_AT(path)>, load<ZLINK_AT(path)>

constexpr std::array rows{
    row{ZMQ_IO_THREADS, ZLINK_NUMBER(0, io_threads)},
    row{ZMQ_MAX_SOCKETS, ZLINK_NUMBER(1, max_sockets)},
    // One number, two options: one is set, the other read.
    row{ZMQ_THREAD_PRIORITY, store<0, ZLINK_AT(threads.priority)>, constant<socket_limit>},
    row{ZMQ_THREAD_SCHED_POLICY, ZLINK_NUMBER(0, threads.scheduling_policy)},
    row{ZMQ_THREAD_AFFINITY_CPU_ADD, add_cpu, nullptr},
    row{ZMQ_THREAD_AFFINITY_CPU_REMOVE, remove_cpu, nullptr},
    row{ZMQ_THREAD_NAME_PREFIX, set_prefix, get_prefix},
    row{ZMQ_MAX_MSGSZ, ZLINK_NUMBER(0, max_message_bytes)},
    row{ZMQ_MSG_T_SIZE, nullptr, constant<sizeof(zmq_msg_t)>},
    row{ZMQ_ZERO_COPY_RECV, ZLINK_FLAG(zero_copy_receive)},
    row{ZMQ_IPV6, ZLINK_FLAG(ipv6)},
    row{ZMQ_BLOCKY, ZLINK_FLAG(blocky)},
};
static_assert(ZMQ_THREAD_PRIORITY == ZMQ_SOCKET_LIMIT);

#undef ZLINK_FLAG
#undef ZLINK_NUMBER
#undef ZLINK_AT

} // namespace

int set_option(context_options& options, int id, int value)
{
    const auto found = std::ranges::find(rows, id, &row::id);
    return found != rows.end() && found->set ? found->set(options, value) : EINVAL;
}

int get_option(const context_options& options, int id, int& error)
{
    const auto found = std::ranges::find(rows, id, &row::id);
    error = found != rows.end() && found->get ? 0 : EINVAL;
    return error ? -1 : found->get(options);
}

} // namespace zlink::core
