#include "commands/parked_clear.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <ostream>
#include <random>
#include <string_view>
#include <utility>

#include "amqp/queue_reader.h"
#include "commands/clock.h"
#include "commands/counted.h"
#include "commands/destinations.h"
#include "commands/exit_code.h"
#include "commands/progress.h"
#include "commands/safe_text.h"

namespace retryd::commands {
namespace {

using End = relay::Clearance::End;

std::string random_id() {
    constexpr std::string_view digits = "0123456789abcdef";
    std::random_device dice;
    std::string id;
    for (int i = 0; i < 16; ++i)
        id += digits[dice() & 0xfU];
    return id;
}

bool selects_on_purpose(const ParkedOptions& options, const ClearOptions& clear) {
    return clear.all || clear.first || !selection_of(options, {}).everything();
}

std::vector<core::BindingSpec> error_exchanges(const core::Policy& policy) {
    std::vector<core::BindingSpec> exchanges{{"", policy.error_exchange, "", {}}};
    for (const core::ErrorBinding& binding : policy.error_bindings)
        exchanges.push_back({"", binding.exchange, binding.routing_key, {}});
    return exchanges;
}

/// One command's work.
class Clearing {
  public:
    Clearing(const Report& out, const config::Settings& settings, const ParkedOptions& options,
             const ClearOptions& clear, bool drop)
        : out_(out), settings_(settings), clear_(clear), desk_(settings, options, wall_clock()) {
        report_.id = drop ? "" : random_id();
        report_.drop = drop;
        report_.dry_run = clear.dry_run;
        report_.stop_above = clear.stop_above;
    }

    int run() {
        look();
        if (!report_.survey.fault.empty()) return out_.fail(report_.survey.fault, exit_code::failed);
        if (report_.survey.interrupted) return out_.fail("interrupted: nothing was changed", exit_code::failed);
        if (report_.survey.selected() > 0) {
            if (const std::string fault = prepare(); !fault.empty()) {
                return out_.fail("nothing was changed: " + fault, exit_code::failed);
            }
            if (!clear_.dry_run && !agreed()) return out_.fail("nothing was dropped", exit_code::failed);
            if (!clear_.dry_run) go();
        }
        if (out_.json()) {
            print_clear_report_json(report_, out_.out());
        } else {
            print_clear_report(report_, desk_, out_.colour(), out_.out());
        }
        return report_.ok() ? exit_code::fine : exit_code::failed;
    }

  private:
    void look() {
        std::size_t seen = 0;
        report_.survey = desk_.survey([&](const std::string&, const core::Delivery&, const core::Parked&) {
            return !clear_.first || ++seen < *clear_.first;
        });
    }

    /// Why nothing can be done; empty where all is ready.
    std::string prepare() {
        if (report_.drop) return "";
        const Destinations found = destinations(desk_.broker(), settings_, report_.survey, clear_.to);
        report_.notes = found.notes;
        through_return_ = found.through_return;
        missing_ = found.missing;
        if (!found.fault.empty() || clear_.dry_run || !clear_.stop_above) return found.fault;
        const std::string queue = "retryd.replay." + report_.id;
        watch_.emplace(endpoint_of(settings_, desk_.broker().identity()), settings_.broker, queue,
                       error_exchanges(settings_.policy));
        if (watch_->refusal().empty()) return "";
        return "whether replayed messages fail again cannot be watched: " + watch_->refusal() +
               ". The user needs configure, write and read on queues named retryd.replay.* and read on the error "
               "exchange; or go on blindly with --stop-after never";
    }

    bool agreed() const {
        if (!report_.drop || clear_.yes) return true;
        const std::size_t number = report_.survey.selected();
        if (isatty(STDIN_FILENO) != 1) {
            out_.err() << "retryd: " << counted(number, "message", "messages")
                       << " would be deleted for good; --yes does it without a question\n";
            return false;
        }
        print_survey(report_.survey, desk_, false, out_.err());
        out_.err() << "\nDelete " << (number == 1 ? "this message" : "these " + std::to_string(number) + " messages")
                   << " for good? [y/N] " << std::flush;
        std::array fds{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{desk_.interrupts().fd(), POLLIN, 0}};
        std::string answer;
        if (poll(fds.data(), fds.size(), -1) > 0 && fds[1].revents == 0) std::getline(std::cin, answer);
        return answer == "y" || answer == "yes";
    }

