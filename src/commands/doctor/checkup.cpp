#include "commands/doctor/checkup.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "admin/dead_letter_path.h"
#include "admin/work_queues.h"
#include "core/policy.h"
#include "system/clock.h"

namespace retryd::commands {

Checkup::Checkup(Broker& its_broker, const config::Settings& its_settings, const DaemonAnswer* its_daemon_answer)
    : broker(its_broker),
      management(its_broker.management()),
      settings(its_settings),
      daemon_answer(its_daemon_answer),
      identity(its_broker.identity()) {
    if (daemon_answer != nullptr) daemon = std::get_if<telemetry::Status>(daemon_answer);
    if (daemon != nullptr && daemon->now != core::WallTime{}) daemon_ahead = daemon->now - system::wall_now();
}

void Checkup::add(admin::FindingCode code, std::string cause, admin::FindingDetails details) {
    findings.emplace_back(code, std::move(cause), std::move(details));
}

void Checkup::add(std::vector<admin::Finding> more) {
    std::move(more.begin(), more.end(), std::back_inserter(findings));
}

bool Checkup::has_found(admin::FindingCode code) const {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const admin::Finding& finding) { return finding.code == code; });
}

const admin::VhostPolicies& Checkup::vhost_policies() {
    if (!vhost_policies_) {
        admin::VhostPolicies found = management->vhost_policies();
        const core::Policy& policy = settings.policy;
        if (admin::needs_routing(policy, found, management->bindings_from(policy.error_exchange)))
            found.routing = management->routing();
        vhost_policies_ = std::move(found);
    }
    return *vhost_policies_;
}

const std::optional<admin::Permissions>& Checkup::given_permissions() {
    // With a certificate it is not known here who the user is.
    const bool by_certificate = settings.broker.endpoints.front().username.empty();
    if (!given_permissions_) given_permissions_ = by_certificate ? std::nullopt : management->permissions();
    return *given_permissions_;
}

bool Checkup::is_work_queue(const std::string& name) {
    if (core::match(settings.policy, name) == nullptr) return false;
    if (!plumbing_) {
        plumbing_.emplace();
        for (const admin::PlumbingQueue& each : admin::plumbing_under_globs(settings.policy, vhost_policies()))
            plumbing_->insert(each.queue);
    }
    return !plumbing_->contains(name);
}

bool Checkup::knows_policies() {
    ask_management([this] { vhost_policies(); });
    return vhost_policies_.has_value();
}

}  // namespace retryd::commands
