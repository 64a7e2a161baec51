// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/campaign.hpp"
#include "runner/machine.hpp"

#include <string>
#include <vector>

namespace zlink::bench::runner {

/// Everything a report is made from.
struct findings {
    const settings& chosen;
    machine where;
    std::vector<identity> identities; ///< one per library
    std::vector<cell_record> records;
};

/// The machine, the libraries and the settings in a few lines; also shown before measuring.
std::vector<std::string> preamble(const findings& found);

/// What is shown on the terminal at the end.
std::string to_text(const findings& found);

/// The same and the details, to be put into a document.
std::string to_markdown(const findings& found);

/// One line per run, after comment lines (#) with the preamble.
std::string to_csv(const findings& found);

/// Every run with all its fields, and the summary with all spreads.
std::string to_json(const findings& found);

/// Throws std::runtime_error if the file cannot be written.
void write_file(const std::string& path, const std::string& content);

} // namespace zlink::bench::runner
