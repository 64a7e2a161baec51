// SPDX-License-Identifier: Apache-2.0
#include "runner/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

namespace zlink::bench::runner {

namespace {

std::string read_cpu_model()
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown CPU";
}

int count_usable_cpus()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

} // namespace

machine machine::describe()
{
    machine result;
    result.cpu_model = read_cpu_model();
    result.cpus = count_usable_cpus();
    utsname system{};
    if (uname(&system) == 0) {
        result.kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
    }
    result.date = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
    getloadavg(&result.load_average, 1);
    return result;
}

} // namespace zlink::bench::runner
