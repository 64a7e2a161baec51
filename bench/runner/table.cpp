// SPDX-License-Identifier: Apache-2.0
#include "runner/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace zlink::bench::runner {

namespace {

std::vector<std::size_t> column_widths(const table& shown)
{
    std::vector<std::size_t> widths(shown.headers.size());
    for (std::size_t column = 0; column < widths.size(); ++column) {
        widths[column] = shown.headers[column].size();
        for (const auto& row : shown.rows) {
            widths[column] = std::max(widths[column], row[column].size());
        }
    }
    return widths;
}

std::string text_row(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
                     std::size_t left_columns)
{
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
        const std::string gap = column == 0 ? "" : "  ";
        line += column < left_columns ? fmt::format("{}{:<{}}", gap, row[column], widths[column])
                                      : fmt::format("{}{:>{}}", gap, row[column], widths[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + '\n';
}

} // namespace

std::string to_text(const table& shown)
{
    const auto widths = column_widths(shown);
    std::string text = shown.title + "\n\n" + text_row(shown.headers, widths, shown.left_columns);
    for (const auto& row : shown.rows) {
        text += text_row(row, widths, shown.left_columns);
    }
    return text + '\n';
}

std::string to_markdown(const table& shown)
{
    std::string text =
        fmt::format("### {}\n\n| {} |\n|", shown.title, fmt::join(shown.headers, " | "));
    for (std::size_t column = 0; column < shown.headers.size(); ++column) {
        text += column < shown.left_columns ? "---|" : "---:|";
    }
    text += '\n';
    for (const auto& row : shown.rows) {
        text += fmt::format("| {} |\n", fmt::join(row, " | "));
    }
    return text + '\n';
}

} // namespace zlink::bench::runner
