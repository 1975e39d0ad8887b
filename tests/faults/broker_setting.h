// Settings of the broker, and policies, that last until the end of a scope.
#pragma once

#include <string>
#include <utility>

#include "support/environment.h"
#include "support/management.h"

namespace retryd::test {

/// An environment variable of the application rabbit. It applies to connections that are opened within the scope.
class BrokerSetting {
  public:
    /// `value` is an Erlang term.
    BrokerSetting(std::string name, const std::string& value) : name_(std::move(name)) {
        former_ = erlang("element(2, application:get_env(rabbit, " + name_ + ")).");
        set(value);
    }
    ~BrokerSetting() { set(former_); }
    BrokerSetting(const BrokerSetting&) = delete;
    BrokerSetting& operator=(const BrokerSetting&) = delete;

  private:
    /// Newer versions also keep some settings as persistent terms.
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
