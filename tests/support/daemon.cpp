#include "support/daemon.h"

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/environment.h"
#include "support/failure_log.h"

namespace retryd::test {

Daemon::Daemon() = default;

Daemon::~Daemon() {
    process_.reset();
    keep_for_failure("retryd's log", log());
}

void Daemon::start(const std::string& yaml) {
    write(yaml);
    process_.reset();
    process_ = std::make_unique<Process>(std::vector<std::string>{retryd_binary(), "run", "-c", config_file()},
                                         folder_.file("log"));
}

void Daemon::write(const std::string& yaml) const {
    // In one step: the daemon may read it at this moment, to reload.
    const std::string next = folder_.file("next.yaml");
    std::ofstream(next) << yaml;
    std::filesystem::rename(next, config_file());
}

void Daemon::reload(const std::string& yaml) {
    write(yaml);
    process_->signal(SIGHUP);
}

std::optional<int> Daemon::terminate(milliseconds within) {
    process_->signal(SIGTERM);
    return process_->wait(within);
}

void Daemon::kill() {
    process_->signal(SIGKILL);
    process_->wait(patience);
}

int Daemon::threads() const {
    const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(process_->pid()) + "/task");
    return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

long Daemon::resident_kib() const {
    std::ifstream status("/proc/" + std::to_string(process_->pid()) + "/status");
    const std::string name = "VmRSS:";
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(name, 0) == 0) return std::stol(line.substr(name.size()));
    }
    throw std::runtime_error("the daemon is not running");
}

std::string Daemon::log() const {
    std::ostringstream text;
    text << std::ifstream(folder_.file("log")).rdbuf();
    return text.str();
}

bool Daemon::await_log(const std::string& text, milliseconds within) const {
    return await([&] { return log().find(text) != std::string::npos; }, within);
}

}  // namespace retryd::test
