// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace zlink::test {

/// What a process has taken from the system.
struct soak_footprint {
    std::size_t descriptors = 0;
    std::size_t threads = 0;
    std::size_t resident_bytes = 0;
    std::size_t allocated_bytes = 0; ///< what the allocator has given out; 0 if it is a sanitizer's

    static soak_footprint now();
};

/// Compares what the process has, each time that no cell runs, with what it had before.
/// Not thread-safe.
class soak_watch {
public:
    soak_watch() : begin_(soak_footprint::now()) {}
    /// @param is_warm  memory may not grow much any more from here on
    /// @return what is wrong, empty if nothing
    std::string look(bool is_warm);
    const soak_footprint& last() const { return last_; }
    /// In words, for the report.
    std::string summary() const;

private:
    const soak_footprint begin_;
    soak_footprint last_;
    soak_footprint warm_; ///< the most that there was before it was warm
};

} // namespace zlink::test
