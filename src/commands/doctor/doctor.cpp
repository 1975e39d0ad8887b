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
        const Examination examination = examine(*broker, records.get(), settings);
        if (report.json()) {
            print_examination_json(examination, out);
        } else {
            print_examination(examination, report.colour(), out);
        }
        return doctor_exit_code(examination);
    });
}

namespace {

void print_diagnosis(const admin::Diagnosis& diagnosis, const Heading& heading, std::ostream& out) {
    print_line(diagnosis.cause, '\n' + heading(diagnosis.problem ? "Problem: " : "Warning: "), out);
    if (!diagnosis.consequence.empty()) print_line(diagnosis.consequence, "  so that  ", out);
    if (!diagnosis.remedy.empty()) print_line(diagnosis.remedy, "  remedy   ", out);
}

std::string sums(const Examination& examination) {
    if (examination.diagnoses.empty()) return "nothing found that would keep a rejected message from coming back";
    const std::size_t problems = count_problems(examination);
    return counted(problems, "problem", "problems") + ", " +
           counted(examination.diagnoses.size() - problems, "warning", "warnings");
}

}  // namespace

void print_examination(const Examination& examination, bool colour, std::ostream& out) {
    const Heading heading{colour};
    out << heading("RabbitMQ " + core::to_string(examination.broker.version));
    print_line("at " + examination.broker.host + ':' + std::to_string(examination.broker.port) + ", vhost " +
                   examination.broker.vhost,
               " ", out);
    for (const admin::Diagnosis& diagnosis : examination.diagnoses)
        print_diagnosis(diagnosis, heading, out);
    for (const std::string& what : examination.not_seen)
        print_line(what, "\nNot seen: ", out);
    out << '\n' << sums(examination) << '\n';
}

namespace {

// Keys stay in the order in which they are written: people read this too.
Json findings(const Examination& examination) {
    Json list = Json::array();
    for (const admin::Diagnosis& diagnosis : examination.diagnoses) {
        list.push_back({{"severity", diagnosis.problem ? "problem" : "warning"},
                        {"cause", diagnosis.cause},
                        {"consequence", text_or_null(diagnosis.consequence)},
                        {"remedy", text_or_null(diagnosis.remedy)}});
    }
    return list;
}

}  // namespace

void print_examination_json(const Examination& examination, std::ostream& out) {
    const BrokerIdentity& at = examination.broker;
    const std::size_t problems = count_problems(examination);
    Json object{{"ok", doctor_exit_code(examination) == exit_code::fine},
                {"broker",
                 {{"host", at.host},
                  {"port", at.port},
                  {"tls", at.tls},
                  {"vhost", at.vhost},
                  {"version", core::to_string(at.version)}}},
                {"findings", findings(examination)},
                {"not_seen", examination.not_seen},
                {"management", {{"configured", examination.management}, {"error", text_or_null(examination.fault)}}},
                {"summary", {{"problems", problems}, {"warnings", examination.diagnoses.size() - problems}}}};
    print_json(object, out);
}

}  // namespace retryd::commands
