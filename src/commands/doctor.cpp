#include "commands/doctor.h"

namespace retryd::commands {

int doctor(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, "retryd doctor");
        const auto records = records_of(settings, broker->identity().vhost);
        const Examination examination = examine(*broker, records.get(), settings);
        if (report.json()) {
            print_examination_json(examination, out);
        } else {
            print_examination(examination, report.colour(), out);
        }
        return doctor_exit_code(examination);
    });
}

}  // namespace retryd::commands
