#include <ostream>

#include "commands/counted.h"
#include "commands/doctor.h"
#include "commands/heading.h"
#include "commands/table.h"

namespace retryd::commands {
namespace {

void print_diagnosis(const core::Diagnosis& diagnosis, const Heading& heading, std::ostream& out) {
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
    for (const core::Diagnosis& diagnosis : examination.diagnoses)
        print_diagnosis(diagnosis, heading, out);
    for (const std::string& what : examination.not_seen)
        print_line(what, "\nNot seen: ", out);
    out << '\n' << sums(examination) << '\n';
}

}  // namespace retryd::commands
