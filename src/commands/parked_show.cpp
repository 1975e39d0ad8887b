#include "commands/parked_show.h"

#include <optional>
#include <ostream>

#include "commands/clock.h"
#include "commands/counted.h"
#include "commands/exit_code.h"
#include "commands/json.h"
#include "core/owned_message.h"

namespace retryd::commands {
namespace {

struct Found {
    std::string from;
    core::OwnedDelivery delivery;
};

void print(const Found& found, const config::Settings& settings, const ParkedDesk& desk, bool raw,
           const Report& report) {
    const core::Message& message = found.delivery.get().message;
    const core::Parked parked = core::read_parked(message.properties.header_table(), settings.policy.error_queue);
    if (raw) {
        report.out() << message.body;
    } else if (report.json()) {
        print_json(json_of_message(found.from, message, parked), report.out());
    } else {
        print_message(found.from, message, parked, desk.now(), report.colour(), report.out());
    }
}

std::string none(const ParkedSurvey& survey, std::size_t number) {
    std::string text = survey.selected() == 0 ? "no message is parked there that fits"
                                              : "there is no message number " + std::to_string(number) + ": only " +
                                                    counted(survey.selected(), "message fits", "messages fit");
    for (const SurveyedQueue& queue : survey.queues) {
        if (!queue.fault.empty()) text += "; " + queue.fault;
    }
    for (const std::string& note : survey.notes)
        text += "; not seen: " + note;
    return text + "; retryd parked list shows what there is";
}

}  // namespace

int parked_show(const ParkedOptions& options, const ShowOptions& show, std::ostream& out, std::ostream& err) {
    const Report report(options.report, out, err);
    return report.run([&](const config::Settings& settings) {
        ParkedDesk desk(settings, options, wall_clock());
        std::optional<Found> found;
        std::size_t seen = 0;
        const ParkedSurvey survey =
            desk.survey([&](const std::string& from, const core::Delivery& delivery, const core::Parked&) {
                if (++seen == show.number) found.emplace(Found{from, core::OwnedDelivery(delivery)});
                return !found;
            });
        if (!survey.fault.empty()) return report.fail(survey.fault, exit_code::failed);
        if (!found) return report.fail(none(survey, show.number), exit_code::failed);
        print(*found, settings, desk, show.raw, report);
        return exit_code::fine;
    });
}

}  // namespace retryd::commands
