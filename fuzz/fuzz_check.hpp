// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>

/// Stops the process, so that the fuzzer keeps the input, when `condition` does not hold, and says
/// where. (With std::source_location clang 14 has its difficulties.)
inline void fuzz_check(bool condition, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE())
{
    if (!condition) {
        std::fprintf(stderr, "%s:%d: a check failed\n", file, line);
        __builtin_trap();
    }
}
