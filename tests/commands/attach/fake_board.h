// A policy board that applies policies as RabbitMQ does, and refuses what the test says.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "admin/fake_policies.h"
#include "commands/common/management.h"

namespace retryd::commands {

class FakeBoard : public PolicyBoard {
  public:
    test::FakePolicies broker;
    std::map<std::string, std::string> refusals;  // by the policy's name
    std::string fault;                            // of every call
    bool bound = true;                            // the error queue, to its exchange
    std::vector<std::string> set_policies;

    admin::VhostPolicies governance() override {
        check();
        return broker.governance();
    }
    void set(const admin::BrokerPolicy& policy) override {
        check();
        const auto refusal = refusals.find(policy.name);
        if (refusal != refusals.end()) throw http::Error(refusal->second);
        set_policies.push_back(policy.name);
        broker.set(policy);
    }
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) override {
        check();
        if (!bound) return {{"another", exchange, "", {}}};
        return {{"retryd.errors", exchange, "", {}}};
    }

  private:
    void check() const {
        if (!fault.empty()) throw http::Error(fault);
    }
};

}  // namespace retryd::commands
