#include "process_contender.h"

#include <signal.h>

#include <algorithm>
#include <stdexcept>

#include "processes.h"
#include "support/await.h"

namespace retryd::bench {

ProcessContender::ProcessContender(std::string name, std::vector<std::string> command, Stage& stage, int count)
    : name_(std::move(name)), command_(std::move(command)), stage_(stage), count_(count) {}

void ProcessContender::start() {
    for (int i = 0; i < count_; ++i)
        processes_.push_back(std::make_unique<test::Process>(command_, output()));
    const auto ready = [this] { return !all_running() || stage_.consumers() == static_cast<std::uint32_t>(count_); };
    constexpr test::seconds start_takes{60};
    if (!test::await(ready, start_takes) || !all_running()) {
        throw std::runtime_error(name_ + " does not consume the error queue; what it said is in " + output());
    }
    await_idle(pids(), 120);
}

bool ProcessContender::all_running() {
    return std::all_of(processes_.begin(), processes_.end(), [](auto& process) { return process->running(); });
}

void ProcessContender::hold() {
    for (const auto& process : processes_)
        process->signal(SIGSTOP);
}

void ProcessContender::go() {
    for (const auto& process : processes_)
        process->signal(SIGCONT);
}

void ProcessContender::stop() {
    go();
    for (const auto& process : processes_)
        process->signal(SIGTERM);
    for (const auto& process : processes_)
        process->wait(test::patience);
    processes_.clear();
    // What it had not acknowledged is back in the error queue when its consumer is gone.
    test::await([this] { return stage_.consumers() == 0; });
}

std::vector<pid_t> ProcessContender::pids() const {
    std::vector<pid_t> all;
    for (const auto& process : processes_)
        all.push_back(process->pid());
    return all;
}

}  // namespace retryd::bench
