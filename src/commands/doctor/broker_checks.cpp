#include <algorithm>
#include <optional>
#include <string>

#include "admin/permissions.h"
#include "admin/rabbitmqctl.h"
#include "commands/doctor/checkup.h"
#include "core/broker_features.h"
#include "core/safe_text.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

using admin::FindingCode;

/// The given permission pattern, extended to what retryd needs.
std::string widened(const std::string& given, const std::string& needed) {
    return given.empty() || given == "^$" ? needed : given + '|' + needed;
}

/// A daemon that is ready and was refused nothing has all permissions that it has needed so far.
bool daemon_has_permissions(const telemetry::Status& daemon) {
    return daemon.ready && std::none_of(daemon.faults.begin(), daemon.faults.end(),
                                        [](const telemetry::LastingFault& fault) { return fault.code == "refused"; });
}

void cannot_tell_permissions(Checkup& checkup) {
    if (checkup.daemon != nullptr && daemon_has_permissions(*checkup.daemon)) return;
    const bool by_certificate = checkup.settings.broker.endpoints.front().username.empty();
    checkup.cannot_tell(
        by_certificate
            ? "whether retryd's user has the permissions that it needs: it logs in with a certificate, and doctor does "
              "not know as whom. Set broker.username, or http.listen, so that the daemon tells"
            : "whether retryd's user has the permissions that it needs: only an administrator may see them "
              "(rabbitmqctl list_user_permissions). Set http.listen, so that the daemon tells");
}

}  // namespace

void check_version(Checkup& checkup) {
    for (const core::Remark& remark : core::remarks(checkup.identity.version)) {
        if (remark.warning) checkup.add(FindingCode::old_broker, std::string{remark.text}, {});
    }
}

std::optional<LackingPermissions> lacking_permissions(Checkup& checkup, bool declares) {
    const auto& given = checkup.given_permissions();
    if (!given) return std::nullopt;
    const core::Policy& policy = checkup.settings.policy;
    const auto wanted = core::desired_topology(policy, core::features_of(checkup.identity.version));
    LackingPermissions lacking;
    lacking.missing = admin::missing_permissions(admin::needed_permissions(policy, wanted, declares), *given);
    if (lacking.missing.empty()) return lacking;
    const admin::Permissions needed = admin::daemon_permissions(policy, declares);
    admin::Permissions all = *given;
    for (const admin::NeededPermission& each : lacking.missing) {
        if (each.operation == "configure") all.configure = widened(given->configure, needed.configure);
        if (each.operation == "write") all.write = widened(given->write, needed.write);
        if (each.operation == "read") all.read = widened(given->read, needed.read);
    }
    const std::string& user = checkup.settings.broker.endpoints.front().username;
    lacking.command = admin::set_permissions_command(user, all, checkup.identity.vhost);
    return lacking;
}

void check_permissions(Checkup& checkup) {
    const auto lacking = lacking_permissions(checkup, checkup.settings.declare);
    if (!lacking) return cannot_tell_permissions(checkup);
    for (const admin::NeededPermission& each : lacking->missing) {
        checkup.add(
            FindingCode::missing_permission,
            "retryd's user lacks the permission to " + std::string{each.operation} + " " + core::quoted(each.name),
            {.remedy = "give it: what it has stays",
             .command = lacking->command,
             .name = std::string{each.operation} + ' ' + each.name});
    }
}

void check_writers(Checkup& checkup) {
    const auto users = checkup.management->user_permissions();
    if (!users) {
        checkup.notes.emplace_back(
            "who may write to the error exchange without need was not looked at: RabbitMQ shows that to users with "
            "the tag `administrator` alone. retryd needs no such user; rabbitmqctl list_permissions shows it, too");
        return;
    }
    const std::string& own_user = checkup.settings.broker.endpoints.front().username;
    for (const admin::NeedlessWriter& writer :
         admin::needless_writers(checkup.settings.policy, checkup.vhost_policies(), *users, own_user)) {
        const bool returns = writer.exchange == core::return_exchange_name;
        checkup.add(FindingCode::needless_writer,
                    "user " + core::quoted(writer.user) + " may write to exchange " + core::quoted(writer.exchange) +
                        " and needs that for no queue that it may declare",
                    {.consequence = returns ? "what it publishes there goes into any work queue of a shared ladder, "
                                              "whatever else it may write to"
                                            : "",
                     .name = writer.user,
                     .group = writer.exchange});
    }
}

void check_feature_flags(Checkup& checkup) {
    const bool matters = core::features_of(checkup.identity.version).needs_stream_queue;
    const auto disabled = checkup.management->disabled_feature_flags();
    if (!disabled) {
        if (matters) {
            checkup.cannot_tell(
                "whether the feature flag stream_queue is enabled: this user may not see it (rabbitmqctl "
                "list_feature_flags)");
        }
        return;
    }
    if (std::find(disabled->begin(), disabled->end(), "stream_queue") == disabled->end()) return;
    checkup.add(FindingCode::disabled_feature_flag, "the feature flag stream_queue is disabled", {});
}

void check_alarms(Checkup& checkup) {
    const auto alarms = checkup.management->alarms();
    if (!alarms) {
        return checkup.cannot_tell(
            "whether a node has run short of memory or disk: this user may not see it (rabbitmqctl status)");
    }
    for (const http::NodeAlarm& alarm : *alarms) {
        checkup.add(FindingCode::broker_alarm,
                    "node " + core::quoted(alarm.node) + " has a " + core::safe_name(alarm.resource) + " alarm",
                    {.name = alarm.node, .group = alarm.resource});
    }
}

}  // namespace retryd::commands
