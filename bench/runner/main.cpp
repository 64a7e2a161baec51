// SPDX-License-Identifier: Apache-2.0
#include "runner/reports.hpp"
#include "runner/summary.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace zlink::bench::runner {

namespace {

void write_files(const findings& found)
{
    if (!found.chosen.markdown_file.empty()) {
        write_file(found.chosen.markdown_file, to_markdown(found));
    }
    if (!found.chosen.csv_file.empty()) {
        write_file(found.chosen.csv_file, to_csv(found));
    }
    if (!found.chosen.json_file.empty()) {
        write_file(found.chosen.json_file, to_json(found));
    }
}

/// A library that cannot be used at all would only fail in every cell.
void require_usable(const findings& found)
{
    for (std::size_t index = 0; index < found.identities.size(); ++index) {
        if (found.identities[index].version.empty()) {
            throw std::runtime_error(fmt::format("library {} cannot be used: {}",
                                                 found.chosen.libraries[index].name,
                                                 found.identities[index].problem));
        }
    }
}

int compare(const settings& chosen)
{
    findings found{chosen, machine::describe(), identify(chosen), {}};
    require_usable(found);
    for (const std::string& line : preamble(found)) {
        fmt::print("{}\n", line);
    }
    // Before an unwritable file can cost a long campaign.
    write_files(found);
    fmt::print("\n");
    std::fflush(stdout);

    found.records = run_campaign(chosen);
    fmt::print("\n{}", to_text(found));
    write_files(found);
    return failures(chosen, found.records).empty() ? 0 : 1;
}

} // namespace

} // namespace zlink::bench::runner

int main(int argc, char** argv)
{
    using namespace zlink::bench::runner;
    const settings chosen = parse_settings(argc, argv);
    try {
        return compare(chosen);
    } catch (const std::exception& error) {
        fmt::print(stderr, "zlink_bench: {}\n", error.what());
        return 1;
    }
}
