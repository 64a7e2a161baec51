// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/campaign.hpp"

#include <optional>
#include <string>
#include <vector>

namespace zlink::bench::runner {

/// A figure that is compared: a field of the worker's result and how people read it.
struct figure {
    std::string field;
    std::string title;
    std::string unit;
};

/// What was measured in a cell, the most important figure first.
const std::vector<figure>& figures_of(const cell& what);

struct spread {
    double median = 0;
    double min = 0;
    double max = 0;
};

/// Nothing if there are no values.
std::optional<spread> spread_of(std::vector<double> values);

/// The field's values in the successful runs of a library.
std::optional<spread> values_of(const cell_record& record, std::size_t library,
                                const std::string& field);

/// The subject's value divided by that of a baseline, for each pair of runs that both succeeded.
std::optional<spread> ratios_of(const cell_record& record, std::size_t baseline,
                                const std::string& field);

/// The same of a library's value in a cell divided by that in another one, whose runs took turns
/// with those of the first.
std::optional<spread> ratios_of_cells(const cell_record& subject, const cell_record& reference,
                                      std::size_t library, const std::string& field);

/// The index of the library that is none, but sockets alone; nothing if there is no such.
std::optional<std::size_t> floor_of(const settings& chosen);

/// How near a library comes to sockets alone, in pairs of runs that both succeeded: its rate
/// divided by theirs, or their mean latency divided by its own. 1 is as good.
std::optional<spread> shares_of_floor(const settings& chosen, const cell_record& record,
                                      std::size_t library);

/// The record of the first of the compared transports that belongs to this one: itself, if it is
/// that; null if there is none.
const cell_record* reference_of(const settings& chosen, const cell_record& subject,
                                const std::vector<cell_record>& records);

/// Failed runs of one library.
std::size_t failures_of(const cell_record& record, std::size_t library);

/// Does the library not have what the cell measures?
bool is_skipped(const cell_record& record, std::size_t library);

/// "4.21 M" for rates, three significant digits for everything else.
std::string short_number(double value, const std::string& unit);

/// The most important figure of a cell in one phrase, or how many runs failed.
std::string headline(const cell_record& record, std::size_t library, int runs);

/// Geometric mean; nothing if there are no values.
std::optional<double> geometric_mean(const std::vector<double>& values);

} // namespace zlink::bench::runner
