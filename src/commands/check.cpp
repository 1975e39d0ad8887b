#include "commands/check.h"

#include "commands/exit_code.h"
#include "commands/meaning_json.h"
#include "commands/meaning_text.h"

namespace retryd::commands {

int check(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        if (report.json()) {
            print_meaning_json(settings, options.config_path, out);
        } else {
            print_meaning(settings, options.config_path, report.colour(), out);
        }
        return exit_code::fine;
    });
}

}  // namespace retryd::commands
