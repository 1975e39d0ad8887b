// A memory or disk alarm on the broker: it takes no messages.
#pragma once

#include <string>
#include <utility>

#include "support/environment.h"

namespace retryd::test {

/// Until end(), or the end of the scope.
class Alarm {
  public:
    enum class Cause { memory, disk };

    explicit Alarm(Cause cause) : cause_(cause) { set("0.000001", "1000000GB"); }
    ~Alarm() { end(); }
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    /// The limits that scripts/broker gives a node.
    void end() {
        if (!std::exchange(over_, true)) set("0.8", "32MB");
    }

  private:
    void set(const std::string& memory, const std::string& disk) const {
        erlang(cause_ == Cause::memory ? "vm_memory_monitor:set_vm_memory_high_watermark(" + memory + ")."
                                       : "rabbit_disk_monitor:set_disk_free_limit(\"" + disk + "\").");
    }

    Cause cause_;
    bool over_ = false;
};

inline std::string name_of(Alarm::Cause cause) {
    return cause == Alarm::Cause::memory ? "memory" : "disk";
}

}  // namespace retryd::test
