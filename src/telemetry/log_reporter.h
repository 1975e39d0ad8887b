// What the flow reports, said in the log: single messages at debug, lasting faults once and once when they heal.
#pragma once

#include <map>
#include <string>

#include "relay/reporter.h"
#include "telemetry/log.h"

namespace retryd::telemetry {

class LogReporter : public relay::Reporter {
  public:
    /// `log` must outlive this.
    explicit LogReporter(Log& log) : log_(log) {}

    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void requeued(relay::Role role, std::string_view target, relay::RequeueCause cause,
                  core::Milliseconds delay) override;
    void refused(relay::Role role, std::string_view name, std::string_view why) override;
    void healed(relay::Role role, std::string_view name) override;

  private:
    Log& log_;
    /// Queues and exchanges that do not take messages at the moment, said already.
    std::map<std::string, relay::RequeueCause, std::less<>> failing_;
};

}  // namespace retryd::telemetry