    void go() {
        for (const SurveyedQueue& queue : report_.survey.queues) {
            if (queue.selected.messages() == 0) continue;
            ClearedQueue& cleared =
                report_.queues.emplace_back(ClearedQueue{queue.name, queue.selected.messages(), {}});
            cleared.cleared = clear_queue(queue);
            if (cleared.cleared.end != End::all || !cleared.cleared.fault.empty()) return;
        }
    }

    /// What the first look held is given back a moment after it has left; else what has just come would be in front.
    void await_return(const SurveyedQueue& queue) {
        constexpr int tries = 50;
        constexpr core::Milliseconds pause{40};
        for (int i = 0; i < tries; ++i) {
            const auto there = desk_.broker().carry_out(amqp::Declarer::CheckQueue{queue.name});
            if (there.counts.messages >= queue.messages || desk_.interrupts().seen()) return;
            desk_.broker().wait(pause);
        }
    }

    Cleared clear_queue(const SurveyedQueue& queue) {
        await_return(queue);
        ProgressBar progress(out_.err(), standard_error_is_terminal(), queue.selected.messages(),
                             report_.drop ? "dropped" : "replayed");
        const auto show = [&](const relay::ClearanceCounts& counts, const std::string& blocked) {
            const std::size_t failures = counts.failures();
            std::string note = failures > 0 ? std::to_string(failures) + " failed" : "";
            if (!blocked.empty()) note = "waiting: the broker takes no messages (" + safe_line(blocked) + ")";
            progress.show(counts.done, note);
        };
        const ClearingTable table{settings_, desk_.broker(), desk_.interrupts(), watch_ ? &*watch_ : nullptr, show};
        return clear(table, queue.name, queue.messages, order_for(queue));
    }

    /// Failures count over all queues.
    relay::ClearanceOrder order_for(const SurveyedQueue& queue) {
        relay::ClearanceOrder order;
        order.action = report_.drop ? relay::ClearanceOrder::Action::drop : relay::ClearanceOrder::Action::send;
        order.selection = desk_.selection();
        order.count = queue.looked_at;
        order.most_held = amqp::QueueReader::most_held;
        if (clear_.first) order.first = queue.selected.messages();
        order.error_queue = settings_.policy.error_queue;
        order.from = queue.name;
        order.to = clear_.to;
        order.id = report_.id;
        order.connection_user = endpoint_of(settings_, desk_.broker().identity()).username;
        order.through_return = through_return_;
        order.missing = missing_;
        order.per_second = clear_.per_second;
        order.stop_above = clear_.stop_above;
        if (order.stop_above) *order.stop_above -= std::min(*order.stop_above, report_.failed());
        return order;
    }

    const Report& out_;
    const config::Settings& settings_;
    const ClearOptions& clear_;
    ParkedDesk desk_;
    ClearReport report_;
    std::set<std::string, std::less<>> through_return_;
    std::set<std::string, std::less<>> missing_;
    std::optional<amqp::FailureWatch> watch_;
};

int clear_parked(const ParkedOptions& options, const ClearOptions& clear, bool drop, std::ostream& out,
                 std::ostream& err) {
    const Report report(options.report, out, err);
    if (!selects_on_purpose(options, clear)) {
        const std::string command = drop ? "drop" : "replay";
        return report.fail("parked " + command +
                               " says nothing of which messages: give --queue, --reason, --older-than, --newer-than, "
                               "--header or --first, or --all for every one",
                           exit_code::wrong_usage);
    }
    return report.run(
        [&](const config::Settings& settings) { return Clearing(report, settings, options, clear, drop).run(); });
}

}  // namespace

int parked_replay(const ParkedOptions& options, const ClearOptions& clear, std::ostream& out, std::ostream& err) {
    return clear_parked(options, clear, false, out, err);
}

int parked_drop(const ParkedOptions& options, const ClearOptions& clear, std::ostream& out, std::ostream& err) {
    return clear_parked(options, clear, true, out, err);
}

}  // namespace retryd::commands
