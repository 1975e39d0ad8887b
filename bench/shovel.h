// The shovel plugin of the broker, which must be enabled: a dynamic shovel with confirms.
#pragma once

#include "contender.h"

namespace retryd::bench {

/// It runs inside of the broker and cannot be held up: go() has the broker begin by itself a little later, when the
/// tool that says so has ended and costs nothing any more.
class Shovel : public Contender {
  public:
    explicit Shovel(Stage& stage) : stage_(stage) {}
    ~Shovel() override;

    void start() override {}
    bool holds() const override { return false; }
    void go() override;
    void stop() override;
    std::vector<pid_t> pids() const override { return {}; }
    std::uint32_t unacknowledged() const override { return 0; }

  private:
    Stage& stage_;
    bool set_ = false;
};

}  // namespace retryd::bench
