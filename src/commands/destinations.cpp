#include "commands/destinations.h"

#include <algorithm>

#include "core/names.h"
#include "core/topology.h"

namespace retryd::commands {
namespace {

using amqp::Declarer;
using Result = Declarer::Result;

std::set<std::string> targets_of(const ParkedSurvey& survey, const std::string& to) {
    std::set<std::string> targets;
    for (const SurveyedQueue& queue : survey.queues) {
        for (const auto& [key, group] : queue.selected.all()) {
            const std::string& target = to.empty() ? key.first : to;
            if (!target.empty()) targets.insert(target);
        }
    }
    return targets;
}

bool is_parking_queue(const ParkedSurvey& survey, const std::string& target) {
    return std::any_of(survey.queues.begin(), survey.queues.end(), [&](const SurveyedQueue& queue) {
        return queue.name == target && queue.selected.messages() > 0;
    });
}

/// Why nothing can go there; empty where it can.
std::string why_not(Broker& broker, const ParkedSurvey& survey, const std::string& target) {
    if (is_parking_queue(survey, target)) {
        return "'" + target +
               "' is the parking queue itself: messages cannot be replayed into where they lie. --to QUEUE sends them "
               "elsewhere";
    }
    const auto there = broker.carry_out(Declarer::CheckQueue{target});
    if (there.result == Result::done) return "";
    if (there.result == Result::refused) return there.text;
    return "the work queue '" + target +
           "' does not exist, so its messages have nowhere to go. Declare it, or send them elsewhere with --to QUEUE";
}

/// Why the return exchange cannot be used; empty where it can.
std::string bind_home(Broker& broker, const config::Settings& settings, const std::string& target) {
    if (!settings.declare) return "with `declare: false` retryd binds nothing";
    for (const Declarer::Step& step :
         {Declarer::Step{core::return_exchange_spec(settings.policy)}, Declarer::Step{core::home_binding(target)}}) {
        const auto answer = broker.carry_out(step);
        if (answer.result != Result::done) return answer.text;
    }
    return "";
}

}  // namespace

Destinations destinations(Broker& broker, const config::Settings& settings, const ParkedSurvey& survey,
                          const std::string& to) {
    Destinations found;
    const std::set<std::string> targets = targets_of(survey, to);
    for (const std::string& target : targets) {
        const std::string reason = why_not(broker, survey, target);
        if (!reason.empty()) {
            found.missing.insert(target);
            found.notes.push_back(reason);
            continue;
        }
        const core::Entry* entry = core::match(settings.policy, target);
        if (entry == nullptr || entry->ladder.return_path != core::ReturnPath::headers) continue;
        const std::string why = bind_home(broker, settings, target);
        if (why.empty()) {
            found.through_return.insert(target);
        } else {
            found.notes.push_back(
                "to '" + target +
                "' messages go through the default exchange, so its consumer sees the queue's name as "
                "the routing key: " +
                why);
        }
    }
    if (!targets.empty() && found.missing.size() == targets.size()) found.fault = found.notes.front();
    return found;
}

}  // namespace retryd::commands
