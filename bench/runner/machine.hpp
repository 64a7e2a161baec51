// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zlink::bench::runner {

/// The kind of machine the numbers come from. Nothing that identifies it.
struct machine {
    std::string cpu_model;
    int cpus = 0; ///< that this process may use
    std::string kernel;
    std::string date;        ///< when this was called, UTC
    double load_average = 0; ///< runnable threads over the last minute

    static machine describe();
};

} // namespace zlink::bench::runner
