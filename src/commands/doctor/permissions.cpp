#include "commands/doctor/permissions.h"

#include <ostream>

#include "admin/permissions.h"
#include "admin/rabbitmqctl.h"
#include "commands/common/json.h"
#include "commands/common/report.h"

namespace retryd::commands {

namespace {

Json json_of(const admin::Permissions& permissions, const std::string& command) {
    return {{"configure", permissions.configure},
            {"write", permissions.write},
            {"read", permissions.read},
            {"command", command}};
}

/// The name that the broker takes from a certificate may not be known here.
std::string user_of(const config::Endpoint& endpoint) {
    return endpoint.username.empty() ? "USER" : endpoint.username;
}

/// Of the first broker: all of them stand for one.
struct Needs {
    explicit Needs(const config::Settings& settings)
        : vhost(settings.broker.endpoints.front().vhost),
          user(user_of(settings.broker.endpoints.front())),
          daemon(admin::daemon_permissions(settings.policy, settings.declare)),
          replay(admin::replay_permissions(settings.policy)) {}

    std::string daemon_command() const { return admin::set_permissions_command(user, daemon, vhost); }
    std::string replay_command() const { return admin::set_permissions_command("PERSON", replay, vhost); }

    std::string vhost;
    std::string user;
    admin::Permissions daemon;
    admin::Permissions replay;
};

void print(const Needs& needs, std::ostream& out) {
    out << "# For the daemon, and for check, plan, apply, attach, doctor and status:\n"
        << needs.daemon_command() << "\n\n"
        << "# For those who work on parked messages (retryd parked), in the place of PERSON; a user that does both\n"
        << "# needs both, joined by | :\n"
        << needs.replay_command() << "\n\n"
        << "# For the management section, if there is one: the tag `monitoring` lets doctor, plan and status see all\n"
        << "# they can; attach --apply takes `policymaker`.\n";
}

void print_needs_json(const Needs& needs, std::ostream& out) {
    const Json object{{"ok", true},
                      {"vhost", needs.vhost},
                      {"user", needs.user},
                      {"daemon", json_of(needs.daemon, needs.daemon_command())},
                      {"parked", json_of(needs.replay, needs.replay_command())}};
    print_json(object, out);
}

}  // namespace

int needed_permissions(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        const Needs needs(settings);
        report.json() ? print_needs_json(needs, out) : print(needs, out);
        return exit_code::fine;
    });
}

}  // namespace retryd::commands
