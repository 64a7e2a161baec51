// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace zlink::bench::runner {

/// How a process ended and what it wrote.
struct process_result {
    std::string output;
    std::string errors;  ///< standard error, possibly only its beginning
    std::string failure; ///< empty if it exited with status 0, else one phrase that says how not
};

/// Runs a program to its end. `environment` is added to that of this process. A program that has
/// not ended after `timeout_s` is killed. Throws std::runtime_error if no process can be started.
process_result run_process(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment, int timeout_s);

} // namespace zlink::bench::runner
