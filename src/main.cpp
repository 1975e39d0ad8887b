// The wiring: the command line knows every command, and gets the daemon handed in; the daemon gets the checks of
// `retryd doctor`, what takes old messages out of the parking queues, and what the desk does with parked messages.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "commands/cli.h"
#include "commands/desk/desk.h"
#include "commands/doctor/doctor.h"
#include "commands/doctor/run_checks.h"
#include "commands/parked/age_out.h"
#include "daemon/run.h"

namespace {

/// Who starts it with one of them closed is not to find its output in a file that is written, or on the way to the
/// broker: the next one that is opened would take its number. What is written there still fails.
void open_standard_streams() {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDONLY);
    }
}

}  // namespace

int main(int argc, char* argv[]) {
    using namespace retryd;
    open_standard_streams();
    const auto run = [](const std::string& config_path) {
        const std::string path = std::filesystem::absolute(config_path);  // for whoever reads it elsewhere
        const auto check = [path](const auto& settings, const auto& endpoint, admin::CheckScope scope) {
            admin::Diagnosis diagnosis = commands::check_for_daemon(settings, endpoint, scope);
            commands::name_configuration(diagnosis.findings, path);
            return diagnosis;
        };
        return daemon::run(config_path, check, commands::age_out,
                           {.read = commands::read_desk_task, .carry_out = commands::carry_out_desk_task});
    };
    return commands::run_command_line(argc, argv, {.version = RETRYD_VERSION, .run = run});
}
