// A broker and its management API that answer what the test says and write down what they are asked.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "admin/fake_policies.h"
#include "commands/common/broker.h"

namespace retryd::commands {

/// It applies policies as RabbitMQ does.
class FakeManagementApi : public ManagementApi {
  public:
    test::FakePolicies policies;
    /// One list after the other; the last one stays.
    std::vector<std::vector<http::ListedQueue>> queue_lists{{}};
    std::vector<std::vector<http::ListedConsumer>> consumer_lists{{}};
    std::vector<std::string> targets_of_amqp10;
    std::map<std::string, std::vector<core::BindingSpec>> bindings;
    std::optional<admin::Permissions> given_permissions{{".*", ".*", ".*"}};
    std::optional<std::vector<admin::UserPermissions>> all_permissions{std::vector<admin::UserPermissions>{}};
    std::optional<std::vector<std::string>> disabled_flags{std::vector<std::string>{}};
    std::optional<std::vector<http::NodeAlarm>> node_alarms{std::vector<http::NodeAlarm>{}};
    std::optional<core::WallTime> broker_clock;
    admin::Routing routes;
    std::vector<core::BindingSpec> bound;                 // those that were not refused
    std::string fault;                                    // of every question
    std::map<std::string, std::string> faults;            // of one question
    std::vector<std::string>* asked_of_broker = nullptr;  // gets each question
    std::vector<std::string> set_policies;                // those that were not refused

    std::vector<http::ListedQueue> queues() override { return next("queues", queue_lists); }
    std::vector<http::ListedQueue> queues_with_leaders() override { return queues(); }
    std::vector<http::ListedConsumer> consumers() override { return next("consumers", consumer_lists); }
    std::vector<std::string> amqp10_targets() override { return targets_of_amqp10; }
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) override;
    admin::VhostPolicies vhost_policies() override;
    admin::Routing routing() override;
    void bind(const core::BindingSpec& binding) override;
    void set_policy(const admin::BrokerPolicy& policy) override;
    std::optional<admin::Permissions> permissions() override { return given_permissions; }
    std::optional<std::vector<admin::UserPermissions>> user_permissions() override { return all_permissions; }
    std::optional<std::vector<std::string>> disabled_feature_flags() override { return disabled_flags; }
    std::optional<std::vector<http::NodeAlarm>> alarms() override { return node_alarms; }
    std::optional<core::WallTime> clock() override { return broker_clock; }

  private:
    template <typename T>
    T next(const std::string& question, std::vector<T>& list) {
        ask(question);
        T first = list.front();
        if (list.size() > 1) list.erase(list.begin());
        return first;
    }
    void ask(const std::string& question);
};

class FakeBroker : public Broker {
  public:
    using Outcome = amqp::Declarer::Outcome;
    using Result = amqp::Declarer::Result;

    FakeBroker() { api.asked_of_broker = &asked; }
    FakeBroker(const FakeBroker&) = delete;
    FakeBroker& operator=(const FakeBroker&) = delete;

    /// What is answered to a step, by the line that it writes; all others are done.
    std::map<std::string, Outcome> answers;
    std::vector<std::string> asked;
    /// Called with each step before it is answered: time may pass, or the answer change.
    std::function<void(const std::string&)> before_answer;
    core::SteadyTime time{core::Milliseconds{1'000'000}};
    bool has_management = true;
    core::BrokerVersion version{3, 13, 7};
    FakeManagementApi api;

    void miss(const std::string& step) { answers[step] = {Result::missing, 404, "is not there", {}}; }
    void refuse(const std::string& step, int code, const std::string& text) {
        answers[step] = {Result::refused, code, text, {}};
    }
    void count(const std::string& step, amqp::QueueCounts counts) { answers[step] = {Result::done, 0, "", counts}; }

    BrokerIdentity identity() const override { return {"rabbit", 5672, false, "shop", version}; }
    Outcome carry_out(amqp::Declarer::Step step) override;
    void wait(core::Milliseconds pause) override {
        asked.push_back("wait " + std::to_string(pause.count()) + " ms");
        time += pause;
    }
    core::SteadyTime now() const override { return time; }
    ManagementApi* management() override { return has_management ? &api : nullptr; }
};

}  // namespace retryd::commands
