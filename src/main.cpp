// The wiring: the command line knows every command, and gets the daemon handed in.
#include "commands/cli.h"
#include "daemon/run.h"

int main(int argc, char* argv[]) {
    return retryd::commands::run_command_line(argc, argv, {.version = RETRYD_VERSION, .run = retryd::daemon::run});
}
