// Who carries messages from the error queue to a rung.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "stage.h"

namespace retryd::bench {

class Contender {
  public:
    virtual ~Contender() = default;

    /// Runs, consumes the empty error queue and has become idle; or, where that cannot be held up, is only prepared.
    virtual void start() = 0;
    /// Whether it can be held up while a backlog is made.
    virtual bool holds() const = 0;
    virtual void hold() {}
    /// It begins to carry, now or within seconds.
    virtual void go() = 0;
    virtual void stop() = 0;
    /// Its own processes; none where it runs inside of the broker.
    virtual std::vector<pid_t> pids() const = 0;
    /// How many messages it holds unacknowledged at once.
    virtual std::uint32_t unacknowledged() const = 0;
};

const std::vector<std::string>& all_contenders();

/// `count` of them at once, on one error queue. The stage must outlive it.
std::unique_ptr<Contender> make_contender(const std::string& name, Stage& stage, int count = 1);

}  // namespace retryd::bench
