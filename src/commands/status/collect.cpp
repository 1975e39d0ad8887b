#include "commands/status/collect.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "admin/work_queues.h"
#include "config/addresses.h"
#include "core/names.h"
#include "core/topology.h"
#include "http/client.h"

namespace retryd::commands {

namespace {

std::string no_answer_from(const std::string& url, const std::string& cause) {
    return "the daemon does not answer at " + url + ": " + cause +
           "; see whether retryd run is up there, and whether its configuration has the same http.listen";
}

/// What listens everywhere is asked on this machine.
std::string status_url(config::Http http) {
    if (http.host == "0.0.0.0") http.host = "127.0.0.1";
    if (http.host == "::") http.host = "::1";
    return "http://" + config::to_string(http) + "/status.json";
}

}  // namespace

DaemonAnswer ask_daemon(const config::Settings& settings) {
    constexpr int ok = 200;
    if (!settings.http) return "only the daemon knows them. Set http.listen and start it again";
    const std::string url = status_url(*settings.http);
    http::Request request;
    request.url = url;
    request.connect_timeout = request.timeout = std::chrono::seconds(2);
    try {
        const http::Response response = http::get(request);
        if (response.status != ok) return no_answer_from(url, "status " + std::to_string(response.status));
        return read_daemon_answer(response.body);
    } catch (const http::Error& error) {
        return no_answer_from(url, error.what());
    }
}

DaemonAnswer read_daemon_answer(const std::string& body) {
    if (auto status = telemetry::read_status(body)) return std::move(*status);
    return "what answers at http.listen is not retryd: it sends no status of it; see what listens there";
}

std::uint64_t waiting_on(const std::vector<telemetry::RungStatus>& rungs) {
    std::uint64_t sum = 0;
    for (const telemetry::RungStatus& rung : rungs)
        sum += rung.messages.value_or(0);
    return sum;
}

std::uint64_t waiting_or_parked(const telemetry::QueueStatus& queue) {
    return waiting_on(queue.rungs) + (queue.parked ? queue.parked->messages.value_or(0) : 0);
}

namespace {

class StatusCollector {
  public:
    StatusCollector(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon)
        : broker_(broker), policy_(policy), features_(core::features_of(broker.identity().version)) {
        report_.broker = broker.identity();
        if (const auto* status = std::get_if<telemetry::Status>(&daemon)) report_.daemon = *status;
        if (const auto* why_not = std::get_if<std::string>(&daemon))
            add_not_seen("in flight, rates, totals and faults: " + *why_not);
    }

    StatusReport collect() {
        report_.errors = {policy_.error_queue, count(policy_.error_queue)};
        report_.catch_all = {policy_.catch_all, count(policy_.catch_all)};
        for (const std::string& name : find_work_queues())
            add_work_queue(name, *core::match(policy_, name));
        add_shared_ladders();
        std::stable_sort(report_.queues.begin(), report_.queues.end(), [](const auto& left, const auto& right) {
            return waiting_or_parked(left) > waiting_or_parked(right);
        });
        if (!refusal_.empty())
            add_not_seen("how many messages some queues have; the broker's first refusal: " + refusal_);
        return std::move(report_);
    }

  private:
    std::set<std::string> find_work_queues() {
        const auto configured = admin::configured_work_queues(policy_);
        std::set<std::string> names(configured.begin(), configured.end());
        if (report_.daemon) {
            for (const telemetry::QueueStatus& queue : report_.daemon->queues)
                if (core::match(policy_, queue.work_queue) != nullptr) names.insert(queue.work_queue);
        }
        const bool any_glob = std::any_of(policy_.entries.begin(), policy_.entries.end(),
                                          [](const core::Entry& entry) { return core::is_glob(entry.match); });
        if (any_glob) add_work_queues_of_globs(names);
        return names;
    }

    void add_work_queues_of_globs(std::set<std::string>& names) {
        const QueueNames listed = list_queue_names(broker_, "Set management.url");
        if (listed.fault.empty()) {
            const auto found = admin::work_queues_in_use(policy_, features_, listed.names);
            names.insert(found.begin(), found.end());
        } else if (report_.daemon) {
            add_not_seen("work queues of globs that the daemon does not name: " + listed.fault);
        } else {
            add_not_seen("the work queues of globs: AMQP lists no queues. " + listed.fault +
                         ", or have the daemon answer at http.listen: it names those that it knows");
        }
    }

    void add_work_queue(const std::string& name, const core::Entry& entry) {
        telemetry::QueueStatus queue;
        queue.work_queue = name;
        queue.ladder = entry.ladder.name;
        queue.shared = entry.ladder.return_path == core::ReturnPath::headers;
        if (!queue.shared) queue.rungs = count_rungs(entry.ladder, name);
        if (entry.parked.exchange.empty()) {
            const std::string parking = core::parking_queue_of(entry.parked, name, features_);
            queue.parked = telemetry::QueueDepth{parking, count(parking)};
        }
        queue.totals = totals_of(name);
        report_.queues.push_back(std::move(queue));
    }

    /// As the daemon tells them; nothing where it does not name the queue.
    std::optional<telemetry::QueueTotals> totals_of(const std::string& work_queue) const {
        if (!report_.daemon) return std::nullopt;
        for (const telemetry::QueueStatus& queue : report_.daemon->queues)
            if (queue.work_queue == work_queue) return queue.totals;
        return std::nullopt;
    }

    void add_shared_ladders() {
        std::set<std::string> added;
        for (const core::Entry& entry : policy_.entries) {
            if (entry.ladder.return_path != core::ReturnPath::headers) continue;
            if (added.insert(entry.ladder.name).second)
                report_.ladders.push_back({entry.ladder.name, count_rungs(entry.ladder, "")});
        }
    }

    std::vector<telemetry::RungStatus> count_rungs(const core::Ladder& ladder, const std::string& work_queue) {
        std::vector<telemetry::RungStatus> rungs;
        for (const core::Milliseconds delay : core::distinct_delays(ladder)) {
            const std::string queue = core::rung_name_of(ladder, work_queue, delay, false);
            telemetry::RungStatus rung{queue, delay, count(queue)};
            if (features_.priority_blocks_expiry && rung.messages)
                *rung.messages += count(core::rung_name_of(ladder, work_queue, delay, true)).value_or(0);
            rungs.push_back(std::move(rung));
        }
        return rungs;
    }

    /// Nothing where the queue is not there, or the broker refuses to say.
    telemetry::Messages count(const std::string& queue) {
        const auto answer = broker_.carry_out(amqp::Declarer::CheckQueue{queue});
        if (answer.result == amqp::Declarer::Result::refused && refusal_.empty()) refusal_ = answer.text;
        if (answer.result != amqp::Declarer::Result::done) return std::nullopt;
        return answer.counts.messages;
    }

    void add_not_seen(std::string what) { report_.not_seen.push_back(std::move(what)); }

    Broker& broker_;
    const core::Policy& policy_;
    const core::BrokerFeatures features_;
    std::string refusal_;  // the first one
    StatusReport report_;
};

}  // namespace

StatusReport collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon) {
    return StatusCollector(broker, policy, daemon).collect();
}

}  // namespace retryd::commands
