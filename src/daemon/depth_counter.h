// What the thread of a DepthWatch does.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "amqp/administrator.h"
#include "daemon/depth_state.h"

namespace retryd::daemon {

class DepthCounter {
  public:
    explicit DepthCounter(std::shared_ptr<DepthState> state) : state_(std::move(state)) {}

    /// Until it is to stop.
    void run();

  private:
    using Subject = DepthWatch::Subject;

    /// A queue that could not be counted, and when it is asked for again.
    struct Pause {
        core::Milliseconds length{};
        core::SteadyTime until{};
    };

    std::optional<Subject> await_subject();
    void count(const Subject& subject);
    void count_all(const Subject& subject, amqp::Administrator& broker);
    void count_one(const std::string& queue, amqp::Administrator& broker);
    void take_inventory(const Subject& subject, const core::BrokerFeatures& features);
    void list_queues(const Subject& subject);
    void leave_alone(const std::string& queue);
    void failed(const Subject& subject, const std::string& why);

    std::shared_ptr<DepthState> state_;
    std::optional<Subject> counting_;
    std::map<std::string, Pause> paused_;
    ListedQueues listed_;
    core::SteadyTime list_again_{};
    core::Milliseconds backoff_{};
};

}  // namespace retryd::daemon
