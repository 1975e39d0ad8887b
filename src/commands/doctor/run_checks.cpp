#include "commands/doctor/run_checks.h"

#include <memory>
#include <thread>
#include <utility>

#include "commands/doctor/checkup.h"
#include "system/clock.h"

namespace retryd::commands {

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
    core::SteadyTime now() const override { return system::steady_now(); }
    ManagementApi* management() override { return management_.get(); }

  private:
    const config::Endpoint& endpoint_;
    std::unique_ptr<ManagementApi> management_;
};

/// The part of the checks that the daemon makes most often: it needs the management API alone.
void check_policies_and_messages(Checkup& checkup) {
    checkup.ask_management([&] {
        check_policies(checkup);
        check_held_and_looping(checkup);
    });
}

/// The other part that the daemon makes.
void check_all_but_policies(Checkup& checkup) {
    check_declared(checkup);
    check_version(checkup);
    checkup.ask_management([&] {
        check_permissions(checkup);
        check_feature_flags(checkup);
        check_alarms(checkup);
        check_no_ack(checkup);
        check_writers(checkup);
        check_clock_against_broker(checkup);
    });
    check_daemon(checkup);
}

/// After all checks.
Checked result_of(Checkup& checkup) {
    if (checkup.management == nullptr || !checkup.management_fault.empty()) {
        check_work_queues_by_amqp(checkup);
        checkup.cannot_tell(
            "whether what work queues reject comes to retryd, and whether policies throw away what waits on rungs or "
            "is parked: AMQP tells no policies, bindings, permissions, alarms and left-over rungs. " +
            (checkup.management_fault.empty() ? "Set management.url to have them looked at"
                                              : checkup.management_fault));
    }
    return {checkup.identity,
            checkup.management != nullptr,
            checkup.management_fault,
            std::move(checkup.notes),
            {admin::grouped(checkup.findings), std::move(checkup.unseen)}};
}

}  // namespace

Checked run_checks(Broker& broker, const config::Settings& settings, const DaemonAnswer* daemon) {
    Checkup checkup(broker, settings, daemon);
    check_all_but_policies(checkup);
    check_error_queue_consumer(checkup);
    check_policies_and_messages(checkup);
    checkup.ask_management([&] {
        check_other_leaders(checkup);
        note_by_source(checkup);
        note_amqp10_clients(checkup);
    });
    return result_of(checkup);
}

admin::Diagnosis check_for_daemon(const config::Settings& settings, const config::Endpoint& endpoint,
                                  admin::CheckScope scope) {
    if (scope == admin::CheckScope::policies) {
        ManagementOnly broker(settings, endpoint);
        Checkup checkup(broker, settings, nullptr);
        check_policies_and_messages(checkup);
        return result_of(checkup).diagnosis;
    }
    config::Settings here = settings;
    here.broker.endpoints = {endpoint};
    const auto broker = connect(here, "retryd checks");
    telemetry::Status self;  // the daemon reports about itself elsewhere, also why it does not consume
    self.ready = true;
    self.now = system::wall_now();
    const DaemonAnswer answer = self;
    Checkup checkup(*broker, here, &answer);
    check_all_but_policies(checkup);
    return result_of(checkup).diagnosis;
}

}  // namespace retryd::commands
