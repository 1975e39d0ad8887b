#include "commands/doctor/doctor.h"

#include <ostream>

#include "commands/common/json.h"
#include "commands/common/report.h"
#include "commands/common/table.h"
#include "commands/common/text.h"

namespace retryd::commands {

int doctor(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, "retryd doctor");
        const auto records = records_of(settings, broker->identity().vhost);
        const CheckReport check_report = run_checks(*broker, records.get(), settings);
        if (report.json()) {
            print_checks_json(check_report, out);
        } else {
            print_checks(check_report, report.colour(), out);
        }
        return doctor_exit_code(check_report);
    });
}

namespace {

void print_diagnosis(const admin::Finding& diagnosis, const Heading& heading, std::ostream& out) {
    print_line(diagnosis.cause, '\n' + heading(diagnosis.problem ? "Problem: " : "Warning: "), out);
    if (!diagnosis.consequence.empty()) print_line(diagnosis.consequence, "  so that  ", out);
    if (!diagnosis.remedy.empty()) print_line(diagnosis.remedy, "  remedy   ", out);
}

std::string sums(const CheckReport& check_report) {
    if (check_report.diagnoses.empty()) return "nothing found that would keep a rejected message from coming back";
    const std::size_t problems = count_problems(check_report);
    return counted(problems, "problem", "problems") + ", " +
           counted(check_report.diagnoses.size() - problems, "warning", "warnings");
}

}  // namespace

void print_checks(const CheckReport& check_report, bool colour, std::ostream& out) {
    const Heading heading{colour};
    out << heading("RabbitMQ " + core::to_string(check_report.broker.version));
    print_line("at " + check_report.broker.host + ':' + std::to_string(check_report.broker.port) + ", vhost " +
                   check_report.broker.vhost,
               " ", out);
    for (const admin::Finding& diagnosis : check_report.diagnoses)
        print_diagnosis(diagnosis, heading, out);
    for (const std::string& what : check_report.not_seen)
        print_line(what, "\nNot seen: ", out);
    out << '\n' << sums(check_report) << '\n';
}

namespace {

// Keys stay in the order in which they are written: people read this too.
Json findings(const CheckReport& check_report) {
    Json list = Json::array();
    for (const admin::Finding& diagnosis : check_report.diagnoses) {
        list.push_back({{"severity", diagnosis.problem ? "problem" : "warning"},
                        {"cause", diagnosis.cause},
                        {"consequence", text_or_null(diagnosis.consequence)},
                        {"remedy", text_or_null(diagnosis.remedy)}});
    }
    return list;
}

}  // namespace

void print_checks_json(const CheckReport& check_report, std::ostream& out) {
    const BrokerIdentity& at = check_report.broker;
    const std::size_t problems = count_problems(check_report);
    Json object{{"ok", doctor_exit_code(check_report) == exit_code::fine},
                {"broker",
                 {{"host", at.host},
                  {"port", at.port},
                  {"tls", at.tls},
                  {"vhost", at.vhost},
                  {"version", core::to_string(at.version)}}},
                {"findings", findings(check_report)},
                {"not_seen", check_report.not_seen},
                {"management", {{"configured", check_report.management}, {"error", text_or_null(check_report.fault)}}},
                {"summary", {{"problems", problems}, {"warnings", check_report.diagnoses.size() - problems}}}};
    print_json(object, out);
}

}  // namespace retryd::commands
