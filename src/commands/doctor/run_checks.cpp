#include "commands/doctor/run_checks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "admin/attach_plan.h"
#include "admin/by_source.h"
#include "admin/checks.h"
#include "admin/dead_letter_path.h"
#include "admin/framework_retries.h"
#include "admin/guard.h"
#include "admin/permissions.h"
#include "admin/rabbitmqctl.h"
#include "admin/work_queues.h"
#include "commands/common/text.h"
#include "commands/plan/topology_diff.h"
#include "core/duration.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/topology.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

using admin::Finding;
using admin::FindingCode;
using admin::FindingDetails;
using Declarer = amqp::Declarer;
using Result = Declarer::Result;

constexpr const char* without_detour =
    "while a rung or parking queue takes no messages, they stay in the error queue, where they hold up others";
constexpr const char* with_another_detour =
    "while a rung or parking queue takes no messages, they stay in the error queue, where they hold up others; and "
    "what "
    "comes from this queue without a proof of retryd's is parked in the catch-all queue";

constexpr const char* without_leader =
    "what lies in it stays there, and messages for it take a detour or are parked in the catch-all; nothing is lost";

/// After this time the management API's numbers, which are up to 5 s old, are new ones.
constexpr core::Milliseconds statistics_renewed{6'000};
constexpr core::Milliseconds largest_clock_difference{60'000};

/// What it means that an exchange or queue has other arguments than configured.
std::string consequence_of_difference(core::DesiredItem::ItemRole role) {
    using ItemRole = core::DesiredItem::ItemRole;
    if (role == ItemRole::detour) return with_another_detour;
    const bool needed_by_all =
        role == ItemRole::error_exchange || role == ItemRole::error_queue || role == ItemRole::catch_all;
    return needed_by_all ? "retryd consumes nothing while that lasts" : "";
}

std::string consequence_of_lack(const core::DesiredItem& wanted) {
    if (wanted.role == core::DesiredItem::ItemRole::detour) return without_detour;
    const bool needed_by_all = wanted.work_queue.empty() && wanted.ladder.empty();
    return needed_by_all ? "rejected messages cannot be retried, and what dead-letters now is lost" : "";
}

/// The given permission pattern, extended to what retryd needs.
std::string widened(const std::string& given, const std::string& needed) {
    return given.empty() || given == "^$" ? needed : given + '|' + needed;
}

class Checks {
  public:
    Checks(Broker& broker, const config::Settings& settings, const DaemonAnswer* daemon)
        : broker_(broker), management_(broker.management()), settings_(settings), answer_(daemon) {
        if (answer_ != nullptr) daemon_ = std::get_if<telemetry::Status>(answer_);
        if (daemon_ != nullptr && daemon_->now != core::WallTime{}) daemon_ahead_ = daemon_->now - system::wall_now();
        checked_.broker = broker_.identity();
        checked_.management = management_ != nullptr;
    }

    void check_all_but_policies() {
        const Plan plan = diff_topology(broker_, settings_.policy);
        if (checked_.fault.empty()) checked_.fault = plan.management_fault;
        for (const PlanItem& item : plan.items)
            check_item(item);
        check_rest_of(plan);
        ask_management([this] {
            check_permissions();
            check_feature_flags();
            check_alarms();
            check_no_ack();
            check_writers();
            check_clock_against_broker();
        });
        check_daemon();
    }

    /// Checks the consumers of the error queue, unless a daemon has already said that it does not consume.
    void check_consumers() {
        if (daemon_ != nullptr && !daemon_->ready) return;
        const std::string& queue = settings_.policy.error_queue;
        const auto checked = broker_.carry_out(Declarer::CheckQueue{queue});
        if (checked.result != Result::done || checked.counts.consumers > 0) return;
        if (checked.counts.messages == 0) return check_leader(queue);
        const std::string waiting = counted(checked.counts.messages, "message waits", "messages wait");
        add(FindingCode::no_consumer,
            "nobody consumes the error queue " + core::quoted(queue) + "; " + waiting + " there", {.name = queue});
    }

    /// All queues of retryd's that have no leader now, but for the error queue: check_leader(). The list may be some
    /// seconds old.
    void check_other_leaders() {
        ask_management([this] {
            for (const http::ListedQueue& queue : management_->queues()) {
                const bool own = queue.name != settings_.policy.error_queue &&
                                 admin::is_retryds(settings_.policy, {queue.name, queue.type, queue.arguments, "", ""});
                if (!queue.leaderless || !own) continue;
                if (broker_.carry_out(Declarer::CheckQueue{queue.name}).counts != amqp::QueueCounts{}) continue;
                add(FindingCode::no_leader, "queue " + core::quoted(queue.name) + " has no leader now",
                    {.consequence = without_leader, .name = queue.name, .group = "beside the error queue"});
            }
        });
    }

    void check_policies() {
        ask_management([this] {
            append(admin::check_work_queues(settings_.policy, vhost_policies(), checked_.broker.vhost));
            append(admin::check_other_queues(settings_.policy, vhost_policies()));
            append(admin::check_framework_retries(settings_.policy, vhost_policies()));
            append(admin::check_globs(settings_.policy, vhost_policies()));
            append(admin::check_error_queue(settings_.policy, vhost_policies(), checked_.broker.vhost));
            append(admin::check_own_queues(settings_.policy, vhost_policies(), checked_.broker.vhost));
            append(admin::check_copies(settings_.policy, vhost_policies()));
            // The remedy for a harmful policy also guards against further ones.
            if (!found(FindingCode::harmful_policy)) append(admin::check_guard(settings_.policy, vhost_policies()));
            check_held();
        });
    }

    /// A note and not a finding: it is no fault and does not change, so the daemon need not report it.
    void note_amqp10_clients() {
        ask_management([this] {
            std::set<std::string> queues;
            for (const http::ListedConsumer& consumer : management_->consumers())
                if (consumer.amqp10) queues.insert(consumer.queue);
            const std::vector<std::string> targets = management_->amqp10_targets();
            const admin::Routing routing = targets.empty() ? admin::Routing{} : management_->routing();
            for (const std::string& target : targets)
                queues.merge(admin::queues_behind(target, admin::RoutingGraph(routing)));
            std::erase_if(queues, [this](const std::string& queue) { return !is_work_queue(queue); });
            if (!queues.empty()) checked_.notes.push_back(admin::amqp10_note(queues));
        });
    }

    /// A note: this is no fault but what the configuration asks for.
    void note_by_source() {
        const std::vector<core::Entry>& entries = settings_.policy.entries;
        const bool any = std::any_of(entries.begin(), entries.end(), [](const core::Entry& entry) {
            return entry.failures == core::FailuresBy::source;
        });
        if (!any) return;
        ask_management([this] {
            std::string note = admin::by_source_note(admin::plan_attach(settings_.policy, vhost_policies()).queues);
            if (!note.empty()) checked_.notes.push_back(std::move(note));
        });
    }

    Checked result() {
        if (management_ == nullptr || !checked_.fault.empty()) {
            check_work_queues_by_amqp();
            cannot_tell_without_management();
        }
        checked_.diagnosis.findings = admin::grouped(found_);
        return std::move(checked_);
    }

  private:
    void check_item(const PlanItem& item) {
        const std::string name = core::name_of(item.wanted.item);
        const std::string what = std::string{core::to_string(item.wanted.role)} + " " + core::quoted(name);
        const bool in_parts = !item.told.empty();
        const std::string cause = in_parts ? item.told.cause : item.note;
        switch (item.state) {
            case State::missing:
                return add_missing(item, what, name);
            case State::different:
                return add(FindingCode::different_arguments, cause,
                           {.consequence = consequence_of_difference(item.wanted.role),
                            .remedy = item.told.remedy,
                            .name = name,
                            .group = name});
            case State::refused:
                return cannot_tell("whether " + what + " exists and is as it must be: " + item.note);
            case State::in_place:
                if (item.note.empty()) return;
                // A difference in the error queue's delivery limit is left out here: the management API tells which
                // limit is in effect.
                if (item.wanted.role == core::DesiredItem::ItemRole::error_queue && knows_policies()) return;
                return add(FindingCode::lacks_argument, cause,
                           {.remedy = item.told.remedy, .name = name, .group = name});
            case State::not_compared:
            case State::unknown:
                return;
        }
    }

    void add_missing(const PlanItem& item, const std::string& what, const std::string& name) {
        const std::string group{core::to_string(item.wanted.role)};
        if (!item.note.empty()) {
            return add(FindingCode::not_declared,
                       what + " is missing: " + (item.told.empty() ? item.note : item.told.cause),
                       {.consequence = consequence_of_lack(item.wanted),
                        .remedy = item.told.empty() ? "fix what is named" : item.told.remedy,
                        .name = name,
                        .group = group + ' ' + name});
        }
        FindingDetails details{.consequence = consequence_of_lack(item.wanted), .name = name, .group = group};
        if (!settings_.declare) {
            details.remedy = "declare it; retryd apply does";
            details.command = "retryd apply";
        }
        add(FindingCode::not_declared, what + " is missing", std::move(details));
    }

    void check_rest_of(const Plan& plan) {
        for (const LeftOver& rung : plan.left_over)
            add(FindingCode::left_over_rungs, "rung " + core::quoted(rung.queue) + " is left over",
                {.name = rung.queue});
        if (!plan.why_not_compared.empty())
            cannot_tell("whether what is there has the right arguments: " + plan.why_not_compared);
        for (const core::Remark& remark : core::remarks(plan.broker.version)) {
            if (remark.warning) add(FindingCode::old_broker, std::string{remark.text}, {});
        }
    }

    /// Of an error queue of which the broker names neither messages nor consumers, as it does of one without a leader.
    void check_leader(const std::string& queue) {
        std::optional<bool> leaderless;
        ask_management([&] {
            for (const http::ListedQueue& each : management_->queues())
                if (each.name == queue) leaderless = each.leaderless;
        });
        const std::string error_queue = "the error queue " + core::quoted(queue);
        if (leaderless == true) return add(FindingCode::no_leader, error_queue + " has no leader now", {.name = queue});
        if (leaderless == false)
            return add(FindingCode::no_consumer, "nobody consumes " + error_queue + "; 0 messages wait there",
                       {.name = queue});
        add(FindingCode::no_consumer,
            "RabbitMQ names no consumer of " + error_queue + ": nobody consumes it, or it has no leader now",
            {.consequence = "rejected messages are not retried",
             .remedy = "rabbitmq-queues quorum_status tells whether it has a leader: if not, start the nodes that are "
                       "away; if it has one, start retryd run, or see its log for why it does not consume",
             .name = queue});
    }

    // ── What the management API tells ──

    /// Asks the management API, but not again once it has failed: a failure may take long.
    template <typename Question>
    void ask_management(const Question& question) {
        if (management_ == nullptr || !checked_.fault.empty()) return;
        try {
            question();
        } catch (const http::Error& error) {
            checked_.fault = error.what();
        }
    }

    bool knows_policies() {
        ask_management([this] { vhost_policies(); });
        return vhost_policies_.has_value();
    }

    const admin::VhostPolicies& vhost_policies() {
        if (!vhost_policies_) {
            admin::VhostPolicies found = management_->vhost_policies();
            const core::Policy& policy = settings_.policy;
            if (admin::needs_routing(policy, found, management_->bindings_from(policy.error_exchange)))
                found.routing = management_->routing();
            vhost_policies_ = std::move(found);
        }
        return *vhost_policies_;
    }

    void check_permissions() {
        const std::string& user = settings_.broker.endpoints.front().username;
        const auto given = user.empty() ? std::nullopt : management_->permissions();
        if (!given) return cannot_tell_permissions(user.empty());
        const auto wanted = core::desired_topology(settings_.policy, core::features_of(checked_.broker.version));
        const auto missing =
            admin::missing_permissions(admin::needed_permissions(settings_.policy, wanted, settings_.declare), *given);
        const admin::Permissions needed = admin::daemon_permissions(settings_.policy, settings_.declare);
        admin::Permissions all = *given;
        for (const admin::NeededPermission& each : missing) {
            if (each.operation == "configure") all.configure = widened(given->configure, needed.configure);
            if (each.operation == "write") all.write = widened(given->write, needed.write);
            if (each.operation == "read") all.read = widened(given->read, needed.read);
        }
        for (const admin::NeededPermission& each : missing) {
            add(FindingCode::missing_permission,
                "retryd's user lacks the permission to " + std::string{each.operation} + " " + core::quoted(each.name),
                {.remedy = "give it: what it has stays",
                 .command = admin::set_permissions_command(user, all, checked_.broker.vhost),
                 .name = std::string{each.operation} + ' ' + each.name});
        }
    }

    /// A daemon that is ready and was refused nothing has all permissions that it has needed so far.
    void cannot_tell_permissions(bool by_certificate) {
        if (daemon_ != nullptr && daemon_->ready && !daemon_has_fault("refused")) return;
        cannot_tell(by_certificate
                        ? "whether retryd's user has the permissions that it needs: it logs in with a certificate, "
                          "and doctor does not know as whom. Set broker.username, or http.listen, so that the daemon "
                          "tells"
                        : "whether retryd's user has the permissions that it needs: only an administrator may see "
                          "them (rabbitmqctl list_user_permissions). Set http.listen, so that the daemon tells");
    }

    void check_writers() {
        const auto users = management_->user_permissions();
        if (!users) {
            checked_.notes.emplace_back(
                "who may write to the error exchange without need was not looked at: RabbitMQ shows that to users with "
                "the tag `administrator` alone. retryd needs no such user; rabbitmqctl list_permissions shows it, too");
            return;
        }
        const std::string& own_user = settings_.broker.endpoints.front().username;
        for (const admin::NeedlessWriter& writer :
             admin::needless_writers(settings_.policy, vhost_policies(), *users, own_user)) {
            const bool returns = writer.exchange == core::return_exchange_name;
            add(FindingCode::needless_writer,
                "user " + core::quoted(writer.user) + " may write to exchange " + core::quoted(writer.exchange) +
                    " and needs that for no queue that it may declare",
                {.consequence = returns ? "what it publishes there goes into any work queue of a shared ladder, "
                                          "whatever else it may write to"
                                        : "",
                 .name = writer.user,
                 .group = writer.exchange});
        }
    }

    bool daemon_has_fault(const std::string& code) const {
        return std::any_of(daemon_->faults.begin(), daemon_->faults.end(),
                           [&](const telemetry::LastingFault& fault) { return fault.code == code; });
    }

    void check_feature_flags() {
        const bool matters = core::features_of(checked_.broker.version).needs_stream_queue;
        const auto disabled = management_->disabled_feature_flags();
        if (!disabled) {
            if (matters) {
                cannot_tell(
                    "whether the feature flag stream_queue is enabled: this user may not see it (rabbitmqctl "
                    "list_feature_flags)");
            }
            return;
        }
        if (std::find(disabled->begin(), disabled->end(), "stream_queue") == disabled->end()) return;
        add(FindingCode::disabled_feature_flag, "the feature flag stream_queue is disabled", {});
    }

    void check_alarms() {
        const auto alarms = management_->alarms();
        if (!alarms) {
            return cannot_tell(
                "whether a node has run short of memory or disk: this user may not see it (rabbitmqctl status)");
        }
        for (const http::NodeAlarm& alarm : *alarms) {
            add(FindingCode::broker_alarm,
                "node " + core::quoted(alarm.node) + " has a " + core::safe_name(alarm.resource) + " alarm",
                {.name = alarm.node, .group = alarm.resource});
        }
    }

    /// Except on streams, which are always consumed with acks and never dead-letter.
    void check_no_ack() {
        std::map<std::string, std::size_t> without;
        for (const http::ListedConsumer& consumer : management_->consumers()) {
            if (!consumer.acks && is_work_queue(consumer.queue)) ++without[consumer.queue];
        }
        for (const auto& [queue, number] : without) {
            add(FindingCode::no_ack_consumer,
                "work queue " + core::quoted(queue) + " has " +
                    counted(number, "consumer that does not ack", "consumers that do not ack") + " (no-ack)",
                {.name = queue});
        }
    }

    /// Whether an entry matches it and no glob leaves it out.
    bool is_work_queue(const std::string& name) {
        if (core::match(settings_.policy, name) == nullptr) return false;
        if (!plumbing_) {
            plumbing_.emplace();
            for (const admin::PlumbingQueue& each : admin::plumbing_under_globs(settings_.policy, vhost_policies()))
                plumbing_->insert(each.queue);
        }
        return !plumbing_->contains(name);
    }

    /// Whether far more messages are redelivered than acked. Many are also redelivered at once when a consumer is lost,
    /// but that is over at the second look.
    bool loops(const http::ListedQueue& queue) {
        constexpr double at_least = 20;  // redeliveries a second
        constexpr double times = 10;
        const double again = queue.redelivered_rate.value_or(0);
        return again >= at_least && again >= times * queue.acked_rate.value_or(0) && is_work_queue(queue.name);
    }

    /// Reports dead letters that the work queue has not taken. If the work queue exists they may just be on their way,
    /// so it looks a second time at newer numbers.
    void check_held() {
        const std::vector<http::ListedQueue> queues = management_->queues();
        std::set<std::string> names;
        for (const http::ListedQueue& queue : queues)
            names.insert(queue.name);
        std::vector<http::ListedQueue> slow;
        std::set<std::string> looping;
        for (const http::ListedQueue& queue : queues) {
            if (loops(queue)) looping.insert(queue.name);
            const auto rung = core::parse_rung(queue.name, queue.arguments);
            if (!rung || queue.held.value_or(0) == 0) continue;
            if (rung->return_path == core::ReturnPath::headers || names.count(rung->serves) > 0) {
                if (is_held(queue)) slow.push_back(queue);
            } else {
                add(FindingCode::held_by_broker,
                    held_on(queue) + ": work queue " + core::quoted(rung->serves) + " does not exist",
                    {.name = queue.name, .group = rung->serves});
            }
        }
        if (!slow.empty() || !looping.empty()) look_again(slow, looping);
    }

    /// More than has come within two seconds. As long as messages come, there are always some on their way.
    static bool is_held(const http::ListedQueue& rung) {
        return static_cast<double>(rung.held.value_or(0)) > 2 * rung.published_rate.value_or(0);
    }

    void look_again(const std::vector<http::ListedQueue>& before, const std::set<std::string>& looping) {
        broker_.wait(statistics_renewed);
        std::set<std::string> held_now;
        for (const http::ListedQueue& queue : management_->queues()) {
            if (is_held(queue)) held_now.insert(queue.name);
            if (looping.contains(queue.name) && loops(queue)) add_loop(queue);
        }
        for (const http::ListedQueue& queue : before) {
            if (held_now.contains(queue.name)) add(FindingCode::slow_return, held_on(queue), {.name = queue.name});
        }
    }

    void add_loop(const http::ListedQueue& queue) {
        const auto rate = [](const std::optional<double>& number) {
            return std::to_string(static_cast<std::int64_t>(number.value_or(0)));
        };
        add(FindingCode::redelivery_loop,
            "work queue " + core::quoted(queue.name) + " delivers " + rate(queue.redelivered_rate) +
                " messages a second again that it has delivered before, and " + rate(queue.acked_rate) +
                " a second are acked",
            {.name = queue.name});
    }

    static std::string held_on(const http::ListedQueue& rung) {
        return counted(static_cast<std::size_t>(*rung.held), "message", "messages") + " held by the broker on rung " +
               core::quoted(rung.name);
    }

    // ── What AMQP tells by itself ──

    /// Checks at least which work queues exist.
    void check_work_queues_by_amqp() {
        for (const std::string& queue : admin::configured_work_queues(settings_.policy)) {
            const auto checked = broker_.carry_out(Declarer::CheckQueue{queue});
            if (checked.result == Result::done) continue;
            if (checked.result == Result::refused) {
                cannot_tell("whether work queue " + core::quoted(queue) + " exists: " + checked.text);
            } else {
                add(FindingCode::no_work_queue, "work queue " + core::quoted(queue) + " does not exist",
                    {.name = queue});
            }
        }
    }

    void cannot_tell_without_management() {
        cannot_tell(
            "whether what work queues reject comes to retryd, and whether policies throw away what waits on rungs or "
            "is parked: AMQP tells no policies, bindings, permissions, alarms and left-over rungs. " +
            (checked_.fault.empty() ? "Set management.url to have them looked at" : checked_.fault));
    }

    // ── The daemon ──

    void check_daemon() {
        if (daemon_ != nullptr) {
            add_daemon_faults();
        } else if (answer_ != nullptr) {
            cannot_tell("whether the daemon is well: " + std::get<std::string>(*answer_));
        }
    }

    void check_clock_against_broker() {
        if (!daemon_ahead_) return;
        const auto clock = management_->clock();
        if (clock) check_clock(*daemon_ahead_ + (system::wall_now() - *clock), "the broker's");
    }

    void check_clock(core::Milliseconds ahead, const std::string& other) {
        if (std::chrono::abs(ahead) <= largest_clock_difference) return;
        const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::abs(ahead));
        add(FindingCode::daemon_clock,
            "the daemon's clock is " + core::format_duration(seconds) +
                (ahead > core::Milliseconds::zero() ? " ahead of " : " behind ") + other,
            {});
    }

    void add_daemon_faults() {
        if (daemon_ahead_) check_clock(*daemon_ahead_, "this machine's");
        if (!daemon_->ready) {
            add(FindingCode::daemon_not_ready, "the daemon is not ready: " + daemon_->reason, {});
        }
        for (const telemetry::LastingFault& fault : daemon_->faults) {
            const bool is_reason = fault.code == "disconnected" || fault.text == daemon_->reason;
            if (is_reason && !daemon_->ready) continue;
            if (fault.code == "blocked" && found(FindingCode::broker_alarm)) continue;
            if (fault.code == "reload") {
                add(FindingCode::reload_refused, fault.text, {});
            } else {
                add(FindingCode::daemon_fault, "the daemon tells: " + fault.text, {.group = fault.text});
            }
        }
    }

    bool found(FindingCode code) const {
        return std::any_of(found_.begin(), found_.end(), [&](const Finding& each) { return each.code == code; });
    }

    void append(std::vector<Finding> more) { std::move(more.begin(), more.end(), std::back_inserter(found_)); }
    void add(FindingCode code, std::string cause, FindingDetails details) {
        found_.emplace_back(code, std::move(cause), std::move(details));
    }
    void cannot_tell(std::string what) { checked_.diagnosis.cannot_tell.push_back(std::move(what)); }

    Broker& broker_;
    ManagementApi* management_;  // null: none is configured
    const config::Settings& settings_;
    const DaemonAnswer* answer_;                 // null: it was not asked
    const telemetry::Status* daemon_ = nullptr;  // null: it did not answer
    std::optional<core::Milliseconds>
        daemon_ahead_;  // how far the daemon's clock is ahead of this machine's; nothing: unknown
    std::optional<admin::VhostPolicies> vhost_policies_;  // set once they were asked for
    std::optional<std::set<std::string>> plumbing_;       // queues that globs leave out; set once they were asked for
    std::vector<Finding> found_;
    Checked checked_;
};

}  // namespace

