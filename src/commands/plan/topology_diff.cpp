#include "commands/plan/topology_diff.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "commands/common/report.h"
#include "core/reply_code.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

bool was_refused(const Plan& plan, const Summary& summary) {
    return summary.refused > 0 || !plan.management_fault.empty();
}

}  // namespace

std::string_view to_string(State state) {
    switch (state) {
        case State::in_place:
            return "in place";
        case State::missing:
            return "missing";
        case State::different:
            return "different";
        case State::not_compared:
            return "not compared";
        case State::refused:
            return "refused";
        case State::unknown:
            break;
    }
    return "unknown";
}

Summary summary_of(const Plan& plan) {
    Summary summary;
    const auto count = [&](State state) {
        return static_cast<std::size_t>(std::count_if(plan.items.begin(), plan.items.end(),
                                                      [&](const PlanItem& item) { return item.state == state; }));
    };
    summary.in_place = count(State::in_place);
    summary.missing = count(State::missing);
    summary.different = count(State::different);
    summary.not_compared = count(State::not_compared);
    summary.refused = count(State::refused);
    summary.unknown = count(State::unknown);
    summary.left_over = plan.left_over.size();
    return summary;
}

int plan_exit_code(const Plan& plan) {
    const Summary summary = summary_of(plan);
    if (was_refused(plan, summary)) return exit_code::failed;
    const bool work = summary.missing + summary.different + summary.left_over > 0;
    return work ? exit_code::something_to_do : exit_code::fine;
}

int apply_exit_code(const Plan& plan, bool refused) {
    const Summary summary = summary_of(plan);
    if (refused || was_refused(plan, summary)) return exit_code::failed;
    return summary.missing > 0 ? exit_code::something_to_do : exit_code::fine;
}

std::vector<LeftOver> left_over_among(const std::vector<http::ListedQueue>& queues, const core::Policy& policy) {
    std::vector<LeftOver> found;
    for (const http::ListedQueue& queue : queues) {
        const auto rung = core::parse_rung(queue.name, queue.arguments);
        if (rung && !core::is_in_use(policy, *rung)) found.push_back({queue.name, queue.type, *rung, queue.messages});
    }
    std::sort(found.begin(), found.end(), [](const auto& left, const auto& right) { return left.queue < right.queue; });
    return found;
}

namespace {

using Declarer = amqp::Declarer;
using Outcome = Declarer::Outcome;
using Result = Declarer::Result;

struct ItemResult {
    State state = State::unknown;
    std::string note;
    amqp::Explanation told = {};
};

core::Arguments sorted(core::Arguments arguments) {
    std::sort(arguments.begin(), arguments.end());
    return arguments;
}

bool is_among(const std::vector<core::BindingSpec>& bindings, const core::BindingSpec& wanted) {
    return std::any_of(bindings.begin(), bindings.end(), [&](const core::BindingSpec& there) {
        return there.queue == wanted.queue && there.routing_key == wanted.routing_key &&
               sorted(there.arguments) == sorted(wanted.arguments);
    });
}

/// Compares the items one after the other. What AMQP cannot list is found by asking for each name.
class TopologyComparison {
  public:
    TopologyComparison(Broker& broker, Plan& plan) : broker_(broker), plan_(plan) {}

    void compare(const core::DesiredItem& wanted) {
        ItemResult result = std::visit([this](const auto& item) { return find(item); }, wanted.item);
        plan_.items.push_back({wanted, result.state, std::move(result.note), std::move(result.told)});
    }

    void find_left_over(const core::Policy& policy) {
        ask_management([&] { plan_.left_over = left_over_among(broker_.management()->queues(), policy); });
    }

  private:
    ItemResult find(const core::ExchangeSpec& exchange) {
        ours_.insert(exchange.name);
        return compare_existing(check(Declarer::CheckExchange{exchange.name}), exchange);
    }

    ItemResult find(const core::QueueSpec& queue) {
        ours_.insert(queue.name);
        return compare_existing(check(Declarer::CheckQueue{queue.name}), queue);
    }

    ItemResult find(const core::ForeignExchange& exchange) {
        const Outcome outcome = broker_.carry_out(exchange);
        if (outcome.result == Result::done) return {State::in_place, {}};
        return {outcome.code == core::reply_code::not_found ? State::missing : State::refused, outcome.text,
                outcome.told};
    }

