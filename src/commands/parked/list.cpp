#include "commands/parked/list.h"

#include <ostream>

#include "commands/common/json.h"
#include "commands/common/report.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

void print_survey_json(const ParkedOverview& survey, bool ok, std::ostream& out) {
    const Json object{
        {"ok", ok}, {"selected", survey.selected()}, {"queues", json_of(survey)}, {"not_seen", survey.notes}};
    print_json(object, out);
}

}  // namespace

int parked_list(const ParkedOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options.report, out, err);
    return report.run([&](const config::Settings& settings) {
        ParkedBrowser browser(settings, options, system::wall_now());
        const ParkedOverview survey =
            browser.survey([](const std::string&, const core::Delivery&, const admin::Parked&) { return true; });
        if (!survey.fault.empty()) return report.fail(survey.fault, exit_code::failed);
        const int code = survey.complete() ? exit_code::fine : exit_code::failed;
        if (report.json()) {
            print_survey_json(survey, code == exit_code::fine, out);
        } else {
            print_overview(survey, browser, report.colour(), out);
        }
        return code;
    });
}

}  // namespace retryd::commands
