#include "commands/fake_broker.h"

namespace retryd::commands {
namespace {

using Declarer = amqp::Declarer;

struct Line {
    std::string operator()(const core::ExchangeSpec& exchange) const { return "declare exchange " + exchange.name; }
    std::string operator()(const core::QueueSpec& queue) const { return "declare queue " + queue.name; }
    std::string operator()(const core::BindingSpec& binding) const {
        return "bind " + binding.queue + " to " + binding.exchange;
    }
    std::string operator()(const core::ForeignExchange& exchange) const { return "need exchange " + exchange.name; }
    std::string operator()(const Declarer::CheckQueue& check) const { return "check queue " + check.queue; }
    std::string operator()(const Declarer::CheckExchange& check) const { return "check exchange " + check.exchange; }
    std::string operator()(const Declarer::DeleteQueue& step) const {
        return "delete queue " + step.queue + (step.only_if_idle ? " if idle" : "");
    }
    std::string operator()(const Declarer::DeleteExchange& step) const { return "delete exchange " + step.exchange; }
};

}  // namespace

FakeBroker::Outcome FakeBroker::carry_out(amqp::Declarer::Step step) {
    asked.push_back(std::visit(Line{}, step));
    if (before_answer) before_answer(asked.back());
    const auto answer = answers.find(asked.back());
    return answer == answers.end() ? Outcome{} : answer->second;
}

std::vector<core::BindingSpec> FakeManagementApi::bindings_from(const std::string& exchange) {
    ask("bindings of " + exchange);
    return bindings[exchange];
}

admin::VhostPolicies FakeManagementApi::vhost_policies() {
    ask("policies");
    return policies.vhost_policies();
}

admin::Routing FakeManagementApi::routing() {
    ask("routing");
    return routes;
}

void FakeManagementApi::bind(const core::BindingSpec& binding) {
    ask("bind " + binding.queue + " to " + binding.exchange + " with " + binding.routing_key);
    routes.bindings.push_back({binding.exchange, binding.queue, false, binding.routing_key, false});
    bound.push_back(binding);
}

void FakeManagementApi::set_policy(const admin::BrokerPolicy& policy) {
    ask("set policy " + policy.name);
    policies.set(policy);
    set_policies.push_back(policy.name);
}

void FakeManagementApi::ask(const std::string& question) {
    if (asked_of_broker != nullptr) asked_of_broker->push_back(question);
    if (!fault.empty()) throw http::Error(fault);
    const auto found = faults.find(question);
    if (found != faults.end()) throw http::Error(found->second);
}

}  // namespace retryd::commands
