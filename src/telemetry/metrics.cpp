#include "telemetry/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <system_error>
#include <utility>

#include "core/duration.h"
#include "core/safe_text.h"

namespace retryd::telemetry {

Process this_process() {
    Process process;
    timespec used{};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
        process.cpu_seconds = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
    std::ifstream pages("/proc/self/statm");
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    if (pages >> all >> resident) process.resident_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::error_code fault;
    const std::filesystem::directory_iterator files("/proc/self/fd", fault);
    if (!fault) process.open_files = static_cast<std::uint64_t>(std::distance(begin(files), end(files)));
    return process;
}

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

std::string_view name_of(relay::Outcome outcome) {
    switch (outcome) {
        case relay::Outcome::parked:
            return "parked";
        case relay::Outcome::dropped:
            return "dropped";
        case relay::Outcome::held:
            return "held";
        case relay::Outcome::detoured:
            return "detoured";
        case relay::Outcome::sent_home:
            return "sent_home";
        case relay::Outcome::retried:
        case relay::Outcome::returned_to_queue:  // the retry goes on; the reason is a label
            break;
    }
    return "retried";
}

/// Names on a broker may contain anything; escaping keeps different names different.
ClientMetric labelled(Labels labels) {
    for (ClientMetric::Label& label : labels)
        label.value = core::safe_name(label.value);
    ClientMetric metric;
    metric.label = std::move(labels);
    return metric;
}

ClientMetric counter(Labels labels, double value) {
    ClientMetric metric = labelled(std::move(labels));
    metric.counter.value = value;
    return metric;
}

ClientMetric gauge(Labels labels, double value) {
    ClientMetric metric = labelled(std::move(labels));
    metric.gauge.value = value;
    return metric;
}

MetricFamily one_counter(const char* name, const char* help, double value) {
    return {name, help, MetricType::Counter, {counter({}, value)}};
}

MetricFamily one_gauge(const char* name, const char* help, double value) {
    return {name, help, MetricType::Gauge, {gauge({}, value)}};
}

MetricFamily messages(const Counts& counts) {
    MetricFamily family{"retryd_messages_total",
                        "Messages taken out of the error queue, by work queue, what became of them, and why.",
                        MetricType::Counter,
                        {}};
    for (const QueueCounts& queue : counts.queues) {
        std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> sums;
        for (const Count& count : queue.counts) {
            if (count.outcome == relay::Outcome::detoured) continue;  // the message comes again
            sums[{name_of(count.outcome), count.reason}] += count.messages;
        }
        for (const auto& [kind, sum] : sums) {
            family.metric.push_back(counter({{"queue", queue.work_queue},
                                             {"outcome", std::string{kind.first}},
                                             {"reason", std::string{kind.second}}},
                                            static_cast<double>(sum)));
        }
    }
    return family;
}

MetricFamily retries(const Counts& counts) {
    MetricFamily family{
        "retryd_retries_total", "Messages put on a rung, by work queue and the rung's delay.", MetricType::Counter, {}};
    for (const QueueCounts& queue : counts.queues) {
        std::map<core::Milliseconds, std::uint64_t> sums;
        for (const Count& count : queue.counts) {
            if (count.outcome == relay::Outcome::retried) sums[count.delay] += count.messages;
        }
        for (const auto& [delay, sum] : sums) {
            family.metric.push_back(counter({{"queue", queue.work_queue}, {"delay", core::format_duration(delay)}},
                                            static_cast<double>(sum)));
        }
    }
    return family;
}

MetricFamily detours(const Counts& counts) {
    MetricFamily family{"retryd_detoured_total",
                        "Messages put on a detour because their rung or parking queue took none, by work queue; each "
                        "round counts.",
                        MetricType::Counter,
                        {}};
    for (const QueueCounts& queue : counts.queues) {
        std::uint64_t sum = 0;
        for (const Count& count : queue.counts)
            sum += count.outcome == relay::Outcome::detoured ? count.messages : 0;
        if (sum > 0) family.metric.push_back(counter({{"queue", queue.work_queue}}, static_cast<double>(sum)));
    }
    return family;
}

MetricFamily confirms(const ConfirmTimes::Histogram& times) {
    ClientMetric metric;
    auto& histogram = metric.histogram;
    for (std::size_t i = 0; i < ConfirmTimes::bounds.size(); ++i) {
        histogram.sample_count += times.messages[i];
        histogram.bucket.push_back({histogram.sample_count, static_cast<double>(ConfirmTimes::bounds[i]) / 1'000.0});
    }
    histogram.sample_count += times.messages.back();
    histogram.sample_sum = static_cast<double>(times.sum_ms) / 1'000.0;
    return {"retryd_confirm_seconds",
            "Time from publishing a message to the broker's confirm of it.",
            MetricType::Histogram,
            {metric}};
}

MetricFamily requeued(const Counts& counts) {
    MetricFamily family{"retryd_requeued_total",
                        "Messages given back to the error queue because they could not be published, by cause.",
                        MetricType::Counter,
                        {}};
    for (std::size_t i = 0; i < requeue_causes.size(); ++i)
        family.metric.push_back(
            counter({{"cause", std::string{requeue_causes[i]}}}, static_cast<double>(counts.requeued[i])));
    return family;
}

Labels labels_of(const Depth& depth) {
    Labels labels{{"queue", depth.queue}, {"role", std::string{to_string(depth.role)}}};
    if (depth.role == Depth::QueueRole::rung || depth.role == Depth::QueueRole::detour)
        labels.push_back({"delay", core::format_duration(depth.delay)});
    return labels;
}

MetricFamily depths(const std::vector<Depth>& depths) {
    MetricFamily family{"retryd_queue_messages",
                        "Ready messages in a queue that retryd looks after; absent where not counted lately.",
                        MetricType::Gauge,
                        {}};
    for (const Depth& depth : depths)
        family.metric.push_back(gauge(labels_of(depth), static_cast<double>(depth.messages)));
    return family;
}

MetricFamily held(const std::vector<Depth>& depths) {
    MetricFamily family{"retryd_queue_held_messages",
                        "Dead letters that the broker holds because their work queue has not taken them.",
                        MetricType::Gauge,
                        {}};
    for (const Depth& depth : depths) {
        if (depth.held) family.metric.push_back(gauge(labels_of(depth), static_cast<double>(*depth.held)));
    }
    return family;
}

MetricFamily held_messages(const std::vector<HeldStatus>& held) {
    MetricFamily family{"retryd_held_messages",
                        "Messages held until an outage is over, by work queue; absent where not counted yet.",
                        MetricType::Gauge,
                        {}};
    for (const HeldStatus& each : held) {
        if (each.messages)
            family.metric.push_back(gauge({{"queue", each.work_queue}}, static_cast<double>(*each.messages)));
    }
    return family;
}

MetricFamily outages(const std::vector<HeldStatus>& held) {
    MetricFamily family{"retryd_outage",
                        "Of a work queue whose messages may be held: 0 none, 1 holding, 2 releasing.",
                        MetricType::Gauge,
                        {}};
    for (const HeldStatus& each : held)
        family.metric.push_back(gauge({{"queue", each.work_queue}}, static_cast<double>(each.outage)));
    return family;
}

MetricFamily aged(const std::vector<AgedCount>& aged) {
    MetricFamily family{"retryd_parked_aged_total",
                        "Messages taken out of a parking queue because they were older than parked_age allows, by what "
                        "became of them.",
                        MetricType::Counter,
                        {}};
    for (const AgedCount& count : aged)
        family.metric.push_back(
            counter({{"queue", count.queue}, {"outcome", count.outcome}}, static_cast<double>(count.messages)));
    return family;
}

MetricFamily reloads(const Measured& measured) {
    return {"retryd_config_reloads_total",
            "Reloads of the configuration, by result.",
            MetricType::Counter,
            {counter({{"result", "success"}}, static_cast<double>(measured.reloads)),
             counter({{"result", "failure"}}, static_cast<double>(measured.refused_reloads))}};
}

void add_checks(std::vector<MetricFamily>& families, const std::optional<ChecksStatus>& checks) {
    if (!checks || !checks->checked) return;
    std::map<std::pair<std::string, std::string>, int> sums;
    for (const FindingStatus& finding : checks->findings)
        ++sums[{finding.code, finding.severity}];
    MetricFamily family{"retryd_findings",
                        "What the checks of `retryd doctor`, made by the daemon itself, have found.",
                        MetricType::Gauge,
                        {}};
    for (const auto& [kind, sum] : sums)
        family.metric.push_back(gauge({{"code", kind.first}, {"severity", kind.second}}, static_cast<double>(sum)));
    families.push_back(std::move(family));
    families.push_back(one_gauge("retryd_last_check_timestamp_seconds",
                                 "When the daemon has last made such a check, in Unix time.",
                                 std::chrono::duration<double>(checks->checked->time_since_epoch()).count()));
}

void add_process(std::vector<MetricFamily>& families, const Measured& measured) {
    const double started = std::chrono::duration<double>(measured.started.time_since_epoch()).count();
    const Process& process = measured.process;
    families.push_back(one_gauge("process_start_time_seconds", "When this process started, in Unix time.", started));
    families.push_back(one_counter("process_cpu_seconds_total", "CPU time used.", process.cpu_seconds));
    families.push_back(
        one_gauge("process_resident_memory_bytes", "Resident memory.", static_cast<double>(process.resident_bytes)));
    families.push_back(
        one_gauge("process_open_fds", "Open file descriptors.", static_cast<double>(process.open_files)));
}

}  // namespace

std::string metrics_text(const Measured& measured) {
    const Counts& counts = measured.counts;
    std::vector<MetricFamily> families{
        messages(counts),
        retries(counts),
        detours(counts),
        one_gauge("retryd_in_flight", "Messages published and not confirmed yet.",
                  static_cast<double>(counts.in_flight)),
        one_gauge("retryd_oldest_unsettled_seconds",
                  "How long the oldest message that retryd holds or has published waits to be settled.",
                  static_cast<double>(counts.oldest_unsettled.count()) / 1'000.0),
        confirms(counts.confirms),
        one_gauge("retryd_connected", "1 while the error queue is consumed.", measured.connected ? 1.0 : 0.0),
        one_gauge("retryd_blocked", "1 while the broker takes no messages (memory or disk alarm).",
                  measured.blocked ? 1.0 : 0.0),
        one_gauge("retryd_error_queue_silent",
                  "1 while the error queue does not answer, as without a leader or a majority: nothing comes from it.",
                  measured.error_queue_silent ? 1.0 : 0.0),
        one_counter("retryd_reconnects_total", "Connections to the broker after the first one.",
                    static_cast<double>(measured.reconnects)),
        requeued(counts),
        depths(measured.depths),
        held(measured.depths),
        held_messages(measured.held),
        outages(measured.held),
        aged(measured.aged),
        {"retryd_build_info",
         "1; the version is in the label.",
         MetricType::Gauge,
         {gauge({{"version", measured.version}}, 1.0)}},
        reloads(measured)};
    add_checks(families, measured.checks);
    add_process(families, measured);
    // Families without a sample are left out.
    std::erase_if(families, [](const MetricFamily& family) { return family.metric.empty(); });
    return prometheus::TextSerializer{}.Serialize(families);
}

}  // namespace retryd::telemetry
