// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <new>
#include <pthread.h>

namespace zlink::base {

/// A T for each thread, made when the thread asks for it and destroyed at its end. Unlike with a
/// thread_local T, lack of memory is no reason to end the process: a thread that has none, for want
/// of memory, or before this was made or after its end, does without.
///
/// One object of a kind, at namespace scope. Any thread finds its own by static functions.
template <class T>
class thread_own {
public:
    thread_own() noexcept { usable = ::pthread_key_create(&key, destroy) == 0; }
    ~thread_own()
    {
        // The library may be about to go; what other threads have goes with them, or never.
        if (usable.exchange(false))
            ::pthread_key_delete(key);
    }
    thread_own(const thread_own&) = delete;
    thread_own& operator=(const thread_own&) = delete;

    /// Null if it has none yet.
    static T* find() noexcept
    {
#ifdef __GLIBC__
        return of_this_thread;
#else
        return usable.load(std::memory_order_relaxed) ? static_cast<T*>(::pthread_getspecific(key))
                                                      : nullptr;
#endif
    }
    /// For a thread that has none; null if it can have none.
    static T* make() noexcept
    {
        if (!usable)
            return nullptr;
        T* const made = new (std::nothrow) T;
        if (made && ::pthread_setspecific(key, made) == 0) {
            remember(made);
            return made;
        }
        delete made;
        return nullptr;
    }
    static T* find_or_make() noexcept
    {
        T* const found = find();
        return found ? found : make();
    }

private:
    // At the end of the thread. It may still make others, which come here in turn.
    static void destroy(void* own) noexcept
    {
        remember(nullptr);
        delete static_cast<T*>(own);
    }
    static void remember([[maybe_unused]] T* own) noexcept
    {
#ifdef __GLIBC__
        of_this_thread = own;
#endif
    }

    static inline std::atomic<bool> usable{false};
    static inline pthread_key_t key{};
#ifdef __GLIBC__
    // Lies beside those of the C library. Other thread_local variables of a library that was opened
    // late get their memory when a thread uses them first, and if there is none, the process ends.
    [[gnu::tls_model("initial-exec")]] static inline constinit thread_local T* of_this_thread =
        nullptr;
#endif
};

} // namespace zlink::base
