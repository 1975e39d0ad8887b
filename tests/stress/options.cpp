#include "stress/options.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

namespace retryd::stress {
namespace {

[[noreturn]] void explain(const std::string& problem) {
    std::cerr << "stress: " << problem << "\n"
              << "usage: stress [--broker-dir DIR] [--messages N] [--faults N] [--seed N] [--kill-only]\n"
              << "       stress [--broker-dir DIR] --soak MINUTES [--seed N]\n"
              << "  DIR is a broker's, started by scripts/broker start VERSION DIR; its vhosts 'stress-PID' of earlier "
                 "runs are\n"
                 "  deleted, and a new one is created; without it, that of the environment\n";
    std::exit(64);
}

}  // namespace

Options read_options(int argc, char* argv[]) {
    Options options;
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& name = arguments[i];
        if (name == "--kill-only") {
            options.kill_only = true;
            continue;
        }
        if (i + 1 == arguments.size()) explain("'" + name + "' is unknown, or lacks its value");
        const std::string& value = arguments[++i];
        if (name == "--broker-dir")
            options.broker_dir = value;
        else if (name == "--messages")
            options.messages = std::stoul(value);
        else if (name == "--faults")
            options.faults = std::stoul(value);
        else if (name == "--soak")
            options.soak_minutes = std::stoi(value);
        else if (name == "--seed")
            options.seed = static_cast<unsigned>(std::stoul(value));
        else
            explain("'" + name + "' is unknown");
    }
    if (const char* there = std::getenv("RETRYD_TEST_BROKER_DIR"); there != nullptr && options.broker_dir.empty())
        options.broker_dir = there;
    if (options.broker_dir.empty()) explain("which broker?");
    if (options.seed == 0) options.seed = std::random_device{}();
    return options;
}

void enter_environment_of(const Options& options, char* argv[]) {
    const char* there = std::getenv("RETRYD_TEST_BROKER_DIR");
    if (there != nullptr && options.broker_dir == there) return;
    const std::string script =
        "set -e; export RETRYD_TEST_BROKER_DIR=; . \"$0/env\"; "
        "test \"$RETRYD_TEST_BROKER_DIR\" = \"$0\"; exec \"$@\"";
    std::vector<char*> command{const_cast<char*>("bash"), const_cast<char*>("-c"), const_cast<char*>(script.c_str()),
                               const_cast<char*>(options.broker_dir.c_str())};
    for (char** argument = argv; *argument != nullptr; ++argument)
        command.push_back(*argument);
    command.push_back(nullptr);
    ::execv("/bin/bash", command.data());
    explain("there is no bash");
}

}  // namespace retryd::stress
