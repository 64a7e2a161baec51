// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Stops the process, so that the fuzzer keeps the input, when `condition` does not hold.
inline void fuzz_check(bool condition)
{
    if (!condition) {
        __builtin_trap();
    }
}
