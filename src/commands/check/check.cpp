#include "commands/check/check.h"

#include "commands/check/check_json.h"
#include "commands/check/check_text.h"
#include "commands/common/report.h"

namespace retryd::commands {

int check(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        if (report.json()) {
            print_check_json(settings, options.config_path, out);
        } else {
            print_check(settings, options.config_path, report.colour(), out);
        }
        return exit_code::fine;
    });
}

}  // namespace retryd::commands
