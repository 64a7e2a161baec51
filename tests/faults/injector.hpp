// SPDX-License-Identifier: Apache-2.0
#pragma once

// What injector.c, which is preloaded, has for the program. Null if it was not preloaded.
extern "C" {
/// Chooses which calls fail from the next fault_arm on: the `first` one of this name (0: none) and,
/// of `count` calls from there, each `every`-th. `error` is an errno, or -1 for a call that moves
/// one byte only. `threads` says whose calls count: 0 all, 1 those of the program, 2 those of the
/// library. "malloc" stands for all that allocate.
__attribute__((weak)) void fault_plan(const char* name, long first, long count, long every,
                                      int error, int threads);
__attribute__((weak)) void fault_arm();
__attribute__((weak)) void fault_disarm();
/// The calling thread is the program's.
__attribute__((weak)) void fault_own_thread();
/// Calls of that name while it was armed, and how many of them have failed.
__attribute__((weak)) long fault_calls();
__attribute__((weak)) long fault_fired();
/// Allocations that are not freed yet.
__attribute__((weak)) long fault_blocks();
}
