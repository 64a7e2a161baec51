// SPDX-License-Identifier: Apache-2.0
#pragma once

// The runtimes of the sanitizers define them.
extern "C" __attribute__((weak)) void __asan_init();
extern "C" __attribute__((weak)) void __tsan_init();

namespace zlink::test {

// The tests are compiled once for all sanitizers, so the preprocessor cannot tell them which one
// the library was compiled for and the program was linked with.

/// Whether the program runs with the address sanitizer. The one of undefined behaviour goes with
/// it.
inline bool has_address_sanitizer() noexcept
{
    return __asan_init != nullptr;
}

inline bool has_thread_sanitizer() noexcept
{
    return __tsan_init != nullptr;
}

/// Whether the library is slow, and memory is what a sanitizer makes of it.
inline bool is_sanitized() noexcept
{
    return has_address_sanitizer() || has_thread_sanitizer();
}

} // namespace zlink::test
