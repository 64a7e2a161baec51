// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/campaign.hpp"
#include "runner/table.hpp"

#include <string>
#include <vector>

namespace zlink::bench::runner {

/// One table per measured mode, patterns with one connection and with many apart, one row per cell:
/// medians of every library, and ratios.
std::vector<table> overview(const settings& chosen, const std::vector<cell_record>& records);

/// The compared transports, one table per mode, patterns with one connection and with many apart,
/// one row per cell: medians of every library, and ratios to the first transport.
std::vector<table> comparison(const settings& chosen, const std::vector<cell_record>& records);

/// One row per cell and figure, everything with its spread.
table details(const settings& chosen, const std::vector<cell_record>& records);

/// Geometric means of the ratios over all cells, one sentence per baseline and figure. A baseline
/// is a library, or with compared transports the first of them.
std::vector<std::string> conclusions(const settings& chosen,
                                     const std::vector<cell_record>& records);

/// One line per failed run.
std::vector<std::string> failures(const settings& chosen, const std::vector<cell_record>& records);

} // namespace zlink::bench::runner
