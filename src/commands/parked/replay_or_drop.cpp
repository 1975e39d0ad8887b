#include "commands/parked/replay_or_drop.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "amqp/dead_letter_tap.h"
#include "commands/common/text.h"
#include "commands/parked/parked_queues.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

/// The exchanges that lead to the error queue.
std::vector<core::BindingSpec> error_exchanges(const core::Policy& policy) {
    std::vector<core::BindingSpec> exchanges{{"", policy.error_exchange, "", {}}};
    for (const core::ErrorBinding& binding : policy.error_bindings)
        exchanges.push_back({"", binding.exchange, binding.routing_key, {}});
    return exchanges;
}

/// The work of one command: look, check that everything is ready, ask if need be, then one parking queue after the
/// other.
class ReplayOrDrop {
  public:
    ReplayOrDrop(const config::Settings& settings, const ParkedOptions& options, const ParkedRunOptions& run,
                 const ParkedRunScene& scene)
        : settings_(settings),
          run_(run),
          scene_(scene),
          browser_(settings, options, scene.now, scene.stop, scene.progress) {
        report_.id = scene.id;
        report_.drop = scene.drop;
        report_.dry_run = run.dry_run;
        report_.stop_above = run.stop_above;
    }

    ParkedRunReport execute() {
        look();
        report_.fault = report_.overview.fault;
        if (report_.overview.interrupted) report_.fault = "interrupted: nothing was changed";
        if (scene_.edited != nullptr && report_.meant() == 0 && report_.fault.empty()) report_.fault = why_gone();
        if (!report_.fault.empty() || report_.meant() == 0) return std::move(report_);
        const std::string fault = report_.drop ? "" : prepare_replay();
        if (!fault.empty()) report_.fault = "nothing was changed: " + fault;
        if (!report_.fault.empty() || run_.dry_run) return std::move(report_);
        if (report_.drop && scene_.agreed && !scene_.agreed(report_)) {
            report_.fault = "nothing was dropped";
        } else {
            empty_queues();
        }
        return std::move(report_);
    }

