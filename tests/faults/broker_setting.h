// What is set on the broker until the end of a scope.
#pragma once

#include <string>
#include <utility>

#include "support/environment.h"
#include "support/management.h"

namespace retryd::test {

/// For what is opened within the scope.
class BrokerSetting {
  public:
    /// `value` is Erlang.
    BrokerSetting(std::string name, const std::string& value) : name_(std::move(name)) {
        former_ = erlang("element(2, application:get_env(rabbit, " + name_ + ")).");
        set(value);
    }
    ~BrokerSetting() { set(former_); }
    BrokerSetting(const BrokerSetting&) = delete;
    BrokerSetting& operator=(const BrokerSetting&) = delete;

  private:
    /// Newer versions keep a copy of some settings where they find them faster.
    void set(const std::string& value) const {
        erlang("V = " + value + ", application:set_env(rabbit, " + name_ + ", V), case persistent_term:get(" + name_ +
               ", none) of none -> ok; _ -> persistent_term:put(" + name_ + ", V) end.");
    }

    std::string name_;
    std::string former_;
};

class QueuePolicy {
  public:
    /// `definition` is JSON.
    QueuePolicy(std::string queue, const std::string& definition) : queue_(std::move(queue)) {
        set_policy(queue_, "^" + queue_ + "$", definition);
    }
    ~QueuePolicy() { clear_policy(queue_); }
    QueuePolicy(const QueuePolicy&) = delete;
    QueuePolicy& operator=(const QueuePolicy&) = delete;

  private:
    std::string queue_;
};

}  // namespace retryd::test
