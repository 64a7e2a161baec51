// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace zlink::bench::runner {

/// A library to measure, or what stands for one.
struct library {
    std::string name;
    std::filesystem::path directory; ///< contains libzmq.so.5; empty: sockets without a library
    std::filesystem::path program;   ///< makes one measurement
    /// Of its runs, besides that of this process.
    std::map<std::string, std::string> environment = {};

    bool is_floor() const { return directory.empty(); }
    std::filesystem::path file() const { return is_floor() ? program : directory / "libzmq.so.5"; }
};

/// What to compare and how.
struct settings {
    std::vector<library> libraries; ///< the subject, then the baselines it is compared with
    std::vector<cell> cells;
    std::vector<transport> compared; ///< the first with each of the others; empty: none
    int runs = 5;                    ///< of each cell with each library
    int timeout_s = 120;
    std::vector<std::string> worker_arguments; ///< the same for every run
    bool shows_counts = false;                 ///< prints what the workers say of them
    double load = 0.5;         ///< loaded mode: share of the highest rate of the first baseline
    double per_second = 0;     ///< loaded mode: this rate instead, if not 0
    std::string markdown_file; ///< empty: not wanted; likewise the others
    std::string csv_file;
    std::string json_file;
};

/// Reads the command line. Prints help or a complaint and exits the process where appropriate.
settings parse_settings(int argc, char** argv);

} // namespace zlink::bench::runner
