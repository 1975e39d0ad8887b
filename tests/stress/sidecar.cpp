#include "stress/sidecar.h"

#include <csignal>
#include <fstream>
#include <utility>

#include "support/environment.h"

namespace retryd::stress {

Sidecar::Sidecar(std::string folder, std::string name)
    : name_(std::move(name)), config_(folder + "/" + name_ + ".yaml"), log_(folder + "/" + name_ + ".log") {}

void Sidecar::write(const std::string& yaml) const {
    std::ofstream(config_) << yaml;
}

void Sidecar::start() {
    process_ =
        std::make_unique<test::Process>(std::vector<std::string>{test::retryd_binary(), "run", "-c", config_}, log_);
}

void Sidecar::kill() {
    if (!process_) return;
    look_after();
    process_->signal(SIGKILL);
    process_->wait(test::patience);
    process_.reset();
}

void Sidecar::terminate() {
    if (!process_) return;
    look_after();
    process_->signal(SIGTERM);
    const auto code = process_->wait(test::seconds(15));
    if (code != 0) {
        troubles_.push_back(name_ + (code ? " ended with " + std::to_string(*code) + " after SIGTERM"
                                          : " did not end within 15 s of SIGTERM"));
    }
    process_.reset();
}

void Sidecar::reload(const std::string& yaml) {
    write(yaml);
    if (process_) process_->signal(SIGHUP);
}

void Sidecar::look_after() {
    if (!process_ || process_->running()) return;
    troubles_.push_back(name_ + " ended by itself with " + std::to_string(*process_->wait(test::milliseconds(0))));
    start();
}

}  // namespace retryd::stress
