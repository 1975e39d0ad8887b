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
    int soak_minutes = 0;  // instead of so many messages and faults: for so long
};

/// Ends the program with 64 when it cannot be understood.
Options read_options(int argc, char* argv[]);

/// The environment of that broker, which its folder has in a form for the shell: starts this program again with it, if
/// it is not there yet.
void enter_environment_of(const Options& options, char* argv[]);

}  // namespace retryd::stress