  private:
    std::string why_gone() const {
        std::string text =
            "nothing was sent: the message is not parked there any more; somebody has replayed or "
            "dropped it meanwhile, or holds it at the moment";
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            if (!queue.fault.empty()) text = "nothing was sent: " + queue.fault;
        }
        for (const std::string& note : report_.overview.notes)
            text += "; " + note;
        return text;
    }

    void look() {
        report_.overview = browser_.browse([&](const std::string&, const core::Delivery&, std::size_t number) {
            return !run_.first || number < *run_.first;
        });
        // Where only the first few are meant, these are not among them: they come last.
        const std::size_t held = run_.first ? 0 : report_.overview.undeliverable_selected();
        (report_.drop ? report_.undeliverable : report_.left) = held;
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            if (report_.drop || queue.undeliverable() == 0) continue;
            const bool one = queue.undeliverable() == 1;
            report_.notes.push_back(counted(queue.undeliverable(), "message", "messages") + " in " +
                                    core::quoted(queue.name) + " that RabbitMQ cannot hand over by AMQP 0-9-1 cannot " +
                                    "be replayed and " + (one ? "stays" : "stay") +
                                    ": retryd parked list shows what is known of " + (one ? "it" : "them") +
                                    ", retryd parked drop --reason undeliverable deletes " + (one ? "it" : "them"));
        }
    }

    /// Why nothing can be sent; empty where all is ready.
    std::string prepare_replay() {
        destinations_ = find_destinations(browser_.broker(), settings_, work_queues(), parked_in(), !run_.to.empty());
        report_.notes.insert(report_.notes.end(), destinations_.notes.begin(), destinations_.notes.end());
        if (!destinations_.fault.empty() || run_.dry_run || !run_.stop_above) return destinations_.fault;
        tap_.emplace(endpoint_of(settings_, browser_.broker().identity()), settings_.broker,
                     "retryd.replay." + report_.id, error_exchanges(settings_.policy));
        if (tap_->refusal().empty()) return "";
        return "whether replayed messages fail again cannot be watched: " + tap_->refusal() +
               ". The user needs configure, write and read on queues named retryd.replay.* and read on the error "
               "exchange; or go on without watching, with --stop-after never";
    }

    /// Where the selected messages are to go.
    std::set<std::string> work_queues() const {
        std::set<std::string> names;
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            for (const auto& [key, group] : queue.selected.all()) {
                const std::string& name = run_.to.empty() ? key.first : run_.to;
                if (!name.empty()) names.insert(name);
            }
        }
        return names;
    }

    std::set<std::string> parked_in() const {
        std::set<std::string> names;
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            if (queue.selected.messages() > 0) names.insert(queue.name);
        }
        return names;
    }

    void empty_queues() {
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            const bool drops_held = report_.drop && !run_.first && queue.held_selected && queue.undeliverable() > 0;
            if (queue.selected.messages() == 0 && !drops_held) continue;
            ParkedQueueResult& result = report_.queues.emplace_back();
            result.name = queue.name;
            if (queue.selected.messages() > 0) {
                await_return(queue);
                result.run = run_on(queue);
            } else {
                result.run.end = admin::ParkedRun::End::all;
            }
            result.selected = queue.selected.messages();
            if (result.run.end != admin::ParkedRun::End::all || !result.run.fault.empty()) return;
            if (drops_held) drop_held(queue, result);
        }
    }

    /// Last, for the others were selected beside it.
    static void drop_held(const ParkingQueueOverview& queue, ParkedQueueResult& result) {
        const std::size_t number = queue.undeliverable();
        result.selected += number;
        try {
            queue.held->drop();
            result.run.counts.done += number;
        } catch (const amqp::Error& error) {
            result.run.fault = error.what();
        }
    }

    /// What the first look held is given back a moment after it has left; else what has just come would be in front.
    void await_return(const ParkingQueueOverview& queue) {
        constexpr int tries = 50;
        constexpr core::Milliseconds pause{40};
        for (int i = 0; i < tries; ++i) {
            const auto there = browser_.broker().carry_out(amqp::Declarer::CheckQueue{queue.name});
            if (there.counts.messages + queue.undeliverable() >= queue.messages || browser_.stop().pending()) return;
            browser_.broker().wait(pause);
        }
    }

    ParkedRunResult run_on(const ParkingQueueOverview& queue) {
        ProgressStep step(browser_.progress(), queue.name, report_.drop ? "dropped" : "replayed",
                          queue.selected.messages());
        const auto show = [&](const admin::ParkedRunCounts& counts, const std::string& blocked) {
            const std::size_t failures = counts.failures();
            std::string note = failures > 0 ? std::to_string(failures) + " failed" : "";
            if (!blocked.empty()) note = "waiting: the broker takes no messages (" + core::safe_name(blocked) + ")";
            step.show(counts.done, note);
        };
        ParkedRunner runner(settings_, browser_.broker(), browser_.stop(), tap_ ? &*tap_ : nullptr, queue.held.get());
        if (scene_.edited != nullptr) runner.before_sending(scene_.edited->before);
        return runner.run(queue.name, queue.messages - queue.undeliverable(), order_for(queue), show);
    }

    admin::ParkedRunOrder order_for(const ParkingQueueOverview& queue) const {
        admin::ParkedRunOrder order;
        order.action = report_.drop ? admin::ParkedRunOrder::Action::drop : admin::ParkedRunOrder::Action::send;
        order.selection = browser_.selection();
        order.count = queue.looked_at;
        if (run_.first) order.first = queue.selected.messages();
        order.most_waiting_bytes = scene_.most_waiting_bytes;
        order.error_queue = settings_.policy.error_queue;
        order.from = queue.name;
        order.to = run_.to;
        if (scene_.edited != nullptr) order.instead = scene_.edited->message;
        order.id = report_.id;
        order.connection_user = username_;
        order.through_return = destinations_.through_return;
        order.reachable = destinations_.reachable;
        order.proof_keys = browser_.proof_keys();
        order.per_second = run_.per_second;
        order.ramp = run_.ramp;
        order.stop_above = run_.stop_above;
        // Failures count over all queues.
        if (order.stop_above) *order.stop_above -= std::min(*order.stop_above, report_.failed());
        return order;
    }

    const config::Settings& settings_;
    const ParkedRunOptions& run_;
    const ParkedRunScene& scene_;
    ParkedBrowser browser_;
    std::string username_ = endpoint_of(settings_, browser_.broker().identity()).username;
    ParkedRunReport report_;
    Destinations destinations_;
    std::optional<amqp::DeadLetterTap> tap_;
};

}  // namespace

bool says_which(const ParkedOptions& options, const ParkedRunOptions& run) {
    return run.all || run.first || !selection_of(options, {}).everything();
}

ParkedRunReport replay_or_drop(const config::Settings& settings, const ParkedOptions& options,
                               const ParkedRunOptions& run, const ParkedRunScene& scene) {
    return ReplayOrDrop(settings, options, run, scene).execute();
}

}  // namespace retryd::commands
