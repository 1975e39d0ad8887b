// The command line of the stress program.
#pragma once

#include <cstddef>
#include <string>

namespace retryd::stress {

struct Options {
    unsigned seed = 0;  // 0: another one each time
    std::size_t messages = 20'000;
    std::size_t faults = 60;
    std::string broker_dir;  // of scripts/broker
    bool kill_only = false;
    int soak_minutes = 0;  // a soak of this length, instead of so many messages and faults
};

/// Ends the program with exit code 64 on a wrong command line.
Options read_options(int argc, char* argv[]);

/// Starts this program again with the environment of that broker, which its folder has as a shell script, if the
/// environment is another one.
void enter_environment_of(const Options& options, char* argv[]);

}  // namespace retryd::stress