Checked run_checks(Broker& broker, const config::Settings& settings, const DaemonAnswer* daemon) {
    Checks checks(broker, settings, daemon);
    checks.check_all_but_policies();
    checks.check_consumers();
    checks.check_policies();
    checks.check_other_leaders();
    checks.note_by_source();
    checks.note_amqp10_clients();
    return checks.result();
}

namespace {

/// A broker with only the management API, which is enough to check policies.
class ManagementOnly : public Broker {
  public:
    ManagementOnly(const config::Settings& settings, const config::Endpoint& endpoint)
        : endpoint_(endpoint), management_(management_api(settings, endpoint.vhost)) {}

    BrokerIdentity identity() const override {
        return {endpoint_.host, endpoint_.port, endpoint_.tls, endpoint_.vhost, {}};
    }
    amqp::Declarer::Outcome carry_out(amqp::Declarer::Step) override { return {}; }
    void wait(core::Milliseconds time) override { std::this_thread::sleep_for(time); }
    ManagementApi* management() override { return management_.get(); }

  private:
    const config::Endpoint& endpoint_;
    std::unique_ptr<ManagementApi> management_;
};

}  // namespace

admin::Diagnosis check_for_daemon(const config::Settings& settings, const config::Endpoint& endpoint,
                                  admin::CheckScope scope) {
    if (scope == admin::CheckScope::policies) {
        ManagementOnly broker(settings, endpoint);
        Checks checks(broker, settings, nullptr);
        checks.check_policies();
        return checks.result().diagnosis;
    }
    config::Settings here = settings;
    here.broker.endpoints = {endpoint};
    const auto broker = connect(here, "retryd checks");
    telemetry::Status self;  // the daemon reports about itself elsewhere, also why it does not consume
    self.ready = true;
    self.now = system::wall_now();
    const DaemonAnswer answer = self;
    Checks checks(*broker, here, &answer);
    checks.check_all_but_policies();
    return checks.result().diagnosis;
}

}  // namespace retryd::commands
