// The wiring: the command line knows every command, and gets the daemon handed in; the daemon gets the checks of
// `retryd doctor`.
#include <string>

#include "commands/cli.h"
#include "commands/doctor/run_checks.h"
#include "daemon/run.h"

int main(int argc, char* argv[]) {
    using namespace retryd;
    const auto run = [](const std::string& config_path) {
        return daemon::run(config_path, commands::check_for_daemon);
    };
    return commands::run_command_line(argc, argv, {.version = RETRYD_VERSION, .run = run});
}
