// The faults that last at this moment: the status page lists them, each with the moment at which it began.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "telemetry/status.h"

namespace retryd::telemetry {

/// Thread-safe. A fault is known by its key, whose first word is the code of its kind; the text is for the operator,
/// and nothing secret goes into it.
class Faults {
  public:
    /// Where that fault lasts already, only its text changes.
    void raise(const std::string& key, std::string text);
    /// Nothing happens where there is no such fault.
    void clear(const std::string& key);

    /// The oldest first.
    std::vector<LastingFault> all() const;

  private:
    mutable std::mutex mutex_;
    std::map<std::string, LastingFault> faults_;
};

}  // namespace retryd::telemetry
