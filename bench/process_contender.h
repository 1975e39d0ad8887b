// A contender that is a program: held up by SIGSTOP, ended by SIGTERM.
#pragma once

#include "contender.h"
#include "support/process.h"

namespace retryd::bench {

class ProcessContender : public Contender {
  public:
    ProcessContender(std::string name, std::vector<std::string> command, Stage& stage, int count);

    void start() override;
    bool holds() const override { return true; }
    void hold() override;
    void go() override;
    void stop() override;
    std::vector<pid_t> pids() const override;
    std::uint32_t unacknowledged() const override { return prefetch * static_cast<std::uint32_t>(count_); }

  private:
    std::string output() const { return stage_.folder() + "/" + name_ + ".log"; }
    bool all_running();

    std::string name_;
    std::vector<std::string> command_;
    Stage& stage_;
    int count_;
    std::vector<std::unique_ptr<test::Process>> processes_;
};

}  // namespace retryd::bench
