// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <source_location>

/// Stops the process, so that the fuzzer keeps the input, when `condition` does not hold; says
/// where.
inline void fuzz_check(bool condition,
                       const std::source_location& where = std::source_location::current())
{
    if (!condition) {
        std::fprintf(stderr, "%s:%u: a check failed in %s\n", where.file_name(),
                     static_cast<unsigned>(where.line()), where.function_name());
        __builtin_trap();
    }
}
