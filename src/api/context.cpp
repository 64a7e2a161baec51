// SPDX-License-Identifier: Apache-2.0
#include "api/objects.hpp"
#include "base/system/no_cancellation.hpp"
#include "builtins.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>
#include <zmq.h>

using namespace zlink::api;
namespace core = zlink::core;

namespace {

// Four bytes may be an int or a text. No one numbers threads with what four characters make.
bool is_text(const void* value, std::size_t bytes)
{
    const std::string_view text(static_cast<const char*>(value), bytes);
    return bytes != sizeof(int) ||
           std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
}

template <class Body>
int with_context(void* handle, Body body) noexcept
{
    const zlink::base::no_cancellation whole;
    try {
        const std::shared_ptr<core::context> context = contexts().share(handle);
        return context ? body(*context) : fail(no_context(handle));
    } catch (...) {
        return fail(current_error());
    }
}

} // namespace

extern "C" {

void* zmq_ctx_new(void)
{
    const zlink::base::no_cancellation whole;
    try {
        if (void* handle = contexts().add(std::make_shared<core::context>(zlink::built_in())))
            return handle;
        errno = EMFILE;
    } catch (...) {
        errno = current_error();
    }
    return nullptr;
}

int zmq_ctx_term(void* context)
{
    if (contexts().forget(context))
        return 0;
    std::shared_ptr<core::context> ending = contexts().share(context);
    if (!ending)
        return fail(no_context(context));
    try {
        if (const int error = ending->terminate())
            return fail(error);
    } catch (const std::exception&) { // not when the thread is cancelled: it can be called again
        return fail(current_error());
    }
    const zlink::base::no_cancellation whole;
    contexts().remove(context);
    ending.reset();
    return 0;
}

int zmq_ctx_shutdown(void* context)
{
    if (contexts().is_inherited(context))
        return 0;
    return with_context(context, [](core::context& ending) {
        ending.shutdown();
        return 0;
    });
}

int zmq_ctx_set(void* context, int option, int optval)
{
    return with_context(context,
                        [&](core::context& c) { return result(c.set_option(option, optval)); });
}

int zmq_ctx_get(void* context, int option)
{
    return with_context(context, [&](core::context& c) {
        int error = 0;
        const int value = c.get_option(option, error);
        return error ? fail(error) : value;
    });
}

int zmq_ctx_set_ext(void* context, int option, const void* optval, size_t optvallen)
{
    return with_context(context, [&](core::context& c) {
        if (!optval)
            return fail(EINVAL);
        if (option == ZMQ_THREAD_NAME_PREFIX && is_text(optval, optvallen))
            return result(c.set_name_prefix({static_cast<const char*>(optval), optvallen}));
        if (optvallen != sizeof(int))
            return fail(EINVAL);
        int value = 0;
        std::memcpy(&value, optval, sizeof value);
        return result(c.set_option(option, value));
    });
}

int zmq_ctx_get_ext(void* context, int option, void* optval, size_t* optvallen)
{
    return with_context(context, [&](core::context& c) {
        if (!optval || !optvallen)
            return fail(EINVAL);
        if (option == ZMQ_THREAD_NAME_PREFIX && *optvallen != sizeof(int)) {
            const std::string prefix = c.name_prefix();
            if (*optvallen < prefix.size())
                return fail(EINVAL);
            std::memcpy(optval, prefix.data(), prefix.size());
            *optvallen = prefix.size();
            return 0;
        }
        if (*optvallen != sizeof(int))
            return fail(EINVAL);
        int error = 0;
        const int value = c.get_option(option, error);
        if (error)
            return fail(error);
        std::memcpy(optval, &value, sizeof value);
        return 0;
    });
}

void* zmq_init(int io_threads)
{
    if (io_threads < 0) {
        errno = EINVAL;
        return nullptr;
    }
    void* context = zmq_ctx_new();
    if (context)
        zmq_ctx_set(context, ZMQ_IO_THREADS, io_threads);
    return context;
}

int zmq_term(void* context)
{
    return zmq_ctx_term(context);
}

int zmq_ctx_destroy(void* context)
{
    return zmq_ctx_term(context);
}

} // extern "C"
