#include "telemetry/process.h"

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace retryd::telemetry {

Process this_process() {
    Process process;
    timespec used{};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
        process.cpu_seconds = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
    std::ifstream pages("/proc/self/statm");
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    if (pages >> all >> resident) process.resident_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::error_code fault;
    const std::filesystem::directory_iterator files("/proc/self/fd", fault);
    if (!fault) process.open_files = static_cast<std::uint64_t>(std::distance(begin(files), end(files)));
    return process;
}

}  // namespace retryd::telemetry
