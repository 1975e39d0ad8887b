// The faults that last now: the status page lists them with the time at which they began.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "telemetry/status.h"

namespace retryd::telemetry {

/// Thread-safe. A fault is identified by its key, whose first word is the code of its kind; the text is for the
/// operator and must not contain secrets.
class Faults {
  public:
    /// If the fault lasts already, only its text changes.
    void raise(const std::string& key, std::string text);
    /// Does nothing if there is no such fault.
    void clear(const std::string& key);

    /// All faults, the oldest first.
    std::vector<LastingFault> all() const;

  private:
    mutable std::mutex mutex_;
    std::map<std::string, LastingFault> faults_;
};

}  // namespace retryd::telemetry