    ItemResult find(const core::BindingSpec& binding) {
        for (const Outcome& end :
             {check(Declarer::CheckExchange{binding.exchange}), check(Declarer::CheckQueue{binding.queue})}) {
            if (end.result == Result::refused) return {State::refused, end.text};
        }
        if (const std::string lacking = what_lacks(binding); !lacking.empty()) {
            // retryd's own items have lines of their own.
            if (ours_.count(lacking) > 0) return {State::missing, ""};
            const amqp::Explanation told = why_missing(binding, lacking);
            return {State::missing, told.cause + ": " + told.remedy, told};
        }
        ItemResult result;
        ask_management([&] {
            result.state = is_among(bindings_from(binding.exchange), binding) ? State::in_place : State::missing;
        });
        return result;
    }

    /// The end of a binding that does not exist; empty if both exist.
    std::string what_lacks(const core::BindingSpec& binding) {
        if (check(Declarer::CheckExchange{binding.exchange}).result != Result::done) return binding.exchange;
        return check(Declarer::CheckQueue{binding.queue}).result != Result::done ? binding.queue : "";
    }

    static amqp::Explanation why_missing(const core::BindingSpec& binding, const std::string& lacking) {
        const bool exchange = lacking == binding.exchange;
        return {(exchange ? "exchange " : "queue ") + core::quoted(lacking) + " does not exist, so that " +
                    (exchange ? "nothing comes from there" : "nothing can return to it"),
                exchange ? "declare it, or correct its name in the configuration"
                         : "it is bound when it exists and its first message comes"};
    }

    /// Compares an existing item by declaring it: nothing happens if it is the same, and the broker refuses if it is
    /// not.
    template <typename Spec>
    ItemResult compare_existing(const Outcome& there, const Spec& spec) {
        if (there.result == Result::missing) return {State::missing, {}};
        if (there.result == Result::refused) return {State::refused, there.text};
        const Outcome compared = broker_.carry_out(spec);
        if (compared.result == Result::done) return {State::in_place, compared.text, compared.told};
        if (compared.code == core::reply_code::precondition_failed)
            return {State::different, compared.text, compared.told};
        if (plan_.why_not_compared.empty()) plan_.why_not_compared = compared.text;
        return {State::not_compared, {}};
    }

    const Outcome& check(const Declarer::CheckExchange& step) { return remembered(exchanges_, step.exchange, step); }
    const Outcome& check(const Declarer::CheckQueue& step) { return remembered(queues_, step.queue, step); }

    const Outcome& remembered(std::map<std::string, Outcome>& known, const std::string& name,
                              const Declarer::Step& step) {
        const auto at = known.find(name);
        return at != known.end() ? at->second : known.emplace(name, broker_.carry_out(step)).first->second;
    }

    const std::vector<core::BindingSpec>& bindings_from(const std::string& exchange) {
        const auto at = bindings_.find(exchange);
        return at != bindings_.end()
                   ? at->second
                   : bindings_.emplace(exchange, broker_.management()->bindings_from(exchange)).first->second;
    }

    /// Asks the management API, but not again once it has failed: a failure may take long.
    template <typename Question>
    void ask_management(const Question& question) {
        if (!plan_.management || !plan_.management_fault.empty()) return;
        try {
            question();
        } catch (const http::Error& error) {
            plan_.management_fault = error.what();
        }
    }

    Broker& broker_;
    Plan& plan_;
    std::set<std::string> ours_;
    std::map<std::string, Outcome> exchanges_;
    std::map<std::string, Outcome> queues_;
    std::map<std::string, std::vector<core::BindingSpec>> bindings_;
};

}  // namespace

Plan diff_topology(Broker& broker, const core::Policy& policy) {
    Plan plan;
    plan.broker = broker.identity();
    plan.management = broker.management() != nullptr;
    for (const core::Entry* entry : core::on_demand(policy))
        plan.on_demand.push_back({entry->match, entry->ladder.name});
    TopologyComparison comparison(broker, plan);
    for (const core::DesiredItem& wanted : core::desired_topology(policy, core::features_of(plan.broker.version)))
        comparison.compare(wanted);
    comparison.find_left_over(policy);
    return plan;
}

}  // namespace retryd::commands
