// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "soak_cell.hpp"
#include "soak_ledger.hpp"

namespace zlink::test {

/// Sums of what cells have counted, by transport and mechanism, by pattern and by kind of break.
/// Thread safety: any thread.
class soak_report {
public:
    /// @param failure  empty if there was none
    void add(const soak_cell& cell, const soak_ledger::totals& sum, std::uint64_t breaks,
             const std::string& failure);
    /// One that belongs to no cell.
    void add_failure(const std::string& failure);
    bool has_failures() const;
    /// In one line.
    std::string progress() const;
    std::string tables() const;

private:
    struct row {
        std::uint64_t cells = 0;
        std::uint64_t arrived = 0;
        std::uint64_t lost = 0;
        std::uint64_t breaks = 0;
        std::uint64_t failures = 0;
    };

    mutable std::mutex mutex_;
    row all_;
    std::map<std::string, row> by_transport_;
    std::map<std::string, row> by_pattern_;
    std::map<std::string, row> by_break_;
    std::vector<std::string> failures_;
};

} // namespace zlink::test
