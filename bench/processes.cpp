#include "processes.h"

#include <time.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/await.h"
#include "support/environment.h"

namespace retryd::bench {

namespace {

std::vector<pid_t> children(pid_t pid) {
    std::vector<pid_t> found;
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        std::ifstream list(task.path() / "children");
        for (pid_t child = 0; list >> child;)
            found.push_back(child);
    }
    return found;
}

std::string name_of(pid_t pid) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
    return name;
}

pid_t find_below(pid_t pid, const std::string& name) {
    if (name_of(pid) == name) return pid;
    for (const pid_t child : children(pid)) {
        if (const pid_t found = find_below(child, name); found != 0) return found;
    }
    return 0;
}

}  // namespace

double cpu_seconds(pid_t pid) {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        throw std::runtime_error("process " + std::to_string(pid) + " is gone: its CPU time cannot be read");
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

double cpu_seconds(const std::vector<pid_t>& pids) {
    double sum = 0;
    for (const pid_t pid : pids)
        sum += cpu_seconds(pid);
    return sum;
}

long peak_kib(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmHWM:", 0) == 0) return std::stol(line.substr(6));
    }
    throw std::runtime_error("process " + std::to_string(pid) + " is gone: its memory cannot be read");
}

void await_idle(const std::vector<pid_t>& pids, int most) {
    constexpr test::milliseconds period{200};
    constexpr double idle_share = 0.05;
    double before = cpu_seconds(pids);
    test::Clock::time_point then = test::Clock::now();
    const auto quiet = [&] {
        if (test::since(then) < period) return false;
        const double now = cpu_seconds(pids);
        const double used = now - before;
        const double time = std::chrono::duration<double>(test::Clock::now() - then).count();
        before = now;
        then = test::Clock::now();
        return used < idle_share * time;
    };
    test::await(quiet, test::seconds(most), test::milliseconds(20));
}

pid_t find_broker() {
    const std::string folder = test::variable("RETRYD_TEST_BROKER_DIR");
    pid_t first = 0;
    std::ifstream(folder + "/pid") >> first;
    const pid_t beam = first == 0 ? 0 : find_below(first, "beam.smp");
    if (beam == 0) throw std::runtime_error("the broker in " + folder + " does not run on this machine");
    return beam;
}

}  // namespace retryd::bench
