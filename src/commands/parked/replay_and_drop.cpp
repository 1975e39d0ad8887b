#include "commands/parked/replay_and_drop.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <ostream>
#include <string>

#include "commands/common/json.h"
#include "commands/common/progress.h"
#include "commands/common/text.h"
#include "system/clock.h"
#include "system/random.h"

namespace retryd::commands {

namespace {

/// What a person answers who is asked before anything is deleted.
bool agrees_to_drop(const ParkedRunReport& looked, const ParkedRunScene& scene, std::ostream& err) {
    const std::size_t number = looked.meant();
    if (isatty(STDIN_FILENO) != 1) {
        err << "retryd: " << counted(number, "message", "messages")
            << " would be deleted for good; --yes does it without a question\n";
        return false;
    }
    print_overview(looked.overview, scene.now, false, err);
    err << "\nDelete " << (number == 1 ? "this message" : "these " + std::to_string(number) + " messages")
        << " for good? [y/N] " << std::flush;
    std::array fds{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{scene.stop.fd, POLLIN, 0}};
    std::string answer;
    if (poll(fds.data(), fds.size(), -1) > 0 && fds[1].revents == 0) std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

int run_and_print(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                  const ParkedRunOptions& run, bool drop, const EditedReplay* edited) {
    constexpr std::size_t id_bytes = 8;
    Foreground foreground(output.err());
    ParkedRunScene scene{drop, drop ? "" : system::random_hex(id_bytes), system::wall_now(), foreground.stop(),
                         foreground};
    scene.edited = edited;
    if (!run.yes)
        scene.agreed = [&](const ParkedRunReport& looked) { return agrees_to_drop(looked, scene, output.err()); };
    const ParkedRunReport report = replay_or_drop(settings, options, run, scene);
    if (!report.fault.empty()) return output.fail(report.fault, exit_code::failed);
    if (output.json()) {
        print_json(json_of(report), output.out());
    } else {
        print_run_report(report, scene.now, output.colour(), output.out());
    }
    return report.ok() ? exit_code::fine : exit_code::failed;
}

int replay_or_drop_selected(const ParkedOptions& options, const ParkedRunOptions& run, bool drop, std::ostream& out,
                            std::ostream& err) {
    const Report output(options.report, out, err);
    if (!says_which(options, run)) {
        const std::string command = drop ? "drop" : "replay";
        return output.fail("parked " + command +
                               " needs to know which messages: give --queue, --reason, --older-than, --newer-than, "
                               "--header, --id, --exchange, --type or --first, or --all for every one",
                           exit_code::wrong_usage);
    }
    return output.run(
        [&](const config::Settings& settings) { return run_and_print(output, settings, options, run, drop, nullptr); });
}

}  // namespace

int parked_replay(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err) {
    return replay_or_drop_selected(options, run, false, out, err);
}

int parked_drop(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err) {
    return replay_or_drop_selected(options, run, true, out, err);
}

int replay_edited(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                  const ParkedRunOptions& run, const EditedReplay& edited) {
    return run_and_print(output, settings, options, run, false, &edited);
}

}  // namespace retryd::commands
