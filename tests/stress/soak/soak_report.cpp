// SPDX-License-Identifier: Apache-2.0
#include "soak_report.hpp"

#include <fmt/format.h>

namespace zlink::test {

void soak_report::add(const soak_cell& cell, const soak_ledger::totals& sum, std::uint64_t breaks,
                      const std::string& failure)
{
    const std::lock_guard lock(mutex_);
    for (row* const each :
         {&all_, &by_transport_[cell.scheme + ' ' + cell.mechanism],
          &by_pattern_[name_of(cell.pattern)], &by_break_[name_of(cell.breaks)]}) {
        ++each->cells;
        each->arrived += sum.arrived;
        each->lost += sum.lost;
        each->breaks += breaks;
        if (!failure.empty())
            ++each->failures;
    }
    if (!failure.empty())
        failures_.push_back(cell.description() + ": " + failure);
}

void soak_report::add_failure(const std::string& failure)
{
    const std::lock_guard lock(mutex_);
    ++all_.failures;
    failures_.push_back(failure);
}

bool soak_report::has_failures() const
{
    const std::lock_guard lock(mutex_);
    return !failures_.empty();
}

std::string soak_report::progress() const
{
    const std::lock_guard lock(mutex_);
    return fmt::format("{} cells, {} messages, {} breaks, {} lost in breaks, {} failures",
                       all_.cells, all_.arrived, all_.breaks, all_.lost, all_.failures);
}

std::string soak_report::tables() const
{
    const std::lock_guard lock(mutex_);
    std::string text;
    const auto add_rows = [&](const char* title, const std::map<std::string, row>& rows) {
        text += fmt::format("{:<16}{:>8}{:>14}{:>10}{:>12}{:>10}\n", title, "cells", "messages",
                            "breaks", "lost then", "failures");
        for (const auto& [name, each] : rows)
            text += fmt::format("{:<16}{:>8}{:>14}{:>10}{:>12}{:>10}\n", name, each.cells,
                                each.arrived, each.breaks, each.lost, each.failures);
        text += '\n';
    };
    add_rows("transport", by_transport_);
    add_rows("pattern", by_pattern_);
    add_rows("break", by_break_);
    add_rows("sum", {{"all", all_}});
    for (const std::string& failure : failures_)
        text += "FAIL " + failure + '\n';
    return text;
}

} // namespace zlink::test
