#include <ostream>

#include "commands/doctor.h"
#include "commands/exit_code.h"
#include "commands/json.h"

namespace retryd::commands {
namespace {

// Keys stay in the order in which they are written: people read this too.
Json findings(const Examination& examination) {
    Json list = Json::array();
    for (const core::Diagnosis& diagnosis : examination.diagnoses) {
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
