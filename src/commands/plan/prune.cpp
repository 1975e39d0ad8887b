#include "commands/plan/prune.h"

#include <algorithm>
#include <set>
#include <utility>

#include "commands/common/checked_queue.h"
#include "commands/common/text.h"
#include "core/fingerprint.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

using Declarer = amqp::Declarer;
using Result = Declarer::Result;

/// The broker's statistics are up to 5 s old. Between two readings this far apart there is a moment at which a queue
/// that is empty in both was certainly empty.
constexpr core::Milliseconds between_readings{11'000};

constexpr const char* not_counted = "the broker has not counted its messages yet; prune again in a minute";
constexpr const char* lacks_leader =
    "it has no leader now, and so nobody knows what lies in it; start the nodes that are away, then prune again";
constexpr const char* just_emptied = "it was not empty, or not counted, a moment ago; prune again in a minute";

std::string has_messages(std::int64_t count) {
    return counted(static_cast<std::size_t>(count), "message", "messages") + ", it drains by itself";
}

std::size_t count_on(const std::string& queue, const std::vector<http::ListedConsumer>& consumers) {
    return static_cast<std::size_t>(
        std::count_if(consumers.begin(), consumers.end(),
                      [&](const http::ListedConsumer& consumer) { return consumer.queue == queue; }));
}

/// Thrown when nothing may be deleted; caught below.
struct Refusal {
    std::string why;
};

/// What the management API reports about the rungs that are left over.
struct Reading {
    std::vector<LeftOver> empty;
    std::vector<KeptRung> kept;

    bool has_empty(const std::string& queue) const {
        return std::any_of(empty.begin(), empty.end(), [&](const LeftOver& rung) { return rung.queue == queue; });
    }
};

class Pruner {
  public:
    Pruner(Broker& broker, const core::Policy& policy) : broker_(broker), policy_(policy) {}

    PruneResult result;

    void run(const PruneProgress& progress) {
        const Reading first = read();
        result.kept = first.kept;
        if (first.empty.empty()) return;
        require_no_other_daemon();
        progress("waiting " + std::to_string(between_readings.count() / 1'000) +
                 " s for the broker's statistics: a queue is deleted only when it is counted empty twice");
        broker_.wait(between_readings);
        const Reading second = read();
        result.kept = second.kept;
        for (const LeftOver& rung : second.empty) {
            if (first.has_empty(rung.queue)) {
                remove(rung);
            } else {
                keep(rung, just_emptied);
            }
        }
    }

  private:
    Reading read() {
        Reading reading;
        const std::vector<http::ListedQueue> queues = broker_.management()->queues_with_leaders();
        std::set<std::string> leaderless;
        for (const http::ListedQueue& queue : queues)
            if (queue.leaderless) leaderless.insert(queue.name);
        for (LeftOver& rung : left_over_among(queues, policy_)) {
            if (leaderless.contains(rung.queue)) {
                reading.kept.push_back({rung.queue, lacks_leader});
            } else if (!rung.messages) {
                reading.kept.push_back({rung.queue, not_counted});
            } else if (*rung.messages > 0) {
                reading.kept.push_back({rung.queue, has_messages(*rung.messages)});
            } else {
                reading.empty.push_back(std::move(rung));
            }
        }
        return reading;
    }

    /// The management API knows of a new or gone consumer only after some seconds.
    void require_no_other_daemon() {
        constexpr int tries = 10;
        std::optional<std::string> why;
        for (int i = 0; i < tries; ++i) {
            if (i > 0) broker_.wait(core::Milliseconds{1'000});
            const auto checked = broker_.carry_out(Declarer::CheckQueue{policy_.error_queue});
            if (checked.result == Result::refused) throw Refusal{"nothing is pruned: " + checked.text};
            const auto consumers = broker_.management()->consumers();
            why = why_not_prune(policy_, consumers, checked.counts.consumers);
            if (!why) return;
            if (count_on(policy_.error_queue, consumers) == checked.counts.consumers) break;
        }
        throw Refusal{*why};
    }

    void remove(const LeftOver& rung) {
        require_no_other_daemon();
        const auto [now, believed] = make_sure_of_messages(broker_, rung.queue);
        if (now.result == Result::missing) return;  // another process was faster
        if (now.result == Result::refused) return keep(rung, now.text);
        if (now.counts.messages > 0) return keep(rung, has_messages(now.counts.messages));
        if (!believed) return keep(rung, std::string{"how many messages lie in it"} + not_counted_now);
        if (now.counts.consumers > 0) return keep(rung, "somebody consumes from it");
        const bool classic = rung.type == "classic";
        const auto gone = broker_.carry_out(Declarer::DeleteQueue{rung.queue, classic});
        if (gone.result != Result::done) return keep(rung, gone.text);
        result.deleted.push_back(rung.queue);
        if (rung.rung.return_path == core::ReturnPath::headers) remove_exchange(rung);
    }

    /// Deletes the exchange in front of a shared rung, now that nothing is bound to it.
    void remove_exchange(const LeftOver& rung) {
        const auto gone = broker_.carry_out(Declarer::DeleteExchange{rung.queue});
        if (gone.result != Result::done) keep(rung, "its exchange stays: " + gone.text);
    }

    void keep(const LeftOver& rung, std::string why) { result.kept.push_back({rung.queue, std::move(why)}); }

    Broker& broker_;
    const core::Policy& policy_;
};

}  // namespace

PruneResult prune(Broker& broker, const core::Policy& policy, const PruneProgress& progress) {
    Pruner pruner(broker, policy);
    try {
        pruner.run(progress);
    } catch (const Refusal& refusal) {
        pruner.result.refused = refusal.why;
    } catch (const http::Error& error) {
        pruner.result.refused = std::string{"nothing more is pruned: "} + error.what();
    }
    return std::move(pruner.result);
}

std::optional<std::string> why_not_prune(const core::Policy& policy, const std::vector<http::ListedConsumer>& consumers,
                                         std::size_t amqp_count) {
    const std::string own = core::consumer_tag(policy);
    for (const http::ListedConsumer& consumer : consumers) {
        const bool on_error_queue = consumer.queue == policy.error_queue;
        // A daemon adds consumers, whose tags have a number behind the name, while much of its prefetch is taken up.
        if (on_error_queue && (consumer.tag == own || consumer.tag.starts_with(own + '-'))) continue;
        if (on_error_queue) {
            return "nothing is pruned: consumer " + core::quoted(consumer.tag) + " of the error queue " +
                   core::quoted(consumer.queue) +
                   " does not run with this configuration, and may still publish to what is left over; a message that "
                   "it publishes while the queue is deleted is lost. Reload that daemon (SIGHUP, systemctl reload "
                   "retryd; before RabbitMQ 3.10 restart it) or stop it, then prune again";
        }
        if (consumer.tag == "retryd" || consumer.tag.starts_with("retryd-")) {
            return "nothing is pruned: another retryd (consumer " + core::quoted(consumer.tag) + " of queue " +
                   core::quoted(consumer.queue) +
                   ") works in this vhost, and what is left over here may be its. Give each a vhost of its own, or "
                   "delete by hand what is surely not its and empty (rabbitmqctl delete_queue NAME)";
        }
    }
    const std::size_t listed = count_on(policy.error_queue, consumers);
    if (listed == amqp_count) return std::nullopt;
    return "nothing is pruned: the error queue " + core::quoted(policy.error_queue) + " has " +
           counted(amqp_count, "consumer", "consumers") + ", but the management API lists " + std::to_string(listed) +
           ", so it cannot be seen with which configuration they run. Prune again in a minute; if it stays so, "
           "management.url names another cluster";
}

}  // namespace retryd::commands
