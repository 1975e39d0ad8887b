#include "stress/sidecar.h"

#include <csignal>
#include <fstream>
#include <utility>

#include "support/await.h"
#include "support/environment.h"

namespace retryd::stress {
namespace {

/// Whether it handles SIGTERM already. Before that the signal kills it, as any program that has just started.
bool handles_signals(pid_t pid) {
    constexpr auto terminate = 1ULL << (SIGTERM - 1);
    const std::string name = "SigBlk:";
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(name, 0) == 0) return (std::stoull(line.substr(name.size()), nullptr, 16) & terminate) != 0;
    }
    return false;
}

}  // namespace

Sidecar::Sidecar(std::string folder, std::string name)
    : name_(std::move(name)), config_(folder + "/" + name_ + ".yaml"), log_(folder + "/" + name_ + ".log") {}

void Sidecar::write(const std::string& yaml) const {
    std::ofstream(config_) << yaml;
}

void Sidecar::start() {
    process_ =
        std::make_unique<test::Process>(std::vector<std::string>{test::retryd_binary(), "run", "-c", config_}, log_);
    test::await([&] { return handles_signals(process_->pid()) || !process_->running(); });
}

void Sidecar::kill() {
    if (!process_) return;
    restart_if_ended();
    process_->signal(SIGKILL);
    process_->wait(test::patience);
    process_.reset();
}

void Sidecar::terminate() {
    if (!process_) return;
    restart_if_ended();
    process_->signal(SIGTERM);
    const auto code = process_->wait(test::patience);
    if (code != 0) {
        failures_.push_back(name_ + (code ? " ended with " + std::to_string(*code) + " after SIGTERM"
                                          : " did not end within a minute of SIGTERM"));
    }
    process_.reset();
}

void Sidecar::reload(const std::string& yaml) {
    write(yaml);
    if (process_) process_->signal(SIGHUP);
}

void Sidecar::restart_if_ended() {
    if (!process_ || process_->running()) return;
    failures_.push_back(name_ + " ended by itself with " + std::to_string(*process_->wait(test::milliseconds(0))));
    start();
}

}  // namespace retryd::stress
