// A broker that does what the test says and writes down what it was asked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "commands/common/broker.h"

namespace retryd::commands {

class FakeBroker : public Broker {
  public:
    using Outcome = amqp::Declarer::Outcome;
    using Result = amqp::Declarer::Result;

    /// What is answered to a step, by the line that it writes; all others are done.
    std::map<std::string, Outcome> answers;
    std::vector<std::string> asked;
    bool management = true;
    std::string management_fault;
    /// One after the other; the last one stays.
    std::vector<std::vector<http::ListedQueue>> readings{{}};
    std::vector<std::vector<http::ListedConsumer>> consumer_readings{{}};
    std::map<std::string, std::vector<core::BindingSpec>> bindings;

    void miss(const std::string& step) { answers[step] = {Result::missing, 404, "is not there", {}}; }
    void refuse(const std::string& step, int code, const std::string& text) {
        answers[step] = {Result::refused, code, text, {}};
    }
    void count(const std::string& step, amqp::QueueCounts counts) { answers[step] = {Result::done, 0, "", counts}; }

    BrokerIdentity identity() const override { return {"rabbit", 5672, false, "shop", {3, 13, 7}}; }
    Outcome carry_out(amqp::Declarer::Step step) override;
    void wait(core::Milliseconds time) override { asked.push_back("wait " + std::to_string(time.count()) + " ms"); }
    bool has_management() const override { return management; }
    std::vector<http::ListedQueue> queues() override { return next("queues", readings); }
    std::vector<http::ListedConsumer> consumers() override { return next("consumers", consumer_readings); }
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) override;

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

}  // namespace retryd::commands
