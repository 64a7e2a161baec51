// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/json.hpp"
#include "runner/settings.hpp"

#include <string>
#include <vector>

namespace zlink::bench::runner {

/// One start of the worker.
struct run_record {
    std::size_t library = 0; ///< index into settings::libraries
    int number = 1;          ///< runs of different libraries with the same number are a pair
    bool skipped = false;    ///< the library does not have what is to be measured
    std::string failure;     ///< empty if the run succeeded; why it did not, or was skipped
    std::string line;        ///< the worker's JSON, or empty if it did not write any
    json_fields fields;      ///< the same, taken apart

    bool ok() const { return failure.empty(); }
    bool failed() const { return !ok() && !skipped; }
    const char* status() const { return ok() ? "ok" : skipped ? "skipped" : "failed"; }
};

struct cell_record {
    cell what;
    std::vector<run_record> runs;
};

/// What a library says about itself when it is loaded the way the runs load it.
struct identity {
    std::string version;
    std::string path;
    std::string problem; ///< empty, or why the numbers may belong to something else
};

/// Loads each library once.
std::vector<identity> identify(const settings& chosen);

/// Measures every cell with every library, taking turns: first run of each library, second run of
/// each library, and so on. Cells that differ in nothing but compared transports take turns too:
/// first run of each of them with each library, and so on. Tells about its progress on standard
/// error. Files the worker may leave behind are removed.
std::vector<cell_record> run_campaign(const settings& chosen);

/// "pair tcp 64 B throughput"
std::string title(const cell& what);

} // namespace zlink::bench::runner
